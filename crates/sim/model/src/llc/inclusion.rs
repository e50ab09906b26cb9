//! Inclusion: the relation between lines in the LLC and the private caches above it.
//!
//! Models: the caches' action for each event that concerns both: a core fetches a line, L1, L2 or the
//! LLC evicts one, a device reads or writes one. The fabric executes the action; no other file of the
//! model names a policy.
//! Source: Intel (inclusion by generation, non-inclusive victim LLC of Skylake-SP); AMD (victim cache
//! of a core complex); "inclusive ways and migration" as published for A4 (ISCA'25); the move at the
//! device's next write as measured by Double-Trouble (KU Leuven) on a Silver 4208.

/// The event at which a device's line comes to the inclusive ways of a non-inclusive LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InclusiveMove {
    /// A core reads or writes a line that a device has written: it stays in the LLC, in these ways (A4,
    /// ISCA'25).
    CoreAccess,
    /// A device writes a line that an L2 holds. A core's access leaves no copy in the LLC, unless another
    /// core holds the line too (github KULeuven-COSIC/Double-Trouble@75be02b, Silver 4208).
    DeviceWrite,
}

/// The relation between lines in the LLC and the private caches above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// Every line of a core is in the LLC too; an LLC eviction invalidates the cores' copies (Intel up
    /// to Broadwell).
    Inclusive,
    /// A victim cache of L2; lines that cores also hold are in the lowest ways (Skylake-SP and after).
    NonInclusive {
        /// Number of these ways.
        inclusive_ways: u32,
        /// The event at which a device's line comes to them.
        moved_by: InclusiveMove,
    },
    /// A victim cache of L2 that drops a line when a core fetches it (AMD Zen, per core complex).
    ExclusiveVictim,
    /// Independent levels ("non-inclusive, non-exclusive"): each is filled on its miss, none
    /// invalidates another, as in most cache simulators.
    Nine,
}

/// A way of the LLC whose line a core fetches.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HitWay {
    /// It lists the cores that hold its line.
    pub is_tracked: bool,
    /// It lists at least one.
    pub is_held: bool,
    /// A device wrote its content.
    pub by_device: bool,
}

/// Action when a core fetches a line that hits the LLC.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchHit {
    /// The LLC passes the line to the core and keeps no copy.
    MoveUp,
    /// The line stays, in a tracked way, which lists the core as a holder.
    Track,
    /// The line stays in its way; the snoop filter, if there is one, lists the core as a holder.
    Copy,
}

/// Action when a core fetches a line that misses every cache of its socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchMiss {
    /// The LLC is filled too; its way lists the core as a holder.
    FillTracked,
    /// The LLC is filled too; the snoop filter lists the core as a holder.
    FillUntracked,
    /// Only the core is filled; the snoop filter lists it as a holder.
    FillCoreOnly,
}

/// Destination of a line that a core reads and another core has modified; the line becomes Shared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedContent {
    /// Into a tracked way of the LLC.
    TrackedWay,
    /// Into the LLC, which does not list the holders.
    UntrackedWay,
    /// To memory.
    Memory,
}

/// Action when L1 evicts a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum L1Victim {
    /// The line is written to L2.
    WriteBack,
    /// The line is dropped: L2 holds it.
    Drop,
    /// The line is dropped, and may have been the core's last copy.
    DropLast,
}

/// Action when L2 evicts a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum L2Victim {
    /// The core drops it, L1's copy too: it is allocated in the LLC, or dropped if it is not newer than
    /// memory and the LLC takes no clean victims.
    MoveDown,
    /// The line is written back to the LLC if it is modified; L1 keeps its copy.
    WriteBack,
}

/// Action when the LLC evicts a line that cores hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LlcVictim {
    /// The cores' copies are invalidated.
    InvalidateCores,
    /// The cores keep the line; the snoop filter lists them as its holders.
    LeaveToCores,
}

/// Which structure lists the cores that also hold a line, when a device reads or writes it and hits the
/// LLC. A read snoops them for modified data, a write invalidates their copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldersIn {
    /// No core holds the line: the LLC's content is the newest.
    None,
    /// The LLC way.
    Way,
    /// The snoop filter; without one every core is snooped.
    SnoopFilter,
}

impl Inclusion {
    /// Number of lowest ways, of `ways`, that list the cores that hold their lines.
    #[must_use]
    pub fn tracked_ways(self, ways: u32) -> u32 {
        match self {
            Self::Inclusive => ways,
            Self::NonInclusive { inclusive_ways, .. } => inclusive_ways,
            Self::ExclusiveVictim | Self::Nine => 0,
        }
    }

    /// A core fetches a line that hits the LLC.
    #[inline]
    #[must_use]
    pub fn fetch_hit(self, hit: HitWay) -> FetchHit {
        match self {
            Self::Inclusive => FetchHit::Track,
            // A device's line migrates into a tracked way; a core's own victim moves back up.
            Self::NonInclusive { moved_by: InclusiveMove::CoreAccess, .. }
                if hit.is_tracked || hit.by_device =>
            {
                FetchHit::Track
            }
            Self::NonInclusive { moved_by: InclusiveMove::DeviceWrite, .. } if hit.is_held => {
                FetchHit::Track
            }
            Self::NonInclusive { .. } | Self::ExclusiveVictim => FetchHit::MoveUp,
            Self::Nine => FetchHit::Copy,
        }
    }

    /// Whether a device's line that misses the LLC goes to the tracked ways if a core holds it.
    #[inline]
    #[must_use]
    pub fn device_write_moves(self) -> bool {
        matches!(self, Self::NonInclusive { moved_by: InclusiveMove::DeviceWrite, .. })
    }

    /// A core fetches a line that misses every cache of its socket.
    #[inline]
    #[must_use]
    pub fn fetch_miss(self) -> FetchMiss {
        match self {
            Self::Inclusive => FetchMiss::FillTracked,
            Self::Nine => FetchMiss::FillUntracked,
            Self::NonInclusive { .. } | Self::ExclusiveVictim => FetchMiss::FillCoreOnly,
        }
    }

    /// A core reads a line that another core has modified.
    #[inline]
    #[must_use]
    pub fn shared_content(self) -> SharedContent {
        match self {
            Self::Inclusive | Self::NonInclusive { .. } => SharedContent::TrackedWay,
            Self::Nine => SharedContent::UntrackedWay,
            Self::ExclusiveVictim => SharedContent::Memory,
        }
    }

    /// Destination of a line that L1 evicts.
    #[inline]
    #[must_use]
    pub fn l1_victim(self, modified: bool) -> L1Victim {
        match self {
            _ if modified => L1Victim::WriteBack,
            Self::Nine => L1Victim::DropLast,
            Self::Inclusive | Self::NonInclusive { .. } | Self::ExclusiveVictim => L1Victim::Drop,
        }
    }

    /// Destination of a line that L2 evicts.
    #[inline]
    #[must_use]
    pub fn l2_victim(self) -> L2Victim {
        match self {
            Self::Nine => L2Victim::WriteBack,
            Self::Inclusive | Self::NonInclusive { .. } | Self::ExclusiveVictim => {
                L2Victim::MoveDown
            }
        }
    }

    /// The LLC evicts a line that cores hold.
    #[inline]
    #[must_use]
    pub fn llc_victim(self) -> LlcVictim {
        match self {
            Self::Inclusive => LlcVictim::InvalidateCores,
            Self::NonInclusive { .. } | Self::ExclusiveVictim | Self::Nine => {
                LlcVictim::LeaveToCores
            }
        }
    }

    /// A device reads or writes a line that hits the LLC, in a `tracked` way or not.
    #[inline]
    #[must_use]
    pub fn device_hit(self, tracked: bool) -> HoldersIn {
        match self {
            _ if tracked => HoldersIn::Way,
            Self::Nine => HoldersIn::SnoopFilter,
            Self::Inclusive | Self::NonInclusive { .. } | Self::ExclusiveVictim => HoldersIn::None,
        }
    }

    /// Whether every line of a core is in the LLC.
    #[inline]
    #[must_use]
    pub fn llc_holds_all(self) -> bool {
        self == Self::Inclusive
    }

    /// Whether levels are independent: L1 may have a line that L2 lacks.
    #[inline]
    #[must_use]
    pub fn levels_are_independent(self) -> bool {
        self == Self::Nine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKYLAKE: Inclusion =
        Inclusion::NonInclusive { inclusive_ways: 2, moved_by: InclusiveMove::CoreAccess };
    const TAKEN_OUT: Inclusion =
        Inclusion::NonInclusive { inclusive_ways: 2, moved_by: InclusiveMove::DeviceWrite };
    const UNTRACKED: HitWay = HitWay { is_tracked: false, is_held: false, by_device: false };

    #[test]
    fn a_victim_cache_gives_back_a_cores_line_and_keeps_a_devices() {
        let by_device = HitWay { by_device: true, ..UNTRACKED };
        assert_eq!(SKYLAKE.fetch_hit(UNTRACKED), FetchHit::MoveUp);
        assert_eq!(SKYLAKE.fetch_hit(by_device), FetchHit::Track);
        assert_eq!(Inclusion::ExclusiveVictim.fetch_hit(by_device), FetchHit::MoveUp);
        assert!(!SKYLAKE.device_write_moves());
    }

    #[test]
    fn where_devices_move_lines_a_core_takes_them_out_unless_another_core_has_a_copy() {
        let by_device = HitWay { by_device: true, ..UNTRACKED };
        let alone = HitWay { is_tracked: true, ..by_device };
        let shared = HitWay { is_held: true, ..alone };
        assert!(TAKEN_OUT.device_write_moves());
        assert_eq!(TAKEN_OUT.fetch_hit(by_device), FetchHit::MoveUp);
        assert_eq!(TAKEN_OUT.fetch_hit(alone), FetchHit::MoveUp);
        assert_eq!(TAKEN_OUT.fetch_hit(shared), FetchHit::Track);
    }

    #[test]
    fn what_the_llc_gives_up_or_never_had_is_not_listed_in_its_ways() {
        for inclusion in [SKYLAKE, TAKEN_OUT, Inclusion::ExclusiveVictim, Inclusion::Nine] {
            assert!(!inclusion.llc_holds_all());
            assert_ne!(inclusion.fetch_miss(), FetchMiss::FillTracked, "{inclusion:?}");
            assert_eq!(inclusion.llc_victim(), LlcVictim::LeaveToCores, "{inclusion:?}");
            assert_ne!(inclusion.device_hit(false), HoldersIn::Way, "{inclusion:?}");
        }
        assert_eq!(Inclusion::Inclusive.llc_victim(), LlcVictim::InvalidateCores);
    }

    #[test]
    fn a_modified_line_of_l1_is_never_dropped() {
        for inclusion in
            [Inclusion::Inclusive, SKYLAKE, Inclusion::ExclusiveVictim, Inclusion::Nine]
        {
            assert_eq!(inclusion.l1_victim(true), L1Victim::WriteBack, "{inclusion:?}");
            let may_be_last = inclusion.l1_victim(false) == L1Victim::DropLast;
            assert_eq!(may_be_last, inclusion.levels_are_independent(), "{inclusion:?}");
        }
    }
}
