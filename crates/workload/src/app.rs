//! What cores do: packet applications with their queue, memory kernels without one.

pub mod block_io;
pub mod l2_forward;
pub mod memory_kernel;
pub mod ping_pong;
