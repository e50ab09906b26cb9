//! Driver software: buffer pool, receive queue and send queue of a kernel-bypass stack; NVMe queues; copy
//! engines, and the loops of a core that do the same; virtqueues.

pub mod cbdma;
pub mod copier;
pub mod core_mover;
pub mod dsa;
mod engine_queue;
pub mod header_slices;
pub mod mempool;
pub mod nvme;
pub mod offload_trace;
pub mod offloader;
pub mod queues;
pub mod rx;
pub mod tx;
pub mod virtqueue;
