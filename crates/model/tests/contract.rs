//! What every cache, every memory and every I/O path does: one suite, run by each of them.

#[path = "contract/caches.rs"]
mod caches;
#[path = "contract/io_paths.rs"]
mod io_paths;
#[path = "contract/memories.rs"]
mod memories;
mod small_fabric;
