//! Parquet files: rows are compared like those of JSONL, and all other columns are copied unchanged.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray,
    FixedLenByteArrayType, Int32Type, Int64Type,
};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::oracle::{self, Row, planted};
use crate::run::{Tool, words};
use testkit::random::Random;

const SCHEMA: &str = "message made_by_hand {
    REQUIRED BOOLEAN flag;
    OPTIONAL BYTE_ARRAY text (UTF8);
    OPTIONAL GROUP tags (LIST) { REPEATED GROUP list { OPTIONAL BYTE_ARRAY element (UTF8); } }
    REQUIRED INT64 id;
    OPTIONAL INT64 seen (TIMESTAMP(MICROS, true));
    REQUIRED FIXED_LEN_BYTE_ARRAY(5) price (DECIMAL(10, 2));
    OPTIONAL DOUBLE ratio;
    REQUIRED INT32 score (INTEGER(8, true));
}";

const GROUP_ROWS: usize = 37;

pub(crate) fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
    definition: Option<&[i16]>,
    repetition: Option<&[i16]>,
) {
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<T>().write_batch(values, definition, repetition).unwrap();
    column.close().unwrap();
}

/// Values of a column in which some rows are null, and the levels.
fn optional<V>(rows: &[Row], null: u64, value: impl Fn(&Row) -> V) -> (Vec<V>, Vec<i16>) {
    let there = |row: &Row| number(row) % null != 1;
    let values = rows.iter().filter(|row| there(row)).map(value).collect();
    (values, rows.iter().map(|row| i16::from(there(row))).collect())
}

fn number(row: &Row) -> u64 {
    row.id[1..].parse().unwrap()
}

pub(crate) fn write(path: &Path, rows: &[Row], compression: Compression) {
    let metadata = vec![
        KeyValue::new("origin".into(), "a test".to_string()),
        KeyValue::new("no value".into(), None),
    ];
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .set_key_value_metadata(Some(metadata))
        .build();
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let schema = Arc::new(parse_message_type(SCHEMA).unwrap());
    let mut writer =
        SerializedFileWriter::new(File::create(path).unwrap(), schema, Arc::new(properties))
            .unwrap();
    for rows in rows.chunks(GROUP_ROWS) {
        let mut group = writer.next_row_group().unwrap();
        let text = |text: &str| ByteArray::from(text);
        let flags: Vec<bool> = rows.iter().map(|row| row.score > 0).collect();
        column::<BoolType>(&mut group, &flags, None, None);
        let texts: Vec<ByteArray> = rows.iter().map(|row| text(&row.text())).collect();
        column::<ByteArrayType>(&mut group, &texts, Some(&vec![1; rows.len()]), None);
        // In turn: null, an empty list, a list of a null, lists of two and three.
        let (mut tags, mut definition, mut repetition) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            let levels: &[i16] = match number(row) % 5 {
                0 => &[0],
                1 => &[1],
                2 => &[2],
                3 => &[3, 3],
                _ => &[3, 2, 3],
            };
            definition.extend(levels);
            repetition.extend((0..levels.len()).map(|i| i16::from(i > 0)));
            let there = levels.iter().filter(|level| **level == 3);
            tags.extend(there.map(|_| text(&format!("tag {}", row.score))));
        }
        column::<ByteArrayType>(&mut group, &tags, Some(&definition), Some(&repetition));
        let ids: Vec<i64> = rows.iter().map(|row| number(row) as i64).collect();
        column::<Int64Type>(&mut group, &ids, None, None);
        let (seen, levels) = optional(rows, 3, |row| row.score << 40);
        column::<Int64Type>(&mut group, &seen, Some(&levels), None);
        let price = |row: &Row| FixedLenByteArray::from(row.score.to_be_bytes()[3..].to_vec());
        column::<FixedLenByteArrayType>(
            &mut group,
            &rows.iter().map(price).collect::<Vec<_>>(),
            None,
            None,
        );
        let (ratios, levels) = optional(rows, 4, |row| row.score as f64 / 3.0);
        column::<DoubleType>(&mut group, &ratios, Some(&levels), None);
        let scores: Vec<i32> = rows.iter().map(|row| row.score as i32).collect();
        column::<Int32Type>(&mut group, &scores, None, None);
        group.close().unwrap();
    }
    writer.close().unwrap();
}

fn open(path: &Path) -> SerializedFileReader<File> {
    SerializedFileReader::new(File::open(path).unwrap()).unwrap()
}

fn rows_of(path: &Path) -> Vec<String> {
    open(path).into_iter().map(|row| row.unwrap().to_string()).collect()
}

/// Checks that a copy has the schema, the metadata and the compression of its source.
fn check_alike(source: &Path, copy: &Path) {
    let (source, copy) = (open(source), open(copy));
    let [a, b] = [&source, &copy].map(|file| file.metadata().file_metadata());
    assert_eq!(a.schema_descr().root_schema(), b.schema_descr().root_schema());
    assert_eq!(a.key_value_metadata(), b.key_value_metadata());
    for (a, b) in
        source.metadata().row_group(0).columns().iter().zip(copy.metadata().row_group(0).columns())
    {
        assert_eq!(a.compression(), b.compression());
        assert_eq!(a.column_path(), b.column_path());
    }
}

#[test]
fn kept_rows_come_back_with_all_their_columns() {
    let zstd = Compression::ZSTD(ZstdLevel::try_new(3).unwrap());
    let compressions = [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        zstd,
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
    ];
    for (i, compression) in compressions.into_iter().enumerate() {
        let rows = planted(300, 31 + i as u64);
        let (first, second) = rows.split_at(120);
        let tool = Tool::new();
        write(&tool.path("in/a.parquet"), first, compression);
        write(&tool.path("in/more/b.parquet"), second, compression);
        let ran = tool.run(&[
            "dedup",
            "--parquet",
            "in",
            "--out",
            "out",
            "--removed",
            "gone",
            "--features",
            "tokens",
            "--min",
            "0.7",
            "--keep-by",
            "price",
            "--clusters",
            "c.parquet",
            "--json",
        ]);
        let summary = ran.with_status(0).json().remove(0);
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|i| (-rows[*i].score, *i));
        let removed: BTreeSet<usize> = oracle::strict(&rows, &order, 0.7).into_keys().collect();
        assert_eq!(summary["removed"], removed.len());
        assert!(removed.len() > 50);
        let names = ["a.parquet", "more/b.parquet"];
        let all = |folder: &str| -> Vec<String> {
            names.iter().flat_map(|name| rows_of(&tool.path(&format!("{folder}/{name}")))).collect()
        };
        let input = all("in");
        let expected = |want: bool| -> Vec<String> {
            (0..input.len())
                .filter(|i| removed.contains(i) == want)
                .map(|i| input[i].clone())
                .collect()
        };
        assert_eq!(all("out"), expected(false));
        assert_eq!(all("gone"), expected(true));
        for name in names {
            check_alike(&tool.path(&format!("in/{name}")), &tool.path(&format!("out/{name}")));
        }
        check_list(&tool, &removed);
    }
}

/// The list of groups has the columns of the contract.
fn check_list(tool: &Tool, removed: &BTreeSet<usize>) {
    let file = open(&tool.path("c.parquet"));
    let columns: Vec<String> = file
        .metadata()
        .file_metadata()
        .schema()
        .get_fields()
        .iter()
        .map(|f| f.name().to_string())
        .collect();
    let expected =
        ["key", "file", "row", "group", "representative", "resemblance", "low", "high", "kept"];
    assert_eq!(columns, expected);
    let gone: BTreeSet<usize> = rows_of(&tool.path("c.parquet"))
        .iter()
        .filter(|row| row.contains("kept: false"))
        .map(|row| row["{key: \"".len()..].split('"').next().unwrap().parse().unwrap())
        .collect();
    assert_eq!(gone, *removed);
}

#[test]
fn rows_that_cannot_be_judged_are_kept() {
    let tool = Tool::new();
    let schema = "message m { OPTIONAL BYTE_ARRAY text; REQUIRED INT32 other; }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let file = File::create(tool.path("d.parquet")).unwrap();
    let mut writer = SerializedFileWriter::new(file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let fine = words(1);
    let texts = [fine.as_bytes(), b"\xff\xfe", b"", fine.as_bytes()]
        .map(|text| ByteArray::from(text.to_vec()));
    column::<ByteArrayType>(&mut group, &texts, Some(&[1, 0, 1, 1, 1]), None);
    column::<Int32Type>(&mut group, &[1, 2, 3, 4, 5], None, None);
    group.close().unwrap();
    writer.close().unwrap();
    let run = |more: &[&str]| {
        tool.run(
            &[&["dedup", "--parquet", "d.parquet", "--out", "out", "--json"][..], more].concat(),
        )
    };
    let ran = run(&["--strict"]).with_status(3);
    assert_eq!(ran.err, "error: d.parquet, row 2, has a `text` that is null\n");
    assert_eq!(tool.names(), ["d.parquet"]);
    let ran = run(&[]).with_status(0);
    for message in [
        "row 2, has a `text` that is null",
        "row 3, has a `text` that is not UTF-8",
        "row 4, has no words in `text`",
    ] {
        assert!(
            ran.err.contains(&format!("warning: d.parquet, {message}; the row is kept\n")),
            "{}",
            ran.err
        );
    }
    let summary = &ran.json()[0];
    assert_eq!(
        ["rows", "kept", "removed", "groups", "unjudged"].map(|name| &summary[name]),
        [5, 4, 1, 1, 3]
    );
    assert_eq!(rows_of(&tool.path("out/d.parquet")).len(), 4);
    // A number is not a text.
    let ran = run(&["--text-field", "other", "--force"]).with_status(3);
    assert!(ran.err.contains("row 1, has an `other` that is a number, not a text"), "{}", ran.err);
    let ran = run(&["--text-field", "missing", "--force"]).with_status(3);
    assert!(ran.err.contains("row 1, has no text column `missing`"), "{}", ran.err);
}

#[test]
fn a_shard_with_other_columns_is_said_and_copied() {
    let tool = Tool::new();
    let rows = planted(40, 3);
    write(&tool.path("a.parquet"), &rows, Compression::SNAPPY);
    let schema =
        Arc::new(parse_message_type("message m { REQUIRED BYTE_ARRAY body (UTF8); }").unwrap());
    let mut writer = SerializedFileWriter::new(
        File::create(tool.path("b.parquet")).unwrap(),
        schema,
        Arc::default(),
    )
    .unwrap();
    let mut group = writer.next_row_group().unwrap();
    column::<ByteArrayType>(
        &mut group,
        &[ByteArray::from("text"), ByteArray::from("text")],
        None,
        None,
    );
    group.close().unwrap();
    writer.close().unwrap();
    let arguments = [
        "dedup",
        "--parquet",
        "a.parquet",
        "b.parquet",
        "--out",
        "out",
        "--features",
        "tokens",
        "--json",
    ];
    let ran = tool.run(&arguments).with_status(0);
    assert!(
        ran.err.contains("warning: b.parquet has other columns than a.parquet\n"),
        "{}",
        ran.err
    );
    assert_eq!(ran.json()[0]["unjudged"], 2);
    assert_eq!(rows_of(&tool.path("out/b.parquet")), rows_of(&tool.path("b.parquet")));
    let ran = tool.run(&[&arguments[..], &["--force", "--strict"]].concat()).with_status(3);
    assert_eq!(ran.err, "error: b.parquet has other columns than a.parquet\n");
}

#[test]
fn damaged_files_are_errors_and_never_panics() {
    let tool = Tool::new();
    let rows = planted(60, 4);
    write(&tool.path("whole.parquet"), &rows, Compression::SNAPPY);
    let whole = fs::read(tool.path("whole.parquet")).unwrap();
    let arguments = ["dedup", "--parquet", "d.parquet", "--out", "out", "--features", "tokens"];
    for length in [0, 3, 8, whole.len() / 2, whole.len() - 1] {
        tool.write("d.parquet", &whole[..length]);
        let ran = tool.run(&arguments).with_status(3);
        assert!(ran.err.starts_with("error: cannot read d.parquet: "), "{}", ran.err);
        assert_eq!(tool.names(), ["d.parquet", "whole.parquet"]);
    }
    let mut dice = Random(8);
    for _ in 0..60 {
        let mut damaged = whole.clone();
        for _ in 0..=dice.below(3) {
            let place = dice.below(damaged.len() as u64) as usize;
            damaged[place] ^= 1 << dice.below(8);
        }
        tool.write("d.parquet", &damaged);
        let ran = tool.run(&arguments);
        assert!(!ran.err.contains("panicked") && !ran.err.contains("has a bug"), "{}", ran.err);
        assert!(matches!(ran.status, Some(0 | 3)), "{:?} {}", ran.status, ran.err);
        assert_eq!(ran.status == Some(0), tool.path("out").exists());
        let _ = fs::remove_dir_all(tool.path("out"));
    }
}

/// Needs pyarrow and duckdb in `python3`, or in the interpreter that `RINGER_PYTHON` names.
#[test]
fn pyarrow_and_duckdb_read_equal_columns() {
    let python = std::env::var("RINGER_PYTHON").unwrap_or("python3".into());
    let has = Command::new(&python).args(["-c", "import pyarrow, duckdb"]).output();
    if !has.is_ok_and(|ran| ran.status.success()) {
        eprintln!("{python} has no pyarrow and duckdb: nothing was compared");
        return;
    }
    let tool = Tool::new();
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/tool/dataset/read_back.py");
    let mut command = Command::new(&python);
    command.args([script, env!("CARGO_BIN_EXE_ringer")]).current_dir(tool.folder.path());
    let ran = crate::run::ran(&command.output().unwrap()).with_status(0);
    assert!(ran.out.contains("equal"), "{}", ran.out);
}
