//! Numbers of machines, devices and software, each with its source.

pub(crate) mod by_name;
pub(crate) mod named_devices;
pub mod platform;
mod processor_names;
pub(crate) mod schema;
pub(crate) mod software;
