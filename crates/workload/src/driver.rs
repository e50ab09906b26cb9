//! Driver software: buffer pool, receive queue and send queue of a kernel-bypass stack; NVMe queues.

pub mod cbdma;
pub mod dsa;
pub mod header_slices;
pub mod mempool;
pub mod nvme;
pub mod queues;
pub mod rx;
pub mod tx;
