//! Compressed input and output: gzip and Zstandard.
//!
//! Input is recognised by its first bytes, whatever its name is. The extension of an output file chooses its compression.
//! Zstandard is decompressed in Rust. Compressing it needs the C library, which the feature `parquet` provides.

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;
use flate2::write::GzEncoder;
use ruzstd::decoding::errors::{FrameDecoderError, ReadFrameHeaderError};
use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// Skippable frames have the magic numbers 184D2A50 to 184D2A5F.
const ZSTD_SKIPPABLE: [u8; 3] = [0x2a, 0x4d, 0x18];

const BUFFER_BYTES: usize = 1 << 18;

/// How a file is compressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    None,
    Gzip,
    Zstd,
}

impl Compression {
    /// The compression that a file extension stands for.
    pub(crate) fn of_name(path: &Path) -> Compression {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => Compression::Gzip,
            Some("zst") => Compression::Zstd,
            _ => Compression::None,
        }
    }

    /// Whether this build can write it.
    pub(crate) fn can_be_written(self) -> bool {
        self != Compression::Zstd || cfg!(feature = "parquet")
    }
}

/// Input, decompressed if it is compressed.
pub(crate) fn decompressed(input: impl Read + Send + 'static) -> io::Result<Box<dyn Read + Send>> {
    Ok(recognised(input)?.0)
}

/// Input, decompressed if it is compressed, and whether it is.
pub(crate) fn recognised(
    mut input: impl Read + Send + 'static,
) -> io::Result<(Box<dyn Read + Send>, bool)> {
    // Read byte by byte, and stop as soon as the bytes show that the input is not compressed. A pipe may have only one byte
    // so far, and its writer may be waiting for an answer.
    let mut start = Vec::with_capacity(ZSTD.len());
    let could_be = |start: &[u8]| {
        ZSTD.starts_with(start) || GZIP.starts_with(&start[..start.len().min(GZIP.len())])
    };
    while start.len() < ZSTD.len() && (start.is_empty() || could_be(&start) || skippable(&start)) {
        let mut byte = [0];
        match input.read(&mut byte) {
            Ok(0) => break,
            Ok(_) => start.push(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    let (gzip, zstd) =
        (start.starts_with(&GZIP), start == ZSTD || (skippable(&start) && start.len() == 4));
    let input = io::Cursor::new(start).chain(input);
    let decoder: Box<dyn Read + Send> = match (gzip, zstd) {
        (true, _) => Box::new(MultiGzDecoder::new(BufReader::with_capacity(BUFFER_BYTES, input))),
        (_, true) => Box::new(Zstd::new(BufReader::with_capacity(BUFFER_BYTES, input))),
        _ => Box::new(input),
    };
    Ok((decoder, gzip || zstd))
}

/// The kind of a file that is neither text nor compressed in a way that is read here. `None` if its first bytes do not tell.
pub(crate) fn kind_of(start: &[u8]) -> Option<&'static str> {
    const KINDS: &[(&[u8], &str)] = &[
        (b"\xfd7zXZ\0", "xz-compressed"),
        (b"BZh", "bzip2-compressed"),
        (b"\x04\x22\x4d\x18", "lz4-compressed"),
        (b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive"),
        (b"PK\x03\x04", "a ZIP archive"),
        (b"%PDF-", "a PDF document"),
        (b"PAR1", "a Parquet file"),
        (b"SQLite format 3\0", "an SQLite database"),
        (b"RINGER\x1a\n", "a Ringer database"),
        (b"\x7fELF", "a program"),
        (b"\x89PNG", "a PNG image"),
        (b"\xff\xd8\xff", "a JPEG image"),
    ];
    // Text may start with these letters, too.
    let sure = |magic: &[u8]| magic != b"BZh" || start.get(4..10) == Some(b"1AY&SY".as_slice());
    KINDS.iter().find(|(magic, _)| start.starts_with(magic) && sure(magic)).map(|(_, kind)| *kind)
}

/// What to do with a file of this kind.
pub(crate) fn advice(kind: &str) -> Option<&'static str> {
    match kind {
        "a Parquet file" => Some("name it with --parquet"),
        kind if kind.ends_with("compressed") => {
            Some("decompress it first, or compress it with gzip or Zstandard")
        }
        _ => None,
    }
}

/// Whether these bytes may start a skippable frame.
fn skippable(start: &[u8]) -> bool {
    start.first().is_some_and(|first| first & 0xf0 == 0x50)
        && start[1..].iter().zip(ZSTD_SKIPPABLE).all(|(a, b)| *a == b)
}

/// Decompresses all Zstandard frames of the input, one after the other, and verifies their checksums.
struct Zstd<R: BufRead> {
    source: R,
    decoder: FrameDecoder,
    in_frame: bool,
}

impl<R: BufRead> Zstd<R> {
    fn new(source: R) -> Zstd<R> {
        Zstd { source, decoder: FrameDecoder::new(), in_frame: false }
    }

    /// Starts the next frame. `false` at the end of the input.
    fn next_frame(&mut self) -> io::Result<bool> {
        while !self.source.fill_buf()?.is_empty() {
            match self.decoder.init(&mut self.source) {
                Ok(()) => {
                    self.in_frame = true;
                    return Ok(true);
                }
                Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                    length,
                    ..
                })) => {
                    io::copy(&mut (&mut self.source).take(u64::from(length)), &mut io::sink())?;
                }
                Err(_) => return Err(invalid("a frame header cannot be read")),
            }
        }
        Ok(false)
    }

    fn check(&self) -> io::Result<()> {
        match (self.decoder.get_checksum_from_data(), self.decoder.get_calculated_checksum()) {
            (Some(stored), Some(found)) if stored != found => {
                Err(invalid("the checksum does not match"))
            }
            _ => Ok(()),
        }
    }
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("damaged Zstandard data: {what}"))
}

impl<R: BufRead> Read for Zstd<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        while self.in_frame || self.next_frame()? {
            let read = self.decoder.read(buffer)?;
            if read > 0 {
                return Ok(read);
            }
            if self.decoder.is_finished() {
                self.check()?;
                self.in_frame = false;
            } else {
                let some = BlockDecodingStrategy::UptoBytes(BUFFER_BYTES);
                self.decoder
                    .decode_blocks(&mut self.source, some)
                    .map_err(|_| invalid("a block cannot be decoded"))?;
            }
        }
        Ok(0)
    }
}

/// A new file that compresses everything written to it.
pub(crate) enum Compressed {
    None(BufWriter<File>),
    Gzip(GzEncoder<BufWriter<File>>),
    #[cfg(feature = "parquet")]
    Zstd(zstd::Encoder<'static, BufWriter<File>>),
}

impl Compressed {
    pub(crate) fn new(file: File, compression: Compression) -> io::Result<Compressed> {
        let file = BufWriter::with_capacity(BUFFER_BYTES, file);
        match compression {
            Compression::None => Ok(Compressed::None(file)),
            Compression::Gzip => {
                Ok(Compressed::Gzip(GzEncoder::new(file, flate2::Compression::default())))
            }
            #[cfg(feature = "parquet")]
            Compression::Zstd => {
                let mut encoder = zstd::Encoder::new(file, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                encoder.include_checksum(true)?;
                Ok(Compressed::Zstd(encoder))
            }
            #[cfg(not(feature = "parquet"))]
            Compression::Zstd => Err(io::ErrorKind::Unsupported.into()),
        }
    }

    /// Finishes the compressed stream and syncs the file.
    pub(crate) fn finish(self) -> io::Result<()> {
        let file = match self {
            Compressed::None(file) => file,
            Compressed::Gzip(encoder) => encoder.finish()?,
            #[cfg(feature = "parquet")]
            Compressed::Zstd(encoder) => encoder.finish()?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()
    }
}

impl Write for Compressed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Compressed::None(file) => file.write(bytes),
            Compressed::Gzip(encoder) => encoder.write(bytes),
            #[cfg(feature = "parquet")]
            Compressed::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Compressed::None(file) => file.flush(),
            Compressed::Gzip(encoder) => encoder.flush(),
            #[cfg(feature = "parquet")]
            Compressed::Zstd(encoder) => encoder.flush(),
        }
    }
}
