//! The answer as text and as JSON.

use super::counts::{CallSum, CountedCalls, FUNCTIONS};
use super::estimate::{Band, ReplayEstimate, SizeEstimate, band};
use super::offloads::{Offloads, in_f64};
use super::recording::{LEAST_BYTES, ProgramRecording};
use super::replay::SEEDS;
use super::verdict::{HelpAnswer, HelpVerdict, LEAST_OFFLOADS, LEAST_PERCENT};
use super::words;
use serde_json::{Value, json};
use std::fmt::Write;

/// All that an answer is made of.
pub struct Report<'a> {
    pub part: &'a str,
    pub only: Option<&'a str>,
    pub recording: &'a ProgramRecording,
    pub calls: &'a CountedCalls,
    pub offloads: &'a Offloads,
    pub estimates: &'a [SizeEstimate],
    pub verdict: &'a HelpVerdict,
}

impl Report<'_> {
    /// The answer as text: how the program ended if it failed, the answer's sentence, then costs, notes and
    /// the histogram.
    pub fn text(&self) -> String {
        let mut text = String::new();
        let code = self.recording.ended.code;
        if code != 0 {
            text += &format!(
                "The program ended with {code}; the answer is about what it did before.\n"
            );
        }
        text += &format!("{}\n", self.sentence());
        if !self.estimates.is_empty() {
            for line in [self.freed(), self.memory(), self.interval()] {
                text += &format!("{line}\n");
            }
        }
        for note in self.notes() {
            text += &format!("note: {note}\n");
        }
        text + &self.histogram()
    }

    /// The answer in one sentence.
    fn sentence(&self) -> String {
        let verdict = self.verdict;
        let from = verdict.from_bytes.map(words::size).unwrap_or_default();
        let percent = words::band(verdict.gain_percent, words::three_digits);
        let gain = words::band(verdict.gain_ns, words::time);
        let program = words::time(verdict.program_ns);
        match verdict.answer {
            HelpAnswer::Yes => format!(
                "Yes, from {from} on: {}. The program, which waits for each, gains {gain}, {percent} % of \
                 the run's {program}.",
                self.times()
            ),
            HelpAnswer::NotFaster => format!(
                "No: engines do calls of no size sooner than a core; {}, of the run's {program}.",
                self.times()
            ),
            HelpAnswer::TooLittle => format!(
                "No: from {from} on {}. The program would gain {percent} % of the run's {program}; what is \
                 below {LEAST_PERCENT} % does not help it.",
                self.times()
            ),
            HelpAnswer::Unknown => format!(
                "Not from these data: from {from} on {}. The program, which waits for each, gains {gain}, \
                 {percent} % of the run's {program}: {}.",
                self.times(),
                if verdict.gain_ns.low > 0.0 {
                    format!("{LEAST_PERCENT} % of a run is what counts as help, and lies between")
                } else {
                    "whether its data is in caches decides".into()
                }
            ),
            HelpAnswer::TooFew => format!(
                "Not from these data: fewer than {LEAST_OFFLOADS} calls of the run went to the device \
                 ({}); give the program more work.",
                self.times()
            ),
            HelpAnswer::NoCalls => format!(
                "No: none of the program's {} calls of memcpy, memmove, memset and memcmp is one for a \
                 device; {LEAST_BYTES} bytes are the least.",
                self.calls.total().calls
            ),
            HelpAnswer::NotCounted => format!("Not from these data: {}.", self.why_not_counted()),
        }
    }

    /// Calls with their bytes and their times by cores and by engines.
    fn times(&self) -> String {
        let HelpVerdict { sum, core_ns, engines_ns, .. } = self.verdict;
        format!(
            "{} with {} {} a core of {} {}, its engines {}",
            words::plural(sum.offloads, "call"),
            words::bytes(in_f64(sum.bytes)),
            if sum.offloads == 1 { "takes" } else { "take" },
            self.part,
            words::band(*core_ns, words::time),
            words::band(*engines_ns, words::time)
        )
    }

    fn why_not_counted(&self) -> String {
        if self.recording.replaces_library {
            return "the command sets LD_PRELOAD itself and takes the library away from what it starts; \
                    append to it (LD_PRELOAD=\"$LD_PRELOAD:...\"), or set it before skipline-dsa"
                .into();
        }
        "no process of the run wrote its counts: each was killed, ended by _exit, or runs without the \
         libraries of LD_PRELOAD (statically linked, set-user-ID, or with an environment of its own); \
         `skipline-dsa doctor PROGRAM` looks at a program"
            .into()
    }

    /// The sentence about cycles of cores.
    fn freed(&self) -> String {
        let Some(from) = self.verdict.freed_from_bytes else {
            return "Core cycles: none come free, as submitting to an engine takes a core longer than \
                    the call itself."
                .into();
        };
        format!(
            "Core cycles: from {} on {} come free in such a run, {} a second, if the program has other work \
             until a call ends. The preloaded library waits instead.",
            words::size(from),
            words::band(self.verdict.freed_cycles, words::count),
            words::band(self.verdict.freed_cycles_per_s(), words::count),
        )
    }

    /// The sentence about memory and DDIO.
    fn memory(&self) -> String {
        let [engines, cores] = self.verdict.memory_bytes.map(|own| words::band(own, words::bytes));
        let rate = self.verdict.memory_bytes_per_s();
        let more = if rate >= 0.0 { "more" } else { "less" };
        let to_cache = self.offloads.to_cache();
        let ways = if to_cache > 0.0 {
            format!(
                "{} % of what engines write goes into the DDIO ways.",
                words::three_digits(100.0 * to_cache)
            )
        } else {
            "DDIO ways: none, as the library has engines write to memory, from where the program reads \
             its copies."
                .into()
        };
        format!(
            "Memory: engines move {engines} between memory and the last-level cache, cores {cores}; \
             that is {} a second {more}. {ways}",
            words::bytes(rate.abs())
        )
    }

    /// The sentence about what bands cover.
    fn interval(&self) -> String {
        let log = self.offloads.total().bytes;
        format!(
            "From and to are 95 % intervals of {SEEDS} replays (where pages lie, samples of {} in the log), \
             from data that the calls before left in caches to data in memory. They do not cover the \
             error of the model, nor pages that are not there yet, which a device leaves to the CPU.",
            words::bytes(in_f64(log))
        )
    }

    fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.recording.ended.lost > 0 {
            notes.push(format!(
                "{} offloads are missing: the disk was full",
                self.recording.ended.lost
            ));
        }
        // Reasons with less than this share of all bytes could not change the answer.
        let much = self.calls.total().bytes / 100;
        let refused = self.calls.refused.iter().filter(|(_, sum)| sum.bytes > much);
        notes.extend(refused.map(|(reason, CallSum { calls, bytes })| {
            let bytes = words::bytes(in_f64(*bytes));
            format!("{calls} calls with {bytes} stayed with the CPU: {reason}")
        }));
        notes.extend(self.calls.notes.iter().cloned());
        notes
    }

    /// Calls by size and function, and times of one offload by size.
    fn histogram(&self) -> String {
        if self.calls.by_size.is_empty() {
            return String::new();
        }
        let whose = self.only.map_or(String::new(), |name| format!(" of {name}"));
        let mut text = format!("\nCalls{whose} by size:\n{:>8}", "from");
        for name in FUNCTIONS {
            let _ = write!(text, " {name:>10}");
        }
        let _ = writeln!(
            text,
            " {:>9} {:>9} {:>16} {:>16}",
            "bytes", "replayed", "core, ns", "engines, ns"
        );
        for (least_bytes, sums) in &self.calls.by_size {
            let _ = write!(text, "{:>8}", words::size(*least_bytes));
            for sum in sums {
                let _ = write!(text, " {:>10}", sum.calls);
            }
            let bytes: u64 = sums.iter().map(|sum| sum.bytes).sum();
            let _ = write!(text, " {:>9}", words::bytes(in_f64(bytes)));
            let _ = writeln!(text, "{}", self.size_columns(*least_bytes).trim_end());
        }
        text
    }

    fn size_columns(&self, least_bytes: u64) -> String {
        let Some(size) = self.estimates.iter().find(|size| size.least_bytes == least_bytes) else {
            return String::new();
        };
        let [core, engines] = each_ns(size).map(|ns| words::band(ns, |ns| format!("{ns:.0}")));
        format!(" {:>9} {core:>16} {engines:>16}", size.sum.offloads)
    }

    /// The answer with all its numbers.
    pub fn to_json(&self) -> Value {
        let verdict = self.verdict;
        json!({
            "answer": verdict.word(), "sentence": self.sentence(), "part": self.part,
            "only": self.only, "program_exit_code": self.recording.ended.code,
            "recorded": self.recording.ended.recorded, "lost": self.recording.ended.lost,
            "program_ns": verdict.program_ns, "run_ns": self.recording.ended.took_ns,
            "from_bytes": verdict.from_bytes, "offloads": verdict.sum.offloads,
            "bytes": verdict.sum.bytes, "core_ns": bounds(verdict.core_ns),
            "engines_ns": bounds(verdict.engines_ns), "gain_ns": bounds(verdict.gain_ns),
            "gain_percent": bounds(verdict.gain_percent),
            "freed_from_bytes": verdict.freed_from_bytes,
            "freed_cycles": bounds(verdict.freed_cycles),
            "freed_cycles_per_s": bounds(verdict.freed_cycles_per_s()),
            "memory_bytes": {
                "engines": bounds(verdict.memory_bytes[0]), "cores": bounds(verdict.memory_bytes[1]),
                "more_per_s": verdict.memory_bytes_per_s(),
            },
            "written_to_cache": self.offloads.to_cache(), "replays_of_each_state": SEEDS,
            "notes": self.notes(), "histogram": self.histogram_json(),
            "sizes": self.estimates.iter().map(size_json).collect::<Vec<_>>(),
        })
    }

    fn histogram_json(&self) -> Vec<Value> {
        let rows = self.calls.by_size.iter().flat_map(|(least_bytes, sums)| {
            FUNCTIONS.iter().zip(sums).map(move |(function, sum)| (least_bytes, function, sum))
        });
        rows.filter(|(_, _, sum)| sum.calls > 0)
            .map(|(least_bytes, function, CallSum { calls, bytes })| {
                json!({
                    "function": function, "least_bytes": least_bytes, "calls": calls, "bytes": bytes,
                })
            })
            .collect()
    }
}

fn bounds(band: Band) -> Value {
    json!([band.low, band.high])
}

/// Time of one offload by a core and by an engine.
fn each_ns(size: &SizeEstimate) -> [Band; 2] {
    let each = 1.0 / in_f64(size.sum.offloads);
    let one = std::slice::from_ref(size);
    let core = band(one, |replay: &ReplayEstimate| replay.core_ns);
    let engines = band(one, |replay: &ReplayEstimate| replay.engines_ns);
    [core, engines].map(|band| band.not_negative().times(each))
}

fn size_json(size: &SizeEstimate) -> Value {
    let [core, engines] = each_ns(size);
    json!({
        "least_bytes": size.least_bytes, "offloads": size.sum.offloads, "bytes": size.sum.bytes,
        "core_ns_each": bounds(core), "engines_ns_each": bounds(engines),
    })
}
