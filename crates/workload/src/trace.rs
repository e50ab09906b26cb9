//! Address traces: the memory references of a program, replayed through a machine.
//!
//! Models: fetches, loads and stores of one program in its order, with address and size.
//! Source: none needed; the crate `recordings` reads traces from files and names their formats.
//! Simplifies: there is no time between references; where a format has no size, a reference is
//! one byte.
//!
//! A [`Batch`] of [`Reference`]s comes from a file, an array or a definition ([`StandardTrace`]).
//! [`Replay`] takes it through a whole machine with a clock, [`UntimedReplay`] through levels that
//! need none. [`AddressWindow`] places 64-bit addresses where the caches can hold them.

mod address_window;
mod batch;
mod reference;
mod replay;
mod standard;
mod untimed;

pub use self::address_window::{AddressWindow, AddressWindowFull};
pub use self::batch::{BLOCK_LOADS, BLOCK_REFERENCES, Batch};
pub use self::reference::{Reference, ReferenceKind};
pub use self::replay::{Counts, Replay, ServedBy, Shadows, Tally};
pub use self::standard::{STANDARD_LOADS, StandardTrace};
pub use self::untimed::UntimedReplay;
