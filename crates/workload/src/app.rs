//! Packet applications: what a core does with the packets of its queue.

pub mod l2_forward;
