//! The guide in `docs/` is true: every command runs and prints what the page says, and every link and file name in any
//! Markdown file of the repository leads somewhere.
//!
//! Pages use three kinds of code blocks. `sh` blocks run one after the other in an empty folder, one folder per page. A `text`
//! block is the standard output of the `sh` block before it; a line `...` in it matches any lines. `rust` blocks
//! are doc tests of the library.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A fenced block of a page.
struct Block<'a> {
    language: &'a str,
    line: usize,
    text: String,
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the repository")
}

/// All Markdown files below a folder, except those of builds and tools.
fn markdown(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() && !["target", "corpus", ".git"].contains(&&*name) {
            found.append(&mut markdown(&path));
        } else if name.ends_with(".md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

fn blocks(page: &str) -> Vec<Block<'_>> {
    let mut found: Vec<Block<'_>> = Vec::new();
    let mut inside = false;
    for (number, line) in page.lines().enumerate() {
        match line.strip_prefix("```") {
            Some(_) if inside => inside = false,
            Some(language) => {
                inside = true;
                found.push(Block { language, line: number + 1, text: String::new() });
            }
            None if inside => {
                let block = found.last_mut().expect("an open block");
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {}
        }
    }
    assert!(!inside, "a block is not closed");
    found
}

/// Whether lines match a pattern in which `...` matches any lines.
fn matches(pattern: &[&str], lines: &[&str]) -> bool {
    match pattern.split_first() {
        None => lines.is_empty(),
        Some((&"...", rest)) => (0..=lines.len()).any(|skip| matches(rest, &lines[skip..])),
        Some((first, rest)) => lines.first() == Some(first) && matches(rest, &lines[1..]),
    }
}

#[cfg(unix)]
fn run_page(name: &str, page: &str) -> Vec<String> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let tool = Path::new(env!("CARGO_BIN_EXE_ringer")).parent().expect("a folder");
    let path = format!("{}:{}", tool.display(), std::env::var("PATH").unwrap_or_default());
    let mut wrong = Vec::new();
    let mut printed: Option<String> = None;
    for Block { language, line, text } in blocks(page) {
        let at = format!("{name}:{line}");
        match language {
            "sh" => {
                let mut shell = Command::new("sh");
                shell.args(["-eu", "-c", &text]).current_dir(folder.path());
                let output = shell.env("PATH", &path).output().expect("a shell");
                let error = String::from_utf8_lossy(&output.stderr);
                if !output.status.success() {
                    wrong.push(format!("{at}: {}\n{error}", output.status));
                }
                printed = Some(String::from_utf8(output.stdout).expect("text"));
            }
            "text" => {
                let printed = printed.take().unwrap_or_else(|| panic!("{at}: no command before"));
                let [pattern, lines] = [&text, &printed]
                    .map(|text| text.lines().map(str::trim_end).collect::<Vec<_>>());
                if !matches(&pattern, &lines) {
                    wrong.push(format!("{at}: prints\n{printed}"));
                }
            }
            // Doc tests run the first, crates/python/tests the second.
            "rust" | "python" => printed = None,
            other => {
                wrong.push(format!("{at}: blocks are sh, text, rust or python, not `{other}`"));
            }
        }
    }
    wrong
}

#[cfg(unix)]
#[test]
fn every_command_of_the_guide_prints_what_the_page_says() {
    let mut wrong = Vec::new();
    for path in markdown(&root().join("docs")) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        wrong.append(&mut run_page(&name, &fs::read_to_string(&path).expect("a page")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_page_of_the_guide_is_in_its_table_of_contents_and_in_the_doc_tests() {
    let contents = fs::read_to_string(root().join("docs/README.md")).expect("the contents");
    let library = fs::read_to_string(root().join("src/lib.rs")).expect("the library");
    for path in markdown(&root().join("docs")) {
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        let page = fs::read_to_string(&path).expect("a page");
        assert!(name == "README.md" || contents.contains(&format!("]({name})")), "{name}");
        if blocks(&page).iter().any(|block| block.language == "rust") {
            assert!(library.contains(&format!("../docs/{name}\"")), "{name} is not in src/lib.rs");
        }
    }
}

/// The page without its fenced blocks.
fn prose(page: &str) -> String {
    let mut inside = false;
    let mut kept = Vec::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            inside = !inside;
        } else if !inside {
            kept.push(line);
        }
    }
    kept.join("\n")
}

/// The anchors of a page's headings, as forges make them.
fn anchors(page: &str) -> BTreeSet<String> {
    let headings = prose(page);
    let titles = headings.lines().filter(|line| line.starts_with('#'));
    titles
        .map(|line| {
            let title = line.trim_start_matches('#').trim().to_lowercase();
            let kept = title.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c));
            kept.collect::<String>().replace(' ', "-")
        })
        .collect()
}

/// Targets of links: `](target)`.
fn links(prose: &str) -> Vec<&str> {
    let starts = prose.match_indices("](").map(|(at, _)| &prose[at + 2..]);
    starts.filter_map(|rest| rest.split_once(')').map(|(target, _)| target)).collect()
}

/// Inline code that is the path of a file or folder of the repository.
fn file_names<'a>(prose: &'a str, top: &BTreeSet<String>) -> Vec<&'a str> {
    let is_path = |code: &&str| {
        let plain = code.chars().all(|c| c.is_ascii_alphanumeric() || "._-/".contains(c));
        let first = code.split('/').next().unwrap_or_default();
        plain && code.contains('/') && top.contains(first)
    };
    prose.split('`').skip(1).step_by(2).filter(is_path).collect()
}

#[test]
fn every_link_and_file_name_in_markdown_exists() {
    let root = root();
    let entries = fs::read_dir(&root).expect("the repository");
    let name = |entry: fs::DirEntry| entry.file_name().to_string_lossy().into_owned();
    let top: BTreeSet<String> = entries.map(|entry| name(entry.expect("an entry"))).collect();
    let mut wrong = Vec::new();
    for path in markdown(&root) {
        let page = fs::read_to_string(&path).expect("a page");
        let (prose, folder) = (prose(&page), path.parent().expect("a folder"));
        let shown = path.strip_prefix(&root).expect("below the root").display().to_string();
        for link in links(&prose) {
            // Addresses elsewhere, and links to items of the library, which rustdoc checks.
            if link.contains("://") || link.starts_with("mailto:") || link.contains("::") {
                continue;
            }
            let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
            let target = if file.is_empty() { path.clone() } else { folder.join(file) };
            let is_page = target.extension().is_some_and(|extension| extension == "md");
            let exists = target.exists();
            let text = if exists && is_page { fs::read_to_string(&target) } else { Ok("".into()) };
            let has_anchor =
                !is_page || anchor.is_empty() || anchors(&text.expect("text")).contains(anchor);
            if !exists || !has_anchor {
                wrong.push(format!("{shown}: link to {link}"));
            }
        }
        for file in file_names(&prose, &top).into_iter().filter(|file| !file.starts_with("target"))
        {
            if !root.join(file).exists() && !folder.join(file).exists() {
                wrong.push(format!("{shown}: file `{file}`"));
            }
        }
    }
    assert!(wrong.is_empty(), "nothing is there:\n{}", wrong.join("\n"));
}

#[test]
fn links_and_patterns_are_recognised() {
    assert_eq!(links("see [a](b.md#c) and [d](e)"), ["b.md#c", "e"]);
    let top = BTreeSet::from(["src".to_string()]);
    assert_eq!(file_names("`src/lib.rs` `other/x` `a b/c`", &top), ["src/lib.rs"]);
    assert!(anchors("# Sets, and more\n## 4. Which `x`?").contains("4-which-x"));
    assert!(matches(&["a", "...", "d"], &["a", "b", "c", "d"]));
    assert!(!matches(&["a", "...", "d"], &["a", "b", "c"]));
    assert!(!matches(&["a"], &["a", "b"]) && !matches(&["a", "b"], &["a"]));
}

/// The page of benchmarks is exactly what its script writes.
#[test]
fn the_page_of_benchmarks_is_what_its_figures_give() {
    let script = root().join("benches/report");
    match Command::new("python3").arg(script).arg("--check").output() {
        Ok(output) => {
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        }
        Err(error) => eprintln!("not checked, python3 cannot be run: {error}"),
    }
}
