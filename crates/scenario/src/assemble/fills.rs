//! What a machine's caches hold at time zero, kept for the next machine that begins alike.
//!
//! Points of an experiment often have hardware, pages and pool in common. To store to hundreds of
//! thousands of lines before time zero then takes longer than a short run, and leaves the same again.
//! Machines begin alike if what decides the content of their caches and all lines that were stored to
//! are the same: they are compared, not hashed.

use model::fabric::{Contents, Fabric, FabricConfig};
use model::tracer::Tracer;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use units::CoreId;
use units::LineAddr;
use workload::host_memory::touch;

/// Fewer lines are stored to again: that costs less than a copy of the caches.
const WORTH_KEEPING: usize = 1 << 14;
/// Lines of all that is kept, those of LLCs and those that were stored to. Tags and states take some
/// 30 bytes for each: a quarter of a GiB.
const MOST_LINES: usize = 8 << 20;

/// What this process keeps, shared by its threads.
static KEPT: Mutex<Kept> = Mutex::new(Kept::nothing());

/// Lines that a core stores to, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Fill {
    core: CoreId,
    lines: Arc<[LineAddr]>,
}

/// All that decides what caches hold at time zero.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Beginning {
    config: String,
    fills: Vec<Fill>,
}

/// The fills of a machine that is being built.
#[derive(Debug)]
pub(crate) struct Fills {
    beginning: Beginning,
    llc_lines: usize,
    /// Line operations of the fills: there have been more if something else has accessed the caches,
    /// which then hold what the fills alone do not tell.
    line_ops: u64,
}

impl Fills {
    /// None yet, of a machine of this configuration whose LLCs hold `llc_lines` lines.
    pub fn of(config: &FabricConfig, llc_lines: usize) -> Self {
        let beginning = Beginning { config: config.decides_contents(), fills: Vec::new() };
        Self { beginning, llc_lines, line_ops: 0 }
    }

    /// A core stores to `lines`; what that leaves is copied if it is kept.
    pub fn make<T: Tracer>(
        &mut self,
        fabric: &mut Fabric<T>,
        core: CoreId,
        lines: Vec<LineAddr>,
    ) {
        let fill = Fill { core, lines: lines.into() };
        if fabric.counters().line_ops != self.line_ops {
            return fill.store(fabric);
        }
        self.beginning.fills.push(fill.clone());
        // A tracer has to see each store.
        if T::WATCHING || fill.lines.len() < WORTH_KEEPING {
            fill.store(fabric);
        } else if let Some(same) = kept(|all| all.find(&self.beginning)) {
            fabric.take_over(&same);
        } else {
            fill.store(fabric);
            let (lines, contents) = (self.lines(), Arc::new(fabric.contents()));
            kept(|all| all.keep(self.beginning.clone(), lines, contents));
        }
        self.line_ops = fabric.counters().line_ops;
    }

    fn lines(&self) -> usize {
        self.llc_lines + self.beginning.fills.iter().map(|fill| fill.lines.len()).sum::<usize>()
    }
}

impl Fill {
    fn store<T: Tracer>(&self, fabric: &mut Fabric<T>) {
        touch(fabric, self.core, self.lines.iter().copied());
    }
}

fn kept<R>(access: impl FnOnce(&mut Kept) -> R) -> R {
    // Each change is one push or pop: a thread that panicked has left no half of one.
    access(&mut KEPT.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Beginnings with what they left, the one that was used last at the end.
#[derive(Debug)]
struct Kept {
    all: VecDeque<One>,
}

#[derive(Debug)]
struct One {
    beginning: Beginning,
    lines: usize,
    contents: Arc<Contents>,
}

impl Kept {
    const fn nothing() -> Self {
        Self { all: VecDeque::new() }
    }

    fn find(&mut self, beginning: &Beginning) -> Option<Arc<Contents>> {
        let found = self.all.iter().position(|one| one.beginning == *beginning)?;
        let one = self.all.remove(found)?;
        let contents = Arc::clone(&one.contents);
        self.all.push_back(one);
        Some(contents)
    }

    /// Keeps what a beginning left; those that were not used for longest make room for it.
    fn keep(&mut self, beginning: Beginning, lines: usize, contents: Arc<Contents>) {
        if lines > MOST_LINES || self.find(&beginning).is_some() {
            return;
        }
        while self.all.iter().map(|one| one.lines).sum::<usize>() + lines > MOST_LINES {
            self.all.pop_front();
        }
        self.all.push_back(One { beginning, lines, contents });
    }
}
