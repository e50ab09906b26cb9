//! The prefetchers of an L2: which lines follow a demand miss.
//!
//! Models: the spatial prefetcher (other line of a 128-byte pair) and the streamer (lines ahead of an
//! ascending sequence within a 4 KiB page); prefetches take time where the platform file says so.
//! Source: Intel optimization manual, "data prefetching".
//! Simplifies: a fixed number of lines ahead, ascending only (DEVIATIONS.md, 9).

use units::{LineAddr, Picos};

/// Lines of a 4 KiB page: prefetches do not leave it.
const PAGE_LINES: u64 = 64;
/// Pages that the streamer tracks at a time.
const FOLLOWED_PAGES: usize = 32;
/// Prefetches that are remembered (Intel: 16 entries between L2 and the LLC).
const LATEST: usize = 16;

/// Parameters of the prefetchers of an L2; by default both are off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefetcherConfig {
    /// Fetch the other line of the pair.
    pub adjacent_line: bool,
    /// Number of lines fetched ahead of an ascending sequence; 0 switches the streamer off.
    pub stream_lines: u32,
    /// Every request of L1D continues a stream, also one that hits L2; else misses do.
    pub stream_sees_hits: bool,
    /// If set, prefetches take the time of a read, those of the streamer begin this long after the
    /// access that causes them, and the use of a prefetched line continues the stream. None: prefetched
    /// lines arrive at once and only misses cause prefetches.
    pub stream_delay: Option<Picos>,
}

/// A line to prefetch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prefetch {
    /// Line to prefetch.
    pub line: LineAddr,
    /// Delay after the access that causes it.
    pub delay: Picos,
}

/// A prefetch under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefetchInFlight {
    /// The prefetched line.
    pub line: LineAddr,
    /// Time at which the prefetch begins: an earlier access issues its own request.
    pub begins: Picos,
    /// Time at which the line arrives.
    pub arrives: Picos,
    /// Whether the prefetch missed every cache.
    pub from_memory: bool,
}

/// The prefetchers of one core's L2.
#[derive(Clone, Debug)]
pub struct Prefetcher {
    config: PrefetcherConfig,
    /// The last line requested in each tracked page, found by the low bits of the page number.
    last: [LineAddr; FOLLOWED_PAGES],
    /// The latest prefetches; a new one replaces the oldest.
    latest: [PrefetchInFlight; LATEST],
    oldest: usize,
}

impl Prefetcher {
    /// Prefetchers without history.
    #[must_use]
    pub fn new(config: PrefetcherConfig) -> Self {
        let nowhere = LineAddr(u64::MAX);
        let (begins, arrives) = (Picos::ZERO, Picos::ZERO);
        let none = PrefetchInFlight { line: nowhere, begins, arrives, from_memory: false };
        Self { config, last: [nowhere; FOLLOWED_PAGES], latest: [none; LATEST], oldest: 0 }
    }

    /// The other line of the pair, if it is fetched with `line`.
    #[inline]
    #[must_use]
    pub fn pair_of(&self, line: LineAddr) -> Option<LineAddr> {
        self.config.adjacent_line.then(|| line.neighbour())
    }

    /// Lines to prefetch after the core missed L2 with `line`, nearest first.
    #[inline]
    pub fn after_miss(&mut self, line: LineAddr) -> impl Iterator<Item = Prefetch> + Clone + use<> {
        let neighbour = self.pair_of(line);
        let pair = neighbour.map(|line| Prefetch { line, delay: Picos::ZERO });
        pair.into_iter().chain(self.stream(line).filter(move |next| Some(next.line) != neighbour))
    }

    /// Lines to prefetch after the core hit `line` in L2: none unless the streamer sees hits, or the line
    /// was prefetched lately.
    #[inline]
    pub fn after_hit(&mut self, line: LineAddr) -> impl Iterator<Item = Prefetch> + Clone + use<> {
        let was_prefetched = || self.latest.iter().any(|prefetch| prefetch.line == line);
        let goes_on =
            self.config.stream_sees_hits || self.config.stream_delay.is_some() && was_prefetched();
        goes_on.then(|| self.stream(line)).into_iter().flatten()
    }

    /// Lines ahead of `line`, if the sequence in its page ascends.
    #[inline]
    fn stream(&mut self, line: LineAddr) -> impl Iterator<Item = Prefetch> + Clone + use<> {
        let ahead = if self.config.stream_lines == 0 { 0 } else { self.lines_ahead(line) };
        let delay = self.config.stream_delay.unwrap_or_default();
        let lines = line.0 + 1..line.0 + 1 + ahead;
        lines.map(move |line| Prefetch { line: LineAddr(line), delay })
    }

    /// Number of lines to fetch ahead of `line`.
    fn lines_ahead(&mut self, line: LineAddr) -> u64 {
        let page = line.0 / PAGE_LINES;
        let last = &mut self.last[page as usize % FOLLOWED_PAGES];
        let ascending = last.0 / PAGE_LINES == page && last.0 < line.0;
        *last = line;
        let left_in_page = PAGE_LINES - 1 - line.0 % PAGE_LINES;
        if ascending { left_in_page.min(u64::from(self.config.stream_lines)) } else { 0 }
    }

    /// Records a prefetch, if prefetches take time.
    #[inline]
    pub fn note(&mut self, prefetch: PrefetchInFlight) {
        if self.config.stream_delay.is_some() {
            self.latest[self.oldest] = prefetch;
            self.oldest = (self.oldest + 1) % LATEST;
        }
    }

    /// The prefetch of `line` that is under way at `now`.
    #[inline]
    #[must_use]
    pub fn under_way(&self, line: LineAddr, now: Picos) -> Option<PrefetchInFlight> {
        self.config.stream_delay?;
        self.latest.iter().find(|prefetch| prefetch.line == line && prefetch.arrives > now).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OFF: PrefetcherConfig = PrefetcherConfig {
        adjacent_line: false,
        stream_lines: 0,
        stream_sees_hits: false,
        stream_delay: None,
    };
    const DELAY: Picos = Picos(5_000);

    fn lines(prefetches: impl Iterator<Item = Prefetch>) -> Vec<u64> {
        prefetches.map(|prefetch| prefetch.line.0).collect()
    }

    fn after(config: PrefetcherConfig, misses: &[u64]) -> Vec<u64> {
        let mut prefetcher = Prefetcher::new(config);
        let mut fetched = Vec::new();
        for &line in misses {
            fetched = lines(prefetcher.after_miss(LineAddr(line)));
        }
        fetched
    }

    fn prefetch_of(line: u64) -> PrefetchInFlight {
        let (line, begins, arrives) = (LineAddr(line), Picos(100), Picos(500));
        PrefetchInFlight { line, begins, arrives, from_memory: true }
    }

    #[test]
    fn a_single_miss_brings_its_pair_only() {
        let config = PrefetcherConfig { adjacent_line: true, stream_lines: 4, ..OFF };
        assert_eq!(after(config, &[70]), [71]);
    }

    #[test]
    fn an_ascending_sequence_brings_lines_ahead() {
        let config = PrefetcherConfig { stream_lines: 3, ..OFF };
        assert_eq!(after(config, &[66, 70]), [71, 72, 73]);
        assert_eq!(after(config, &[70, 66]), [0; 0]);
    }

    #[test]
    fn a_stream_ends_at_its_page() {
        let config = PrefetcherConfig { stream_lines: 8, ..OFF };
        assert_eq!(after(config, &[120, 126]), [127]);
    }

    #[test]
    fn switched_off_it_fetches_nothing() {
        assert_eq!(after(PrefetcherConfig::default(), &[1, 2, 3]), [0; 0]);
    }

    #[test]
    fn the_use_of_a_prefetched_line_lets_the_streamer_go_on_if_prefetches_take_time() {
        for (stream_delay, expected) in [(Some(DELAY), vec![66, 67]), (None, vec![])] {
            let config = PrefetcherConfig { stream_lines: 2, stream_delay, ..OFF };
            let mut prefetcher = Prefetcher::new(config);
            assert_eq!(prefetcher.after_miss(LineAddr(64)).count(), 0);
            prefetcher.note(prefetch_of(65));
            assert_eq!(lines(prefetcher.after_hit(LineAddr(65))), expected);
            assert_eq!(prefetcher.after_hit(LineAddr(69)).count(), 0, "it was not prefetched");
        }
    }

    #[test]
    fn a_streamer_that_sees_hits_is_led_by_lines_that_were_there() {
        for (stream_sees_hits, expected) in [(true, vec![71, 72]), (false, vec![])] {
            let config = PrefetcherConfig { stream_lines: 2, stream_sees_hits, ..OFF };
            let mut prefetcher = Prefetcher::new(config);
            assert_eq!(prefetcher.after_hit(LineAddr(66)).count(), 0, "it is the first");
            assert_eq!(lines(prefetcher.after_miss(LineAddr(70))), expected);
        }
    }

    #[test]
    fn the_pair_is_fetched_at_once_and_the_stream_after_its_delay() {
        let stream_delay = Some(DELAY);
        let config = PrefetcherConfig { adjacent_line: true, stream_lines: 2, stream_delay, ..OFF };
        let mut prefetcher = Prefetcher::new(config);
        prefetcher.after_miss(LineAddr(64)).count();
        let delays: Vec<Picos> =
            prefetcher.after_miss(LineAddr(66)).map(|prefetch| prefetch.delay).collect();
        assert_eq!(delays, [Picos::ZERO, DELAY]);
    }

    #[test]
    fn a_prefetched_line_is_under_way_until_it_arrives() {
        let mut prefetcher = Prefetcher::new(PrefetcherConfig { stream_delay: Some(DELAY), ..OFF });
        prefetcher.note(prefetch_of(7));
        assert_eq!(prefetcher.under_way(LineAddr(7), Picos(499)), Some(prefetch_of(7)));
        assert_eq!(prefetcher.under_way(LineAddr(7), Picos(500)), None);
        assert_eq!(prefetcher.under_way(LineAddr(8), Picos(400)), None);
    }

    #[test]
    fn where_prefetches_take_no_time_none_is_ever_under_way() {
        let mut prefetcher = Prefetcher::new(OFF);
        prefetcher.note(prefetch_of(7));
        assert_eq!(prefetcher.under_way(LineAddr(7), Picos(0)), None);
    }
}
