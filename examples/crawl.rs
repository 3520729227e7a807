//! A crawler that keeps each page once, and remembers what it has seen after a restart.
//!
//! Each page is looked up before it is stored. If a known page resembles it by 0.9 or more, the new one is a mirror, a
//! print version, or the same page with another date. Commits are durable, so a crawler that is killed continues where it
//! was.
//!
//! ```sh
//! cargo run --example crawl                 # on pages that it makes up
//! cargo run --example crawl -- FILE.html... # on yours
//! ```

use std::error::Error;
use std::path::Path;

use ringer::{Database, Like, Options, Scheme};

/// Pages with at least this resemblance count as one page.
const SAME: f64 = 0.9;

struct Crawl {
    known: Database,
}

/// What to do with a page.
enum Verdict {
    /// No similar page was seen.
    New,
    /// It resembles this page, by this much.
    SeenAs(String, f64),
    /// It has no text.
    Empty,
}

impl Crawl {
    /// Opens the database of an earlier crawl, or creates one.
    fn start(path: &Path) -> ringer::Result<Crawl> {
        let known = match path.exists() {
            true => Database::open(path, Options::default())?,
            false => Database::create(path, &Scheme::default(), Options::default())?,
        };
        Ok(Crawl { known })
    }

    fn see(&self, url: &str, page: &[u8]) -> ringer::Result<Verdict> {
        // The signature is used for the lookup and for storing, so a page is sketched once.
        let signature = self.known.sketcher().sketch_html(page)?;
        if signature.is_empty() {
            return Ok(Verdict::Empty);
        }
        let snapshot = self.known.snapshot();
        let query = snapshot.query(Like::Signature(&signature));
        let answer = query.top(1).min_resemblance(SAME).run()?;
        if let Some(found) = answer.matches.first() {
            let name = String::from_utf8_lossy(&found.key).into_owned();
            return Ok(Verdict::SeenAs(name, found.similarity().value));
        }
        // The commit is durable when it returns, so this page will not be fetched again.
        let mut batch = self.known.batch();
        batch.put_signature(url, signature)?;
        self.known.commit(batch)?;
        Ok(Verdict::New)
    }
}

/// An article of 400 words in a page with a menu and a date.
fn made_up(number: u64, date: &str) -> String {
    let word = |i: u64| format!("word{}", (number * 7919 + i * i) % 5000);
    let article: Vec<String> = (0..400).map(word).collect();
    let script = "<script>var tracker = 1</script><style>p { color: red }</style>";
    format!(
        "<html><title>Page {number}</title>{script}<p>Printed on {date}<p>{}",
        article.join(" ")
    )
}

fn main() -> Result<(), Box<dyn Error>> {
    let files: Vec<String> = std::env::args().skip(1).collect();
    let mut pages: Vec<(String, Vec<u8>)> = Vec::new();
    for file in &files {
        pages.push((file.clone(), std::fs::read(file)?));
    }
    if files.is_empty() {
        for number in 1..=3 {
            let (url, mirror) =
                (format!("https://a.example/{number}"), format!("https://b.example/?p={number}"));
            pages.push((url, made_up(number, "Monday").into()));
            pages.push((mirror, made_up(number, "Tuesday").into()));
        }
    }
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("crawl.ringer");
    let half = pages.len() / 2;
    // Two runs over one database. The second knows the pages of the first.
    for run in [&pages[..half], &pages[half..]] {
        let crawl = Crawl::start(&path)?;
        for (url, page) in run {
            match crawl.see(url, page)? {
                Verdict::New => println!("kept     {url}"),
                Verdict::SeenAs(name, alike) => println!("dropped  {url}: {alike:.2} like {name}"),
                Verdict::Empty => println!("dropped  {url}: no text"),
            }
        }
        crawl.known.close()?;
    }
    Ok(())
}
