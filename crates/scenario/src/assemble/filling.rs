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
use units::CoreId;
use units::LineAddr;
use workload::host_memory::touch;

/// A fill is kept if it stores to more than this part of the lines that the caches hold: to copy them
/// takes as long as some thirtieth of as many stores.
const WORTH_KEEPING_PART: usize = 16;
/// A fill of more than this many times the lines that the caches hold is not kept: its list takes more
/// memory than the caches.
const MOST_TIMES: usize = 8;
/// Bytes of all that is kept, estimated: a line of a cache takes some 16, with its state and what
/// chooses victims, and a line in a list 8.
const MOST_BYTES: usize = 256 << 20;
const CACHED_LINE_BYTES: usize = 16;

/// What this process keeps, shared by its threads.
static KEPT: Mutex<Kept> = Mutex::new(Kept::nothing());

/// A fabric with the fills that have to be made before anything else accesses it.
#[derive(Debug)]
pub(crate) struct Filling<T: Tracer> {
    config: FabricConfig,
    fabric: Fabric<T>,
    /// Fills to be made; none any more once something else has accessed the caches.
    fills: Option<Vec<Fill>>,
}

/// Lines that a core stores to, in order.
#[derive(Debug, PartialEq, Eq)]
struct Fill {
    core: CoreId,
    lines: Vec<LineAddr>,
}

impl<T: Tracer> Filling<T> {
    /// A fabric with empty caches.
    pub fn new(config: &FabricConfig, tracer: T) -> Self {
        // A tracer has to see each store.
        let fills = (!T::WATCHING).then(Vec::new);
        Self { config: config.clone(), fabric: Fabric::new(config, tracer), fills }
    }

    /// A core stores to `lines` in this order: the caches hold the last of them.
    pub fn fill(&mut self, core: CoreId, mut lines: impl Iterator<Item = LineAddr>) {
        let Some(fills) = &mut self.fills else { return touch(&mut self.fabric, core, lines) };
        let most = MOST_TIMES * self.config.cached_lines();
        let first = lines.by_ref().take(most.saturating_sub(lines_of(fills))).collect();
        fills.push(Fill { core, lines: first });
        if let Some(next) = lines.next() {
            store(&self.fills.take().unwrap_or_default(), &mut self.fabric);
            touch(&mut self.fabric, core, iter::once(next).chain(lines));
        }
    }

    /// The fabric, all fills made.
    pub fn fabric(&mut self) -> &mut Fabric<T> {
        if let Some(fills) = self.fills.take() {
            self.make(fills);
        }
        &mut self.fabric
    }

    /// The fabric, all fills made, at time zero.
    pub fn filled(mut self) -> Fabric<T> {
        self.fabric();
        self.fabric
    }

    fn make(&mut self, fills: Vec<Fill>) {
        let (config, fabric) = (&self.config, &mut self.fabric);
        if lines_of(&fills) < config.cached_lines() / WORTH_KEEPING_PART {
            return store(&fills, fabric);
        }
        let kept = kept_of(Beginning { config: config.decides_contents(), fills }, config);
        let mut is_filled = false;
        let contents = kept.contents.get_or_init(|| {
            is_filled = true;
            store(&kept.beginning.fills, fabric);
            fabric.contents()
        });
        if !is_filled {
            fabric.take_over(contents);
        }
    }
}

fn store<T: Tracer>(fills: &[Fill], fabric: &mut Fabric<T>) {
    for fill in fills {
        touch(fabric, fill.core, fill.lines.iter().copied());
    }
}

fn lines_of(fills: &[Fill]) -> usize {
    fills.iter().map(|fill| fill.lines.len()).sum()
}

/// All that decides what caches hold at time zero.
#[derive(Debug, PartialEq, Eq)]
struct Beginning {
    config: String,
    fills: Vec<Fill>,
}

/// A beginning and, once a machine has made its fills, what they left. Others that begin alike wait for
/// it: that takes no longer than to make them.
#[derive(Debug)]
struct One {
    beginning: Beginning,
    bytes: usize,
    contents: OnceLock<Contents>,
}

/// What is kept of a beginning, or will be.
fn kept_of(beginning: Beginning, config: &FabricConfig) -> Arc<One> {
    let list_bytes = lines_of(&beginning.fills) * size_of::<LineAddr>();
    let bytes = config.cached_lines() * CACHED_LINE_BYTES + list_bytes;
    let one = One { beginning, bytes, contents: OnceLock::new() };
    // A thread that panicked has left whole entries.
    let (one, dropped) = KEPT.lock().unwrap_or_else(PoisonError::into_inner).of(one);
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

    /// The entry of the same beginning, or else this one, with those that make room for it: they have
    /// not been used for longest. An entry that is too large for all room is not kept.
    fn of(&mut self, one: One) -> (Arc<One>, Vec<Arc<One>>) {
        if let Some(found) = self.all.iter().position(|kept| kept.beginning == one.beginning) {
            self.all.make_contiguous()[found..].rotate_left(1);
            return (Arc::clone(&self.all[self.all.len() - 1]), vec![Arc::new(one)]);
        }
        let one = Arc::new(one);
        if one.bytes > MOST_BYTES {
            return (one, Vec::new());
        }
        let mut dropped = Vec::new();
        while self.all.iter().map(|kept| kept.bytes).sum::<usize>() + one.bytes > MOST_BYTES {
            dropped.extend(self.all.pop_front());
        }
        self.all.push_back(Arc::clone(&one));
        (one, dropped)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(name: &str, bytes: usize) -> One {
        let fills = vec![Fill { core: CoreId(0), lines: vec![LineAddr(1)] }];
        One {
            beginning: Beginning { config: name.into(), fills },
            bytes,
            contents: OnceLock::new(),
        }
    }

    fn is_kept(kept: &Kept, name: &str) -> bool {
        kept.all.iter().any(|one| one.beginning.config == name)
    }

    #[test]
    fn the_same_beginning_is_the_same_entry_and_another_line_is_another() {
        let mut kept = Kept::nothing();
        let (first, _) = kept.of(one("a", 1));
        assert!(Arc::ptr_eq(&first, &kept.of(one("a", 1)).0));
        let mut other = one("a", 1);
        other.beginning.fills[0].lines[0] = LineAddr(2);
        assert!(!Arc::ptr_eq(&first, &kept.of(other).0));
        let mut other = one("a", 1);
        other.beginning.fills[0].core = CoreId(1);
        assert!(!Arc::ptr_eq(&first, &kept.of(other).0));
    }

    #[test]
    fn those_that_were_not_used_for_longest_make_room() {
        let mut kept = Kept::nothing();
        for name in ["a", "b", "c"] {
            kept.of(one(name, MOST_BYTES / 3));
        }
        kept.of(one("a", MOST_BYTES / 3));
        let (_, dropped) = kept.of(one("d", MOST_BYTES / 3));
        assert_eq!(dropped.len(), 1);
        assert_eq!(
            ["a", "b", "c", "d"].map(|name| is_kept(&kept, name)),
            [true, false, true, true]
        );
    }

    #[test]
    fn what_is_larger_than_all_room_pushes_nothing_out() {
        let mut kept = Kept::nothing();
        kept.of(one("a", 1));
        kept.of(one("b", MOST_BYTES + 1));
        assert_eq!(["a", "b"].map(|name| is_kept(&kept, name)), [true, false]);
    }
}
