//! Recovery and allocation on emulated machines: one program, one module per question.

#![expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "machines of the tests are small"
)]

mod allocator;
mod comparison;
mod emulated;
mod growth;
mod oracles;
mod published;
mod recovery;
mod refusals;
mod set_index;
mod slice_memory;
mod spread_pool;
