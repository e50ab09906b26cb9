//! The slice function of a CPU model as a file: made by the recovery, or written by the user.
//!
//! ```toml
//! part = "Xeon Gold 6140"
//! source = "who recovered it, how, on which machine"
//! slices = 18
//! valid_bits = [6, 36]                      # lowest and highest physical address bit, inclusive
//! perm_masks = [0x4c8fc0000, 0x1d05380000]  # log2 of the sequence's length; zero is allowed
//! base = [0, 4, 17, 3]                      # slice of each line; or base_runs = [[0, 2], [4, 1]]
//! [covers]                                  # if it holds for some of the valid range only
//! origin = 0x12340000000                    # this address is covered, and so is every XOR
//! span = [0x40, 0x80]                       # of it with some of these
//! [evidence]                                # written by the recovery; see Evidence
//! ```

use crate::coverage::{Coverage, CoveredAddresses};
use crate::evidence::Evidence;
use address_map::{ADDRESS_BITS, BaseSequence, SliceTable, SliceTableError};
use schemars::JsonSchema;
use serde::Deserialize;
use std::fmt::Write;
use units::LINE_BYTES;

/// Lines of the longest sequence that can be used; longer `base_runs` are refused.
const MOST_LINES: u64 = 1 << address_map::MOST_MASKS;

/// A slice function, the addresses for which it holds, and the evidence for it.
#[derive(Clone, Debug, PartialEq)]
pub struct TableFile {
    /// The function. Its validity range ends at the highest address bit whose effect is known.
    pub table: SliceTable,
    /// The addresses for which the function is established.
    pub coverage: Coverage,
    /// The evidence of the recovery; `None` for tables from other sources.
    pub evidence: Option<Evidence>,
}

/// The keys of a table file.
#[derive(Debug, Deserialize, JsonSchema)]
pub struct WrittenTable {
    /// The CPU model that has this slice function.
    part: String,
    /// Source of the table.
    source: String,
    /// Number of slices.
    slices: u32,
    /// Lowest and highest physical address bit for which the function was established, inclusive.
    valid_bits: (u32, u32),
    /// Masks of physical address bits: the parity under mask i is bit i of the number with which a
    /// position in `base` is XORed.
    perm_masks: Vec<u64>,
    /// Slice of each of the first lines of memory.
    base: Option<Vec<u16>>,
    /// The same as `base` in pairs: a slice, and the number of lines in a row that are in it.
    base_runs: Option<Vec<(u16, u32)>>,
    /// The addresses of the valid range for which the function is established, if not all.
    covers: Option<CoveredAddresses>,
    /// Evidence of the recovery.
    evidence: Option<Evidence>,
}

/// A wrong key of a table file, and the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{key}`: {reason}")]
pub struct WrongKey {
    /// Name of the wrong key.
    pub key: String,
    /// Fault of the key's value, and what is allowed.
    pub reason: String,
}

/// Error of a text that is not a table file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TableFileError {
    /// The text is not valid TOML.
    #[error("{0}")]
    Syntax(String),
    /// A key is not one of a table file's.
    #[error("unknown key `{0}`")]
    UnknownKey(String),
    /// A value is missing or wrong.
    #[error(transparent)]
    WrongValue(#[from] WrongKey),
}

impl TableFile {
    /// Reads a table file.
    ///
    /// # Errors
    /// If the text is not valid TOML, a key is unknown or missing, or the table is not a slice function.
    pub fn read(text: &str) -> Result<Self, TableFileError> {
        let document: toml::Table = text
            .parse()
            .map_err(|error: toml::de::Error| TableFileError::Syntax(error.to_string()))?;
        let mut unknown = None;
        let mut note = |path: serde_ignored::Path<'_>| {
            unknown.get_or_insert_with(|| path.to_string().replace("?.", ""));
        };
        let known = serde_ignored::Deserializer::new(toml::Value::Table(document), &mut note);
        let written: Result<WrittenTable, _> = serde_path_to_error::deserialize(known);
        if let Some(key) = unknown {
            return Err(TableFileError::UnknownKey(key));
        }
        let written = written.map_err(|error| WrongKey {
            key: error.path().to_string(),
            reason: error.into_inner().to_string(),
        })?;
        Ok(written.check()?)
    }

    /// The text of the file, which [`Self::read`] reads back.
    #[must_use]
    pub fn write(&self) -> String {
        let mut text = write(&self.table);
        // Writing to a string does not fail.
        if let Coverage::Only(covered) = &self.coverage {
            let span: Vec<String> = covered.span.iter().map(|v| format!("{v:#x}")).collect();
            let origin = covered.origin;
            let _ =
                write!(text, "\n[covers]\norigin = {origin:#x}\nspan = [{}]\n", span.join(", "));
        }
        if let Some(evidence) = &self.evidence {
            let evidence = toml::to_string(evidence).expect("evidence is numbers and text");
            let _ = write!(text, "\n[evidence]\n{evidence}");
        }
        text
    }
}

impl WrittenTable {
    /// Checks the keys and makes the table of them.
    ///
    /// # Errors
    /// If a key is missing or its value is not allowed; the error has its name.
    pub fn check(self) -> Result<TableFile, WrongKey> {
        let (base_key, base) = match (self.base, self.base_runs) {
            (Some(base), None) => ("base", base),
            (None, Some(runs)) => ("base_runs", spell_out(&runs)?),
            (Some(_), Some(_)) => {
                return Err(wrong("base_runs", "is given beside `base`; leave one out"));
            }
            (None, None) => return Err(wrong("base", "is missing, and so is `base_runs`")),
        };
        let table = SliceTable {
            part: self.part,
            source: self.source,
            slices: self.slices,
            base,
            perm_masks: self.perm_masks,
            valid_bits: self.valid_bits,
        };
        BaseSequence::new(&table)
            .map_err(|fault| wrong(key_of(&fault, base_key), &fault.to_string()))?;
        let coverage = match self.covers {
            Some(covered) => Coverage::Only(check_covered(covered)?),
            None => Coverage::Below(2 << table.valid_bits.1),
        };
        Ok(TableFile { table, coverage, evidence: self.evidence })
    }
}

/// The text of a table file with `table` alone: without coverage or evidence.
#[must_use]
pub fn write(table: &SliceTable) -> String {
    let quoted = |text: &str| toml::Value::String(text.into()).to_string();
    let masks: Vec<String> = table.perm_masks.iter().map(|mask| format!("{mask:#x}")).collect();
    let (low, high) = table.valid_bits;
    let mut text = format!(
        "part = {}\nsource = {}\nslices = {}\nvalid_bits = [{low}, {high}]\nperm_masks = [{}]\n",
        quoted(&table.part),
        quoted(&table.source),
        table.slices,
        masks.join(", "),
    );
    text.push_str("base = [\n");
    for row in table.base.chunks(32) {
        let row: Vec<String> = row.iter().map(u16::to_string).collect();
        let _ = writeln!(text, "  {},", row.join(", "));
    }
    text.push_str("]\n");
    text
}

fn wrong(key: &str, reason: &str) -> WrongKey {
    WrongKey { key: key.into(), reason: reason.into() }
}

fn check_covered(covered: CoveredAddresses) -> Result<CoveredAddresses, WrongKey> {
    let allowed = |address: u64| address >> ADDRESS_BITS == 0 && address.is_multiple_of(LINE_BYTES);
    if covered.span.iter().all(|&vector| allowed(vector)) && allowed(covered.origin) {
        return Ok(covered);
    }
    let reason = format!("allowed: multiples of {LINE_BYTES} below 2^{ADDRESS_BITS}");
    Err(wrong("covers", &reason))
}

fn spell_out(runs: &[(u16, u32)]) -> Result<Vec<u16>, WrongKey> {
    if let Some(index) = runs.iter().position(|&(_, lines)| lines == 0) {
        return Err(wrong("base_runs", &format!("run {index} has no lines; needed: 1 or more")));
    }
    let lines: u64 = runs.iter().map(|&(_, lines)| u64::from(lines)).sum();
    if lines > MOST_LINES {
        let reason = format!("{lines} lines in all; allowed: up to {MOST_LINES}");
        return Err(wrong("base_runs", &reason));
    }
    let run = |&(slice, lines): &(u16, u32)| std::iter::repeat_n(slice, lines as usize);
    Ok(runs.iter().flat_map(run).collect())
}

/// The key of the file that has the fault.
fn key_of<'k>(fault: &SliceTableError, base_key: &'k str) -> &'k str {
    match fault {
        SliceTableError::Length(_)
        | SliceTableError::SliceNumber { .. }
        | SliceTableError::UnusedSlice(_) => base_key,
        SliceTableError::Slices(_) => "slices",
        SliceTableError::MaskCount { .. }
        | SliceTableError::MaskInsideBase { .. }
        | SliceTableError::MaskBeyondValidity { .. } => "perm_masks",
        SliceTableError::ValidBits { .. } => "valid_bits",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "part = 'p'\nsource = 's'\nslices = 3\nvalid_bits = [6, 20]\n\
                         perm_masks = [0x100, 0x0]\nbase = [0, 1, 2, 2]\n";

    fn message(text: &str) -> String {
        TableFile::read(text).expect_err("must be refused").to_string()
    }

    #[test]
    fn a_table_without_coverage_holds_for_its_valid_range() {
        let file = TableFile::read(SMALL).expect("is valid");
        assert_eq!(file.coverage, Coverage::Below(1 << 21));
        assert_eq!(file.evidence, None);
        assert_eq!(TableFile::read(&file.write()).expect("is valid"), file);
    }

    #[test]
    fn coverage_survives_the_file_and_is_checked() {
        let covers = "[covers]\norigin = 0x100\nspan = [0x40, 0x80]\n";
        let file = TableFile::read(&format!("{SMALL}{covers}")).expect("is valid");
        let covered = CoveredAddresses { origin: 0x100, span: vec![0x40, 0x80] };
        assert_eq!(file.coverage, Coverage::Only(covered));
        assert_eq!(TableFile::read(&file.write()).expect("is valid"), file);
        let wrong = covers.replace("0x80", "0x81");
        let text = message(&format!("{SMALL}{wrong}"));
        assert_eq!(text, "`covers`: allowed: multiples of 64 below 2^41");
    }

    #[test]
    fn a_fault_names_its_key() {
        assert_eq!(message(&SMALL.replace("part", "prt")), "unknown key `prt`");
        assert_eq!(message(&format!("{SMALL}[covers]\nfrom = 1\n")), "unknown key `covers.from`");
        assert!(
            message(&SMALL.replace("2, 2]", "2, 3]")).starts_with("`base`: entry 3 is slice 3")
        );
        assert!(message(&SMALL.replace("slices = 3", "")).contains("missing field `slices`"));
        assert!(message("part = ").contains("line 1"));
    }
}
