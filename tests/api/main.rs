//! What goes in comes out: the public interface of a database, used by one thread and by many.

mod comparisons;
mod database;
mod hot_tiers;
mod interface;
mod kept_sets;
mod key_histories;
mod many_keys;
mod measures;
mod messages;
mod model;
mod odd_sets;
mod past_defects;
mod threads;
