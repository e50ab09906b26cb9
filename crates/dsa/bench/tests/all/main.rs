//! Does one command line ask devices, CPUs and models alike, and does the model answer as was measured?

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod command_lines;
mod cpu;
mod figures;
mod kept_figures;
mod meanings;
mod measurements;
mod refusals;
