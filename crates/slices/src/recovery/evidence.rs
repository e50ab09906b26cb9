//! What a recovery rests on, or lacks.

use super::pages::PagesError;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a table that was accepted rests on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Questions asked in all.
    pub questions: u64,
    /// Questions without a clear answer among them.
    pub unclear_answers: u64,
    /// Share of wrong answers about the addresses that were asked over and over at the start.
    pub noise_share: f64,
    /// The share of wrong answers that all decisions allow for.
    pub allowed_noise_share: f64,
    /// Share of the later answers that contradict the table: votes, rearrangements, hold-out.
    pub contradicting_share: f64,
    /// Addresses of the hold-out; each was compared with the table.
    pub hold_out_addresses: u64,
    /// Those drawn at random whose first answer contradicted the table; a vote took that back.
    pub hold_out_asked_again: u64,
    /// Upper bound, at the stated error probability, on the share of addresses in the pages that
    /// do not follow the table and went unnoticed.
    pub most_unfitting_share: f64,
    /// Huge pages that were asked about.
    pub pages: u32,
    /// Those that did what all others together foretold. Beyond the pages, a table rests on the
    /// slice depending on the higher address bits by XOR; these are the pages that tested it.
    pub foretold_pages: u32,
    /// Probability of a wrong table, if the part has a function of the kinds that are looked for.
    pub error_probability: f64,
}

/// Why nothing was established.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotEnoughEvidence {
    /// The budget ran out.
    #[error("all {asked} questions of the budget were asked {stage}; allow more")]
    Budget {
        /// Questions asked.
        asked: u64,
        /// The step in which they ran out.
        stage: &'static str,
    },
    /// Answers are wrong too often.
    #[error(
        "{:.0} % of the answers are wrong, up to {:.0} % with what chance does; needed: below {:.0} \
         %; quieten the machine or measure longer for each answer",
        share * 100.0, bound * 100.0, limit * 100.0
    )]
    TooNoisy {
        /// Share of wrong answers.
        share: f64,
        /// Upper bound on it.
        bound: f64,
        /// Highest bound that is accepted.
        limit: f64,
    },
    /// Answers about an address are undecided for longer than the noise explains.
    #[error(
        "answers about address {physical_address:#x} are wrong more often than the {:.0} % allowed \
         for; the noise is not alike everywhere",
        allowed_noise_share * 100.0
    )]
    UnevenNoise {
        /// The address.
        physical_address: u64,
        /// Share of wrong answers that was allowed for.
        allowed_noise_share: f64,
    },
    /// An address was in another slice before than the finished table says.
    #[error(
        "address {physical_address:#x} was in slice {before} at first, and is in {now} by the table \
         that later answers gave; slices were named otherwise meanwhile, or another function chosen"
    )]
    Changed {
        /// The address.
        physical_address: u64,
        /// What most answers said at first.
        before: u16,
        /// What the table says.
        now: u16,
    },
    /// A slice was never the answer.
    #[error("no line is in slice {0}; is it disabled, or the number of slices wrong?")]
    SliceNeverSeen(u16),
    /// The answers follow none of the functions that are looked for.
    #[error("no XOR function and no base sequence of up to {longest} lines fits the answers")]
    NothingFits {
        /// Longest sequence tried.
        longest: u32,
    },
}

/// Why a recovery has no result.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError<E: std::error::Error + 'static> {
    /// A setting makes no sense.
    #[error("`{key}` is {given}; allowed: {allowed}")]
    Setting {
        /// Which setting.
        key: &'static str,
        /// Its value.
        given: f64,
        /// What it may be.
        allowed: &'static str,
    },
    /// The oracle tells no useful number of slices apart.
    #[error("{0} slices; allowed: 2 to {most}", most = super::MOST_SLICES)]
    Slices(u32),
    /// The pages cannot be used.
    #[error(transparent)]
    Pages(#[from] PagesError),
    /// The oracle failed.
    #[error("the slice oracle failed")]
    Oracle(#[source] E),
    /// The answers do not establish a function.
    #[error("not enough evidence: {0}")]
    NotEnoughEvidence(#[from] NotEnoughEvidence),
}
