//! Devices: what moves lines from the other side of a PCIe link.

pub mod nic;
pub mod nvme;
pub mod queues;
