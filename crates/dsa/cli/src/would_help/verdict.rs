//! The answer: yes, no, or not from these data.

use super::estimate::{Band, ReplayEstimate, SizeEstimate, band};
use super::offloads::OffloadSum;

/// A device that saves less than this share of the program's time does not help it.
pub const LEAST_PERCENT: f64 = 1.0;
/// Fewer calls than this are no habit of a program.
pub const LEAST_OFFLOADS: u64 = 5;

/// Whether a device would help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HelpAnswer {
    Yes,
    /// Engines are not faster, whatever the size.
    NotFaster,
    /// Engines are faster, but too little of the program's time is in such calls.
    TooLittle,
    /// It depends on what the run does not show.
    Unknown,
    /// The program makes no call that is large enough.
    NoCalls,
    /// Too few calls reached the device.
    TooFew,
    /// No process loaded the library and ended by itself.
    NotCounted,
}

/// The answer with its numbers.
#[derive(Clone, Debug)]
pub struct HelpVerdict {
    pub answer: HelpAnswer,
    /// Calls from this size on go to the device. `None` if engines are slower for each size.
    pub from_bytes: Option<u64>,
    /// The offloads from that size on.
    pub sum: OffloadSum,
    /// Times of these in nanoseconds: by cores, by engines, and what a program gains that waits.
    pub core_ns: Band,
    pub engines_ns: Band,
    pub gain_ns: Band,
    /// Share of the run's time that it gains.
    pub gain_percent: Band,
    /// The size from which on most core cycles come free if the program has other work meanwhile, with their
    /// number in a run.
    pub freed_from_bytes: Option<u64>,
    pub freed_cycles: Band,
    /// Bytes between memory and the LLC for the calls from `from_bytes` on, or of all: engines, cores.
    pub memory_bytes: [Band; 2],
    /// Time of the run without what calls wait for the device in software.
    pub program_ns: f64,
}

impl HelpVerdict {
    /// Judges the offloads of a program that takes `program_ns`, and whose calls were counted or not.
    pub fn new(sizes: &[SizeEstimate], program_ns: f64, is_counted: bool) -> Self {
        let paying = paying(sizes, program_ns);
        let freed_by = |value| best_first(sizes, |replay| replay.freed_cycles, value);
        let freed = freed_by(|band: Band| band.low).or_else(|| freed_by(Band::middle));
        // The program can do nothing sooner than its calls by a core.
        let of_all = if paying.is_empty() { sizes } else { paying };
        let core_ns = band(of_all, |replay| replay.core_ns).not_negative();
        let program_ns = program_ns.max(core_ns.high);
        let gain_ns = band(of_all, ReplayEstimate::gain_ns);
        let gain_percent = gain_ns.times(100.0 / program_ns.max(1.0));
        let sum = sum(of_all);
        Self {
            answer: match sum.offloads {
                0 if is_counted => HelpAnswer::NoCalls,
                0 => HelpAnswer::NotCounted,
                _ => answer(sum, !paying.is_empty(), gain_ns, gain_percent),
            },
            from_bytes: paying.first().map(|size| size.least_bytes),
            sum,
            core_ns,
            engines_ns: band(of_all, |replay| replay.engines_ns).not_negative(),
            gain_ns,
            gain_percent,
            freed_from_bytes: freed.map(|first| sizes[first].least_bytes),
            freed_cycles: band(freed.map_or(&[][..], |first| &sizes[first..]), |replay| {
                replay.freed_cycles
            }),
            memory_bytes: [0, 1]
                .map(|by| band(of_all, |replay| replay.memory_bytes[by]).not_negative()),
            program_ns,
        }
    }

    /// The answer in one word, for programs.
    pub fn word(&self) -> &'static str {
        match self.answer {
            HelpAnswer::Yes => "yes",
            HelpAnswer::NotFaster | HelpAnswer::TooLittle | HelpAnswer::NoCalls => "no",
            HelpAnswer::Unknown | HelpAnswer::TooFew | HelpAnswer::NotCounted => "unknown",
        }
    }

    /// Bytes for each second by which engines load the memory more than cores, over the program's time.
    pub fn memory_bytes_per_s(&self) -> f64 {
        let [engines, cores] = self.memory_bytes.map(Band::middle);
        (engines - cores) / (self.program_ns / 1e9)
    }

    /// Cycles of cores that come free in a second of the program.
    pub fn freed_cycles_per_s(&self) -> Band {
        self.freed_cycles.times(1e9 / self.program_ns.max(1.0))
    }
}

/// The sizes for which a device pays: those from which on the gain is largest that is certain, if it is large
/// enough, or else those from which on the middle of the gain is largest.
fn paying(sizes: &[SizeEstimate], program_ns: f64) -> &[SizeEstimate] {
    let from = |first: Option<usize>| first.map_or(&[][..], |first| &sizes[first..]);
    let certain = from(best_first(sizes, ReplayEstimate::gain_ns, |band| band.low));
    if 100.0 * band(certain, ReplayEstimate::gain_ns).low >= LEAST_PERCENT * program_ns {
        return certain;
    }
    from(best_first(sizes, ReplayEstimate::gain_ns, Band::middle))
}

/// The first of the sizes from which on a value of the band is largest; `None` if it is nowhere above 0.
fn best_first(
    sizes: &[SizeEstimate],
    gain: impl Fn(&ReplayEstimate) -> f64 + Copy,
    value: fn(Band) -> f64,
) -> Option<usize> {
    let gains = (0..sizes.len()).map(|first| (first, value(band(&sizes[first..], gain))));
    let above = gains.filter(|(_, gain)| *gain > 0.0);
    above.max_by(|(_, one), (_, other)| one.total_cmp(other)).map(|(first, _)| first)
}

fn sum(sizes: &[SizeEstimate]) -> OffloadSum {
    sizes.iter().fold(OffloadSum::default(), |all, size| OffloadSum {
        offloads: all.offloads + size.sum.offloads,
        bytes: all.bytes + size.sum.bytes,
    })
}

fn answer(sum: OffloadSum, pays: bool, gain_ns: Band, gain_percent: Band) -> HelpAnswer {
    if !pays {
        HelpAnswer::NotFaster
    } else if gain_percent.high < LEAST_PERCENT {
        HelpAnswer::TooLittle
    } else if sum.offloads < LEAST_OFFLOADS {
        HelpAnswer::TooFew
    } else if gain_ns.low <= 0.0 || gain_percent.low < LEAST_PERCENT {
        HelpAnswer::Unknown
    } else {
        HelpAnswer::Yes
    }
}

#[cfg(test)]
mod tests {
    use super::super::estimate::tests::size;
    use super::*;

    fn many(mut sizes: Vec<SizeEstimate>) -> Vec<SizeEstimate> {
        sizes.iter_mut().for_each(|size| size.sum.offloads = 100);
        sizes
    }

    #[test]
    fn yes_names_the_size_from_which_on_engines_gain() {
        let sizes = many(vec![
            size(1024, (10.0, 50.0), (12.0, 50.0)),
            size(4096, (40.0, 60.0), (90.0, 60.0)),
            size(65_536, (900.0, 300.0), (1000.0, 300.0)),
        ]);
        let verdict = HelpVerdict::new(&sizes, 10_000.0, true);
        assert_eq!((verdict.answer, verdict.from_bytes), (HelpAnswer::Yes, Some(65_536)));
        assert_eq!(verdict.gain_ns, Band { low: 600.0, high: 700.0 });
        assert!((verdict.gain_percent.low - 6.0).abs() < 1e-9, "{verdict:?}");
        // A core that has other work meanwhile gains by each call, but for 1 ns.
        assert_eq!(verdict.freed_from_bytes, Some(1024));
        assert_eq!(verdict.sum.offloads, 100);
    }

    #[test]
    fn no_if_engines_are_slower_for_each_size_or_the_time_is_too_little() {
        let slower = many(vec![size(4096, (40.0, 60.0), (50.0, 60.0))]);
        let verdict = HelpVerdict::new(&slower, 10_000.0, true);
        assert_eq!((verdict.answer, verdict.from_bytes), (HelpAnswer::NotFaster, None));
        let faster = many(vec![size(65_536, (900.0, 300.0), (1000.0, 300.0))]);
        let verdict = HelpVerdict::new(&faster, 1e6, true);
        assert_eq!((verdict.answer, verdict.word()), (HelpAnswer::TooLittle, "no"));
        assert_eq!(verdict.from_bytes, Some(65_536));
    }

    #[test]
    fn not_from_these_data_if_the_caches_decide_or_calls_are_few() {
        let caches = many(vec![size(16_384, (400.0, 600.0), (1500.0, 600.0))]);
        assert_eq!(HelpVerdict::new(&caches, 10_000.0, true).answer, HelpAnswer::Unknown);
        let few = [size(65_536, (900.0, 300.0), (1000.0, 300.0))];
        assert_eq!(HelpVerdict::new(&few, 1000.0, true).answer, HelpAnswer::TooFew);
        assert_eq!(HelpVerdict::new(&[], 1000.0, true).answer, HelpAnswer::NoCalls);
        assert_eq!(HelpVerdict::new(&[], 1000.0, false).word(), "unknown");
    }

    #[test]
    fn a_program_takes_no_less_time_than_its_calls() {
        let sizes = many(vec![size(65_536, (900.0, 300.0), (1000.0, 300.0))]);
        let verdict = HelpVerdict::new(&sizes, 10.0, true);
        assert!((verdict.program_ns - 1000.0).abs() < 1e-9);
        assert!((verdict.gain_percent.high - 70.0).abs() < 1e-9);
    }
}
