//! The options with which a client is opened, and the path that an operation takes.

use crate::error::Error;
use crate::portal::SubmissionMethod;
use crate::queues;
use crate::thresholds::Thresholds;
use crate::wait::WaitMethod;
use std::path::PathBuf;

/// Where an operation is executed: on a device, or on the CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Path {
    /// On a device from the threshold on, unless the ranges overlap; else on the CPU.
    #[default]
    Automatic,
    /// On a device, whatever the size; the operation fails if no open queue takes it. A piece at which
    /// the device fails is executed by the CPU all the same.
    Device,
    /// On the CPU.
    Cpu,
}

/// Options with which a client is opened.
#[derive(Clone, Debug)]
pub struct Options {
    /// Names of queues. Default: `None`, all queues that can be opened.
    pub queues: Option<Vec<String>>,
    /// Directory of devices and queues in sysfs. Default: [`queues::SYSFS`].
    pub sysfs: PathBuf,
    /// Directory of the files of queues. Default: [`queues::DEVICES`].
    pub devices: PathBuf,
    /// How descriptors are submitted.
    pub submission: SubmissionMethod,
    /// Sizes from which on a device is used. Default: published ones.
    pub thresholds: Thresholds,
    /// How threads wait for the end of an operation.
    pub wait: WaitMethod,
    /// How often a full queue is tried again, before the operation waits or goes to the CPU.
    /// Default: 16.
    pub retries: u32,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            queues: None,
            sysfs: PathBuf::from(queues::SYSFS),
            devices: PathBuf::from(queues::DEVICES),
            submission: SubmissionMethod::default(),
            thresholds: Thresholds::default(),
            wait: WaitMethod::default(),
            retries: 16,
        }
    }
}

impl Options {
    /// These options, with those that the environment sets in their place: `SKIPLINE_DSA_QUEUES` (names
    /// with commas between them) and `SKIPLINE_DSA_THRESHOLDS` (a file).
    ///
    /// # Errors
    /// [`Error::Thresholds`] if the file of thresholds cannot be read or is wrong.
    pub fn with_environment(mut self) -> Result<Self, Error> {
        if let Ok(names) = std::env::var("SKIPLINE_DSA_QUEUES") {
            let names = names.split(',').map(str::trim).filter(|name| !name.is_empty());
            self.queues = Some(names.map(str::to_owned).collect());
        }
        if let Some(file) = std::env::var_os("SKIPLINE_DSA_THRESHOLDS") {
            self.thresholds = Thresholds::read(file.as_ref())?;
        }
        Ok(self)
    }
}
