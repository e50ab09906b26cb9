//! Compares a known slice function with the answers of a machine's oracle: a few thousand questions
//! instead of a recovery.
//!
//! The oracle is asked once about each of some random addresses that the table covers. Where the answer
//! differs from the table, the question is repeated until one answer leads by [`LEAD`]: with an oracle that
//! is wrong a third of the time, a wrong slice wins with a probability of (1/2)^[`LEAD`] at most.

mod pattern;

use crate::recovery::{HugePage, OracleAnswer, SliceOracle};
use crate::slice_map::SliceMap;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, SliceId};

pub use pattern::DifferencePattern;

/// Votes by which an answer has to lead.
const LEAD: u32 = 16;

/// Questions about one address after which it counts as unclear.
const MOST_VOTES: u32 = 256;

/// Most lines that are drawn for each that is needed: the table may cover some of the memory only.
const TRIES: u32 = 1024;

/// Extent of a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComparisonPlan {
    /// Number of addresses to ask about.
    pub addresses: u32,
    /// Seed of the random choice of addresses.
    pub seed: u64,
}

/// Result of a comparison of a table with a machine.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Addresses whose slice by the machine is the table's.
    pub agreeing: u32,
    /// Addresses whose slice by the machine is another one.
    pub differing: u32,
    /// Number of addresses for which no answer won.
    pub unclear: u32,
    /// Number of questions asked in all.
    pub questions: u64,
    /// The machine's number of each of the table's slices, if the functions are the same up to the numbers
    /// of slices. Agreement of addresses is then by these numbers.
    pub names: Option<Vec<u16>>,
    /// The address bits by which differing addresses can be told from the others, if any.
    pub patterns: Vec<DifferencePattern>,
}

impl Comparison {
    /// Number of addresses that were compared.
    #[must_use]
    pub fn addresses(&self) -> u32 {
        self.agreeing + self.differing + self.unclear
    }
}

/// Error of a comparison.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComparisonError<E: std::error::Error> {
    /// The table covers none of the lines that were drawn from the pages.
    #[error("the table covers none of the {lines} lines of the pages that were tried")]
    NotCovered {
        /// Lines that were drawn.
        lines: u32,
    },
    /// Table and oracle have different numbers of slices.
    #[error("the table has {table} slices, the oracle tells {oracle} apart")]
    Slices {
        /// Slices of the table.
        table: u32,
        /// Slices of the oracle.
        oracle: u32,
    },
    /// The oracle gave up.
    #[error(transparent)]
    Oracle(E),
}

/// Asks about random lines of `pages` and compares the answers with `map`.
///
/// # Errors
/// If the table covers none of the pages, has another number of slices, or the oracle fails.
///
/// # Panics
/// If there is no page.
pub fn compare<O: SliceOracle>(
    oracle: &mut O,
    pages: &[HugePage],
    map: &SliceMap,
    plan: ComparisonPlan,
) -> Result<Comparison, ComparisonError<O::Error>> {
    let (table, known) = (map.slices(), oracle.slices());
    if table != known {
        return Err(ComparisonError::Slices { table, oracle: known });
    }
    let lines = covered_lines(pages, map, plan)?;
    let mut questions = 0;
    let mut ask = |address| {
        questions += 1;
        oracle.ask(address).map_err(ComparisonError::Oracle)
    };
    let mut first = Vec::with_capacity(lines.len());
    for &(address, _) in &lines {
        first.push(ask(address)?);
    }
    let names = names(&lines, &first, usize_from(table.into()));
    let mut judged = Vec::with_capacity(lines.len());
    for (&(address, slice), &first) in lines.iter().zip(&first) {
        let expected = names.as_ref().map_or(slice, |names| names[usize::from(slice.0)]);
        let found = vote(first, expected, || ask(address))?;
        judged.push((address, found.map(|found| found == expected)));
    }
    let count = |wanted| fit(judged.iter().filter(|(_, agrees)| *agrees == wanted).count());
    Ok(Comparison {
        agreeing: count(Some(true)),
        differing: count(Some(false)),
        unclear: count(None),
        questions,
        names: names.map(|names| names.iter().map(|slice| slice.0).collect()),
        patterns: pattern::patterns(
            judged.iter().filter_map(|&(address, agrees)| Some((address, !agrees?))).collect(),
        ),
    })
}

/// Random lines of the pages that the table covers, with the table's slices.
fn covered_lines<E: std::error::Error>(
    pages: &[HugePage],
    map: &SliceMap,
    plan: ComparisonPlan,
) -> Result<Vec<(u64, SliceId)>, ComparisonError<E>> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(plan.seed);
    let tries = plan.addresses.saturating_mul(TRIES);
    let drawn = (0..tries).filter_map(|_| {
        let page = pages[usize_from(random.next_u64()) % pages.len()];
        let line = random.next_u64() % ((1 << page.size.bits()) / LINE_BYTES);
        let address = page.start + line * LINE_BYTES;
        Some((address, map.slice_of(address).ok()?))
    });
    let lines: Vec<_> = drawn.take(plan.addresses as usize).collect();
    if lines.is_empty() { Err(ComparisonError::NotCovered { lines: tries }) } else { Ok(lines) }
}

/// The oracle's number of each slice, if most first answers renumber the table's slices one to one.
fn names(lines: &[(u64, SliceId)], first: &[OracleAnswer], slices: usize) -> Option<Vec<SliceId>> {
    let mut counts = vec![vec![0u32; slices]; slices];
    for (&(_, slice), &answer) in lines.iter().zip(first) {
        if let OracleAnswer::Slice(answer) = answer {
            *counts[usize::from(slice.0)].get_mut(usize::from(answer.0))? += 1;
        }
    }
    let usual = |counts: &Vec<u32>| -> Option<SliceId> {
        let (most, &count) = counts.iter().enumerate().max_by_key(|(_, count)| **count)?;
        // Wrong answers may be a third of all; chance alone never makes a name.
        (2 * count > counts.iter().sum()).then(|| SliceId(fit(most)))
    };
    let names: Vec<SliceId> = counts.iter().map(usual).collect::<Option<_>>()?;
    let mut taken: Vec<u16> = names.iter().map(|name| name.0).collect();
    taken.sort_unstable();
    let one_to_one = taken.iter().enumerate().all(|(at, name)| usize::from(*name) == at);
    let renamed = names.iter().enumerate().any(|(at, name)| usize::from(name.0) != at);
    (one_to_one && renamed).then_some(names)
}

/// Decides the slice of an address: the expected one by the first answer, any other one by votes. `None` if
/// no slice wins.
fn vote<E>(
    first: OracleAnswer,
    expected: SliceId,
    mut ask: impl FnMut() -> Result<OracleAnswer, E>,
) -> Result<Option<SliceId>, E> {
    if first == OracleAnswer::Slice(expected) {
        return Ok(Some(expected));
    }
    let mut votes: BTreeMap<u16, u32> = BTreeMap::new();
    let mut answer = first;
    for _ in 0..MOST_VOTES {
        if let OracleAnswer::Slice(slice) = answer {
            let own = votes.entry(slice.0).or_default();
            *own += 1;
            let own = *own;
            let others = votes.iter().filter(|(other, _)| **other != slice.0);
            if own >= others.map(|(_, votes)| *votes).max().unwrap_or(0) + LEAD {
                return Ok(Some(slice));
            }
        }
        answer = ask()?;
    }
    Ok(None)
}
