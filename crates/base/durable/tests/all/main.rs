//! Is a file whole after a crash, and does no other user choose which file that is?

#![cfg(target_os = "linux")]

mod crashes;
mod journals;
mod links;
mod locks;
mod outputs;
mod shared_directory;
