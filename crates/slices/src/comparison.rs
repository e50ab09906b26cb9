//! Compares a known slice function with what a machine's oracle answers: a few thousand questions
//! instead of a recovery.
//!
//! Each of some random addresses that the table covers is asked about once. Where the answer is not the
//! table's, the address is asked again until one answer leads by [`LEAD`]: an oracle that is wrong a
//! third of the time wins such a race for the wrong slice with a probability of (1/2)^[`LEAD`] at most.

mod pattern;

use crate::recovery::{Answer, HugePage, SliceOracle};
use crate::slice_map::SliceMap;
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeMap;
use units::narrow::{fit, usize_from};
use units::{LINE_BYTES, SliceId};

pub use pattern::Pattern;

/// By how many votes an answer has to lead.
const LEAD: u32 = 16;

/// Questions about one address after which it counts as unclear.
const MOST_VOTES: u32 = 256;

/// Lines looked at for each that is needed, where the table covers some of the memory only.
const TRIES: u32 = 1024;

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Addresses to ask about.
    pub addresses: u32,
    /// Chooses them.
    pub seed: u64,
}

/// How a table and a machine compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// Addresses where the machine says what the table says.
    pub agreeing: u32,
    /// Addresses where it says something else.
    pub differing: u32,
    /// Addresses for which no answer won.
    pub unclear: u32,
    /// Questions asked in all.
    pub questions: u64,
    /// The machine's name of each of the table's slices, if the two are the same function with other
    /// names. Addresses agree then if they do so by these names.
    pub names: Option<Vec<u16>>,
    /// The address bits that tell where they differ, as far as any do.
    pub patterns: Vec<Pattern>,
}

impl Comparison {
    /// Addresses asked about.
    #[must_use]
    pub fn addresses(&self) -> u32 {
        self.agreeing + self.differing + self.unclear
    }
}

/// Why nothing can be compared.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ComparisonError<E: std::error::Error> {
    /// The memory is not covered.
    #[error("the table covers none of the {lines} lines of the pages that were tried")]
    NotCovered {
        /// Lines that were looked at.
        lines: u32,
    },
    /// The oracle knows another number of slices.
    #[error("the table has {table} slices, the oracle tells {oracle} apart")]
    Slices {
        /// Of the table.
        table: u32,
        /// Of the oracle.
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
    plan: Plan,
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
    plan: Plan,
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

/// The oracle's name of each slice, if most first answers rename the table's slices one to one.
fn names(lines: &[(u64, SliceId)], first: &[Answer], slices: usize) -> Option<Vec<SliceId>> {
    let mut counts = vec![vec![0u32; slices]; slices];
    for (&(_, slice), &answer) in lines.iter().zip(first) {
        if let Answer::Slice(answer) = answer {
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

/// The slice that wins: the expected one by its first answer, any other one by votes.
fn vote<E>(
    first: Answer,
    expected: SliceId,
    mut ask: impl FnMut() -> Result<Answer, E>,
) -> Result<Option<SliceId>, E> {
    if first == Answer::Slice(expected) {
        return Ok(Some(expected));
    }
    let mut votes: BTreeMap<u16, u32> = BTreeMap::new();
    let mut answer = first;
    for _ in 0..MOST_VOTES {
        if let Answer::Slice(slice) = answer {
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
