//! The public interface of a database, used by one thread and by many: what is stored can be read back.

mod comparisons;
mod database;
mod foreign_schemes;
mod interface;
mod kept_sets;
mod key_histories;
mod log_kinds;
mod many_keys;
mod measures;
mod messages;
mod model;
mod odd_sets;
mod past_defects;
mod readers;
mod reindex;
mod threads;
#[cfg(feature = "tracing")]
mod tracing;
mod values;
