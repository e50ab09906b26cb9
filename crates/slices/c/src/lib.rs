//! The C library `libskipline_slices`: slice look-ups, nearest slices and memory in chosen slices
//! for programs in other languages.
//!
//! The interface is `include/skipline_slices.h`, generated from these functions and kept beside
//! them; the man page is `skipline_slices.3`. This crate only converts: handles, negative errnos,
//! texts for people. No panic leaves the library, and it never prints.

mod boundary;
mod forks;
mod latencies;
mod lines;
mod lock;
mod memory;
mod memory_open;
mod objects;
mod owners;
mod physical_address;
mod slice_map;
mod spread;
