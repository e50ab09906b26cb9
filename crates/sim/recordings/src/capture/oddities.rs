//! Deviations from a capture's format that a replay does not depend on: they are counted, not refused.

use std::fmt;

/// The deviations of one file. Displayed as one sentence, without its full stop.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Oddities {
    /// Options of pcapng blocks that are not as the format says, lists without an end among them.
    pub options: u64,
    /// Number of packets with more captured bytes than the snap length.
    pub beyond_snap_length: u64,
    /// Number of packets with more captured bytes than the packet is said to have had; the larger
    /// number counts.
    pub beyond_original_length: u64,
    /// Times whose fraction is a second or more; both parts are added.
    pub long_fractions: u64,
    /// Number of packets of interfaces with an unsupported link type; they are left out.
    pub left_out: u64,
    /// The number of the first such link type.
    pub unsupported_link: Option<u32>,
}

impl Oddities {
    /// Whether the file is as its format says, and has been read completely.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

impl fmt::Display for Oddities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counted = [
            (self.options, "malformed options"),
            (self.beyond_snap_length, "captured lengths above the snap length"),
            (self.beyond_original_length, "captured lengths above the packet's own"),
            (self.long_fractions, "fractions of a second that exceed a second"),
        ];
        let listed: Vec<String> = counted
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, subject)| format!("{count} {subject}"))
            .collect();
        if !listed.is_empty() {
            write!(f, "The capture deviates from its format, which does not matter here: ")?;
            f.write_str(&listed.join(", "))?;
        }
        if self.left_out > 0 {
            let separator = if listed.is_empty() { "" } else { ". " };
            let link = self.unsupported_link.unwrap_or_default();
            write!(
                f,
                "{separator}{} packets of interfaces with an unsupported link type ({link}) are left out",
                self.left_out
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_counts_what_there_is_and_nothing_else() {
        assert!(Oddities::default().is_empty());
        let odd = Oddities {
            options: 2,
            left_out: 7,
            unsupported_link: Some(105),
            ..Oddities::default()
        };
        assert_eq!(
            odd.to_string(),
            "The capture deviates from its format, which does not matter here: 2 malformed options. \
             7 packets of interfaces with an unsupported link type (105) are left out"
        );
    }
}
