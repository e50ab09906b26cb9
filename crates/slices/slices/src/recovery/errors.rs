//! Errors of the recovery.

use super::pages::PagesError;

/// Reason why the answers establish no function.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NotEnoughEvidence {
    /// The budget ran out.
    #[error("all {asked} questions of the budget were asked {stage}; allow more")]
    Budget {
        /// Number of questions.
        asked: u64,
        /// The step in which the budget ran out.
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
        /// Upper bound on that share, with what chance does.
        bound: f64,
        /// Highest bound that is accepted.
        limit: f64,
    },
    /// The votes about an address are undecided for longer than the noise explains.
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
    /// An address was in another slice at first than in the finished table.
    #[error(
        "address {physical_address:#x} was in slice {before} at first, and is in {now} by the table \
         that later answers gave; slices were named otherwise meanwhile, or another function chosen"
    )]
    Changed {
        /// The address.
        physical_address: u64,
        /// The slice by most of the first answers.
        before: u16,
        /// The slice by the table.
        now: u16,
    },
    /// A slice was never the answer.
    #[error("no line is in slice {0}; is it disabled, or the number of slices wrong?")]
    SliceNeverSeen(u16),
    /// No function of the two kinds fits the answers.
    #[error("no XOR function and no base sequence of up to {longest} lines fits the answers")]
    NothingFits {
        /// Lines of the longest sequence that was tried.
        longest: u32,
    },
}

/// Error of a recovery.
#[derive(Debug, thiserror::Error)]
pub enum RecoveryError<E: std::error::Error + 'static> {
    /// The value of a setting is not allowed.
    #[error("`{key}` is {given}; allowed: {allowed}")]
    Setting {
        /// Name of the setting.
        key: &'static str,
        /// The value.
        given: f64,
        /// The allowed values.
        allowed: &'static str,
    },
    /// The oracle's number of slices is not allowed.
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
