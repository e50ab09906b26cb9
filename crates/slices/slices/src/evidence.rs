//! The evidence for a table, as table files state it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Evidence for a table that the recovery has accepted: questions, noise, and the result of the hold-out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Number of questions asked in all.
    pub questions: u64,
    /// Number of questions without a clear answer.
    pub unclear_answers: u64,
    /// Share of wrong answers about the addresses that were asked repeatedly at the start.
    pub noise_share: f64,
    /// The share of wrong answers that all decisions allow for.
    pub allowed_noise_share: f64,
    /// Share of the later answers that contradict the table: votes, rearrangements, hold-out.
    pub contradicting_share: f64,
    /// Addresses of the hold-out; each was compared with the table.
    pub hold_out_addresses: u64,
    /// Number of random addresses whose first answer contradicted the table; a vote then agreed with the
    /// table.
    pub hold_out_asked_again: u64,
    /// Upper bound, at the stated error probability, on the share of addresses in the pages that
    /// do not follow the table and went unnoticed.
    pub most_unfitting_share: f64,
    /// Number of huge pages whose addresses were asked about.
    pub pages: u32,
    /// Pages whose answers were as all others together predicted. Beyond the pages, a table relies on the
    /// slice depending on the higher address bits by XOR; these pages tested that.
    pub foretold_pages: u32,
    /// Probability of a wrong table, if the part has a function of the kinds that are looked for.
    pub error_probability: f64,
}
