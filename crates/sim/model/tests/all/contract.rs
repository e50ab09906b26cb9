//! The behaviour of every cache, every memory and every I/O path: one suite, run by each of them.

mod caches;
mod io_paths;
mod memories;
