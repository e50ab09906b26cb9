//! Bodies of the fuzz targets: each takes any bytes, and panics only where the tool is wrong. The
//! ordinary test replays the kept corpus through them, and `fuzz/` leads them by coverage.
//!
//! | module | what reads the bytes |
//! | --- | --- |
//! | `texts` | every parser of text or JSON, alone |
//! | `config_space` | the capabilities and the link of a PCI function |
//! | `tree` | everything that reads a machine, some of whose files hold the bytes |
//! | `answers` | plans, changes and restores on a machine whose registers and files answer as the bytes say |
//! | `journals` | restores from a journal that the bytes describe |

#[path = "readers/answers.rs"]
pub mod answers;
#[path = "readers/config_space.rs"]
pub mod config_space;
#[path = "readers/input.rs"]
mod input;
#[path = "readers/journals.rs"]
pub mod journals;
#[path = "readers/machine.rs"]
mod machine;
#[path = "readers/texts.rs"]
pub mod texts;
#[path = "readers/tree.rs"]
pub mod tree;

/// A function that reads any bytes.
type Body = fn(&[u8]);

/// The targets by name.
pub const TARGETS: [(&str, Body); 5] = [
    ("texts", texts::read),
    ("config_space", config_space::read),
    ("tree", tree::read),
    ("answers", answers::read),
    ("journals", journals::read),
];
