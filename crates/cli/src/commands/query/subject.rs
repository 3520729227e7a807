//! What a query searches for: a stored key, a file or a document.
//!
//! In: names and contents. Out: a set or, for weighted measures, a signature.

use std::io;
use std::path::{Path, PathBuf};

use ringer::scheme::Measure;
use ringer::{Error, Like, Signature, Sketcher};
use serde_json::Value;

use crate::exit::Failure;
use crate::input::{Content, Worker};
use crate::problems::Problem;
use crate::show;

/// A file to search for. Standard input is copied, because it may be read twice.
pub(super) struct Readable {
    named: PathBuf,
    copy: Option<tempfile::NamedTempFile>,
}

impl Readable {
    pub(super) fn new(named: &Path) -> Result<Readable, Failure> {
        let failed = |error: io::Error| Failure::Io(format!("cannot read standard input: {error}"));
        let mut copy = None;
        if named == Path::new("-") {
            let mut file = tempfile::NamedTempFile::new().map_err(failed)?;
            io::copy(&mut io::stdin().lock(), &mut file).map_err(failed)?;
            copy = Some(file);
        }
        Ok(Readable { named: named.into(), copy })
    }

    pub(super) fn path(&self) -> &Path {
        self.copy.as_ref().map_or(&*self.named, |copy| copy.path())
    }

    pub(super) fn name(&self) -> Value {
        show::json_key(self.named.as_os_str().as_encoded_bytes())
    }
}

/// What to search for, kept while the query runs.
pub(super) enum QuerySubject<'a> {
    Key(&'a [u8]),
    Set(Vec<u64>),
    Signature(Signature),
}

impl<'a> QuerySubject<'a> {
    /// The set of a file or, for weighted measures, its signature. `None` after an interrupt.
    pub(super) fn of_file(
        path: &Path,
        worker: &mut Worker<'_>,
        sketcher: &Sketcher,
    ) -> Result<Option<QuerySubject<'a>>, Problem> {
        match sketcher.scheme().measure {
            Measure::Jaccard => Ok(worker.set_of_file(path)?.map(QuerySubject::Set)),
            _ => Ok(worker.of_file(path)?.map(QuerySubject::Signature)),
        }
    }

    /// The set of a document or, for weighted measures, its signature.
    pub(super) fn of(
        content: &Content<'_>,
        worker: &mut Worker<'_>,
        sketcher: &Sketcher,
    ) -> Result<QuerySubject<'a>, Error> {
        match sketcher.scheme().measure {
            Measure::Jaccard => worker.set_of_content(content).map(QuerySubject::Set),
            _ => worker.of_content(content).map(QuerySubject::Signature),
        }
    }

    pub(super) fn like(&self) -> Like<'_> {
        match self {
            QuerySubject::Key(key) => Like::Key(key),
            QuerySubject::Set(set) => Like::Features(set),
            QuerySubject::Signature(signature) => Like::Signature(signature),
        }
    }
}
