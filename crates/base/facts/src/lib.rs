//! Files of facts: machines, cards, SSDs, the components that they share, and the cost of software on
//! them.
//!
//! A fact is a value with its source and confidence; the unit is in the key. A file states only what is
//! specific to its subject and names the files that it `extends` for the rest. Reading order:
//! [`builtin`] (the embedded files), `file` (one file before inheritance), [`inherit`] (a file with all
//! that it inherits), `relation` (what an inherited fact means).

pub mod builtin;
mod error;
mod file;
pub mod inherit;
mod relation;

pub use error::FactsError;
pub use inherit::{Resolved, resolve};

/// Kind of thing that a file describes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A machine.
    Platform,
    /// A network card.
    Nic,
    /// An SSD.
    Ssd,
}

impl Kind {
    /// The folder of files of this kind that are referred to by name.
    #[must_use]
    pub fn folder(self) -> &'static str {
        match self {
            Self::Platform => "platforms",
            Self::Nic => "devices/nic",
            Self::Ssd => "devices/ssd",
        }
    }

    /// The path that a name stands for. Components of cards and SSDs share a folder; `software/NAME` is
    /// the software of this kind.
    #[must_use]
    pub fn path_of(self, name: &str) -> String {
        if let (Some(folder), Some(name)) = (self.software_folder(), name.strip_prefix("software/"))
        {
            return format!("{folder}/{name}.toml");
        }
        let folder = match self {
            Self::Nic | Self::Ssd if name.starts_with("parts/") => "devices",
            _ => self.folder(),
        };
        format!("{folder}/{name}.toml")
    }

    /// The folder with the costs of the software that a subject of this kind runs.
    #[must_use]
    pub fn software_folder(self) -> Option<&'static str> {
        match self {
            Self::Platform => Some("software/packets"),
            Self::Ssd => Some("software/blocks"),
            Self::Nic => None,
        }
    }
}
