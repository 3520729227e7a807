//! Estimates, intervals, probabilities and recall are as stated, over many seeds and on real sets.

mod dense_sets;
mod every_bin_sampler;
mod joint_sizes;
mod lazy_sampler;
mod likelihood;
mod many_sets;
mod real_recall;
mod recall;
mod sign_projection;
mod trust;
mod two_sets;
mod weighted_sampler;
