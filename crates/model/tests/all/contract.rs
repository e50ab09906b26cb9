//! What every cache, every memory and every I/O path does: one suite, run by each of them.

mod caches;
mod io_paths;
mod memories;
