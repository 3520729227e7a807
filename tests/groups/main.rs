//! Pairs, clusters and triples equal those of brute force.

mod clusters;
mod pair_options;
mod pairs;
mod triples;
