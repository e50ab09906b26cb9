//! The functions of this crate as JavaScript calls them, and files that a page gives to the simulator.

use crate::{ExplorerSession, facts};
use inputs::memory_files;
use std::cell::RefCell;
use wasm_bindgen::prelude::wasm_bindgen;

thread_local! {
    static PANIC: RefCell<String> = const { RefCell::new(String::new()) };
}

/// Prepares the module: the message of a panic, which is a bug of ours, is kept for [`panic_message`].
#[wasm_bindgen(start)]
fn prepare() {
    std::panic::set_hook(Box::new(|info| PANIC.with_borrow_mut(|kept| *kept = info.to_string())));
}

/// The message of the panic that ended a call; empty if there was none.
#[wasm_bindgen]
pub fn panic_message() -> String {
    PANIC.with_borrow(Clone::clone)
}

/// A place for one run at a time.
#[wasm_bindgen]
#[derive(Default)]
pub struct BrowserEngine {
    session: ExplorerSession,
}

#[wasm_bindgen]
impl BrowserEngine {
    /// A place without a run.
    #[wasm_bindgen(constructor)]
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// See [`ExplorerSession::start`].
    pub fn start(&mut self, request: &str) -> String {
        self.session.start(request)
    }

    /// See [`ExplorerSession::advance`].
    pub fn advance(&mut self, budget_ms: f64) -> String {
        self.session.advance(budget_ms)
    }

    /// See [`ExplorerSession::stop`].
    pub fn stop(&mut self) {
        self.session.stop();
    }
}

/// Gives a file to the simulator: scenarios name it as if it lay beside them.
#[wasm_bindgen]
pub fn put_file(name: &str, content: Vec<u8>) {
    memory_files::put(name, content);
}

/// Takes a file back.
#[wasm_bindgen]
pub fn remove_file(name: &str) {
    memory_files::remove(name);
}

/// Calls a function of [`facts`] by its name; `None` if it has no answer.
#[wasm_bindgen]
pub fn fact(name: &str, argument: &str) -> Option<String> {
    facts::by_name(name, argument)
}
