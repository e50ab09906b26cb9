//! The engine and the device: one program, one module per question.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]
#![expect(unsafe_code, reason = "memory whose pages have rights of their own")]
#![expect(clippy::cast_possible_truncation, reason = "random words are cut to what they are for")]

mod against_reference;
mod allocations;
mod arena;
mod batches;
mod event_log;
mod fuzzed;
mod golden;
mod injected_devices;
mod injection;
mod own_handlers;
mod queues;
mod random_inputs;
mod reference;
mod settings;
mod shared_queues;
mod sizes;
