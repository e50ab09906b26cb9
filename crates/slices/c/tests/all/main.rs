//! The library as C programs see it: one program, one module per question.

mod programs;
mod sanitizers;
mod short_of_memory;
