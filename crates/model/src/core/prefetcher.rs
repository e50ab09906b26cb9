//! The prefetchers of an L2: which lines follow a demand miss.
//!
//! Models: the spatial prefetcher (other line of a 128-byte pair) and the streamer (lines ahead of an
//! ascending sequence within a 4 KiB page).
//! Source: Intel optimization manual, "data prefetching".
//! Simplifies: a fixed number of lines ahead, ascending only (DEVIATIONS.md, 9).

use units::LineAddr;

/// Lines of a 4 KiB page: prefetches do not leave it.
const PAGE_LINES: u64 = 64;
/// Pages that the streamer follows at a time.
const FOLLOWED_PAGES: usize = 32;

/// What is switched on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PrefetcherConfig {
    /// Fetch the other line of the pair.
    pub adjacent_line: bool,
    /// Lines fetched ahead of an ascending sequence; 0 switches the streamer off.
    pub stream_lines: u32,
}

/// The prefetchers of one core's L2.
#[derive(Clone, Debug)]
pub struct Prefetcher {
    config: PrefetcherConfig,
    /// The last line asked for in each followed page, found by the low bits of the page number.
    last: [LineAddr; FOLLOWED_PAGES],
}

impl Prefetcher {
    /// Nothing seen yet.
    #[must_use]
    pub fn new(config: PrefetcherConfig) -> Self {
        Self { config, last: [LineAddr(u64::MAX); FOLLOWED_PAGES] }
    }

    /// Lines to fetch after the core has missed L2 with `line`, nearest first.
    pub fn after_miss(&mut self, line: LineAddr) -> impl Iterator<Item = LineAddr> + use<> {
        let page = line.0 / PAGE_LINES;
        let last = &mut self.last[page as usize % FOLLOWED_PAGES];
        let ascending = last.0 / PAGE_LINES == page && last.0 < line.0;
        *last = line;
        let page_end = (page + 1) * PAGE_LINES;
        let ahead = if ascending { u64::from(self.config.stream_lines) } else { 0 };
        let neighbour = self.config.adjacent_line.then(|| line.neighbour());
        let stream = (line.0 + 1..(line.0 + 1 + ahead).min(page_end)).map(LineAddr);
        neighbour.into_iter().chain(stream.filter(move |&next| Some(next) != neighbour))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(config: PrefetcherConfig, misses: &[u64]) -> Vec<u64> {
        let mut prefetcher = Prefetcher::new(config);
        let mut fetched = Vec::new();
        for &line in misses {
            fetched = prefetcher.after_miss(LineAddr(line)).map(|line| line.0).collect();
        }
        fetched
    }

    #[test]
    fn a_single_miss_brings_its_pair_only() {
        let config = PrefetcherConfig { adjacent_line: true, stream_lines: 4 };
        assert_eq!(after(config, &[70]), [71]);
    }

    #[test]
    fn an_ascending_sequence_brings_lines_ahead() {
        let config = PrefetcherConfig { adjacent_line: false, stream_lines: 3 };
        assert_eq!(after(config, &[66, 70]), [71, 72, 73]);
        assert_eq!(after(config, &[70, 66]), [0; 0]);
    }

    #[test]
    fn a_stream_ends_at_its_page() {
        let config = PrefetcherConfig { adjacent_line: false, stream_lines: 8 };
        assert_eq!(after(config, &[120, 126]), [127]);
    }

    #[test]
    fn switched_off_it_fetches_nothing() {
        assert_eq!(after(PrefetcherConfig::default(), &[1, 2, 3]), [0; 0]);
    }
}
