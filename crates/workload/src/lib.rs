//! What drives the machine: traffic on the wire, driver software, packet applications.
//!
//! Reading order: [`traffic`] (what arrives), [`host_memory`] (where things lie), [`driver`]
//! (buffer pool and queues), [`app`] (what a core does with a packet).

pub mod app;
pub mod control;
pub mod driver;
pub mod host_kernel;
pub mod host_memory;
pub mod slice_memory;
pub mod trace;
pub mod traffic;
