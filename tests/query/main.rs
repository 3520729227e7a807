//! Queries return what brute force returns, for every plan and wherever the rows are.

mod brute_force;
mod edges;
mod file_versions;
mod rare_paths;
mod real_text;
mod two_pass_scan;
mod while_writing;
