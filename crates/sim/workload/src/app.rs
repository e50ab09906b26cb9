//! Software of cores: packet applications with queues, memory kernels without.

pub mod block_io;
pub mod cache_probe;
pub mod cachelib;
pub mod chain;
pub mod descriptor_replay;
pub mod key_value;
pub mod l2_forward;
pub mod l3_forward;
pub mod memory_kernel;
pub mod message_passing;
pub mod nvme_tcp_target;
pub mod offload;
pub mod packet_generator;
pub mod packet_loop;
pub mod ping_pong;
pub mod prefetch;
pub mod vhost_switch;
pub mod work;
