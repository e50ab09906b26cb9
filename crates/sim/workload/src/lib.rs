//! Inputs of the machine: traffic on the wire, driver software, packet applications.
//!
//! Reading order: [`traffic`] (arrivals), [`host_memory`] (allocation of memory), [`driver`] (buffer
//! pool and queues), [`app`] (a core's work on a packet).

pub mod app;
pub mod control;
pub mod descriptor_log;
pub mod driver;
pub mod host_kernel;
pub mod host_memory;
mod shuffle;
pub mod slice_memory;
pub mod trace;
pub mod traffic;
