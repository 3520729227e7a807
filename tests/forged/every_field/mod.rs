//! Forged files: every number of every record and page is set to values that no writer produces, with correct
//! checksums.
//!
//! In: small databases with all kinds of pages, and one that a killed writer left. Out: for each change and every
//! operation, the answers of a file that a check calls undamaged, or a typed error. There is never a panic, never
//! more than 64 MiB in use, and no name is touched outside the database. The bytes read are at most a few times the
//! file size, which bounds the time without a clock.
//!
//! A quick run makes one change in 809, a full run all of them.

mod log;

use std::collections::BTreeSet;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use testkit::scale::cases;

use testkit::allocations::capped_call;
use testkit::attacks::database::{self, Work};
use testkit::attacks::seeds;
use testkit::forged::images::Base;

/// One change in this many is made.
pub(crate) fn one_in() -> usize {
    cases(1613, 1)
}

/// Golden files that have what the seeds lack: no rows at all, lists over several pages, and values.
const GOLDEN: [&str; 3] = ["empty", "lists", "values"];

fn bases() -> Vec<Base> {
    let golden = GOLDEN.iter().map(|name| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("format-spec/golden");
        (*name, fs::read(folder.join(format!("{name}.ringer"))).expect("a golden file"))
    });
    let seeds = seeds::CLOSED.iter().map(|(name, bytes)| (*name, bytes.to_vec()));
    seeds.chain(golden).map(|(name, bytes)| Base::new(name, bytes)).collect()
}

/// Runs a check for each case, and reports the cases that failed.
pub(crate) fn all_hold<T>(
    cases: impl Iterator<Item = T>,
    label: impl Fn(&T) -> String,
    mut run: impl FnMut(&T),
) -> usize {
    let (mut failed, mut count) = (Vec::new(), 0);
    for case in cases {
        count += 1;
        if catch_unwind(AssertUnwindSafe(|| capped_call(|| run(&case)))).is_err() {
            failed.push(label(&case));
        }
    }
    assert!(failed.is_empty(), "{} of {count}: {failed:#?}", failed.len());
    count
}

#[test]
fn every_forged_number_of_a_closed_file() {
    let one_in = one_in();
    for base in bases() {
        let images = base.images();
        let (mut most, mut whole) = (Work::default(), 0);
        let chosen = images.iter().step_by(one_in);
        let count = all_hold(
            chosen,
            |image| base.label(image),
            |image| {
                let bytes = base.forged(image);
                let work = database::whole(&bytes, true, &image.value.to_le_bytes());
                whole += usize::from(work.clean);
                most.read = most.read.max(work.read);
                most.repair = most.repair.max(work.repair);
                most.written = most.written.max(work.written);
            },
        );
        let Base { name, fields, .. } = &base;
        println!(
            "{name}: {count} of {} images, {} fields; {whole} without findings; the file was read {} \
             times by readers, {} by a repair, {} by a writer, at most",
            images.len(),
            fields.len(),
            most.read,
            most.repair,
            most.written
        );
    }
}

/// The fields are exactly those of the tables in the specification.
#[test]
fn no_field_is_forgotten() {
    let mut seen: BTreeSet<(&str, String)> = BTreeSet::new();
    let unclean = Base::new("unclean", seeds::UNCLEAN.to_vec());
    for base in bases().iter().chain([&unclean]) {
        seen.extend(base.fields.iter().map(|field| (field.table, field.name.clone())));
    }
    seen.extend(log::fields().into_iter().map(|field| (field.table, field.name)));
    for (spec, table) in testkit::forged::fields::TABLES {
        for (name, ..) in testkit::spec_tables::offsets(spec, table) {
            assert!(seen.contains(&(table, name.clone())), "{table}: {name}");
        }
    }
    let in_words = [
        "Signatures",
        "Tombstones",
        "Duplicates",
        "Duplicates directory",
        "Posting directory",
        "Short postings",
        "Sets",
        "Sets directory",
        "Values",
        "Values directory",
        "Commit payload",
    ];
    for table in in_words {
        assert!(seen.iter().any(|(other, _)| *other == table), "{table}");
    }
}
