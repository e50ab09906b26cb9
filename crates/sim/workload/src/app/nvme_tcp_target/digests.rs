//! Data digests of answers: by the core, by copy engines while it goes on, or none.
//!
//! Models: a CRC-32C of each block of data that was read; several at a time by engines.
//! Source: SPDK's acceleration framework: ISA-L on the core, or CRC-generation descriptors of a DSA.
//! Simplifies: the core computes one digest after the other.

use crate::driver::core_mover::CoreMover;
use crate::driver::offloader::{Offloader, OnCore};
use model::device::dsa::descriptor::{Descriptor, Operation};
use model::device::queues::{QueueId, Queues};
use model::software::{OffloadTimes, Turn};
use model::tracer::Tracer;
use units::{Cycles, LineAddr, Picos};

/// The unit that computes digests.
#[derive(Debug)]
pub enum Digests {
    /// There are none.
    None,
    /// The core; beside its loop the block that it works on.
    Core(Box<CoreMover>, Option<u64>),
    /// Copy engines.
    Engines(Box<Offloader>),
}

/// Result of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DigestStep {
    /// A block's digest has begun; the core does something else now, or takes this turn.
    Begun(Option<Turn>),
    /// The core goes on with a digest.
    Goes,
    /// The digest of the block with this tag has ended.
    Ended(u64),
    /// There is nothing to do.
    Nothing,
}

impl Digests {
    /// The queues of its engines.
    #[must_use]
    pub fn queues(&self) -> &[QueueId] {
        match self {
            Self::None | Self::Core(..) => &[],
            Self::Engines(engines) => engines.queues(),
        }
    }

    /// The first call of each step of a core: a turn if it still waits for the answer to an ENQCMD.
    pub fn resume<T: Tracer>(&mut self, at: &mut OnCore<'_, T>) -> Option<Turn> {
        match self {
            Self::None | Self::Core(..) => None,
            Self::Engines(engines) => engines.resume(at),
        }
    }

    /// Whether the digest of another block may begin.
    #[must_use]
    pub fn has_room(&self) -> bool {
        match self {
            Self::None => true,
            Self::Core(_, own) => own.is_none(),
            Self::Engines(engines) => engines.has_room(),
        }
    }

    /// Begins the digest of block `tag`, after the call costs `call`.
    pub fn begin<T: Tracer>(
        &mut self,
        at: &mut OnCore<'_, T>,
        (tag, first, bytes): (u64, LineAddr, u64),
        call: Cycles,
    ) -> DigestStep {
        let descriptor = Descriptor::new(Operation::Crc, bytes, first, first);
        match self {
            Self::None => DigestStep::Ended(tag),
            Self::Core(mover, own) => {
                at.core.compute(call);
                mover.begin(at.core, &descriptor);
                *own = Some(tag);
                DigestStep::Begun(None)
            }
            Self::Engines(engines) => {
                at.core.compute(call);
                DigestStep::Begun(engines.offload(at, tag, &[descriptor]))
            }
        }
    }

    /// Goes on with digests that have begun.
    pub fn go_on<T: Tracer>(&mut self, at: &mut OnCore<'_, T>) -> DigestStep {
        match self {
            Self::None | Self::Core(_, None) => DigestStep::Nothing,
            Self::Core(mover, own) => match mover.advance(at.core, at.fabric) {
                true => own.take().map_or(DigestStep::Nothing, DigestStep::Ended),
                false => DigestStep::Goes,
            },
            Self::Engines(engines) => {
                engines.reap(at).map_or(DigestStep::Nothing, |done| DigestStep::Ended(done.tag))
            }
        }
    }

    /// When the core can learn of the next digest by engines.
    pub fn next_known(&self, queues: &mut Queues) -> Picos {
        match self {
            Self::None | Self::Core(..) => Picos::NEVER,
            Self::Engines(engines) => engines.next_known(queues),
        }
    }

    /// Times of the core's offloads to engines until `now`; zero without engines.
    #[must_use]
    pub fn times(&self, now: Picos) -> OffloadTimes {
        match self {
            Self::None | Self::Core(..) => OffloadTimes::default(),
            Self::Engines(engines) => engines.times(now),
        }
    }

    /// The engines, if they compute digests.
    pub fn engines(&mut self) -> Option<&mut Offloader> {
        match self {
            Self::None | Self::Core(..) => None,
            Self::Engines(engines) => Some(engines),
        }
    }
}
