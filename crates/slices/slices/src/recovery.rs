//! Learns the slice function of a machine from an oracle whose answers may be wrong.
//!
//! The recovery finds two kinds of functions: a power of two of slices chosen by XOR masks (and a
//! constant), and a base sequence of any number of slices, rearranged in each repetition by XORing the
//! position with a linear function of the higher address bits. The steps:
//!
//! 1. *Noise* ([`noise`]): the share of wrong answers, with a bound; too high a share is refused.
//! 2. *XOR* ([`xor`]): one address for each bit, votes, linear algebra over GF(2).
//! 3. *Base sequence* ([`sequence`], [`offset`]): the lines of one block by votes, then for each
//!    address bit and page the rearrangement of its block; the length doubles until all fits.
//! 4. *Hold-out* ([`hold_out`]): the table is compared with fresh addresses, with one block of the
//!    longest sequence line by line, and with the first answers of all, those of step 1.
//!
//! # Guarantee and assumptions
//! Each decision is a race between answers that ends when one leads by k. If an answer is wrong with
//! probability at most e < 1/2, each time anew, a wrong one ever leads by k with probability at most
//! (e / (1 - e))^k, however wrong answers are spread. k makes the sum over all decisions, and the
//! probability that the bound e itself is too low, at most [`Settings::error_probability`]: so
//! seldom is a table wrong whose part has a function of the kinds above.
//! Whether it has one, and whether answers are wrong each time anew, is what the hold-out tests:
//! [`Evidence::most_unfitting_share`] bounds the share of addresses that contradict the table and went
//! unnoticed. A function that is not established ends as [`NotEnoughEvidence`].
//!
//! Slice numbers are known only up to a permutation: an oracle that numbers slices wrongly in a
//! consistent way looks like one with other numbers. With two slices, answers that are wrong more than
//! two times out of three look right with the numbers swapped. So no function is accepted above a third
//! of wrong answers.

mod errors;
mod hold_out;
mod noise;
mod offset;
mod oracle;
mod pages;
mod questions;
mod sequence;
mod xor;

pub use errors::{NotEnoughEvidence, RecoveryError};
pub use oracle::{OracleAnswer, SliceOracle};
pub use pages::{HugePage, HugePageSize, PAGE_LIMIT, PagesError};

use crate::coverage::Coverage;
use crate::evidence::Evidence;
use crate::gf2::LinearMap;
use crate::table_file::TableFile;
use address_map::SliceTable;
use noise::NoiseBound;
use pages::Pages;
use questions::Questions;
use units::LINE_BYTES;

/// log2 of the longest base sequence that is tried: the longest published ones.
pub const LONGEST_SEQUENCE_BITS: u32 = 14;

/// Lowest bit of an address that chooses a line.
const LINE_BIT: u32 = LINE_BYTES.trailing_zeros();

/// Settings of a recovery.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// CPU model that the table is recovered for.
    pub part: String,
    /// Source for the table: author, method and machine of the recovery.
    pub source: String,
    /// Most questions that are asked in all, repeated ones included.
    pub most_questions: u64,
    /// Probability of accepting a wrong table, over the whole recovery; 1e-12 to 0.1.
    pub error_probability: f64,
    /// Fresh addresses of the hold-out, beside one block of the longest sequence; 1024 to 2^20.
    pub hold_out_addresses: u32,
    /// Seed of the random choice of addresses.
    pub seed: u64,
}

impl Settings {
    /// The default settings: 4,000,000 questions, one wrong table in 10^6 recoveries, 2^14 fresh addresses,
    /// seed 1.
    #[must_use]
    pub fn new(part: &str, source: &str) -> Self {
        Self {
            part: part.into(),
            source: source.into(),
            most_questions: 4_000_000,
            error_probability: 1e-6,
            hold_out_addresses: 1 << 14,
            seed: 1,
        }
    }

    fn check<E: std::error::Error>(&self) -> Result<(), RecoveryError<E>> {
        if !(1e-12..=0.1).contains(&self.error_probability) {
            let (key, allowed) = ("error_probability", "1e-12 to 0.1");
            return Err(RecoveryError::Setting { key, given: self.error_probability, allowed });
        }
        if !(1 << 10..=1 << 20).contains(&self.hold_out_addresses) {
            let (key, allowed) = ("hold_out_addresses", "1024 to 1048576");
            let given = f64::from(self.hold_out_addresses);
            return Err(RecoveryError::Setting { key, given, allowed });
        }
        Ok(())
    }
}

/// A slice function that was established.
#[derive(Clone, Debug, PartialEq)]
pub struct Recovered {
    /// The table, its coverage, and the evidence.
    pub file: TableFile,
    /// The mask of each bit of the slice number, if the function is a plain XOR function. The masks hold
    /// for the addresses that the table covers.
    pub xor_masks: Option<Vec<u64>>,
}

/// Learns the slice function behind the answers of `oracle`, asking about addresses in `pages` only.
///
/// # Errors
/// If a setting, the pages or the number of slices are not allowed, the oracle fails, or the evidence
/// within the budget is not enough.
pub fn recover<O: SliceOracle>(
    oracle: &mut O,
    pages: &[HugePage],
    settings: &Settings,
) -> Result<Recovered, RecoveryError<O::Error>> {
    let slices = oracle.slices();
    if !(2..=MOST_SLICES).contains(&slices) {
        return Err(RecoveryError::Slices(slices));
    }
    settings.check()?;
    let pages = Pages::new(pages)?;
    let mut questions = Questions::new(oracle, settings);
    let (noise, pilot) = noise::measure(&mut questions, &pages)?;
    let mut learner = Learner { questions, pages, noise, pilot, slices, settings };
    if slices.is_power_of_two()
        && let Some(found) = learner.xor()?
    {
        return Ok(found);
    }
    learner.sequence()
}

/// Most slices of a socket; a table cannot have more.
const MOST_SLICES: u32 = 256;

/// State of a recovery after the noise was measured.
struct Learner<'a, O> {
    questions: Questions<'a, O>,
    pages: Pages,
    noise: NoiseBound,
    pilot: noise::Pilot,
    slices: u32,
    settings: &'a Settings,
}

/// A function that fits all answers by which it was found, before the hold-out.
struct Candidate {
    base: Vec<u16>,
    perm_masks: Vec<u64>,
    /// Differences of addresses whose effect is known.
    span: LinearMap,
    /// Pages whose answers were as the others predicted.
    foretold_pages: u32,
}

impl<O: SliceOracle> Learner<'_, O> {
    /// Compares a candidate with the hold-out and makes the table of it; `None` if it fails.
    fn accept(
        &mut self,
        candidate: Candidate,
    ) -> Result<Option<TableFile>, RecoveryError<O::Error>> {
        let coverage = Coverage::from_span(self.pages.reference().start, &candidate.span);
        let highest = candidate.span.basis()[0].ilog2();
        let mut table = SliceTable {
            part: self.settings.part.clone(),
            source: self.settings.source.clone(),
            slices: self.slices,
            base: candidate.base,
            perm_masks: candidate.perm_masks,
            valid_bits: (LINE_BIT, highest),
        };
        if matches!(coverage, Coverage::Only(_)) {
            // For readers of the table that ignore its coverage.
            table.source.push_str("; established for the addresses of [covers] only");
        }
        let Some(result) = self.hold_out(&table)? else {
            return Ok(None);
        };
        let evidence = Evidence {
            pages: self.pages.count(),
            foretold_pages: candidate.foretold_pages,
            ..self.questions.evidence(&self.noise, &result)
        };
        Ok(Some(TableFile { table, coverage, evidence: Some(evidence) }))
    }
}
