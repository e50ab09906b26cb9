//! What `slices map` and `slices check` found, for people and programs.

use std::fmt::Write as _;
use std::path::Path;

use super::compared::Compared;
use ::slices::recovery::{Evidence, HugePage, Recovered};
use ::slices::{Coverage, TableFile};
use host::cpu::{CpuId, PackageId};
use host::tune::TunePlan;
use serde::Serialize;

use crate::failure::{Ending, Failure};
use crate::output::{Format, Paint, bytes, emit, emit_json, wrapped};
use crate::tune::view::warnings;

const WIDTH: usize = 100;

/// The oracle and the memory.
pub struct Report {
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

/// How it ended.
pub enum Verdict<'a> {
    Established(&'a Recovered, &'a Path),
    /// The name of a published function, its table and where that was written.
    Published(&'static str, &'a TableFile, &'a Path),
    /// Why, and what was not done therefore.
    NotEnough(String, &'static str),
    Compared(&'a Compared),
    DryRun(&'a TunePlan),
}

/// The JSON output.
#[derive(Serialize)]
struct Json<'a> {
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
    table: Option<Table<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    published: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<&'a Compared>,
    plan: Option<&'a TunePlan>,
}

#[derive(Serialize)]
struct Table<'a> {
    file: &'a Path,
    valid_bits: (u32, u32),
    /// Whether it holds for all addresses of the valid range.
    covers_all: bool,
    lines: usize,
    xor_masks: Option<&'a [u64]>,
    evidence: Option<&'a Evidence>,
}

impl<'a> Table<'a> {
    fn of(file: &'a TableFile, path: &'a Path, xor_masks: Option<&'a [u64]>) -> Self {
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

impl Report {
    /// Where a table comes from, for the table.
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

    fn by(&self) -> String {
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

/// Prints the verdict; without a table that is a failure, which the output tells.
pub fn show(format: Format, report: &Report, verdict: &Verdict<'_>) -> Result<(), Failure> {
    match format {
        Format::Json => emit_json(&json(report, verdict))?,
        Format::Text => emit(&text(report, verdict, Paint::of_stdout()))?,
    }
    if matches!(verdict, Verdict::NotEnough(..)) {
        Err(Failure::told(Ending::Failed))
    } else {
        Ok(())
    }
}

fn json<'a>(report: &'a Report, verdict: &'a Verdict<'a>) -> Json<'a> {
    let (word, reason, table) = match verdict {
        Verdict::Established(recovered, path) => {
            let table = Table::of(&recovered.file, path, recovered.xor_masks.as_deref());
            ("established", None, Some(table))
        }
        Verdict::Published(_, file, path) => ("published", None, Some(Table::of(file, path, None))),
        Verdict::NotEnough(reason, _) => ("not-enough-evidence", Some(reason.as_str()), None),
        Verdict::Compared(compared) => (compared.word(), None, None),
        Verdict::DryRun(_) => ("dry-run", None, None),
    };
    Json {
        verdict: word,
        reason,
        published: if let Verdict::Published(name, ..) = verdict { Some(*name) } else { None },
        comparison: if let Verdict::Compared(compared) = verdict { Some(*compared) } else { None },
        plan: if let Verdict::DryRun(plan) = verdict { Some(*plan) } else { None },
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

fn text(report: &Report, verdict: &Verdict<'_>, paint: Paint) -> String {
    let Report { part, socket, slices, .. } = report;
    let mut text = paint.heading(format!("Slices of {part}, socket {socket}")) + "\n";
    if *slices > 0 && !matches!(verdict, Verdict::Published(..)) {
        text += &line("asked", &format!("{slices} slices, {}", report.by()));
    }
    match verdict {
        Verdict::Established(recovered, file) => {
            text += &line("function", &function(recovered));
            text += &line("holds for", &coverage(&recovered.file));
            if let Some(evidence) = &recovered.file.evidence {
                text += &self::evidence(evidence);
            }
            text += &notes(report, paint);
            text += &line("table", &file.display().to_string());
            text += &format!("{}\n", paint.good("Established."));
        }
        Verdict::Published(name, file, path) => {
            text += &published(name, file);
            text += &line("table", &path.display().to_string());
            text += &format!("{}\n", paint.good("Published: no recovery needed."));
            text +=
                "skipline-host slices check compares it with this machine; --recover learns it.\n";
        }
        Verdict::Compared(compared) => {
            text += &compared.text(report, paint);
        }
        Verdict::NotEnough(reason, therefore) => {
            text += &notes(report, paint);
            for part in wrapped(&format!("Not enough evidence: {reason}."), WIDTH) {
                text += &format!("{}\n", paint.warning(part));
            }
            text += &format!("{therefore}\n");
        }
        Verdict::DryRun(plan) => {
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

pub fn line(what: &str, text: &str) -> String {
    let mut lines = String::new();
    for (index, part) in wrapped(text, WIDTH - 14).into_iter().enumerate() {
        let label = if index == 0 { what } else { "" };
        let _ = writeln!(lines, "  {label:<11} {part}");
    }
    lines
}

pub fn notes(report: &Report, paint: Paint) -> String {
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
                 pages say more",
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
         % were allowed for; {} fresh addresses compared, at most {:.2} % of all do otherwise; {} pages, {} of \
         them as the others foretold; a table is wrong with a probability of {:e}",
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
