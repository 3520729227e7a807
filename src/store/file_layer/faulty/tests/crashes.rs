//! Tests which bytes a crash leaves.

use super::*;

#[test]
fn only_synced_bytes_survive_a_power_cut_and_all_survive_a_kill() {
    let (files, file) = with_durable(b"old");
    file.write_all_at(b"new", 0).unwrap();
    file.set_len(5).unwrap();
    assert_eq!(crash(&files, CrashKind::NothingUnsynced).contents("/f").unwrap(), b"old");
    assert_eq!(crash(&files, CrashKind::LostData).contents("/f").unwrap(), b"old");
    assert_eq!(crash(&files, CrashKind::Killed).contents("/f").unwrap(), b"new\0\0");
    file.sync().unwrap();
    file.write_all_at(b"N", 0).unwrap();
    assert_eq!(crash(&files, CrashKind::NothingUnsynced).contents("/f").unwrap(), b"new\0\0");
    let before = files.crash_image(0, CrashKind::Killed);
    assert_eq!(before.contents("/f").unwrap(), b"old");
    let middle = files.crash_image(1, CrashKind::Killed);
    assert_eq!(middle.contents("/f").unwrap(), b"new");
}

#[test]
fn a_sync_of_one_file_says_nothing_about_another() {
    let (files, first) = with_durable(b"a");
    let second = make(&files, "/g", b"b");
    sync_dir(&files, "/");
    first.write_all_at(b"A", 0).unwrap();
    second.sync().unwrap();
    let image = crash(&files, CrashKind::NothingUnsynced);
    assert_eq!(image.contents("/f").unwrap(), b"a");
    assert_eq!(image.contents("/g").unwrap(), b"b");
}

#[test]
fn one_write_can_be_lost_while_later_ones_arrive() {
    let (files, file) = with_durable(b"......");
    for (i, byte) in [b"a", b"b", b"c"].into_iter().enumerate() {
        file.write_all_at(byte, 2 * i as u64).unwrap();
    }
    let lost = |i| crash(&files, CrashKind::LostWrite(i)).contents("/f").unwrap();
    assert_eq!(lost(0), b"..b.c.");
    assert_eq!(lost(1), b"a...c.");
    assert_eq!(lost(2), b"a.b...");
    assert_eq!(lost(3), b"a.b.c.", "there is no such write");
    file.write_all_at(b"XY", 0).unwrap();
    assert_eq!(lost(0), b"XYb.c.", "a later write covers it");
    file.set_len(3).unwrap();
    assert_eq!(lost(4), b"XYb.c.");
}

#[test]
fn a_torn_write_ends_where_a_sector_of_the_file_ends() {
    let (files, file) = with_durable(&[0; 2048]);
    file.write_all_at(&[1; 1300], 500).unwrap();
    let kinds = files.images_at(1);
    for (sectors, end) in [(1, 512), (2, 1024), (3, 1536)] {
        let bytes = crash(&files, CrashKind::TornWrite(0, sectors)).contents("/f").unwrap();
        let expected: Vec<u8> = (0..2048).map(|i| u8::from(i >= 500 && i < end)).collect();
        assert_eq!(bytes, expected, "{sectors}");
        assert!(kinds.contains(&CrashKind::TornWrite(0, sectors)), "{kinds:?}");
    }
    let whole = crash(&files, CrashKind::TornWrite(0, 4)).contents("/f");
    assert_eq!(whole, files.running().contents("/f"));
    assert!(!kinds.contains(&CrashKind::TornWrite(0, 4)));
}

#[test]
fn garbage_stays_in_one_sector_and_in_the_write() {
    for offset in [0, 100, 511, 512, 700] {
        let (files, file) = with_durable(&[0; 4096]);
        for i in 0..20 {
            file.write_all_at(&[1; 900], offset + i).unwrap();
            file.sync().unwrap();
            file.write_all_at(&[1; 900], offset + i).unwrap();
            let good = files.running().contents("/f").unwrap();
            let bad = crash(&files, CrashKind::GarbageSector(0)).contents("/f").unwrap();
            assert_eq!(bad.len(), good.len());
            let wrong: Vec<usize> = (0..good.len()).filter(|&i| good[i] != bad[i]).collect();
            let (first, last) = (*wrong.first().unwrap(), *wrong.last().unwrap());
            assert_eq!(first / 512, last / 512);
            let written = (offset + i) as usize..(offset + i) as usize + 900;
            assert!(written.contains(&first) && written.contains(&last));
            file.sync().unwrap();
        }
    }
}

#[test]
fn a_file_can_grow_without_the_bytes_that_made_it_grow() {
    let (files, file) = with_durable(b"abc");
    file.write_all_at(b"XYZ", 2).unwrap();
    assert!(files.images_at(1).contains(&CrashKind::UnwrittenGrowth(0)));
    let bytes = crash(&files, CrashKind::UnwrittenGrowth(0)).contents("/f").unwrap();
    assert_eq!(bytes, b"abc\0\0");
    file.write_all_at(b"Q", 0).unwrap();
    assert!(!files.images_at(2).contains(&CrashKind::UnwrittenGrowth(1)));
}

#[test]
fn kinds_that_leave_the_same_disk_are_not_repeated() {
    let (files, file) = with_durable(b"abc");
    assert_eq!(files.images_at(0), [CrashKind::Killed]);
    file.write_all_at(b"X", 0).unwrap();
    let one = [CrashKind::Killed, CrashKind::NothingUnsynced, CrashKind::GarbageSector(0)];
    assert_eq!(files.images_at(1), one);
    file.sync().unwrap();
    assert_eq!(files.images_at(2), [CrashKind::Killed]);
    let new = make(&files, "/g", b"x");
    assert_eq!(files.images_at(3), [CrashKind::Killed, CrashKind::NothingUnsynced]);
    let kinds = files.images_at(4);
    assert!(kinds.contains(&CrashKind::LostNames) && kinds.contains(&CrashKind::LostData));
    sync_dir(&files, "/");
    new.sync().unwrap();
    files.remove_file(Path::new("/g")).unwrap();
    sync_dir(&files, "/");
    new.write_all_at(b"nobody will see this", 0).unwrap();
    assert_eq!(files.images_at(files.operations()), [CrashKind::Killed]);
}

#[test]
fn however_many_writes_are_open_the_crashes_of_a_point_are_few() {
    let (files, file) = with_durable(b"");
    for i in 0..1000 {
        file.write_all_at(&[1; 4096], i * 4096).unwrap();
    }
    let kinds = files.images_at(1000);
    assert!(kinds.len() <= 7 + 6 * 16, "{}", kinds.len());
    assert!(kinds.contains(&CrashKind::LostWrite(0)) && kinds.contains(&CrashKind::LostWrite(999)));
}

#[test]
fn a_failed_sync_is_not_made_good_by_a_second_one() {
    let (files, file) = with_durable(b"old");
    file.write_all_at(b"new", 0).unwrap();
    files.arm(Fault::after_syncs(0, Failure::Device));
    file.sync().unwrap_err();
    file.sync().unwrap();
    assert_eq!(crash(&files, CrashKind::NothingUnsynced).contents("/f").unwrap(), b"old");
    assert_eq!(crash(&files, CrashKind::Killed).contents("/f").unwrap(), b"new");
    assert!(files.images_at(files.operations()).contains(&CrashKind::NothingUnsynced));
    // Only what is written and synced after this is durable.
    file.write_all_at(b"N", 0).unwrap();
    file.sync().unwrap();
    file.sync().unwrap();
    assert_eq!(crash(&files, CrashKind::NothingUnsynced).contents("/f").unwrap(), b"Nld");
}

#[test]
fn all_writes_can_be_torn_at_once_and_each_can_have_its_own_fate() {
    let (files, file) = with_durable(&[0; 4096]);
    file.write_all_at(&[1; 1024], 0).unwrap();
    file.write_all_at(&[2; 1024], 2048).unwrap();
    let torn = crash(&files, CrashKind::EveryWriteTorn).contents("/f").unwrap();
    let expected = |i: usize| [1, 0, 0, 0, 2, 0, 0, 0][i / 512];
    assert!(torn.iter().enumerate().all(|(i, byte)| *byte == expected(i)));
    let mixed = |seed| crash(&files, CrashKind::Mixed(seed)).contents("/f").unwrap();
    let whole = [[1; 1024], [0; 1024], [2; 1024], [0; 1024]].concat();
    let all: Vec<Vec<u8>> = (0..100).map(mixed).collect();
    assert!(all.contains(&whole) && all.contains(&vec![0; 4096]));
    assert!(all.contains(&torn));
    assert!(files.images_at(2).contains(&CrashKind::Mixed(1)));
    assert!(!files.images_at(1).contains(&CrashKind::Mixed(1)), "one write has no mixture");
}
