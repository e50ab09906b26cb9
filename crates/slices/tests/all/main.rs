//! Recovery and allocation on emulated machines: one program, one module per question.

mod allocator;
mod emulated;
mod recovery;
mod refusals;
mod slice_memory;
