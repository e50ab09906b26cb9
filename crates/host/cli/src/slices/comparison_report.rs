//! The result of `slices check`, for people and programs.

use std::fmt::Write as _;
use std::path::PathBuf;

use ::slices::comparison::{Comparison, DifferencePattern};
use serde::Serialize;

use super::view::{SlicesReport, SlicesVerdict, line, notes, show};
use crate::failure::{Ending, HostFailure};
use crate::output::{Paint, TextOrJson};

/// Largest share of lines without a clear answer; beyond it the comparison is not judged.
const MOST_UNCLEAR: f64 = 0.05;

/// Origin of a table: a file, or a published function by its name.
#[derive(Clone, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum TableOrigin {
    File(PathBuf),
    Published(&'static str),
}

/// Verdict and counts of a comparison.
#[derive(Serialize)]
pub struct ComparisonReport {
    table: TableOrigin,
    /// Whether table and machine agree; `None` if too many lines have no clear answer.
    pub agrees: Option<bool>,
    lines: u32,
    agreeing: u32,
    differing: u32,
    unclear: u32,
    /// The machine's number of each slice of the table, if the numbers differ.
    names: Option<Vec<u16>>,
    differs_by: Vec<DiffersBy>,
}

/// Address bits by which the differing lines can be told, and their shares with and without.
#[derive(Serialize)]
struct DiffersBy {
    address_bits: Vec<u32>,
    share_odd: f64,
    share_even: f64,
}

impl TableOrigin {
    /// Name of the table's origin, for messages.
    pub fn name(&self) -> String {
        match self {
            Self::File(path) => path.display().to_string(),
            Self::Published(name) => format!("published as {name}"),
        }
    }
}

impl ComparisonReport {
    /// Judges a comparison. With `names_are_free` (an oracle that only tells slices apart), other numbers of
    /// slices still agree.
    pub fn new(comparison: Comparison, table: TableOrigin, names_are_free: bool) -> Self {
        let lines = comparison.addresses();
        let judged = f64::from(comparison.unclear) <= MOST_UNCLEAR * f64::from(lines);
        let same_names = comparison.names.is_none() || names_are_free;
        let agrees = comparison.differing == 0 && same_names;
        let by = |DifferencePattern { bits, share_odd, share_even }| DiffersBy {
            address_bits: bits,
            share_odd,
            share_even,
        };
        Self {
            table,
            agrees: (judged || !agrees).then_some(agrees),
            lines,
            agreeing: comparison.agreeing,
            differing: comparison.differing,
            unclear: comparison.unclear,
            names: comparison.names,
            differs_by: comparison.patterns.into_iter().map(by).collect(),
        }
    }

    /// Prints the report; fails with exit code 4 if the machine differs, and with 6 if it was not judged.
    pub fn show(&self, format: TextOrJson, report: &SlicesReport) -> Result<(), HostFailure> {
        show(format, report, &SlicesVerdict::Compared(self))?;
        match self.agrees {
            Some(true) => Ok(()),
            Some(false) => Err(HostFailure::reported(Ending::NotAsAsked)),
            None => Err(HostFailure::reported(Ending::NotJudged)),
        }
    }

    /// Verdict of the comparison in a word.
    pub fn word(&self) -> &'static str {
        match self.agrees {
            Some(true) => "agrees",
            Some(false) => "differs",
            None => "not-judged",
        }
    }

    /// Formats the lines of the report.
    pub fn text(&self, report: &SlicesReport, paint: Paint) -> String {
        let mut text = line("table", &self.table.name());
        text += &line("questions", &report.questions.to_string());
        text += &notes(report, paint);
        for difference in self.differences() {
            text += &line("differs in", &difference);
        }
        let sentence = self.sentence() + ".";
        let painted = match self.word() {
            "agrees" => paint.good(sentence),
            _ => paint.warning(sentence),
        };
        text + &format!("{painted}\n")
    }

    /// The verdict in a sentence.
    fn sentence(&self) -> String {
        let Self { lines, agreeing, differing, unclear, .. } = self;
        let mut text = match (self.agrees, &self.names) {
            (Some(true), None) => format!("Agrees in {agreeing} of {lines} lines"),
            (Some(true), Some(_)) => {
                format!("Agrees in {agreeing} of {lines} lines, with other names of slices")
            }
            (Some(false), Some(_)) if *differing == 0 => format!(
                "Differs: the same function in {agreeing} of {lines} lines, but slices have other names"
            ),
            (Some(false), _) => format!("Differs in {differing} of {lines} lines"),
            (None, _) => format!("Not judged: {unclear} of {lines} lines have no clear answer"),
        };
        if self.agrees.is_some() && *unclear > 0 {
            let _ = write!(text, "; {unclear} without a clear answer");
        }
        text
    }

    /// A sentence for each pattern of address bits by which lines differ.
    fn differences(&self) -> Vec<String> {
        let percent = |share: f64| 100.0 * share;
        let pattern = |by: &DiffersBy| {
            let (odd, even) = (percent(by.share_odd), percent(by.share_even));
            match by.address_bits.as_slice() {
                [one, other] => format!(
                    "{odd:.0} % of the lines with just one of address bits {one} and {other} set, {even:.0} % of \
                     the others"
                ),
                bits => format!(
                    "{odd:.0} % of the lines with address bit {} set, {even:.0} % of the others",
                    bits.first().copied().unwrap_or_default()
                ),
            }
        };
        match self.differs_by.as_slice() {
            [] if self.differing > 0 => {
                vec![
                    "no address bit separates them: another function, or wrong lines in the sequence"
                        .into(),
                ]
            }
            patterns => patterns.iter().map(pattern).collect(),
        }
    }
}
