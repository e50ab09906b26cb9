//! Copies that a program waits for: by its core, or from a size on by a copy engine.
//!
//! Models: a call that copies and returns when the data are there; above a threshold it submits one
//! descriptor and polls its record.
//! Source: Intel's DTO library, which does so in place of memcpy; ASPLOS'24, appendix B.
//! Simplifies: one copy at a time; nothing else happens on the core meanwhile.

use super::core_mover::CoreMover;
use super::offloader::{Offloader, OnCore};
use hdrhistogram::Histogram;
use model::device::dsa::descriptor::Descriptor;
use model::device::queues::QueueId;
use model::reading::Reading;
use model::software::{CopyCounts, DESCRIPTOR_PHASES, OffloadTimes, Turn};
use model::tracer::Tracer;
use units::Picos;

/// The copies of a core.
#[derive(Debug)]
pub struct Copier {
    mover: CoreMover,
    /// Its engines, and the size from which these copy.
    engines: Option<(Offloader, u64)>,
    under_way: Option<CopyInFlight>,
    counts: CopyCounts,
    /// Time in which the core copies, and bytes, without those of engines.
    own: OffloadTimes,
}

/// A copy that has begun.
#[derive(Debug)]
struct CopyInFlight {
    bytes: u64,
    is_offloaded: bool,
}

/// How far a copy is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyStep {
    /// The core goes on with the copy, or waits for it.
    Goes(Turn),
    /// The copy has ended.
    Done,
}

impl Copier {
    /// Copies by `mover`, and by `engines` from a size on.
    #[must_use]
    pub fn new(mover: CoreMover, engines: Option<(Offloader, u64)>) -> Self {
        let (counts, own) = (CopyCounts::default(), OffloadTimes::default());
        Self { mover, engines, under_way: None, counts, own }
    }

    /// The queues of its engines.
    #[must_use]
    pub fn queues(&self) -> &[QueueId] {
        self.engines.as_ref().map_or(&[], |(engines, _)| engines.queues())
    }

    /// Whether a copy is under way.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        self.under_way.is_some()
    }

    /// Begins a copy, or another operation as long as its operands.
    pub fn begin<T: Tracer>(&mut self, at: &mut OnCore<'_, T>, operation: &Descriptor) -> CopyStep {
        let bytes = operation.bytes;
        self.counts.copies += 1;
        self.counts.bytes += bytes;
        let engines = self.engines.as_mut().filter(|(_, threshold)| bytes >= *threshold);
        self.under_way = Some(CopyInFlight { bytes, is_offloaded: engines.is_some() });
        if let Some((engines, _)) = engines {
            self.counts.offloaded += 1;
            self.counts.offloaded_bytes += bytes;
            let waits = engines.offload(at, 0, std::slice::from_ref(operation));
            return CopyStep::Goes(waits.unwrap_or(Turn::Busy(at.core.now())));
        }
        let begun = at.core.now();
        self.mover.begin(at.core, operation);
        self.own.work += at.core.now() - begun;
        self.go_on(at)
    }

    /// The next step of the copy under way, from the time at which the core is called again.
    pub fn go_on<T: Tracer>(&mut self, at: &mut OnCore<'_, T>) -> CopyStep {
        match (&self.under_way, &mut self.engines) {
            (Some(CopyInFlight { is_offloaded: true, bytes }), Some((engines, _))) => {
                if let Some(turn) = engines.resume(at) {
                    return CopyStep::Goes(turn);
                }
                if engines.reap(at).is_none() {
                    return CopyStep::Goes(engines.wait(at.core, at.queues, Picos::NEVER));
                }
                self.own.bytes += bytes;
            }
            (Some(CopyInFlight { bytes, .. }), _) => {
                let begun = at.core.now();
                let has_ended = self.mover.advance(at.core, at.fabric);
                self.own.work += at.core.now() - begun;
                if !has_ended {
                    return CopyStep::Goes(Turn::Busy(at.core.now()));
                }
                self.own.bytes += bytes;
            }
            (None, _) => {}
        }
        self.under_way = None;
        CopyStep::Done
    }

    /// Counts of the copies so far.
    #[must_use]
    pub fn counts(&self) -> CopyCounts {
        self.counts
    }

    /// Times of the copies until `now`, by the core and by engines.
    #[must_use]
    pub fn times(&self, now: Picos) -> OffloadTimes {
        let engines = self.engines.as_ref().map(|(engines, _)| engines.times(now));
        engines.unwrap_or_default().plus(&self.own)
    }

    /// The phases of its descriptors since the last call, if it has engines.
    pub fn take_phases(&mut self) -> Option<[Histogram<u64>; DESCRIPTOR_PHASES]> {
        self.engines.as_mut().map(|(engines, _)| engines.take_phases())
    }
}
