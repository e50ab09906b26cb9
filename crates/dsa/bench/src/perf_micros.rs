//! Values in the form that dsa-perf-micros has for them, and how they are parsed. A value that it takes and
//! this program does not is refused by name.

use crate::option_values::{OperandPlacement, OperandPlacements, PageSize};
use crate::sizes;

/// Bits of `-x`: the test of the IOTLB, and the five bits that set the rate of submissions.
const IOTLB_TEST: u32 = 1 << 0;
const SUBMISSION_RATE: u32 = 0x3e;
/// Bits of `-x`: PAUSE between reads of a record, and UMWAIT in place of reads.
const PAUSE: u32 = 1 << 7;
const UMWAIT: u32 = 1 << 8;
/// Nodes that `mbind` is given here fit into one word.
const MOST_NODE: u32 = 63;
/// Offsets are within a page of 4 KiB.
const MOST_OFFSET_BYTES: u64 = 4095;

/// The rounds of a measurement (`-i`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Iterations {
    /// This number of rounds.
    Count(u32),
    /// Rounds until the time of `-T` is over (`-i -1`).
    UntilTime,
}

impl Iterations {
    /// Parses a number of rounds, or -1.
    ///
    /// # Errors
    /// If the text is neither: a sentence with the allowed values.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text.parse() {
            _ if text == "-1" => Ok(Self::UntilTime),
            Ok(count) if count > 0 => Ok(Self::Count(count)),
            _ => Err("allowed: 1 to 4294967295, or -1 with -T (until the time is over)".into()),
        }
    }
}

/// How a thread waits, as `-x` says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MiscellaneousBits {
    /// No bit: the thread reads the record again and again.
    #[default]
    Polls,
    /// Bit 7: with PAUSE between two reads.
    Pauses,
    /// Bit 8: the thread sleeps in UMWAIT.
    Umwaits,
}

impl MiscellaneousBits {
    /// Parses a mask, in decimal or, with 0x, in hexadecimal digits.
    ///
    /// # Errors
    /// If the mask has a bit that is not built: a sentence with the number and the name of the bit.
    pub fn parse(text: &str) -> Result<Self, String> {
        const ALLOWED: &str = "allowed: 0x80 (bit 7, PAUSE) or 0x100 (bit 8, UMWAIT)";
        let refuse = |why: &str| Err(format!("{why}; {ALLOWED}; flags of descriptors are --flags"));
        match number(text) {
            Some(0) => Ok(Self::Polls),
            Some(PAUSE) => Ok(Self::Pauses),
            Some(UMWAIT) => Ok(Self::Umwaits),
            Some(mask) if mask & IOTLB_TEST != 0 => {
                refuse("bit 0, the test of the IOTLB, is not built")
            }
            Some(mask) if mask & SUBMISSION_RATE != 0 => {
                refuse("bits 1 to 5, the rate of submissions, are not built: -q bounds the load")
            }
            Some(mask) if mask == PAUSE | UMWAIT => {
                refuse("bits 7 and 8 are two ways to wait: choose one")
            }
            _ => refuse("no other bit of the mask is known"),
        }
    }
}

/// Parses a number in decimal or, with 0x, in hexadecimal digits.
fn number(text: &str) -> Option<u32> {
    match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

/// Parses `-z`: a letter for source and destination each, or one for both: P prefetched, D demoted, F flushed.
///
/// # Errors
/// If the text is not such a pair: a sentence with the allowed letters.
pub fn parse_operand_letters(text: &str) -> Result<OperandPlacements, String> {
    let one = |letter: &str| match letter {
        "P" => Ok(OperandPlacement::Prefetched),
        "D" => Ok(OperandPlacement::Llc),
        "F" => Ok(OperandPlacement::Flushed),
        _ => Err("allowed: P (prefetch), D (demote to the LLC) or F (flush) for source and \
                  destination, such as F,F; without -z operands stay where they are"
            .to_owned()),
    };
    let (source, destination) = text.split_once(',').unwrap_or((text, text));
    Ok(OperandPlacements { source: one(source)?, destination: one(destination)? })
}

/// Parses `-l`: 0 for pages of 2 MiB, 1 for pages of 1 GiB.
///
/// # Errors
/// If the text is neither: a sentence with the allowed values.
pub fn parse_huge_pages(text: &str) -> Result<PageSize, String> {
    match text {
        "0" => Ok(PageSize::Huge),
        "1" => Ok(PageSize::Giant),
        _ => Err("allowed: 0 (2 MiB) or 1 (1 GiB); --pages names the size".into()),
    }
}

/// Parses `-v`: 0 for off, 1 for on.
///
/// # Errors
/// If the text is neither: a sentence with the allowed values.
pub fn parse_switch(text: &str) -> Result<bool, String> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        _ => Err("allowed: 0 (off) or 1 (on)".into()),
    }
}

/// Two values, of sources and of destinations: `A,B`, or `A` for both.
fn parse_pair<T: Copy>(
    text: &str,
    one: impl Fn(&str) -> Option<T>,
    allowed: &str,
) -> Result<[T; 2], String> {
    let (first, second) = text.split_once(',').unwrap_or((text, text));
    match (one(first), one(second)) {
        (Some(first), Some(second)) => Ok([first, second]),
        _ => Err(allowed.to_owned()),
    }
}

/// The NUMA nodes of sources and of destinations (`-S`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodePair(pub [u32; 2]);

impl NodePair {
    /// Parses `A,B`, or `A` for both.
    ///
    /// # Errors
    /// If the text is not such a pair: a sentence with the allowed form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let one = |text: &str| text.parse().ok().filter(|&node| node <= MOST_NODE);
        let allowed = "allowed: a node for sources and one for destinations, 0 to 63, such as 0,1; \
                       --source-node and --destination-node name them";
        parse_pair(text, one, allowed).map(Self)
    }
}

/// The distances of sources and of destinations from the starts of their buffers (`-O`), in bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OffsetPair(pub [u64; 2]);

impl OffsetPair {
    /// Parses `A,B`, or `A` for both.
    ///
    /// # Errors
    /// If the text is not such a pair: a sentence with the allowed form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let one = |text: &str| sizes::parse(text).ok().filter(|&it| it <= MOST_OFFSET_BYTES);
        let allowed = "allowed: bytes for sources and for destinations, 0 to 4095, such as 0,64";
        parse_pair(text, one, allowed).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Iterations, MiscellaneousBits, NodePair, OffsetPair, parse_huge_pages,
        parse_operand_letters, parse_switch,
    };
    use crate::option_values::{OperandPlacement, PageSize};

    #[test]
    fn a_mask_of_miscellaneous_bits_is_a_way_to_wait_or_refused_by_the_name_of_its_bit() {
        assert_eq!(MiscellaneousBits::parse("0"), Ok(MiscellaneousBits::Polls));
        assert_eq!(MiscellaneousBits::parse("0x80"), Ok(MiscellaneousBits::Pauses));
        assert_eq!(MiscellaneousBits::parse("256"), Ok(MiscellaneousBits::Umwaits));
        for (mask, named) in [
            ("1", "IOTLB"),
            ("0x101", "IOTLB"),
            ("0x2", "rate of submissions"),
            ("0x20", "rate of submissions"),
            ("0x180", "choose one"),
            ("0x40", "no other bit"),
            ("x", "no other bit"),
        ] {
            let refused = MiscellaneousBits::parse(mask).expect_err(mask);
            assert!(refused.contains(named) && refused.contains("--flags"), "{mask}: {refused}");
        }
    }

    #[test]
    fn rounds_are_a_number_or_end_with_the_time() {
        assert_eq!(Iterations::parse("8000"), Ok(Iterations::Count(8000)));
        assert_eq!(Iterations::parse("-1"), Ok(Iterations::UntilTime));
        for wrong in ["0", "-2", "x", ""] {
            assert!(Iterations::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn letters_and_pairs_are_of_source_and_destination() {
        let mixed = parse_operand_letters("P,D").expect("is one");
        assert_eq!(mixed.source, OperandPlacement::Prefetched);
        assert_eq!(mixed.destination, OperandPlacement::Llc);
        assert_eq!(parse_operand_letters("F"), parse_operand_letters("F,F"));
        for wrong in ["C,C", "L", "F,", "F,F,F", ""] {
            assert!(parse_operand_letters(wrong).is_err(), "{wrong}");
        }
        assert_eq!(NodePair::parse("1"), Ok(NodePair([1, 1])));
        assert_eq!(NodePair::parse("0,1"), Ok(NodePair([0, 1])));
        assert!(NodePair::parse("64").is_err() && NodePair::parse("0,1,2").is_err());
        assert_eq!(OffsetPair::parse("0,64"), Ok(OffsetPair([0, 64])));
        assert!(OffsetPair::parse("4096").is_err());
    }

    #[test]
    fn switches_are_numbers() {
        assert_eq!((parse_switch("0"), parse_switch("1")), (Ok(false), Ok(true)));
        assert_eq!(parse_huge_pages("0"), Ok(PageSize::Huge));
        assert_eq!(parse_huge_pages("1"), Ok(PageSize::Giant));
        assert!(parse_switch("on").is_err() && parse_huge_pages("2M").is_err());
    }
}
