//! Private modules, for this crate's own tests, benches and fuzz targets.
//!
//! This is not part of the public interface and may change at any time. It exists only with the feature `internals`, so
//! that a build without the feature reports dead code.

macro_rules! inside {
    ($($module:ident),+) => {
        $(pub mod $module {
            pub use crate::$module::*;
        })+
    };
}

inside!(format, index, ingest, kernel, maintenance, store);

pub mod estimate {
    pub use crate::estimate::pair::Sampling;
    pub use crate::estimate::*;

    macro_rules! inside {
        ($($module:ident),+) => {
            $(pub mod $module {
                pub use crate::estimate::$module::*;
            })+
        };
    }

    inside!(chance, dependence, half_bit, law, many, measures, pair, recall, returned, small_sets);
}
