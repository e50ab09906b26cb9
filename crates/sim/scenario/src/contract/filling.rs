//! A memory system whose caches are being filled before time zero; what fills leave is kept for the next
//! machine that begins alike.
//!
//! Points of an experiment often have hardware, pages and pool in common. To store to hundreds of
//! thousands of lines then takes longer than a short run, and leaves the same again. Machines begin
//! alike if what decides the content of their caches and all lines that were stored to are the same:
//! they are compared, not hashed. What is stored to after something else has accessed the caches, as
//! the pool of a second tenant, is stored to each time.

use model::fabric::{Contents, Fabric, FabricConfig};
use model::tracer::Tracer;
use std::collections::VecDeque;
use std::iter;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use units::narrow::usize_from;
use units::{CoreId, LineAddr};
use workload::host_memory::touch;

/// Fills are kept that store to as many lines as the caches hold, divided by this, or to more: to copy
/// the caches takes as long as some thirtieth of as many stores.
const WORTH_KEEPING_DIVISOR: usize = 16;
/// Bytes of all that is kept, estimated.
const MOST_BYTES: usize = 256 << 20;
/// A line of a cache, with its state and what chooses victims, takes some 16 bytes.
const CACHED_LINE_BYTES: usize = 16;

/// The fills that this process keeps, shared by its threads.
static KEPT: Mutex<Kept> = Mutex::new(Kept::nothing());

/// A fabric with the fills that have to be made before anything else accesses it.
#[derive(Debug)]
pub(crate) struct Filling<T: Tracer> {
    config: FabricConfig,
    fabric: Fabric<T>,
    /// Fills to be made; none if each is made at once, because they would not be kept.
    fills: Option<Fills>,
}

/// Lines that cores store to, in order.
#[derive(Debug, Default, PartialEq, Eq)]
struct Fills {
    runs: Vec<Run>,
    lines: u64,
}

/// Neighbouring lines that a core stores to one after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    core: CoreId,
    first: LineAddr,
    lines: u64,
}

impl<T: Tracer> Filling<T> {
    /// A fabric with empty caches.
    pub(crate) fn new(config: &FabricConfig, tracer: T) -> Self {
        // A tracer has to see each store.
        let fills = (!T::WATCHING).then(Fills::default);
        Self { config: config.clone(), fabric: Fabric::new(config, tracer), fills }
    }

    /// A core stores to `lines` in this order: the caches hold the last of them.
    pub(crate) fn fill(&mut self, core: CoreId, mut lines: impl Iterator<Item = LineAddr>) {
        let most_runs = self.config.cached_lines();
        while let Some(fills) = &mut self.fills {
            let Some(line) = lines.next() else { return };
            fills.add(core, line);
            if fills.runs.len() > most_runs {
                // The list would take more memory than the caches.
                fills.store(&mut self.fabric);
                self.fills = None;
            }
        }
        touch(&mut self.fabric, core, lines);
    }

    /// The fabric, all fills made.
    pub(crate) fn fabric(&mut self) -> &mut Fabric<T> {
        if let Some(fills) = self.fills.take() {
            make(fills, &self.config, &mut self.fabric);
        }
        &mut self.fabric
    }

    /// The fabric, all fills made, when nothing is left to be filled.
    pub(crate) fn filled(mut self) -> Fabric<T> {
        self.fabric();
        self.fabric
    }
}

/// Makes the first accesses of a fabric, or copies what they left in another.
fn make<T: Tracer>(fills: Fills, config: &FabricConfig, fabric: &mut Fabric<T>) {
    let worth = config.cached_lines() / WORTH_KEEPING_DIVISOR;
    let bytes = config.cached_lines() * CACHED_LINE_BYTES + fills.runs.len() * size_of::<Run>();
    if usize_from(fills.lines) < worth || bytes > MOST_BYTES {
        return fills.store(fabric);
    }
    let kept = kept_of(Beginning { config: config.decides_contents(), fills }, bytes);
    let mut is_filled = false;
    let contents = kept.contents.get_or_init(|| {
        is_filled = true;
        kept.beginning.fills.store(fabric);
        fabric.contents()
    });
    if !is_filled {
        fabric.take_over(contents);
    }
}

impl Fills {
    fn add(&mut self, core: CoreId, line: LineAddr) {
        self.lines += 1;
        match self.runs.last_mut() {
            Some(run) if run.core == core && run.first.step(run.lines) == line => run.lines += 1,
            _ => self.runs.push(Run { core, first: line, lines: 1 }),
        }
    }

    fn store<T: Tracer>(&self, fabric: &mut Fabric<T>) {
        for runs in self.runs.chunk_by(|one, next| one.core == next.core) {
            let lines = runs.iter().flat_map(|run| {
                iter::successors(Some(run.first), |line| Some(line.step(1)))
                    .take(usize_from(run.lines))
            });
            touch(fabric, runs[0].core, lines);
        }
    }
}

/// All that decides what caches hold at time zero.
#[derive(Debug, PartialEq, Eq)]
struct Beginning {
    config: String,
    fills: Fills,
}

/// A beginning and, once a machine has made its fills, what they left. Others that begin alike wait for
/// it: that takes no longer than to make them.
#[derive(Debug)]
struct One {
    beginning: Beginning,
    bytes: usize,
    contents: OnceLock<Contents>,
}

/// A beginning: the contents that are kept of it, or will be.
fn kept_of(beginning: Beginning, bytes: usize) -> Arc<One> {
    let one = One { beginning, bytes, contents: OnceLock::new() };
    // A thread that panicked has left whole entries.
    let (one, dropped) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).entry_for(one);
    // Outside the lock: that takes a while.
    drop(dropped);
    one
}

/// The entries, the one that was used last at the end.
#[derive(Debug)]
struct Kept {
    all: VecDeque<Arc<One>>,
}

impl Kept {
    const fn nothing() -> Self {
        Self { all: VecDeque::new() }
    }

    /// The entry of the same beginning, or else this one, and what is not kept any more: to make room,
    /// those that have not been used for longest.
    fn entry_for(&mut self, one: One) -> (Arc<One>, Vec<Arc<One>>) {
        if let Some(found) = self.all.iter().position(|kept| kept.beginning == one.beginning) {
            self.all.make_contiguous()[found..].rotate_left(1);
            return (Arc::clone(&self.all[self.all.len() - 1]), vec![Arc::new(one)]);
        }
        let one = Arc::new(one);
        self.all.push_back(Arc::clone(&one));
        let mut dropped = Vec::new();
        while self.all.iter().map(|kept| kept.bytes).sum::<usize>() > MOST_BYTES {
            dropped.extend(self.all.pop_front());
        }
        (one, dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use address_map::{AddressMap, SetFunction, SliceFunction};
    use model::tracer::{Found, NoTrace};
    use units::{Picos, SocketId};

    const CORE: CoreId = CoreId(0);

    fn one(name: &str, bytes: usize) -> One {
        let beginning = Beginning { config: name.into(), fills: fills(CORE, &[1]) };
        One { beginning, bytes, contents: OnceLock::new() }
    }

    fn fills(core: CoreId, lines: &[u64]) -> Fills {
        let mut fills = Fills::default();
        lines.iter().for_each(|&line| fills.add(core, LineAddr(line)));
        fills
    }

    /// The lines of the LLC, sorted.
    fn held(fabric: &Fabric) -> Vec<LineAddr> {
        let mut lines: Vec<LineAddr> = fabric.llc(SocketId(0)).lines().collect();
        lines.sort_unstable();
        lines
    }

    fn is_kept(kept: &Kept, name: &str) -> bool {
        kept.all.iter().any(|one| one.beginning.config == name)
    }

    /// A machine whose LLC has two slices of 64 sets. Each test has a seed, and so beginnings, of its own.
    fn small(seed: u64) -> FabricConfig {
        let job = crate::job("experiments/ddio-bench/l2fwd.toml", &[], seed).expect("valid");
        let mut config = job.plan().machine.fabric.clone();
        config.socket.llc.map = AddressMap::new(2, 64, SliceFunction::Mixing, SetFunction::Plain);
        config
    }

    fn filled(config: &FabricConfig, lines: impl Iterator<Item = u64>) -> Fabric {
        let mut filling = Filling::new(config, NoTrace);
        filling.fill(CORE, lines.map(LineAddr));
        filling.filled()
    }

    fn entry(config: &FabricConfig, lines: impl Iterator<Item = u64>) -> Arc<One> {
        let fills = fills(CORE, &lines.collect::<Vec<u64>>());
        kept_of(Beginning { config: config.decides_contents(), fills }, 1)
    }

    #[test]
    fn the_same_beginning_is_the_same_entry_and_another_line_or_core_is_another() {
        let mut kept = Kept::nothing();
        let (first, _) = kept.entry_for(one("a", 1));
        assert!(Arc::ptr_eq(&first, &kept.entry_for(one("a", 1)).0));
        for other in [fills(CORE, &[2]), fills(CORE, &[1, 2]), fills(CoreId(1), &[1])] {
            let mut changed = one("a", 1);
            changed.beginning.fills = other;
            assert!(!Arc::ptr_eq(&first, &kept.entry_for(changed).0));
        }
    }

    #[test]
    fn those_that_were_not_used_for_longest_make_room() {
        let mut kept = Kept::nothing();
        for name in ["a", "b", "c"] {
            kept.entry_for(one(name, MOST_BYTES / 3));
        }
        kept.entry_for(one("a", MOST_BYTES / 3));
        let (_, dropped) = kept.entry_for(one("d", MOST_BYTES / 3));
        assert_eq!(dropped.len(), 1);
        assert_eq!(
            ["a", "b", "c", "d"].map(|name| is_kept(&kept, name)),
            [true, false, true, true]
        );
    }

    #[test]
    fn a_machine_that_begins_alike_copies_what_is_kept() {
        let (config, lines) = (small(1), 0..3_000);
        // The contents kept here are not those that these lines leave, so that a copy shows.
        let other = filled(&config, 30_000..60_000);
        entry(&config, lines.clone()).contents.set(other.contents()).expect("nothing is kept");
        let mut copied = filled(&config, lines);
        let last = LineAddr(59_999);
        assert_eq!(copied.core_read(CORE, last, Picos::ZERO).found, Found::L1);
    }

    #[test]
    fn what_a_machine_leaves_is_kept_if_it_stores_to_enough_lines() {
        let config = small(2);
        let least = (config.cached_lines() / WORTH_KEEPING_DIVISOR) as u64;
        for (lines, is_kept) in [(least - 1, false), (least, true)] {
            filled(&config, 0..lines);
            assert_eq!(entry(&config, 0..lines).contents.get().is_some(), is_kept, "{lines}");
        }
    }

    #[test]
    fn a_list_longer_than_the_caches_is_not_kept_and_every_line_is_stored_to() {
        let config = small(3);
        let cached = config.cached_lines() as u64;
        // No line is the neighbour of the last.
        let lines = |runs: u64| (0..runs).map(|run| 2 * run);
        for (runs, is_kept) in [(cached, true), (cached + 1, false), (cached + 500, false)] {
            let fabric = filled(&config, lines(runs));
            let mut plain = Fabric::new(&config, NoTrace);
            touch(&mut plain, CORE, lines(runs).map(LineAddr));
            assert_eq!(held(&fabric), held(&plain), "{runs}");
            assert_eq!(entry(&config, lines(runs)).contents.get().is_some(), is_kept, "{runs}");
        }
    }
}
