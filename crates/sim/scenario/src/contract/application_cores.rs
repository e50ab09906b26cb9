//! Cores of an application as the subject of the metrics that only this application has.

use crate::contract::metric::Subject;
use crate::contract::sample::Sample;
use model::reading::Reading;
use model::software::Account;
use units::Picos;

/// The cores of an application.
pub(crate) struct ApplicationCores {
    /// Numbers of the cores.
    pub cores: Vec<usize>,
}

/// The cores of an application in a sample.
pub(crate) struct ApplicationView {
    /// Counters of all cores of the application, summed.
    pub account: Account,
    /// Time at which the last operation so far was completed.
    pub last_completion: Picos,
    /// Sum of the measured times of all cores.
    pub core_time: Picos,
    /// Length of the measured time.
    pub span: Picos,
}

impl Subject for ApplicationCores {
    type View<'a> = ApplicationView;

    fn view<'a>(&'a self, sample: &'a Sample) -> ApplicationView {
        let accounts = || self.cores.iter().map(|&core| &sample.software[core]);
        ApplicationView {
            account: accounts().fold(Account::default(), |sum, account| sum.plus(account)),
            last_completion: accounts().map(|it| it.last_completion).max().unwrap_or_default(),
            core_time: Picos(sample.span.0 * self.cores.len() as u64),
            span: sample.span,
        }
    }
}

impl ApplicationView {
    /// Events per second of the measured time: `count` by its length.
    pub(crate) fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.span.as_seconds()
    }
}

/// A share in percent; not a number of nothing.
pub(crate) fn percent(part: f64, whole: f64) -> f64 {
    100.0 * part / whole
}
