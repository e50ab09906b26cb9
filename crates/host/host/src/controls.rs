//! The controls that may be written on a machine. `tune` and `slices` build on this module.
//!
//! | module | what it is |
//! | --- | --- |
//! | `target` | one control: its location, reading and writing |
//! | `allow_list` | the allow-list, and which of its controls this machine has |
//! | `dies` | packages whose dies have registers of their own |
//! | `port_switch` | the root ports that have the switch of DDIO |
//! | `server_check` | whether this is the server that a generation describes |
//! | `slice_boxes` | the boxes that count look-ups at each slice: event and registers, as data |
//! | `ways` | description of a mask of ways |
//!
//! Nothing here decides to write: `tune` plans and journals changes, `slices` programs boxes.

mod allow_list;
mod dies;
mod port_switch;
mod server_check;
mod slice_boxes;
mod target;
mod ways;

pub use allow_list::NotAllowedError;
pub(crate) use allow_list::{RestorableBits, restorable};
pub(crate) use dies::{check_one_die, check_slices_of_one_die};
pub(crate) use port_switch::{SwitchError, check_switch, has_listed_numbers, is_listed};
pub(crate) use server_check::check_server;
pub use slice_boxes::{BoxRegisters, BoxUnit};
pub(crate) use slice_boxes::{COUNTER_BITS, SELECT_ENABLED};
pub use target::ControlTarget;
pub use ways::describe_ways;
