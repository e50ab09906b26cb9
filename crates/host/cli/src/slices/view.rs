//! The results of `slices map` and `slices check`, for people and programs.

use std::fmt::Write as _;
use std::path::Path;

use super::comparison_report::ComparisonReport;
use ::slices::recovery::{HugePage, Recovered};
use ::slices::{Coverage, Evidence, TableFile};
use host::cpu::{CpuId, PackageId};
use host::tune::TunePlan;
use serde::Serialize;

use crate::failure::{Ending, HostFailure};
use crate::output::{Paint, TextOrJson, bytes, emit, emit_json, wrapped};
use crate::tune::view::warnings;

const WIDTH: usize = 100;

/// The oracle that was used, its socket and its memory.
pub struct SlicesReport {
    pub oracle: &'static str,
    pub through: Option<&'static str>,
    pub part: String,
    pub socket: PackageId,
    pub cpu: CpuId,
    pub slices: u32,
    pub pages: Vec<HugePage>,
    pub questions: u64,
    pub notes: Vec<String>,
}

/// The result of a command.
pub enum SlicesVerdict<'a> {
    /// A learnt function, and the path of its table.
    Established(&'a Recovered, &'a Path),
    /// The name of a published function, its table and the path of the table.
    Published(&'static str, &'a TableFile, &'a Path),
    /// The reason, and the consequence as a sentence.
    NotEnough(String, &'static str),
    /// The result of a comparison.
    Compared(&'a ComparisonReport),
    /// The registers that `--apply` would write.
    DryRun(&'a TunePlan),
}

/// The JSON output.
#[derive(Serialize)]
struct SlicesJson<'a> {
    verdict: &'static str,
    reason: Option<&'a str>,
    oracle: &'static str,
    through: Option<&'static str>,
    part: &'a str,
    socket: PackageId,
    cpu: CpuId,
    slices: u32,
    pages: usize,
    questions: u64,
    notes: &'a [String],
    table: Option<TableSummary<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'a ComparisonReport>,
    plan: Option<&'a TunePlan>,
}

/// A table in the JSON output.
#[derive(Serialize)]
struct TableSummary<'a> {
    file: &'a Path,
    valid_bits: (u32, u32),
    /// Whether it holds for all addresses of the valid range.
    covers_all: bool,
    lines: usize,
    xor_masks: Option<&'a [u64]>,
    evidence: Option<&'a Evidence>,
}

impl<'a> TableSummary<'a> {
    fn new(file: &'a TableFile, path: &'a Path, xor_masks: Option<&'a [u64]>) -> Self {
        let TableFile { table, coverage, evidence } = file;
        Self {
            file: path,
            valid_bits: table.valid_bits,
            covers_all: matches!(coverage, Coverage::Below(_)),
            lines: table.base.len(),
            xor_masks,
            evidence: evidence.as_ref(),
        }
    }
}

impl SlicesReport {
    /// The `source` of a table that was learnt this way.
    pub fn source(&self) -> String {
        let by = match (self.oracle, self.through) {
            ("counters", Some("perf")) => "look-ups counted through perf",
            ("counters", _) => "look-ups counted in registers of the boxes",
            _ => "latencies from several cores",
        };
        let version = env!("CARGO_PKG_VERSION");
        let mut source =
            format!("skipline-host {version} slices map: {by}, processor {}", self.cpu);
        for note in &self.notes {
            let _ = write!(source, "; {note}");
        }
        source
    }

    /// The method by which slices were found, for people.
    fn method(&self) -> String {
        let cpu = self.cpu;
        match (self.oracle, self.through) {
            ("counters", Some("perf")) => {
                format!("counted through perf, accessed by processor {cpu}")
            }
            ("counters", _) => {
                format!("counted in the boxes' registers, accessed by processor {cpu}")
            }
            _ => "timed from several cores".into(),
        }
    }
}

/// Prints the verdict.
///
/// # Errors
/// If the output cannot be written, or the evidence is not enough (exit code 1; the output has the reason).
pub fn show(
    format: TextOrJson,
    report: &SlicesReport,
    verdict: &SlicesVerdict<'_>,
) -> Result<(), HostFailure> {
    match format {
        TextOrJson::Json => emit_json(&json(report, verdict))?,
        TextOrJson::Text => emit(&text(report, verdict, Paint::for_stdout()))?,
    }
    if matches!(verdict, SlicesVerdict::NotEnough(..)) {
        Err(HostFailure::reported(Ending::Failed))
    } else {
        Ok(())
    }
}

fn json<'a>(report: &'a SlicesReport, verdict: &'a SlicesVerdict<'a>) -> SlicesJson<'a> {
    let (word, reason, table) = match verdict {
        SlicesVerdict::Established(recovered, path) => {
            let table = TableSummary::new(&recovered.file, path, recovered.xor_masks.as_deref());
            ("established", None, Some(table))
        }
        SlicesVerdict::Published(_, file, path) => {
            ("published", None, Some(TableSummary::new(file, path, None)))
        }
        SlicesVerdict::NotEnough(reason, _) => ("not-enough-evidence", Some(reason.as_str()), None),
        SlicesVerdict::Compared(compared) => (compared.word(), None, None),
        SlicesVerdict::DryRun(_) => ("dry-run", None, None),
    };
    SlicesJson {
        verdict: word,
        reason,
        published: if let SlicesVerdict::Published(name, ..) = verdict {
            Some(*name)
        } else {
            None
        },
        comparison: if let SlicesVerdict::Compared(compared) = verdict {
            Some(*compared)
        } else {
            None
        },
        plan: if let SlicesVerdict::DryRun(plan) = verdict { Some(*plan) } else { None },
        oracle: report.oracle,
        through: report.through,
        part: &report.part,
        socket: report.socket,
        cpu: report.cpu,
        slices: report.slices,
        pages: report.pages.len(),
        questions: report.questions,
        notes: &report.notes,
        table,
    }
}

fn text(report: &SlicesReport, verdict: &SlicesVerdict<'_>, paint: Paint) -> String {
    let SlicesReport { part, socket, slices, .. } = report;
    let mut text = paint.heading(format!("Slices of {part}, socket {socket}")) + "\n";
    if *slices > 0 && !matches!(verdict, SlicesVerdict::Published(..)) {
        text += &line("asked", &format!("{slices} slices, {}", report.method()));
    }
    match verdict {
        SlicesVerdict::Established(recovered, file) => {
            text += &line("function", &function(recovered));
            text += &line("holds for", &coverage(&recovered.file));
            if let Some(evidence) = &recovered.file.evidence {
                text += &self::evidence(evidence);
            }
            text += &notes(report, paint);
            text += &line("table", &file.display().to_string());
            text += &format!("{}\n", paint.good("Established."));
        }
        SlicesVerdict::Published(name, file, path) => {
            text += &published(name, file);
            text += &line("table", &path.display().to_string());
            text += &format!("{}\n", paint.good("Published: no recovery needed."));
            text +=
                "skipline-host slices check compares it with this machine; --recover learns it.\n";
        }
        SlicesVerdict::Compared(compared) => {
            text += &compared.text(report, paint);
        }
        SlicesVerdict::NotEnough(reason, therefore) => {
            text += &notes(report, paint);
            for part in wrapped(&format!("Not enough evidence: {reason}."), WIDTH) {
                text += &format!("{}\n", paint.warning(part));
            }
            text += &format!("{therefore}\n");
        }
        SlicesVerdict::DryRun(plan) => {
            text += &notes(report, paint);
            text += &registers(plan);
            text += &warnings(plan, paint);
            let writes =
                plan.changes.iter().filter(|change| change.old != Some(change.asked)).count();
            text += &format!(
                "{}\n",
                paint.good(format!(
                    "Dry run: nothing was written or asked. --apply writes these {writes} values, and puts \
                     them back."
                ))
            );
        }
    }
    text
}

/// A labelled line of the text, wrapped.
pub fn line(what: &str, text: &str) -> String {
    let mut lines = String::new();
    for (index, part) in wrapped(text, WIDTH - 14).into_iter().enumerate() {
        let label = if index == 0 { what } else { "" };
        let _ = writeln!(lines, "  {label:<11} {part}");
    }
    lines
}

/// The notes of the report, one line each.
pub fn notes(report: &SlicesReport, paint: Paint) -> String {
    report.notes.iter().map(|note| paint.quiet(line("note", note))).collect()
}

fn published(name: &str, file: &TableFile) -> String {
    let table = &file.table;
    let (slices, lines, masks) = (table.slices, table.base.len(), table.perm_masks.len());
    let function = format!(
        "{name}: {slices} slices, base sequence of {lines} lines, rearranged by {masks} masks"
    );
    line("function", &function)
        + &line("holds for", &coverage(file))
        + &line("source", "J. D. McCalpin, TACC TR-2021-03 (BSD-3-Clause)")
}

fn function(recovered: &Recovered) -> String {
    match &recovered.xor_masks {
        Some(masks) => {
            let masks: Vec<String> = masks.iter().map(|mask| format!("{mask:#x}")).collect();
            format!("XOR masks {}", masks.join(", "))
        }
        None => {
            let table = &recovered.file.table;
            format!(
                "base sequence of {} lines, rearranged by {} masks",
                table.base.len(),
                table.perm_masks.len()
            )
        }
    }
}

fn coverage(file: &TableFile) -> String {
    match &file.coverage {
        Coverage::Below(limit) => format!("all physical addresses below {}", bytes(*limit)),
        Coverage::Only(covered) => {
            let reached = 1u64 << covered.span.len().min(57) << units::LINE_BYTES.trailing_zeros();
            format!(
                "{} of the addresses below {}: where the pages are, and what their differences reach; more \
                 pages cover more",
                bytes(reached),
                bytes(2 << file.table.valid_bits.1)
            )
        }
    }
}

fn evidence(evidence: &Evidence) -> String {
    let percent = |share: f64| 100.0 * share;
    let text = format!(
        "{} questions, {} of them without a clear answer; {:.1} % of the answers contradict the table, {:.1} \
         % were allowed for; {} fresh addresses compared, at most {:.2} % of all contradict it; {} pages, {} of \
         them as the others predicted; a table is wrong with a probability of {:e}",
        evidence.questions,
        evidence.unclear_answers,
        percent(evidence.contradicting_share),
        percent(evidence.allowed_noise_share),
        evidence.hold_out_addresses,
        percent(evidence.most_unfitting_share),
        evidence.pages,
        evidence.foretold_pages,
        evidence.error_probability,
    );
    line("evidence", &text)
}

fn registers(plan: &TunePlan) -> String {
    let mut text = String::new();
    for change in &plan.changes {
        let old = change.old.unwrap_or_default();
        let value = match old == change.asked {
            true => format!("stays {old:#x}"),
            false => format!("{old:#x} -> {:#x}", change.asked),
        };
        let _ = writeln!(text, "  {:<28} {:<24} {value}", change.place, change.old_means);
    }
    text
}
