//! Memories: DRAM, a CXL card, and nodes of both seen from their own socket and from another.

use crate::small_fabric;
use model::cxl::Cxl;
use model::dram::Dram;
use model::fabric::{Memory, MemoryConfig};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use units::{LINE_BYTES, LineAddr, Picos, SocketId};

/// Order inside a window of a meter is not kept (DEVIATIONS.md, 1).
const WINDOW: Picos = Picos(64_000);

/// The interface that all memories share.
trait Store {
    fn read(&mut self, line: LineAddr, now: Picos) -> Picos;
    fn write(&mut self, line: LineAddr, now: Picos) -> Picos;
    fn forget(&mut self);
    fn lines_moved(&self) -> (u64, u64);
}

impl Store for Dram {
    fn read(&mut self, line: LineAddr, now: Picos) -> Picos {
        self.read(line, now)
    }

    fn write(&mut self, line: LineAddr, now: Picos) -> Picos {
        self.write(line, now)
    }

    fn forget(&mut self) {
        self.forget();
    }

    fn lines_moved(&self) -> (u64, u64) {
        self.lines_moved()
    }
}

impl Store for Cxl {
    fn read(&mut self, line: LineAddr, now: Picos) -> Picos {
        self.read(line, now)
    }

    fn write(&mut self, line: LineAddr, now: Picos) -> Picos {
        self.write(line, now)
    }

    fn forget(&mut self) {
        self.forget();
    }

    fn lines_moved(&self) -> (u64, u64) {
        self.lines_moved()
    }
}

/// A node of a machine with two sockets and a card at the first, as socket 0 or 1 sees it.
struct Node {
    memory: Memory,
    reader: SocketId,
    first: LineAddr,
}

impl Node {
    fn new(number: u64, reader: SocketId) -> Self {
        let nodes = vec![small_fabric::node(0), small_fabric::node(1), small_fabric::cxl(0)];
        let config = MemoryConfig { nodes, upi: Some(small_fabric::upi(2)) };
        let first = LineAddr(number * config.node_lines());
        Self { memory: Memory::new(&config), reader, first }
    }
}

impl Store for Node {
    fn read(&mut self, line: LineAddr, now: Picos) -> Picos {
        self.memory.read(self.reader, self.first.step(line.0), now)
    }

    fn write(&mut self, line: LineAddr, now: Picos) -> Picos {
        self.memory.write(self.reader, self.first.step(line.0), now)
    }

    fn forget(&mut self) {
        self.memory.forget();
    }

    fn lines_moved(&self) -> (u64, u64) {
        self.memory.lines_moved()
    }
}

/// Bounds that a memory keeps.
struct Bounds {
    /// Least time from a request to its answer.
    read: Picos,
    write: Picos,
    /// Largest rate of reads and writes together.
    gbytes_per_s: f64,
    /// Lines that it accepts before it has written any.
    posted_lines: u32,
}

fn dram_bounds() -> Bounds {
    let gbytes_per_s = small_fabric::DRAM_GBYTES_PER_S;
    let posted_lines = small_fabric::dram().writes.entries;
    Bounds { read: small_fabric::DRAM_IDLE, write: Picos::ZERO, gbytes_per_s, posted_lines }
}

fn card_bounds() -> Bounds {
    let card = small_fabric::card();
    Bounds {
        read: card.read_latency,
        write: card.write_latency,
        gbytes_per_s: card.read_gbytes_per_s,
        posted_lines: 0,
    }
}

/// The bounds from another socket: request and line cross, or only the written line.
fn from_another_socket(bounds: &Bounds) -> Bounds {
    let upi = small_fabric::upi(2);
    // Rounding to picoseconds, four times.
    let round_trip = Picos(upi.round_trip_extra.0 - 4);
    Bounds {
        read: bounds.read + round_trip,
        write: bounds.write + upi.propagation(),
        // Read lines cross in one direction, written lines in the other.
        gbytes_per_s: bounds.gbytes_per_s.min(2.0 * upi.read_gbytes_per_s),
        posted_lines: bounds.posted_lines,
    }
}

fn random(seed: u64) -> impl FnMut(u64) -> u64 {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    move |bound| rng.next_u64() % bound
}

fn answers_no_sooner_than_it_can(memory: &mut dyn Store, bounds: &Bounds) {
    let mut below = random(1);
    let mut now = Picos(1_000_000);
    for _ in 0..20_000 {
        // Bursts and pauses.
        now += Picos(if below(100) == 0 { below(2_000_000) } else { below(2_000) });
        let line = LineAddr(below(1 << 20));
        if below(3) == 0 {
            assert!(memory.write(line, now) >= now + bounds.write);
        } else {
            let took = memory.read(line, now) - now;
            assert!(took >= bounds.read, "{took:?}");
        }
    }
}

fn answers_calls_out_of_order(memory: &mut dyn Store, bounds: &Bounds) {
    let mut below = random(2);
    for i in 0..20_000 {
        // Forwards on average, back by up to three windows; occasionally to time zero.
        let back = if below(1_000) == 0 { i * 1_000 } else { below(3 * WINDOW.0) };
        let now = Picos((i * 1_000).saturating_sub(back));
        assert!(memory.read(LineAddr(below(1 << 20)), now) >= now + bounds.read);
        assert!(memory.write(LineAddr(below(1 << 20)), now) >= now + bounds.write);
    }
    assert_eq!(memory.lines_moved(), (20_000, 20_000));
}

fn counts_the_lines_that_it_moves(memory: &mut dyn Store) {
    assert_eq!(memory.lines_moved(), (0, 0));
    for i in 1..=300 {
        memory.read(LineAddr(i), Picos(i));
        assert_eq!(memory.lines_moved(), (i, i / 3));
        if (i + 1).is_multiple_of(3) {
            memory.write(LineAddr(i), Picos(i));
        }
    }
}

/// Answers to a fixed sequence of calls that loads the memory.
fn answers(memory: &mut dyn Store) -> Vec<Picos> {
    let mut below = random(3);
    let mut answer = |i: u64| {
        let (line, now) = (LineAddr(below(1 << 16)), Picos(i * 700));
        if below(2) == 0 { memory.read(line, now) } else { memory.write(line, now) }
    };
    (0..5_000).map(&mut answer).collect()
}

fn forgets(memory: &mut dyn Store) {
    let fresh = answers(memory);
    assert_ne!(answers(memory), fresh, "what came before is still under way");
    memory.forget();
    assert_eq!(memory.lines_moved(), (0, 0));
    assert_eq!(answers(memory), fresh);
}

/// For any number of lines requested at once, no more of them are answered by any time than the
/// bandwidth allows.
fn never_exceeds_its_bandwidth(memory: &mut dyn Store, bounds: &Bounds) {
    for reads_of_four in [4, 0, 2] {
        memory.forget();
        let mut below = random(4);
        let mut answers: Vec<Picos> = (0..40_000)
            .map(|i| {
                let line = LineAddr(below(1 << 20));
                let reads = i % 4 < reads_of_four;
                if reads { memory.read(line, Picos::ZERO) } else { memory.write(line, Picos::ZERO) }
            })
            .collect();
        answers.sort_unstable();
        for (lines, &answer) in (1u64..).zip(&answers) {
            let time = (answer + WINDOW).as_ns();
            let allowed = time * bounds.gbytes_per_s * 1.001 / LINE_BYTES as f64
                + f64::from(bounds.posted_lines)
                + 1.0;
            assert!(lines as f64 <= allowed, "{lines} lines by {answer:?}, {allowed} allowed");
        }
    }
}

macro_rules! memories {
    ($($name:ident: $memory:expr, $bounds:expr;)+) => { $(
        mod $name {
            use super::*;

            #[test]
            fn an_answer_is_never_earlier_than_the_idle_latency() {
                answers_no_sooner_than_it_can(&mut $memory, &$bounds);
            }

            #[test]
            fn calls_out_of_order_are_answered_and_counted() {
                answers_calls_out_of_order(&mut $memory, &$bounds);
            }

            #[test]
            fn lines_moved_are_counted() {
                counts_the_lines_that_it_moves(&mut $memory);
            }

            #[test]
            fn forgetting_forgets_traffic_and_counts() {
                forgets(&mut $memory);
            }

            #[test]
            fn the_bandwidth_is_never_exceeded() {
                never_exceeds_its_bandwidth(&mut $memory, &$bounds);
            }
        }
    )+ };
}

memories! {
    dram: Dram::new(small_fabric::dram()), dram_bounds();
    cxl_card: Cxl::new(small_fabric::card()), card_bounds();
    local_node: Node::new(0, SocketId(0)), dram_bounds();
    remote_node: Node::new(0, SocketId(1)), from_another_socket(&dram_bounds());
    local_cxl_node: Node::new(2, SocketId(0)), card_bounds();
    remote_cxl_node: Node::new(2, SocketId(1)), from_another_socket(&card_bounds());
}
