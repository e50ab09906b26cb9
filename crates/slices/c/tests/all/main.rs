//! The library as C programs see it: one program, one module per question.

mod c_programs;
mod header;
mod programs;
mod sanitizers;
