//! The kernels with which a host measures itself, run on the model.
//!
//! Models: a pointer chase through one line of each pair of lines, with windows of pages in random
//! order and the lines of a window in random order; streams that read, write and copy; a line that two
//! cores write in turn.
//! Source: `crates/host/host/src/calibrate`, which runs the same on hardware.
//! Simplifies: no TLB, whose effect on the measurement the order keeps small; a core moves at most one
//! line per cycle, where hardware moves half a line to two lines.

use crate::host_memory::HostMemory;
use crate::shuffle::shuffle;
use model::core::Core;
use model::fabric::Fabric;
use model::tracer::Tracer;
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use units::narrow::usize_from;
use units::{CoreId, LINE_BYTES, LineAddr, Picos};

/// Working set of a pointer chase, and the order in which it visits lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChaseShape {
    /// Number of lines of the working set.
    pub lines: u64,
    /// Number of neighbouring lines of which one is accessed.
    pub pair_lines: u64,
    /// Number of lines of a page; the one bits in its number determine which line of each pair it
    /// uses.
    pub page_lines: u64,
    /// Number of pages whose lines are all visited before those of the next pages.
    pub window_pages: u64,
}

impl ChaseShape {
    /// Lines of a page that are accessed.
    fn used_lines(&self) -> u64 {
        self.page_lines / self.pair_lines
    }

    /// Bytes of memory over which the working set is spread.
    #[must_use]
    pub fn spread_bytes(&self) -> u64 {
        self.lines.div_ceil(self.used_lines()) * self.page_lines * LINE_BYTES
    }

    /// Offset of line `number` of the working set, in lines.
    fn offset(&self, number: u64) -> u64 {
        let (page, within) = (number / self.used_lines(), number % self.used_lines());
        let other = u64::from(page.count_ones()) % self.pair_lines;
        page * self.page_lines + within * self.pair_lines + other
    }

    /// The lines of the working set in the order of the chase, as offsets.
    fn order(&self, rng: &mut ChaCha8Rng) -> Vec<u64> {
        let window_lines = self.window_pages * self.used_lines();
        let mut windows: Vec<u64> = (0..self.lines.div_ceil(window_lines)).collect();
        shuffle(&mut windows, rng);
        let mut order = Vec::with_capacity(usize_from(self.lines));
        for window in windows {
            let first = order.len();
            let end = self.lines.min((window + 1) * window_lines);
            order.extend((window * window_lines..end).map(|number| self.offset(number)));
            shuffle(&mut order[first..], rng);
        }
        order
    }
}

/// Mean load-to-use latency of a chase by core 0: `settle` unmeasured steps, then `steps` measured
/// ones.
pub fn chase<T: Tracer>(
    fabric: &mut Fabric<T>,
    memory: &mut HostMemory,
    shape: ChaseShape,
    settle: u64,
    steps: u64,
    seed: u64,
) -> f64 {
    let region = memory.region(shape.spread_bytes());
    let order = shape.order(&mut ChaCha8Rng::seed_from_u64(seed));
    let mut cycle = order.iter().cycle().map(|&offset| region.line(offset));
    let mut now = Picos::ZERO;
    for line in cycle.by_ref().take(usize_from(settle)) {
        now = fabric.core_read(CoreId(0), line, now).done;
    }
    let began = now;
    for line in cycle.take(usize_from(steps)) {
        now = fabric.core_read(CoreId(0), line, now).done;
    }
    (now - began).as_ns() / steps as f64
}

/// A stream's accesses to its array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Every line is read.
    Read,
    /// Every line is written.
    Write,
    /// Lines of the first half are read, of the second written.
    Copy,
}

/// GB/s of a stream over `array_bytes` on `core`: an unmeasured round, then `lines` lines.
pub fn stream_gbytes_per_s<T: Tracer>(
    fabric: &mut Fabric<T>,
    memory: &mut HostMemory,
    core: &mut Core,
    stream: Stream,
    array_bytes: u64,
    lines: u64,
) -> f64 {
    let region = memory.region(array_bytes);
    let array_lines = array_bytes / LINE_BYTES;
    let touch = |fabric: &mut Fabric<T>, core: &mut Core, step: u64| {
        let at = |offset: u64| region.line(offset);
        match stream {
            Stream::Read => _ = core.load_independent(fabric, at(step % array_lines)),
            Stream::Write => _ = core.store(fabric, at(step % array_lines)),
            Stream::Copy => {
                let within = (step / 2) % (array_lines / 2);
                if step.is_multiple_of(2) {
                    core.load_independent(fabric, at(within));
                } else {
                    core.store(fabric, at(array_lines / 2 + within));
                }
            }
        }
    };
    (0..array_lines).for_each(|step| touch(fabric, core, step));
    let began = core.now();
    (array_lines..array_lines + lines).for_each(|step| touch(fabric, core, step));
    (lines * LINE_BYTES) as f64 / (core.now() - began).as_ns()
}

/// Half of the round trip of a line that cores 0 and 1 write in turn.
pub fn core_to_core_ns<T: Tracer>(fabric: &mut Fabric<T>, round_trips: u64) -> f64 {
    let line = LineAddr(1 << 16);
    let mut now = fabric.core_write(CoreId(0), line, Picos::ZERO).done;
    let began = now;
    for turn in 0..2 * round_trips {
        let core = CoreId(if turn % 2 == 0 { 1 } else { 0 });
        now = fabric.core_read(core, line, now).done;
        now = fabric.core_write(core, line, now).done;
    }
    (now - began).as_ns() / (2 * round_trips) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn shape(lines: u64) -> ChaseShape {
        ChaseShape { lines, pair_lines: 2, page_lines: 64, window_pages: 32 }
    }

    #[test]
    fn one_line_of_each_pair_takes_part_and_half_of_the_pages_use_the_odd_ones() {
        let numbers = [0, 1, 31, 32, 33, 64, 96];
        let offsets: Vec<u64> = numbers.map(|line| shape(128).offset(line)).to_vec();
        assert_eq!(offsets, [0, 2, 62, 65, 67, 129, 192]);
    }

    proptest! {
        #[test]
        fn a_round_visits_every_line_once_and_finishes_windows(
            lines in 1_u64..10_000, seed: u64,
        ) {
            let order = shape(lines).order(&mut ChaCha8Rng::seed_from_u64(seed));
            let mut sorted = order.clone();
            sorted.sort_unstable();
            let all: Vec<u64> = (0..lines).map(|number| shape(lines).offset(number)).collect();
            prop_assert_eq!(sorted, all);
            let mut windows: Vec<u64> = order.iter().map(|offset| offset / (32 * 64)).collect();
            windows.dedup();
            prop_assert_eq!(windows.len() as u64, lines.div_ceil(32 * 32));
        }
    }
}
