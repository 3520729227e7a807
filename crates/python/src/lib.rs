//! The native part of the Python package `ringerdb`.
//!
//! In: calls of the Python modules beside it (`python/ringerdb`), which give arguments their names and defaults. Out:
//! Python objects. It uses the public interface of the library only, and runs the tool for `python -m ringerdb`.

mod columns;
mod conditions;
mod dedupe;
mod estimates;
mod failure;
mod maintenance;
mod signatures;
mod sketching;
mod store;
mod table;
mod view;
mod work;

use pyo3::prelude::*;

/// No part needs the GIL: classes are immutable, or lock what changes.
#[pymodule(gil_used = false)]
mod _core {
    use std::ffi::OsString;

    use pyo3::prelude::*;
    use pyo3::types::PyDict;

    #[pymodule_export]
    use crate::estimates::{Comparison, Estimate, Match};
    use crate::failure::Outcome;
    #[pymodule_export]
    use crate::signatures::Signatures;
    #[pymodule_export]
    use crate::sketching::Sketcher;
    #[pymodule_export]
    use crate::store::Store;
    #[pymodule_export]
    use crate::table::Table;
    #[pymodule_export]
    use crate::view::View;
    use crate::work::{Run, detached};

    /// Decides which rows of a column are kept.
    #[pyfunction]
    fn dedupe<'py>(
        py: Python<'py>,
        column: (Bound<'py, PyAny>, Bound<'py, PyAny>, Option<Bound<'py, PyAny>>),
        how: (f64, String, bool, String, usize),
        sketcher: &Sketcher,
        db: Option<&Store>,
        run: Run,
    ) -> Outcome<Bound<'py, PyDict>> {
        let (kind, data, keys) = column;
        let (min, keep, exact, linkage, memory) = how;
        let kind: String = kind.extract()?;
        let db = db.map(Store::writer).transpose()?;
        let how = (min, &*keep, exact, &*linkage, memory);
        crate::dedupe::run(py, &kind, &data, keys, how, &sketcher.sketcher, db, &run)
    }

    /// Panics, so that a test can see what becomes of it.
    #[pyfunction]
    #[pyo3(signature = (watched=false))]
    fn _panic(py: Python<'_>, watched: bool) -> Outcome<()> {
        match watched {
            true => crate::work::watched(py, &Run::default(), |_| panic!("asked for by a test")),
            false => detached(py, || panic!("asked for by a test")),
        }
    }

    /// Runs the command-line tool and returns its exit status. The arguments start with the program's name.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<OsString>) -> Outcome<u8> {
        detached(py, || Ok(ringer_cli::main_with(arguments)))
    }
}
