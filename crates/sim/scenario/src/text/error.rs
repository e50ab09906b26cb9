//! Errors in user input, with the text to correct them.

use facts::FactsError;
use std::path::PathBuf;

/// Bad input. The text names file, key, value, what is allowed, and how to correct it.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A file that cannot be read.
    #[error("{}: cannot be read: {reason}{hint}", file.display())]
    Unreadable {
        /// Which file.
        file: PathBuf,
        /// The message of the system.
        reason: String,
        /// How to correct it, after a semicolon; empty if there is no hint.
        hint: String,
    },
    /// A file that is not TOML.
    #[error("{file}: not valid TOML: {reason}")]
    Syntax {
        /// Which file.
        file: String,
        /// The parser's message, with its position.
        reason: String,
    },
    /// A key that does not exist.
    #[error("{file}: unknown key `{key}`; {known}")]
    UnknownKey {
        /// Which file, or the command line.
        file: String,
        /// Full path of the key.
        key: String,
        /// The nearest known key, or all of them.
        known: String,
    },
    /// A value of the wrong kind, or a key that is missing.
    #[error("{file}: `{key}`: {reason}")]
    WrongValue {
        /// Which file.
        file: String,
        /// Full path of the key.
        key: String,
        /// The error and what was expected.
        reason: String,
    },
    /// A value outside its range, or one that contradicts another.
    #[error("{file}: `{key}` = {value}: {allowed}")]
    OutOfRange {
        /// Which file.
        file: String,
        /// Full path of the key.
        key: String,
        /// The value given.
        value: String,
        /// The allowed values, in words.
        allowed: String,
    },
    /// A platform that is not known.
    #[error("{file}: `platform` = \"{name}\": no such platform; {known}")]
    UnknownPlatform {
        /// Which file names it.
        file: String,
        /// The name given.
        name: String,
        /// The nearest known name, or all of them.
        known: String,
    },
    /// A trace that cannot be replayed.
    #[cfg(unix)]
    #[error(transparent)]
    Trace(#[from] recordings::trace::TraceError),
    /// A capture that cannot be replayed.
    #[error("{file}: `traffic.pcap`: {fault}{hint}")]
    Capture {
        /// Which file names it.
        file: String,
        /// The error in the capture, and its position.
        fault: recordings::capture::CaptureError,
        /// How it can be replayed all the same, after a semicolon; empty if it cannot.
        hint: &'static str,
    },
    /// A log of descriptors that cannot be replayed.
    #[error("{file}: `descriptor_replay.log`: {fault}")]
    DescriptorLog {
        /// Which file names it.
        file: String,
        /// The error in the log, and its line.
        fault: recordings::descriptor_log::DescriptorLogError,
    },
}

impl From<FactsError> for InputError {
    fn from(error: FactsError) -> Self {
        match error {
            FactsError::Syntax { file, reason } => Self::Syntax { file, reason },
            FactsError::Refused { file, key, value, allowed } => {
                Self::OutOfRange { file, key, value, allowed }
            }
        }
    }
}

/// With more known names than these, only the nearest are listed.
const LISTED_WHOLE: usize = 50;
const NEAREST_LISTED: usize = 5;

/// "did you mean `x`?" if a known name is near, else the list of known names, or some of them.
#[must_use]
pub(crate) fn suggest(name: &str, known: &[String]) -> String {
    let nearest = known
        .iter()
        .map(|candidate| (strsim::damerau_levenshtein(&plain(name), &plain(candidate)), candidate))
        .min()
        .filter(|(distance, candidate)| *distance <= 1 + candidate.len() / 3)
        .map(|(_, candidate)| candidate);
    match nearest.or_else(|| begun(name, known)) {
        Some(candidate) => format!("did you mean `{candidate}`?"),
        None if known.len() > LISTED_WHOLE => {
            format!("nearest of {} known: {}", known.len(), nearest_of(name, known).join(", "))
        }
        None => format!("known here: {}", known.join(", ")),
    }
}

/// The shortest known name that begins as `name` does: people write `rx_desc`.
fn begun<'n>(name: &str, known: &'n [String]) -> Option<&'n String> {
    let wanted = plain(name);
    let is_begun = |candidate: &&String| wanted.len() > 2 && plain(candidate).starts_with(&wanted);
    known.iter().filter(is_begun).min_by_key(|candidate| candidate.len())
}

/// A name without capitals and signs: people write `ConnectX5` and `RX_DESCRIPTORS`.
fn plain(name: &str) -> String {
    name.chars()
        .map(|letter| if letter == '_' { '-' } else { letter.to_ascii_lowercase() })
        .collect()
}

/// The nearest names; of paths, the last components are compared.
fn nearest_of<'n>(name: &str, known: &'n [String]) -> Vec<&'n str> {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_string();
    let name = last(name);
    let mut nearest: Vec<&str> = known.iter().map(String::as_str).collect();
    nearest.sort_by_cached_key(|path| strsim::damerau_levenshtein(&name, &last(path)));
    nearest.truncate(NEAREST_LISTED);
    nearest
}

#[cfg(test)]
mod tests {
    use super::suggest;

    fn known() -> Vec<String> {
        ["rx_descriptors", "packet_bytes", "cores"].map(String::from).to_vec()
    }

    #[test]
    fn the_beginning_of_a_name_finds_it() {
        assert!(suggest("rx_desc", &known()).contains("did you mean `rx_descriptors`"));
        assert!(suggest("rx", &known()).starts_with("known here"));
    }

    #[test]
    fn a_slip_of_the_fingers_finds_its_key() {
        assert_eq!(suggest("rx_descriptorz", &known()), "did you mean `rx_descriptors`?");
        assert_eq!(suggest("coers", &known()), "did you mean `cores`?");
    }

    #[test]
    fn capitals_and_hyphens_are_no_other_name() {
        assert_eq!(suggest("RX_DESCRIPTORS", &known()), "did you mean `rx_descriptors`?");
        assert_eq!(suggest("Packet-Bytes", &known()), "did you mean `packet_bytes`?");
    }

    #[test]
    fn something_else_entirely_lists_what_there_is() {
        let all = "known here: rx_descriptors, packet_bytes, cores";
        assert_eq!(suggest("wavelength_nm", &known()), all);
    }

    #[test]
    fn of_many_paths_those_with_the_nearest_file_names_are_listed() {
        let path = |number: u32| format!("some/folder/{}.toml", "x".repeat(number as usize));
        let mut many: Vec<String> = (10..70).map(path).collect();
        many.push("quite/another/folder/l2fwd.toml".into());
        let text = suggest("l2fw.toml", &many);
        let first = "nearest of 61 known: quite/another/folder/l2fwd.toml, some/folder/";
        assert!(text.starts_with(first), "{text}");
        assert_eq!(text.matches("toml").count(), 5);
    }
}
