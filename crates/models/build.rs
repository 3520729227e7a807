//! Sets `cfg(shuttle)`, so that the library's module `sync` uses shuttle's locks and threads.

fn main() {
    println!("cargo::rustc-cfg=shuttle");
    println!("cargo::rerun-if-changed=build.rs");
}
