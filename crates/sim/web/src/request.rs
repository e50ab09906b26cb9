//! The request of a page: a scenario with settings, and what to record of its run.

use scenario::{InputError, Job, RecordingRequest, Scenario, builtin, changed_text, job};
use serde::{Deserialize, Serialize};

/// A run that a page asks for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PageRequest {
    /// Path of the scenario; its name in messages if there is a text.
    pub file: String,
    /// The text of the scenario; absent if the file is read.
    #[serde(default)]
    pub text: Option<String>,
    /// Settings that replace keys, as `--set` has them.
    #[serde(default)]
    pub settings: Vec<(String, String)>,
    /// Seed of all random choices.
    pub seed: u64,
    /// Number of the packet whose trace is recorded.
    #[serde(default)]
    pub trace_packet: Option<u64>,
    /// Number of the descriptor whose phases are recorded.
    #[serde(default)]
    pub trace_descriptor: Option<u64>,
}

/// The refusal of a request, in words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RequestRefusal {
    /// The sentence for people.
    pub message: String,
    /// The key of the scenario that it is about, if it is about one.
    pub key: Option<String>,
}

impl From<InputError> for RequestRefusal {
    fn from(error: InputError) -> Self {
        Self { key: key_of(&error).map(String::from), message: error.to_string() }
    }
}

/// Full path of the key that an error is about, if it is about one.
fn key_of(error: &InputError) -> Option<&str> {
    match error {
        InputError::UnknownKey { key, .. }
        | InputError::WrongValue { key, .. }
        | InputError::OutOfRange { key, .. } => Some(key),
        InputError::UnknownPlatform { .. } => Some("platform"),
        InputError::Capture { .. } => Some("traffic.pcap"),
        InputError::DescriptorLog { .. } => Some("descriptor_replay.log"),
        _ => None,
    }
}

impl PageRequest {
    /// Reads a request.
    ///
    /// # Errors
    /// If the text is not one.
    pub fn read(text: &str) -> Result<Self, RequestRefusal> {
        serde_json::from_str(text).map_err(|error| RequestRefusal {
            message: format!("not a request: {error}"),
            key: None,
        })
    }

    /// Reads and checks scenario and platform.
    ///
    /// # Errors
    /// If any input is invalid.
    pub(crate) fn job(&self) -> Result<Job, RequestRefusal> {
        let job = match &self.text {
            Some(text) => self.job_of_text(text)?,
            None => job(&self.file, &self.settings, self.seed)?,
        };
        Ok(job)
    }

    /// As [`job`] does with a file, of which the text is known.
    fn job_of_text(&self, text: &str) -> Result<Job, InputError> {
        let scenario = Scenario::read(&self.file, text, &self.settings)?;
        let name = scenario.platform_name().to_string();
        let platform = builtin::platform_with(&self.file, &name, &scenario.platform_facts())?;
        Job::new(&self.file, scenario, platform, &name, self.seed)
    }

    /// The recordings besides metrics.
    pub(crate) fn recordings(&self) -> RecordingRequest {
        RecordingRequest {
            packet: self.trace_packet,
            descriptor: self.trace_descriptor,
            ..RecordingRequest::default()
        }
    }

    /// The scenario file with the settings in it.
    ///
    /// # Errors
    /// If the file cannot be read, is not TOML, or a setting cannot be placed in it.
    pub fn changed_text(&self) -> Result<String, RequestRefusal> {
        let text = match &self.text {
            Some(text) => text.clone(),
            None => builtin::read(&self.file)?,
        };
        Ok(changed_text(&self.file, &text, &self.settings)?)
    }
}
