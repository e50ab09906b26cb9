//! A load on memory like that of Intel's Memory Latency Checker (MLC).
//!
//! One stream per core reads its own pages line by line, with a limited number of lines in flight; a
//! chain of dependent random reads measures the latency. Delays are injected after groups of eight
//! lines, which gives the lowest points of the measured curves (Gold 6140: 34 streams x 512 B per
//! 20,000 cycles of 2.3 GHz, MLC's longest delay, are 2.0 GB/s, as measured).

use model::dram::{Dram, DramConfig, DramCounters};
use model::reading::Reading;
use units::{LINE_BYTES, LineAddr, Picos};

/// Lines read behind one another before the delay.
const GROUP_LINES: u64 = 8;
/// Pages of 4 KiB lie at random in 32 GiB.
const PAGE_LINES: u64 = 64;
const PAGES: u64 = 1 << 23;

/// Load on the memory.
pub struct Load {
    /// Reading (and writing) streams.
    pub streams: usize,
    /// Largest number of lines that a stream has in flight.
    pub lines_in_flight: usize,
    /// Requested traffic of all streams; none: as much as they can get.
    pub gbytes_per_s: Option<f64>,
    /// Number of lines in four that are written; written lines lie in pages of their own.
    pub written_of_four: u64,
    /// Whether a chain of dependent random reads measures the latency.
    pub latency_chain: bool,
    /// Simulated time; its first fifth is not measured.
    pub span: Picos,
}

/// Result of a load.
pub struct Outcome {
    /// Traffic read and written.
    pub gbytes_per_s: f64,
    /// Mean latency of the chain, in ns.
    pub latency_ns: f64,
    /// Counters of the memory in the measured time.
    pub counters: DramCounters,
}

/// splitmix64: small, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let value = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (((value ^ (value >> 31)) >> 32) * n) >> 32
    }
}

/// Lines of random pages, one page behind the other.
struct Pages {
    next: u64,
}

impl Pages {
    fn take(&mut self, random: &mut Random) -> LineAddr {
        if self.next.is_multiple_of(PAGE_LINES) {
            self.next = random.below(PAGES) * PAGE_LINES;
        }
        self.next += 1;
        LineAddr(self.next - 1)
    }
}

struct Stream {
    read: Pages,
    written: Pages,
    issued: u64,
    /// When each of the lines in flight is done; the oldest is overwritten next.
    done: Vec<Picos>,
    next_group: Picos,
    due: Picos,
}

impl Stream {
    fn new(load: &Load, start: Picos) -> Self {
        Self {
            read: Pages { next: 0 },
            written: Pages { next: 0 },
            issued: 0,
            done: vec![Picos::ZERO; load.lines_in_flight],
            next_group: start,
            due: start,
        }
    }

    /// Issues the line that is due.
    fn step(&mut self, load: &Load, period: Picos, memory: &mut Dram, random: &mut Random) {
        let done = if self.issued % 4 < load.written_of_four {
            memory.write(self.written.take(random), self.due)
        } else {
            memory.read(self.read.take(random), self.due)
        };
        let oldest = self.issued as usize % self.done.len();
        self.done[oldest] = done;
        self.issued += 1;
        let mut from = self.due;
        if self.issued.is_multiple_of(GROUP_LINES) {
            // A jitter of a tenth keeps the streams from running in step.
            let jitter = period.0 / 5;
            self.next_group += Picos(period.0 - period.0 / 10 + random.below(jitter + 1));
            // A delayed stream does not catch up.
            self.next_group = self.next_group.max(self.due);
            from = self.next_group;
        }
        self.due = from.max(self.done[self.issued as usize % self.done.len()]);
    }
}

/// Time between the groups of one stream.
fn period(load: &Load) -> Picos {
    let per_group = load.streams as f64 * (GROUP_LINES * LINE_BYTES) as f64;
    load.gbytes_per_s.map_or(Picos::ZERO, |rate| Picos::from_ns(per_group / rate))
}

/// Runs `load` on idle memory.
pub fn run(config: &DramConfig, load: &Load, seed: u64) -> Outcome {
    let mut memory = Dram::new(config.clone());
    let mut random = Random(seed);
    let period = period(load);
    let mut streams: Vec<Stream> = (0..load.streams)
        .map(|_| Stream::new(load, Picos(random.below(period.0.max(1_000)))))
        .collect();
    let warm = Picos(load.span.0 / 5);
    let mut chain = if load.latency_chain { Picos::ZERO } else { Picos::NEVER };
    let (mut latency, mut links) = (Picos::ZERO, 0u64);
    let mut before = None;
    loop {
        let first = streams.iter_mut().min_by_key(|stream| stream.due);
        let now = first.as_ref().map_or(chain, |stream| stream.due.min(chain));
        if now >= warm && before.is_none() {
            before = Some(memory.counters());
        }
        if now >= load.span {
            break;
        }
        match first {
            Some(stream) if stream.due <= chain => {
                stream.step(load, period, &mut memory, &mut random);
            }
            _ => {
                let line = LineAddr(random.below(PAGES) * PAGE_LINES + random.below(PAGE_LINES));
                let done = memory.read(line, chain);
                if chain >= warm {
                    (latency, links) = (latency + (done - chain), links + 1);
                }
                chain = done;
            }
        }
    }
    let counters = memory.counters().since(&before.unwrap_or_default());
    let bytes = (counters.lines_read + counters.lines_written) * LINE_BYTES;
    Outcome {
        gbytes_per_s: bytes as f64 / (load.span - warm).as_ns(),
        latency_ns: latency.as_ns() / links.max(1) as f64,
        counters,
    }
}
