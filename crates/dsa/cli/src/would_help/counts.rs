//! Calls of memcpy and its like, as the preloaded library counts them in each process.
//!
//! Reads the library's reports: docs/reference/dsa-preload-settings.md, "Statistics".

use crate::failure::CommandFailure;
use std::collections::{BTreeMap, BTreeSet};

/// The functions, in the order of reports.
pub const FUNCTIONS: [&str; 4] = ["memcpy", "memmove", "memset", "memcmp"];

/// Number of calls, and their bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CallSum {
    pub calls: u64,
    pub bytes: u64,
}

/// Calls of one process, or of several together.
#[derive(Clone, Debug, Default)]
pub struct CountedCalls {
    /// Process ids.
    pub processes: BTreeSet<u64>,
    /// Calls by the least size of their class, which goes up to twice that, and by function as in
    /// [`FUNCTIONS`].
    pub by_size: BTreeMap<u64, [CallSum; 4]>,
    /// Time in nanoseconds that calls took of which the device did something; a sum over threads.
    pub device_ns: f64,
    /// Calls that were large enough and stayed with the CPU, by reason.
    pub refused: BTreeMap<String, CallSum>,
    /// Remarks of the library.
    pub notes: BTreeSet<String>,
}

/// Calls of all processes of a run that ended by themselves.
#[derive(Debug, Default)]
pub struct RunCounts {
    processes: Vec<(String, CountedCalls)>,
}

impl RunCounts {
    /// Reads the reports of all processes.
    pub fn parse(text: &str) -> Self {
        let mut run = Self::default();
        for line in text.lines() {
            if let Some(process) = line.strip_prefix("skipline-dsa-preload: process ") {
                let (number, name) = process.split_once(' ').unwrap_or((process, ""));
                let counts = CountedCalls {
                    processes: number.parse().into_iter().collect(),
                    ..CountedCalls::default()
                };
                let name = name.trim_start_matches('(').trim_end_matches(')');
                run.processes.push((name.to_owned(), counts));
            } else if let Some((_, counts)) = run.processes.last_mut() {
                counts.take_line(line);
            }
        }
        run
    }

    /// Calls of the processes of one program, or of all.
    ///
    /// # Errors
    /// If no process has that name.
    pub fn of_program(&self, name: Option<&str>) -> Result<CountedCalls, CommandFailure> {
        let is_wanted = |(own, _): &&(String, CountedCalls)| name.is_none_or(|name| name == own);
        let chosen: Vec<_> = self.processes.iter().filter(is_wanted).collect();
        if let Some(name) = name.filter(|_| chosen.is_empty()) {
            let known: BTreeSet<&str> =
                self.processes.iter().map(|(own, _)| own.as_str()).collect();
            let known: Vec<&str> = known.into_iter().collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(CommandFailure::bad_input(format!(
                "--only {name}: no process of this name has ended by itself; those that have: {known}"
            )));
        }
        let mut all = CountedCalls::default();
        chosen.into_iter().for_each(|(_, counts)| all.add(counts));
        Ok(all)
    }
}

impl CountedCalls {
    /// Takes a line of a report; other lines than rows, reasons and remarks say nothing about calls.
    fn take_line(&mut self, line: &str) {
        if let Some(note) = line.strip_prefix("note: ") {
            self.notes.insert(note.to_owned());
        } else if let Some((_, reason)) = line.split_once(" by cpu, ") {
            self.take_reason(reason);
        } else {
            self.take_row(line);
        }
    }

    /// Takes `FUNCTION device|cpu LEAST_BYTES CALLS BYTES NS_PER_CALL`.
    fn take_row(&mut self, line: &str) -> Option<()> {
        let mut words = line.split(' ');
        let function = FUNCTIONS.iter().position(|name| Some(*name) == words.clone().next())?;
        let by = words.nth(1)?;
        let mut number = || words.next()?.parse::<u64>().ok();
        let (least_bytes, calls, bytes, ns) = (number()?, number()?, number()?, number()?);
        let sum = &mut self.by_size.entry(least_bytes).or_default()[function];
        sum.calls += calls;
        sum.bytes += bytes;
        if by == "device" {
            #[expect(clippy::cast_precision_loss, reason = "a time of a run")]
            let all_ns = (calls * ns) as f64;
            self.device_ns += all_ns;
        }
        Some(())
    }

    /// Takes `REASON: CALLS calls, BYTES bytes`.
    fn take_reason(&mut self, line: &str) -> Option<()> {
        let (reason, counts) = line.split_once(": ")?;
        let (calls, bytes) = counts.split_once(" calls, ")?;
        let bytes = bytes.strip_suffix(" bytes")?;
        if reason != "small" {
            let sum = self.refused.entry(reason.to_owned()).or_default();
            sum.calls += calls.parse::<u64>().ok()?;
            sum.bytes += bytes.parse::<u64>().ok()?;
        }
        Some(())
    }

    fn add(&mut self, other: &Self) {
        self.processes.extend(&other.processes);
        for (size, sums) in &other.by_size {
            let own = self.by_size.entry(*size).or_default();
            for (own, sum) in own.iter_mut().zip(sums) {
                own.calls += sum.calls;
                own.bytes += sum.bytes;
            }
        }
        self.device_ns += other.device_ns;
        for (reason, sum) in &other.refused {
            let own = self.refused.entry(reason.clone()).or_default();
            own.calls += sum.calls;
            own.bytes += sum.bytes;
        }
        self.notes.extend(other.notes.iter().cloned());
    }

    /// All calls.
    pub fn total(&self) -> CallSum {
        let mut all = CallSum::default();
        for sum in self.by_size.values().flatten() {
            all.calls += sum.calls;
            all.bytes += sum.bytes;
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORTS: &str = "\
skipline-dsa-preload: process 7 (sh)
queues: wq0.1 (shared)
function by least_bytes calls bytes ns_per_call
memcpy cpu 64 3 300 20
memcpy by cpu, small: 3 calls, 300 bytes
skipline-dsa-preload: process 8 (tar)
queues: wq0.1 (shared)
function by least_bytes calls bytes ns_per_call
memcpy device 4096 2 9000 500
memcpy cpu 4096 1 5000 100
memcmp cpu 64 5 400 9
memcpy by cpu, overlap: 1 calls, 5000 bytes
note: nothing in particular
";

    #[test]
    fn rows_of_device_and_cpu_are_calls_of_one_size() {
        let counts = RunCounts::parse(REPORTS);
        let tar = counts.of_program(Some("tar")).expect("is there");
        assert_eq!(tar.by_size[&4096][0], CallSum { calls: 3, bytes: 14_000 });
        assert_eq!(tar.by_size[&64][3], CallSum { calls: 5, bytes: 400 });
        assert_eq!(tar.device_ns, 1000.0);
        assert_eq!(tar.refused["overlap"], CallSum { calls: 1, bytes: 5000 });
        assert_eq!(tar.processes, BTreeSet::from([8]));
        let all = counts.of_program(None).expect("all are");
        assert_eq!(all.total(), CallSum { calls: 11, bytes: 14_700 });
        assert_eq!(all.notes.len(), 1);
    }

    #[test]
    fn a_name_that_no_process_has_is_refused_with_those_that_are_there() {
        let failure = RunCounts::parse(REPORTS).of_program(Some("gzip")).expect_err("is not there");
        assert!(failure.to_string().contains("those that have: sh, tar"), "{failure}");
    }
}
