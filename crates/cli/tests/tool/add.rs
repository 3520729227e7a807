//! `ringer create` and `ringer add`: every kind of input, good and bad.

use crate::run;

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use run::{Tool, words};

#[test]
fn lines_of_sets_are_taken_and_bad_ones_are_said() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
    // A byte order mark, CRLF, an empty line, no tab, no key, no elements, no line end.
    let input =
        b"\xef\xbb\xbfone\ta b c\r\ntwo\ta b c d\n\nno tab here\n\tno key\nempty\t\nlast\tx";
    tool.write("sets.tsv", input);
    let added = tool.run(&["add", "db.ringer", "--sets", "sets.tsv"]).with_status(0);
    assert_eq!(tool.keys("db.ringer"), ["empty", "last", "one", "two"]);
    assert!(added.err.contains("warning: sets.tsv, line 4: there is no tab"), "{}", added.err);
    assert!(added.err.contains("warning: sets.tsv, line 5: the key is empty"), "{}", added.err);
    assert!(
        added.err.contains("added 4 sets (1 of them empty); skipped: 2 malformed"),
        "{}",
        added.err
    );
    // The set of a CRLF line is that of an LF line.
    let found = tool.run(&["query", "db.ringer", "--set", "a b c", "--json"]).with_status(0).json();
    assert_eq!((&found[0]["key"], &found[0]["resemblance"]), (&"one".into(), &1.0.into()));
    assert_eq!(tool.names(), ["db.ringer", "sets.tsv"]);

    // Sets before the bad line are stored, and the note says so.
    tool.run(&["create", "strict.ringer", "--features", "tokens"]).with_status(0);
    let strict =
        tool.run(&["add", "strict.ringer", "--sets", "sets.tsv", "--strict"]).with_status(3);
    assert!(strict.err.contains("error: sets.tsv, line 4"), "{}", strict.err);
    assert!(strict.err.contains("note: 2 sets of this run were stored before"), "{}", strict.err);
    assert_eq!(tool.keys("strict.ringer"), ["one", "two"]);
    std::fs::remove_file(tool.path("strict.ringer")).unwrap();
    assert_eq!(tool.names(), ["db.ringer", "sets.tsv"]);
    let json = tool.run(&["add", "db.ringer", "--sets", "sets.tsv", "--json"]).with_status(0);
    assert_eq!(json.json()[0]["added"], 4);
    assert_eq!(json.json()[0]["left_out"]["malformed"], 2);
}

#[test]
fn ids_are_numbers_and_nothing_else() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "ids", "--universe", "65536"]).with_status(0);
    let input = "a\t1 2 3\nb\t1 2 x\nc\t-1\nd\t65536\ne\t0 65535\nf\t99999999999999999999\n";
    let added = tool.run_with(input, &["add", "db.ringer", "--sets", "-"]).with_status(0);
    assert_eq!(tool.keys("db.ringer"), ["a", "e"]);
    for said in ["line 2: id `x`", "line 3: id `-1`", "line 4: element 65536", "line 6: id `9999"] {
        assert!(added.err.contains(said), "{said}: {}", added.err);
    }
}

#[test]
fn json_lines() {
    let tool = Tool::new();
    tool.run(&["create", "text.ringer"]).with_status(0);
    let lines = format!(
        "{{\"id\": \"a\", \"text\": \"{0}\", \"more\": [1, {{\"x\": null}}]}}\n\
         {{\"text\": \"{0}\", \"id\": 17}}\n\
         not json\n[1]\n{{\"id\": \"b\"}}\n{{\"text\": \"x\"}}\n{{\"id\": true, \"text\": \"x\"}}\n\
         {{\"id\": \"c\", \"text\": 5}}\n{{\"id\": \"q\\u00e9\\n\", \"text\": \"\\ud83d\\ude00 z\"}}\n",
        words(1)
    );
    let added = tool.run_with(&lines, &["add", "text.ringer", "--jsonl", "-"]).with_status(0);
    assert_eq!(tool.keys("text.ringer"), ["17", "a", "qé\\n"]);
    for said in [
        "line 3: not a JSON object",
        "line 4: not a JSON object",
        "line 5: there is no field `text`",
        "line 6: there is no field `id`",
        "line 7: `id` is neither a string nor a number",
        "line 8: `text` is not a string",
    ] {
        assert!(added.err.contains(said), "{said}: {}", added.err);
    }
    let found = tool.run(&["query", "text.ringer", "--key", "a", "--json"]).with_status(0).json();
    assert_eq!((&found[0]["key"], &found[0]["resemblance"]), (&"17".into(), &1.0.into()));

    tool.run(&["create", "ids.ringer", "--features", "ids"]).with_status(0);
    let lines = "{\"n\": 1, \"set\": [1, 2, 3]}\n{\"n\": 2, \"set\": \"1 2 3\"}\n{\"n\": 3, \"set\": [1.5]}\n";
    let fields = ["--key-field", "n", "--text-field", "set"];
    let arguments = [&["add", "ids.ringer", "--jsonl", "-"][..], &fields].concat();
    let added = tool.run_with(lines, &arguments).with_status(0);
    assert!(added.err.contains("line 3: `set` is not a string or an array"), "{}", added.err);
    let found = tool.run(&["query", "ids.ringer", "--key", "1", "--json"]).with_status(0).json();
    assert_eq!((&found[0]["key"], &found[0]["resemblance"]), (&"2".into(), &1.0.into()));

    tool.run(&["create", "tokens.ringer", "--features", "tokens"]).with_status(0);
    let lines = "{\"id\": 1, \"text\": [\"a b\", \"c\"]}\n{\"id\": 2, \"text\": \"a b c\"}\n";
    tool.run_with(lines, &["add", "tokens.ringer", "--jsonl", "-"]).with_status(0);
    let dumped = tool.run(&["dump", "tokens.ringer", "--json"]).with_status(0).json();
    let sizes: Vec<f64> = dumped.iter().map(|row| row["elements"].as_f64().unwrap()).collect();
    assert!((sizes[0] - 2.0).abs() < 0.1 && (sizes[1] - 3.0).abs() < 0.2, "{sizes:?}");
}

/// The rest of a line that is too long is skipped, and the next line is read.
#[test]
fn a_line_of_65_mib_is_left_out() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
    let mut input = b"first\ta b\nlong\t".to_vec();
    input.resize(65 << 20, b'x');
    input.extend_from_slice(b"\nafter\ta b\n");
    let added = tool.run_with(input, &["add", "db.ringer", "--sets", "-"]).with_status(0);
    assert_eq!(tool.keys("db.ringer"), ["after", "first"]);
    assert!(added.err.contains("line 2: longer than 64 MiB"), "{}", added.err);
}

#[test]
fn a_key_that_is_too_long_is_left_out() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
    let (longest, longer) = ("k".repeat(4096), "k".repeat(4097));
    let input = format!("{longer}\tx\n{longest}\tx\nafter\tx\n");
    let added = tool.run_with(input, &["add", "db.ringer", "--sets", "-"]).with_status(0);
    assert_eq!(tool.keys("db.ringer"), ["after", &longest]);
    assert!(
        added.err.contains("line 1: the key has 4097 bytes, and a key may have at most 4096"),
        "{}",
        added.err
    );
}

#[test]
fn what_cannot_be_read_changes_nothing() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer"]).with_status(0);
    let before = std::fs::read(tool.path("db.ringer")).unwrap();
    for arguments in [
        &["add", "db.ringer", "--sets", "nowhere.tsv"][..],
        &["add", "db.ringer", "--jsonl", "nowhere.jsonl"],
        &["add", "db.ringer", "--sets", "."],
        &["add", "db.ringer", "nowhere"],
    ] {
        let failed = tool.run(arguments).with_status(3);
        assert!(failed.err.starts_with("error: cannot read "), "{}", failed.err);
    }
    tool.run(&["add", "nowhere.ringer", "."]).with_status(3);
    for arguments in [
        &["add", "db.ringer"][..],
        &["add", "db.ringer", "x", "--sets", "y"],
        &["add", "db.ringer", "--sets", "x", "--jsonl", "y"],
        &["add", "db.ringer", "--key-field", "x", "y"],
        &["add", "db.ringer", "--commit-every", "0", "y"],
    ] {
        tool.run(arguments).with_status(2);
    }
    assert_eq!(tool.names(), ["db.ringer"]);
    // A refused command may rewrite the superblocks, but not the contents.
    assert!(tool.keys("db.ringer").is_empty());
    assert_eq!(before.len(), std::fs::read(tool.path("db.ringer")).unwrap().len());
}

#[test]
fn files_of_all_kinds() {
    let tool = Tool::new();
    tool.write("in/plain.txt", words(1))
        .write("in/sub/page.HTML", format!("<title>t</title><p>{}<script>var x</script>", words(1)))
        .write("in/binary.png", [137, 80, 78, 71, 0, 0])
        .write("in/empty.txt", "")
        .write("in/crlf.txt", words(1).replace(' ', "\r\n"));
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packed.write_all(words(1).as_bytes()).unwrap();
    tool.write("in/packed.1.gz", packed.finish().unwrap());
    tool.write("in/broken.gz", [0x1f, 0x8b, 8, 0, 9, 9, 9]);
    let utf16: Vec<u8> =
        [0xfeff].into_iter().chain(words(1).encode_utf16()).flat_map(u16::to_le_bytes).collect();
    tool.write("in/utf16.txt", &utf16[..]);
    let huge = std::fs::File::create(tool.path("in/huge.txt")).unwrap();
    (&huge).write_all(b"some words, and then nothing but ").unwrap();
    let filler = vec![b'x'; 1 << 20];
    (0..65).for_each(|_| (&huge).write_all(&filler).unwrap());

    // The database is inside the folder, and is not added to itself.
    tool.run(&["create", "in/db.ringer", "--preset", "precise"]).with_status(0);
    let added = tool.run(&["add", "in/db.ringer", "in"]).with_status(0);
    assert!(
        added.err.contains("in/huge.txt is larger than 64.0 MiB, the limit of a text"),
        "{}",
        added.err
    );
    assert!(added.err.contains("in/binary.png is a PNG image, not text"), "{}", added.err);
    assert!(
        added.err.contains(
            "added 6 sets (1 of them empty); skipped: 1 binary, 1 too large, 1 unreadable"
        ),
        "{}",
        added.err
    );
    let found = tool.run(&["query", "in/db.ringer", "--key", "in/plain.txt", "--json"]);
    let found = found.with_status(0).json();
    let keys: Vec<&str> = found.iter().map(|m| m["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["in/crlf.txt", "in/packed.1.gz", "in/utf16.txt", "in/sub/page.HTML"]);
    assert_eq!(found[2]["resemblance"], 1.0);
    assert!(found[3]["resemblance"].as_f64().unwrap() > 0.85);

    // Chunks take bytes of any kind.
    tool.run(&["create", "in/chunks.ringer", "--features", "chunks"]).with_status(0);
    let added = tool.run(&["add", "in/chunks.ringer", "in"]).with_status(0);
    assert!(added.err.contains("added 10 sets (1 of them empty)"), "{}", added.err);
}

#[cfg(unix)]
#[test]
fn links_loops_and_odd_names() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::os::unix::fs::symlink;

    let tool = Tool::new();
    tool.write("in/a.txt", words(1)).write("other/b.txt", words(2));
    let odd = tool.folder.path().join(OsStr::from_bytes(b"in/caf\xe9\n.txt"));
    std::fs::write(odd, words(1)).unwrap();
    symlink(tool.path("in"), tool.path("in/loop")).unwrap();
    symlink(tool.path("other"), tool.path("in/there")).unwrap();
    symlink(tool.path("nowhere"), tool.path("in/dangling")).unwrap();
    tool.run(&["create", "db.ringer"]).with_status(0);
    tool.run(&["add", "db.ringer", "in"]).with_status(0);
    assert_eq!(tool.keys("db.ringer"), ["in/a.txt", r"in/caf\xe9\n.txt"]);
    let json = tool.run(&["keys", "db.ringer", "--json"]).with_status(0).json();
    assert_eq!(json[1]["key"]["hex"], "696e2f636166e90a2e747874");
    let raw = tool.command(&["keys", "db.ringer", "-0"]).output().unwrap();
    assert_eq!(raw.stdout, b"in/a.txt\0in/caf\xe9\n.txt\0");

    let followed = tool.run(&["add", "db.ringer", "--follow-links", "in"]).with_status(0);
    assert!(tool.keys("db.ringer").contains(&"in/there/b.txt".to_string()));
    assert!(followed.err.contains("2 unreadable"), "{}", followed.err);
    tool.run(&["add", "db.ringer", "--follow-links", "--strict", "in"]).with_status(3);
}

#[test]
fn commits_are_acknowledged_as_asked() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
    let lines: String = (0..5).map(|i| format!("k{i}\tx{i} y\n")).collect();
    let options = ["add", "db.ringer", "--sets", "-", "--commit-every", "2", "--ack"];
    let added = tool.run_with(&lines, &options).with_status(0);
    assert_eq!(added.out, "committed 2\ncommitted 4\ncommitted 5\n");
    let added = tool.run_with(&lines, &["add", "db.ringer", "--sets", "-", "--ack"]).with_status(0);
    assert_eq!(added.out, "committed 5\n");
    let json = [&options[..], &["--json"]].concat();
    let added = tool.run_with(&lines, &json).with_status(0).json();
    assert_eq!((&added[0]["committed"], &added[3]["added"]), (&2.into(), &5.into()));
    assert_eq!(tool.keys("db.ringer").len(), 5);

    // Signatures of 32 KiB: a commit of 3,000 would be too large, and is made of several.
    let large =
        ["create", "large.ringer", "--features", "tokens", "--samples", "16384", "--bits", "16"];
    tool.run(&large).with_status(0);
    let lines: String = (0..3000).map(|i| format!("k{i}\tx{i}\n")).collect();
    let options = ["add", "large.ringer", "--sets", "-", "--commit-every", "3000", "--ack"];
    let added = tool.run_with(&lines, &options).with_status(0);
    assert!(
        added.out.lines().count() == 2 && added.out.ends_with("committed 3000\n"),
        "{}",
        added.out
    );
}

/// A failed commit is never acknowledged. Everything that was acknowledged is there when there is space again.
#[cfg(target_os = "linux")]
#[test]
fn on_a_full_disk_only_what_is_safe_is_acknowledged() {
    for every in [None, Some("500")] {
        let tool = Tool::new();
        tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
        let lines: String = (0..20_000).map(|i| format!("key{i}\tx{i} y{i}\n")).collect();
        tool.write("sets.tsv", lines);
        // Limits the size of files to half a megabyte. With the signal ignored, writes return an error.
        let every = every.map_or(String::new(), |n| format!("--commit-every {n}"));
        let ringer = env!("CARGO_BIN_EXE_ringer");
        let script = format!(
            "trap '' XFSZ; ulimit -f 1024; exec {ringer} add db.ringer --sets sets.tsv --ack {every}"
        );
        let ran = std::process::Command::new("sh")
            .args(["-c", &script])
            .current_dir(tool.folder.path())
            .output()
            .expect("a shell");
        let (out, err) = (run::text(&ran.stdout), run::text(&ran.stderr));
        assert_eq!(ran.status.code(), Some(3), "{out}{err}");
        assert!(err.contains("error: no space left"), "{err}");
        let acknowledged = out.lines().last().and_then(|line| line.strip_prefix("committed "));
        let acknowledged: usize = acknowledged.map_or(0, |count| count.parse().unwrap());
        tool.run_with("more\tx\n", &["add", "db.ringer", "--sets", "-"]).with_status(0);
        let stored = tool.keys("db.ringer").len();
        assert!(stored > acknowledged, "{stored} of {acknowledged}: {out}{err}");
        assert!(
            err.contains(&format!("note: {acknowledged} sets of this run were stored")),
            "{out}{err}"
        );
    }
}

/// The command ends its work even if nobody reads the acknowledgements.
#[test]
fn acknowledgements_that_nobody_reads_end_nothing() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
    let lines: String = (0..500).map(|i| format!("k{i}\tx{i} y\n")).collect();
    tool.write("sets.tsv", lines);
    let mut child = tool
        .command(&["add", "db.ringer", "--sets", "sets.tsv", "--commit-every", "100", "--ack"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(tool.keys("db.ringer").len(), 500);
}

/// Each line is acknowledged before the next one is sent. Acknowledged sets survive a kill, and the next command that
/// writes recovers the database.
#[test]
fn what_is_acknowledged_survives_a_kill() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
    let mut child = tool
        .command(&["add", "db.ringer", "--sets", "-", "--commit-every", "1", "--ack"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    for i in 1..=20 {
        writeln!(input, "key{i:02}\ta b c{i}").unwrap();
        assert_eq!(output.next().unwrap().unwrap(), format!("committed {i}"));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    // A reader shows what is acknowledged, without a warning, and changes nothing.
    let names = tool.names();
    let seen = tool.run(&["keys", "db.ringer"]).with_status(0);
    assert_eq!((seen.out.lines().count(), &*seen.err), (20, ""));
    tool.run(&["get", "db.ringer", "key20"]).with_status(0);
    tool.run(&["query", "db.ringer", "--set", "a b c7"]).with_status(0);
    let json = tool.run(&["keys", "db.ringer", "--json"]).with_status(0).json();
    assert_eq!(json.len(), 20);
    let stat = tool.run(&["stat", "db.ringer", "--json"]).with_status(0).json();
    assert_eq!((&stat[0]["commits_in_log"], &stat[0]["sets"]), (&20.into(), &20.into()));
    let stat = tool.run(&["stat", "db.ringer"]).with_status(0);
    assert!(stat.out.contains("20 (20 in the log, not yet checkpointed)"), "{}", stat.out);
    assert_eq!(tool.names(), names);
    let more = tool.run_with("more\tx\n", &["add", "db.ringer", "--sets", "-"]).with_status(0);
    assert!(more.err.contains("20 commits were recovered from its log"), "{}", more.err);
    assert_eq!(tool.keys("db.ringer").len(), 21);
    assert_eq!(tool.names(), ["db.ringer"]);
}

/// An interrupt while the tool waits for input: what was read is stored, and the database is closed.
#[cfg(unix)]
#[test]
fn an_interrupt_stores_what_was_read() {
    let tool = Tool::new();
    tool.run(&["create", "db.ringer", "--features", "tokens"]).with_status(0);
    let mut child = tool
        .command(&["add", "db.ringer", "--sets", "-", "--commit-every", "9", "--ack"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    // The commit of the tenth set waits for eight more, and the last line is incomplete.
    (0..10).for_each(|i| writeln!(input, "key{i}\ta b c{i}").unwrap());
    write!(input, "half\ta").unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(output.next().unwrap().unwrap(), "committed 9");
    let killed =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(killed.unwrap().success());
    let ended = child.wait_with_output().unwrap();
    let err = run::text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(130), "{err}");
    drop(input);
    // The tenth set may or may not have been read. The message and the database must agree.
    let stored = tool.keys("db.ringer").len();
    assert!((9..=10).contains(&stored), "{stored}");
    assert!(err.contains(&format!("added {stored} sets")), "{stored}: {err}");
    assert_eq!(tool.names(), ["db.ringer"]);
}

#[test]
fn create_makes_what_is_asked_for() {
    let tool = Tool::new();
    for (i, preset) in ["near-duplicate", "precise", "rdc", "alta-vista", "bing"].iter().enumerate()
    {
        let name = format!("{i}.ringer");
        tool.run(&["create", &name, "--preset", preset]).with_status(0);
        let stat = tool.run(&["stat", &name, "--json"]).with_status(0).json();
        assert_eq!(stat[0]["sets"], 0);
    }
    let all = "create x.ringer --preset precise --samples 256 --bits 2 --slots 32 --samples-per-slot 8 \
               --value-bits 16 --min-matches 2 --sampler independent --universe 100000 \
               --cardinality linear8 --seed 7 --features ids";
    let made = tool.run(&all.split_whitespace().collect::<Vec<_>>()).with_status(0);
    for said in [
        "samples 256",
        "bits 2",
        "32 of 8 (16 bits, at least 2)",
        "independent",
        "bounded(100000)",
        "linear8",
        "seed 7",
        "features ids",
    ] {
        assert!(made.out.contains(said), "{said}: {}", made.out);
    }
    // The default slots follow from the given options.
    for changed in [
        &["--samples", "16"][..],
        &["--bits", "1"],
        &["--samples-per-slot", "7"],
        &["--samples", "1"],
        &["--slots", "0"],
    ] {
        let name = format!("changed{}.ringer", changed.join(""));
        tool.run(&[&["create", &name][..], changed].concat()).with_status(0);
    }
    for kind in
        ["text", "text:3", "text:2:plain", "grams", "chunks", "spots", "url", "tokens", "ids"]
    {
        tool.run(&["create", &format!("{kind}.ringer"), "--features", kind]).with_status(0);
    }
}

#[test]
fn create_refuses_what_makes_no_sense() {
    let tool = Tool::new();
    tool.write("there.ringer", "something else");
    let refused = tool.run(&["create", "there.ringer"]).with_status(5);
    assert!(refused.err.contains("already exists"), "{}", refused.err);
    assert_eq!(std::fs::read(tool.path("there.ringer")).unwrap(), b"something else");
    for wrong in [
        &["--samples", "0"][..],
        &["--samples", "20000"],
        &["--bits", "17"],
        &["--bits", "x"],
        &["--slots", "100"],
        &["--min-matches", "0"],
        &["--value-bits", "33"],
        &["--preset", "best"],
        &["--features", "smells"],
        &["--sampler", "random"],
        &["--universe", "1"],
        &["--universe", "100"],
        &["--cardinality", "linear4"],
        &["--samples-per-slot", "100"],
        &["--slots", "0", "--min-matches", "2"],
    ] {
        let refused = tool.run(&[&["create", "new.ringer"][..], wrong].concat()).with_status(2);
        assert!(refused.err.starts_with("error: "), "{wrong:?}: {}", refused.err);
    }
    let nowhere = tool.run(&["create", "no/such/folder/x.ringer"]).with_status(3);
    assert!(nowhere.err.contains("the folder no/such/folder does not exist"), "{}", nowhere.err);
    assert_eq!(tool.names(), ["there.ringer"]);
}

/// A host is the set of the pairs of neighbouring parts of all its URLs. The pairs were counted by hand.
#[test]
fn hosts_are_sets_of_urls() {
    let tool = Tool::new();
    tool.run(&["create", "hosts.ringer", "--features", "url", "--keep-sets"]).with_status(0);
    let hosts = "a.org\t/cellblock16/inmates/dilbert/personal/foo.htm /papers/minhash.html\n\
                 b.org\t/cellblock16/inmates/dilbert/list.html /papers/minhash /papers%2Fminhash\n\
                 c.org\t/other/things\n";
    tool.write("hosts", hosts);
    tool.run(&["add", "hosts.ringer", "--sets", "hosts"]).with_status(0);
    // Common are cellblock-inmates, inmates-dilbert and papers-minhash; only one host has dilbert-personal, personal-foo and
    // dilbert-list.
    let estimate =
        tool.run(&["estimate", "hosts.ringer", "a.org", "b.org", "--json"]).with_status(0).json();
    assert_eq!(estimate[0]["resemblance"], 0.5, "{}", estimate[0]);
    let estimate =
        tool.run(&["estimate", "hosts.ringer", "a.org", "c.org", "--json"]).with_status(0).json();
    assert_eq!(estimate[0]["resemblance"], 0.0, "{}", estimate[0]);
}
