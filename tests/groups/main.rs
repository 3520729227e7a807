//! Pairs, clusters and triples are those of brute force.

mod clusters;
mod pair_options;
mod pairs;
mod triples;
