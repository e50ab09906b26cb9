//! Driver software of a kernel-bypass stack: buffer pool, receive queue, send queue.

pub mod mempool;
pub mod rx;
pub mod tx;
