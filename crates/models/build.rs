//! Says that the library is built for a scheduler, which its module `sync` asks.

fn main() {
    println!("cargo::rustc-cfg=shuttle");
    println!("cargo::rerun-if-changed=build.rs");
}
