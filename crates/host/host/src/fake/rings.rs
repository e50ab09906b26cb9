//! Descriptor rings of a described machine's network interfaces.

use super::FakeMachine;
use crate::error::{FileError, Problem};
use crate::rings::{RingSizes, Rings};

impl RingSizes for FakeMachine {
    fn rings(&self, interface: &str) -> Result<Rings, FileError> {
        match self.description.rings.get(interface) {
            Some(&[rx, most_rx, tx, most_tx]) => Ok(Rings { rx, most_rx, tx, most_tx }),
            None => {
                let problem = Problem::Other("its driver does not report them".into());
                Err(FileError::new(format!("ethtool rings of {interface}"), problem))
            }
        }
    }
}
