//! Kinds of events, to see whether random agents make all of them happen.

use model::tracer::{Event, Found, LineOperation};
use std::collections::BTreeMap;

/// [`Found`] without the numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    Private,
    TrackedWay,
    OtherWay,
    OtherCore,
    OtherSocket,
    Allocated,
    Memory,
    RemoteMemory,
    CxlMemory,
    Buffer,
    Upgraded,
    Nowhere,
}

impl Kind {
    /// In an LLC whose lowest ways are tracked.
    fn from_found(found: Found, tracked_ways: u32) -> Self {
        match found {
            Found::L1 | Found::L2 => Self::Private,
            Found::LlcHit(way) if way < tracked_ways => Self::TrackedWay,
            Found::LlcHit(_) => Self::OtherWay,
            Found::OtherCore(_) => Self::OtherCore,
            Found::OtherSocket(_) => Self::OtherSocket,
            Found::LlcAllocated(_) | Found::MovedToLlc(_) => Self::Allocated,
            Found::Dram => Self::Memory,
            Found::RemoteDram => Self::RemoteMemory,
            Found::Cxl => Self::CxlMemory,
            Found::RootComplexBuffer => Self::Buffer,
            Found::Upgraded => Self::Upgraded,
            Found::Nowhere => Self::Nowhere,
        }
    }
}

/// How often what happened.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    pub tracked_ways: u32,
    times: BTreeMap<(u8, Kind), u64>,
}

impl Tally {
    pub fn count(&mut self, event: &Event) {
        let kind = Kind::from_found(event.found, self.tracked_ways);
        *self.times.entry((event.operation as u8, kind)).or_default() += 1;
    }

    /// Whether each of these operations was seen with each of these kinds that often.
    pub fn expect(&self, operations: &[LineOperation], kinds: &[Kind], least: u64) {
        for (operation, kind) in operations.iter().flat_map(|o| kinds.iter().map(move |k| (o, k))) {
            let times = self.times.get(&(*operation as u8, *kind)).copied().unwrap_or_default();
            assert!(times >= least, "{operation:?}, {kind:?}: {times} times");
        }
    }
}
