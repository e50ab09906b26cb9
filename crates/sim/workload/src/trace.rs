//! Address traces: the memory references of a program, replayed through a machine.
//!
//! It holds the fetches, loads and stores of one program in order, with address and size. There is no
//! time between references; if a format has no size, a reference is one byte. The crate `recordings`
//! reads traces from files and names their formats.
//!
//! References come from a file, an array or a definition ([`StandardTrace`]), block by block.
//! [`Replay`] runs it on a whole machine with a clock, [`UntimedReplay`] on levels without time.
//! [`AddressWindow`] maps 64-bit addresses to line numbers that the caches can hold.

mod address_window;
mod replay;
mod standard;
mod untimed;

pub use self::address_window::{AddressWindow, AddressWindowFull};
pub use self::replay::{Counts, Replay, ServedBy, Shadows, Tally};
pub use self::standard::{STANDARD_LOADS, StandardTrace};
pub use self::untimed::UntimedReplay;
