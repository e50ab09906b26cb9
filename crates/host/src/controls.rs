//! What may be written on a machine, and the words for it: the room below `tune` and `slices`.
//!
//! | module | what it is |
//! | --- | --- |
//! | `target` | one control: where its value is, read and written |
//! | `allowed` | which controls may be written at all, and which are this machine's own |
//! | `port_switch` | the root ports that have the switch of DDIO |
//! | `slice_boxes` | the boxes that count look-ups at each slice: event and registers, as data |
//! | `ways` | a mask of ways in words |
//!
//! Nothing here decides to write: `tune` plans and journals changes, `slices` programs boxes.

mod allowed;
mod port_switch;
mod slice_boxes;
mod target;
mod ways;

pub use allowed::NotAllowed;
pub(crate) use allowed::is_of_this_machine;
pub(crate) use port_switch::has_switch;
pub use slice_boxes::{BoxRegisters, BoxUnit};
pub(crate) use slice_boxes::{COUNTER_BITS, SELECT_ENABLED};
pub use target::Target;
pub use ways::ways_in_words;
