//! The simulator as pages use it: requests and reports are JSON texts.
//!
//! [`ExplorerSession`] runs one scenario step by step: a page sends it a [`PageRequest`], and draws what each step
//! reports. [`facts`] are what a page shows beside a run: built-in files, keys with their ranges, metrics. In a
//! browser `bindings` gives both to JavaScript, where a worker calls them; `skipline explore` calls the same
//! functions from Python. So both have one engine, and a page cannot tell them apart but by their speed.

#[cfg(target_family = "wasm")]
#[allow(unsafe_code, reason = "the macro of wasm-bindgen expands to it")]
mod bindings;
pub mod facts;
mod report;
mod request;
mod session;

pub use request::{PageRequest, RequestRefusal};
pub use session::ExplorerSession;
