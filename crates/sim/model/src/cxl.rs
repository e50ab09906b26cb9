//! A CXL memory card: a NUMA node without cores.
//!
//! Models: CXL.mem to a type 3 device, with separate latencies of reads and writes. Each direction of
//! the link carries data one way and requests or completions the other; reads and writes share the
//! card's memory behind it.
//! Source: Agilex-I development kit as in the DSA paper (ASPLOS'24: no cores, writes slower than
//! reads) and "Demystifying CXL" (MICRO'23, recalled: loads 350 to 400 ns where local memory takes
//! 110, 15 to 20 GB/s). CXL 1.1 flits (recalled): a slot of 16 bytes for a request, completion or
//! header.
//! Simplifies: no banks, so all lines cost the same; a write is done when the card has acknowledged it;
//! flits are filled completely.

use crate::occupancy::Meter;
use units::{LINE_BYTES, LineAddr, Picos};

/// Bytes of a message without data, and of the header of one with data.
const SLOT_BYTES: u64 = 16;

/// Latencies and bandwidths of a card.
#[derive(Clone, Debug)]
pub struct CxlConfig {
    /// Time from the request of a line until its data arrives, idle; the whole latency of a load.
    pub read_latency: Picos,
    /// Time from sending a line until its completion arrives, idle.
    pub write_latency: Picos,
    /// Bandwidth of the card's memory with reads only.
    pub read_gbytes_per_s: f64,
    /// Bandwidth of the card's memory with writes only.
    pub write_gbytes_per_s: f64,
    /// Bandwidth of the link per direction, headers counted.
    pub link_gbytes_per_s: f64,
}

impl CxlConfig {
    fn on_link(&self, bytes: u64) -> Picos {
        Picos::from_ns(bytes as f64 / self.link_gbytes_per_s)
    }
}

/// How long one line occupies the links and the memory of the card.
#[derive(Clone, Copy, Debug)]
struct LineTimes {
    read: Picos,
    write: Picos,
    with_data: Picos,
    without_data: Picos,
}

/// A CXL memory card with the state of its link and memory.
#[derive(Clone, Debug)]
pub struct Cxl {
    config: CxlConfig,
    times: LineTimes,
    to_card: Meter,
    memory: Meter,
    from_card: Meter,
    lines_read: u64,
    lines_written: u64,
}

impl Cxl {
    /// An idle card.
    ///
    /// # Panics
    /// If a bandwidth is not above zero. Platforms are checked before they get here.
    #[must_use]
    pub fn new(config: CxlConfig) -> Self {
        let rates = [config.read_gbytes_per_s, config.write_gbytes_per_s, config.link_gbytes_per_s];
        assert!(rates.iter().all(|&rate| rate > 0.0));
        let line_at = |gbytes_per_s| Picos::from_ns(LINE_BYTES as f64 / gbytes_per_s);
        let times = LineTimes {
            read: line_at(config.read_gbytes_per_s),
            write: line_at(config.write_gbytes_per_s),
            with_data: config.on_link(SLOT_BYTES + LINE_BYTES),
            without_data: config.on_link(SLOT_BYTES),
        };
        Self {
            config,
            times,
            to_card: Meter::default(),
            memory: Meter::default(),
            from_card: Meter::default(),
            lines_read: 0,
            lines_written: 0,
        }
    }

    /// Latencies and bandwidths of the card.
    #[must_use]
    pub fn config(&self) -> &CxlConfig {
        &self.config
    }

    /// Reads a line; returns when its data arrives.
    pub fn read(&mut self, _line: LineAddr, now: Picos) -> Picos {
        self.lines_read += 1;
        let LineTimes { read, with_data, without_data, .. } = self.times;
        let queued = self.queue(now, [without_data, read, with_data]);
        now + queued + self.config.read_latency
    }

    /// Writes a line; returns when the card has acknowledged it. An agent that posts writes does not
    /// wait for that, but its entries limit the writes under way.
    pub fn write(&mut self, _line: LineAddr, now: Picos) -> Picos {
        self.lines_written += 1;
        let LineTimes { write, with_data, without_data, .. } = self.times;
        let queued = self.queue(now, [with_data, write, without_data]);
        now + queued + self.config.write_latency
    }

    /// When the card and its link would start to serve a request of `now`.
    #[must_use]
    pub fn free_from(&self, now: Picos) -> Picos {
        let parts = [&self.to_card, &self.memory, &self.from_card];
        parts.into_iter().fold(now, |latest, part| latest.max(part.free_from(now)))
    }

    /// Forgets all traffic so far.
    pub fn forget(&mut self) {
        *self = Self::new(self.config.clone());
    }

    /// Lines read and written since time zero.
    #[must_use]
    pub fn lines_moved(&self) -> (u64, u64) {
        (self.lines_read, self.lines_written)
    }

    /// Time for which the link to the card, its memory and the link from it were busy until `now`.
    #[must_use]
    pub fn busy_until(&self, now: Picos) -> [Picos; 3] {
        [&self.to_card, &self.memory, &self.from_card].map(|part| part.busy_until(now))
    }

    /// Passes link, memory and link, which it occupies for `spans`; returns the delay compared with an
    /// idle card.
    fn queue(&mut self, now: Picos, spans: [Picos; 3]) -> Picos {
        let [there, at_memory, back] = spans;
        let arrived = self.to_card.reserve(now, there);
        let served = self.memory.reserve(arrived, at_memory);
        let returned = self.from_card.reserve(served, back);
        returned.saturating_sub(now + there + at_memory + back)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::Slots;

    const LINE: LineAddr = LineAddr(1 << 28);

    /// Reads: the middle of what is recalled for the Agilex card. No figure is published for its
    /// writes; the tests need only that they are slower.
    fn agilex() -> Cxl {
        Cxl::new(CxlConfig {
            read_latency: Picos(375_000),
            write_latency: Picos(450_000),
            read_gbytes_per_s: 20.0,
            write_gbytes_per_s: 15.0,
            link_gbytes_per_s: 64.0,
        })
    }

    /// GB/s of `operation`, with 200 under way at a time.
    fn sustained(mut operation: impl FnMut(u64, Picos) -> Picos) -> f64 {
        let mut slots = Slots::new(200);
        let mut last = Picos::ZERO;
        for i in 0..100_000 {
            let done = operation(i, slots.ready(Picos::ZERO));
            slots.occupy(done);
            last = last.max(done);
        }
        100_000.0 * LINE_BYTES as f64 / last.as_ns()
    }

    #[test]
    fn an_idle_card_takes_its_latencies_of_which_the_write_s_is_longer() {
        let mut card = agilex();
        assert_eq!(card.read(LINE, Picos(1_000_000)), Picos(1_375_000));
        assert_eq!(card.write(LINE, Picos(2_000_000)), Picos(2_450_000));
        assert_eq!(card.lines_moved(), (1, 1));
        card.forget();
        assert_eq!(card.lines_moved(), (0, 0));
    }

    #[test]
    fn reads_and_writes_are_sustained_at_their_own_rates() {
        let mut card = agilex();
        let read = sustained(|_, now| card.read(LINE, now));
        assert!((read / 20.0 - 1.0).abs() < 0.01, "{read} GB/s read");
        let mut card = agilex();
        let written = sustained(|_, now| card.write(LINE, now));
        assert!((written / 15.0 - 1.0).abs() < 0.01, "{written} GB/s written");
    }

    #[test]
    fn reads_and_writes_share_the_card_s_memory() {
        let mut card = agilex();
        let both = sustained(
            |i, now| if i % 2 == 0 { card.read(LINE, now) } else { card.write(LINE, now) },
        );
        // Half of the lines at each rate: the harmonic mean.
        let expected = 2.0 / (1.0 / 20.0 + 1.0 / 15.0);
        assert!((both / expected - 1.0).abs() < 0.01, "{both} GB/s");
    }

    #[test]
    fn a_slow_link_limits_each_direction_by_itself() {
        // 10 GB/s each way in front of fast memory: 64 of 80 bytes are data.
        let slow = || {
            let fast =
                CxlConfig { read_gbytes_per_s: 1e3, write_gbytes_per_s: 1e3, ..agilex().config };
            Cxl::new(CxlConfig { link_gbytes_per_s: 10.0, ..fast })
        };
        let mut card = slow();
        let read = sustained(|_, now| card.read(LINE, now));
        assert!((read / 8.0 - 1.0).abs() < 0.01, "{read} GB/s");
        let mut card = slow();
        let written = sustained(|_, now| card.write(LINE, now));
        assert!((written / 8.0 - 1.0).abs() < 0.01, "{written} GB/s");
        // Reads and writes in turn: each direction carries 80 bytes of a line one way and 16 bytes
        // of message the other way for every two lines.
        let mut card = slow();
        let both = sustained(
            |i, now| if i % 2 == 0 { card.read(LINE, now) } else { card.write(LINE, now) },
        );
        assert!((both / (10.0 * 128.0 / 96.0) - 1.0).abs() < 0.01, "{both} GB/s");
    }

    #[test]
    fn a_loaded_card_answers_later_by_what_waits_before_it() {
        let mut card = agilex();
        for _ in 0..1_000 {
            card.read(LINE, Picos::ZERO);
        }
        // A thousand lines of 3.2 ns, less the window of 64 ns in which order is not kept.
        let answered = card.read(LINE, Picos::ZERO);
        assert!(answered.0.abs_diff(375_000 + 3_200_000) < 64_000, "{answered:?}");
    }

    /// Claim dsa-11: copies from card to card are slowest, card to DRAM is faster than the reverse.
    #[test]
    fn copies_out_of_the_card_are_faster_than_copies_into_it() {
        // Local memory far from its limits: 110 ns.
        let local = |now: Picos| now + Picos(110_000);
        // A copy engine with 96 lines under way; a line's write follows its read.
        let copy = |read: &mut dyn FnMut(Picos) -> Picos, write: &mut dyn FnMut(Picos) -> Picos| {
            let mut slots = Slots::new(96);
            let mut last = Picos::ZERO;
            for _ in 0..50_000 {
                last = write(read(slots.ready(Picos::ZERO)));
                slots.occupy(last);
            }
            50_000.0 * LINE_BYTES as f64 / last.as_ns()
        };
        let (mut from, mut into) = (agilex(), agilex());
        let out = copy(&mut |now| from.read(LINE, now), &mut |now| local(now));
        let back = copy(&mut |now| local(now), &mut |now| into.write(LINE, now));
        let card = std::cell::RefCell::new(agilex());
        let within = copy(&mut |now| card.borrow_mut().read(LINE, now), &mut |now| {
            card.borrow_mut().write(LINE, now)
        });
        assert!(within < back && back < out, "{within} < {back} < {out} GB/s");
    }
}
