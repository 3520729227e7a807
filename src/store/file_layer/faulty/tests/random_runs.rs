//! Random changes, compared with a model that copies what it sees at each sync.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_64_with_seed;

use super::*;

/// What must survive a power cut. Names are recorded when their directory is synced, and bytes when their file is.
#[derive(Debug, Clone, Default, PartialEq)]
struct Survives {
    names: BTreeMap<PathBuf, u64>,
    bytes: BTreeMap<u64, Vec<u8>>,
}

impl Survives {
    fn files(&self) -> BTreeMap<PathBuf, Vec<u8>> {
        let bytes = |number| self.bytes.get(number).cloned().unwrap_or_default();
        self.names.iter().map(|(path, number)| (path.clone(), bytes(number))).collect()
    }
}

fn files_of(files: &MemoryFiles) -> BTreeMap<PathBuf, Vec<u8>> {
    files.files().into_iter().map(|path| (path.clone(), files.contents(&path).unwrap())).collect()
}

/// Makes a random change in a directory with five names, and records what becomes durable.
fn change(files: &FaultyFiles, dice: &mut impl FnMut(u64) -> u64, survives: &mut Survives) {
    let path = |n: u64| PathBuf::from(format!("/{n}"));
    let (a, b) = (path(dice(5)), path(dice(5)));
    // Most attempts fail because a name exists or does not, which has no effect.
    let handle = files.open(&a, Access::Write);
    let _ = match dice(8) {
        0 => files.open(&a, Access::CreateNew).map(|_| ()),
        1 => files.rename(&a, &b),
        2 if dice(2) == 0 => files.remove_file(&a),
        3 => files.link(&a, &b),
        4 => handle.and_then(|file| file.set_len(dice(3000))),
        5 => handle.and_then(|file| {
            let number = file.identity()?.inode;
            survives.bytes.insert(number, files.running().contents(&a).unwrap_or_default());
            file.sync()
        }),
        6 => {
            let entries = files.running().entries().into_iter().filter(|e| e.bytes.is_some());
            survives.names = entries.map(|e| (e.path, e.number)).collect();
            files.sync_dir(Path::new("/"))
        }
        _ => handle.and_then(|file| {
            let bytes = vec![dice(256) as u8; dice(2000) as usize + 1];
            file.write_all_at(&bytes, dice(2000))
        }),
    };
}

#[test]
fn a_power_cut_leaves_what_was_seen_at_the_syncs_and_a_kill_leaves_all() {
    for seed in 0..60 {
        let mut count = 0_u64;
        let mut dice = |sides: u64| {
            count += 1;
            xxh3_64_with_seed(&count.to_le_bytes(), seed) % sides
        };
        let (files, mut survives) = (FaultyFiles::new(), Survives::default());
        // After each change: what must survive a power cut, and what must survive a kill.
        let mut expected = vec![(BTreeMap::new(), BTreeMap::new())];
        while files.operations() < 60 {
            let before = files.operations();
            change(&files, &mut dice, &mut survives);
            if files.operations() > before {
                expected.push((survives.files(), files_of(files.running())));
            }
        }
        let mut points = 0;
        files.for_each_crash(|at, kind, image| {
            let (durable, current) = &expected[at];
            match kind {
                CrashKind::Killed => {
                    points += 1;
                    assert_eq!(&files_of(&image), current, "seed {seed}, {at}");
                    // A kind that is left out leaves the same disk as one of these.
                    let cut = files.crash_image(at, CrashKind::NothingUnsynced);
                    assert_eq!(&files_of(&cut), durable, "seed {seed}, {at}");
                }
                CrashKind::LostNames => {
                    assert!(files_of(&image).keys().eq(durable.keys()), "seed {seed}, {at}");
                }
                CrashKind::LostData => {
                    assert!(files_of(&image).keys().eq(current.keys()), "seed {seed}, {at}");
                }
                _ => {}
            }
            let once = files_of(&files.crash_image(at, kind));
            assert_eq!(files_of(&image), once, "seed {seed}, {at}: {kind:?}");
        });
        assert_eq!(points, files.operations() + 1);
    }
}

#[test]
fn images_share_nothing_with_the_run() {
    let (files, file) = with_durable(b"abc");
    file.write_all_at(b"X", 0).unwrap();
    let image = crash(&files, CrashKind::Killed);
    image.open(Path::new("/f"), Access::Write).unwrap().write_all_at(b"Y", 0).unwrap();
    file.write_all_at(b"Z", 1).unwrap();
    assert_eq!(image.contents("/f").unwrap(), b"Ybc");
    assert_eq!(files.running().contents("/f").unwrap(), b"XZc");
    assert_eq!(files.crash_image(1, CrashKind::Killed).contents("/f").unwrap(), b"Xbc");
}

#[test]
fn a_long_run_over_a_large_file_is_walked_in_little_time() {
    let (files, file) = with_durable(&vec![7; 4 << 20]);
    for i in 0..3000_u64 {
        match i % 10 {
            9 => file.sync().unwrap(),
            _ => file.write_all_at(&[i as u8; 4096], i * 7919 % (4 << 20)).unwrap(),
        }
    }
    // Only images that alter bytes copy a file. The rest are free.
    let mut walk = files.walk();
    let mut images = 0;
    while walk.step() {
        for kind in [CrashKind::Killed, CrashKind::NothingUnsynced, CrashKind::LostNames] {
            images += walk.image(kind).files().len();
        }
    }
    assert_eq!(images, 3 * files.operations());
}
