//! What this crate's own tests, benches and fuzz targets see of the inside. No part of the interface: anything here may
//! change or go at any time. Exists with the feature `internals` only, so that a build without it shows dead code.

macro_rules! inside {
    ($($module:ident),+) => {
        $(pub mod $module {
            pub use crate::$module::*;
        })+
    };
}

inside!(care, format, index, ingest, kernel, store);

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
