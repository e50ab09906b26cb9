//! Inclusion: what a line in the LLC means for the private caches above it.
//!
//! Models: for each event that concerns both, what the caches do: a core fetches a line, L1, L2 or the
//! LLC evicts one, a device reads or writes one. The fabric asks here and carries the answer out; no
//! other file of the model names a policy.
//! Source: Intel (inclusion by generation, non-inclusive victim LLC of Skylake-SP); AMD (victim cache
//! of a core complex); "inclusive ways and migration" as published for A4 (ISCA'25).
//! Simplifies: nothing.

/// What a line in the LLC means for the private caches above it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Inclusion {
    /// Every line of a core is here too; a line that leaves takes the cores' copies with it (Intel
    /// up to Broadwell).
    Inclusive,
    /// A victim cache of L2; lines that cores hold too live in the lowest ways (Skylake-SP and after).
    NonInclusive {
        /// How many of the lowest ways.
        inclusive_ways: u32,
    },
    /// A victim cache of L2 that gives up what a core takes (AMD Zen, per core complex).
    ExclusiveVictim,
    /// Independent levels ("non-inclusive, non-exclusive"): each is filled on its miss, none
    /// invalidates another, as in most cache simulators.
    Nine,
}

/// A core fetches a line that the LLC has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchHit {
    /// The LLC gives the line up to the core.
    MoveUp,
    /// The line stays, in a tracked way, which lists the core as a holder.
    Track,
    /// The line stays where it is; the snoop filter, if there is one, lists the core as a holder.
    Copy,
}

/// A core fetches a line that no cache of its socket has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FetchMiss {
    /// The LLC is filled too; its way lists the core as a holder.
    FillTracked,
    /// The LLC is filled too; the snoop filter lists the core as a holder.
    FillUntracked,
    /// Only the core is filled; the snoop filter lists it as a holder.
    FillCoreOnly,
}

/// A core reads a line that another core has modified: where the content goes, which is shared now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharedContent {
    /// Into a tracked way of the LLC.
    TrackedWay,
    /// Into the LLC, which does not list the holders.
    UntrackedWay,
    /// To memory.
    Memory,
}

/// L1 evicts a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum L1Victim {
    /// It is written to L2.
    WriteBack,
    /// It is dropped: L2 has it.
    Drop,
    /// It is dropped, and may have been the core's last copy.
    DropLast,
}

/// L2 evicts a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum L2Victim {
    /// The core gives it up, L1's copy too: it goes into the LLC, or is dropped if it is not newer
    /// than memory and the LLC takes no such victims.
    MoveDown,
    /// It is written to the LLC if it is modified; L1 keeps its copy.
    WriteBack,
}

/// The LLC evicts a line that cores hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LlcVictim {
    /// They lose it.
    InvalidateCores,
    /// They keep it; the snoop filter lists them as its holders.
    LeaveToCores,
}

/// A device reads or writes a line that the LLC has: what lists the cores that hold it too. A read
/// asks them for what they have modified, a write invalidates their copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HoldersIn {
    /// No core holds it: the LLC's content is the newest.
    None,
    /// Its way.
    Way,
    /// The snoop filter; without one every core is asked.
    SnoopFilter,
}

impl Inclusion {
    /// The lowest of `ways` ways, which list the cores that hold their lines.
    #[must_use]
    pub fn tracked_ways(self, ways: u32) -> u32 {
        match self {
            Self::Inclusive => ways,
            Self::NonInclusive { inclusive_ways } => inclusive_ways,
            Self::ExclusiveVictim | Self::Nine => 0,
        }
    }

    /// A core fetches a line that the LLC has, in a `tracked` way or not; its content was written by
    /// a device or by a core.
    #[inline]
    #[must_use]
    pub fn fetch_hit(self, tracked: bool, by_device: bool) -> FetchHit {
        match self {
            Self::Inclusive => FetchHit::Track,
            // A device's line migrates into a tracked way, a core's own victim moves back up.
            Self::NonInclusive { .. } if tracked || by_device => FetchHit::Track,
            Self::NonInclusive { .. } | Self::ExclusiveVictim => FetchHit::MoveUp,
            Self::Nine => FetchHit::Copy,
        }
    }

    /// A core fetches a line that no cache of its socket has.
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

    /// L1 evicts a line.
    #[inline]
    #[must_use]
    pub fn l1_victim(self, modified: bool) -> L1Victim {
        match self {
            _ if modified => L1Victim::WriteBack,
            Self::Nine => L1Victim::DropLast,
            Self::Inclusive | Self::NonInclusive { .. } | Self::ExclusiveVictim => L1Victim::Drop,
        }
    }

    /// L2 evicts a line.
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

    /// A device reads or writes a line that the LLC has, in a `tracked` way or not.
    #[inline]
    #[must_use]
    pub fn device_hit(self, tracked: bool) -> HoldersIn {
        match self {
            _ if tracked => HoldersIn::Way,
            Self::Nine => HoldersIn::SnoopFilter,
            Self::Inclusive | Self::NonInclusive { .. } | Self::ExclusiveVictim => HoldersIn::None,
        }
    }

    /// Whether the LLC has every line that a core has.
    #[inline]
    #[must_use]
    pub fn llc_holds_all(self) -> bool {
        self == Self::Inclusive
    }

    /// Whether no level knows of another: L1 may have a line that L2 lacks.
    #[inline]
    #[must_use]
    pub fn levels_are_independent(self) -> bool {
        self == Self::Nine
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SKYLAKE: Inclusion = Inclusion::NonInclusive { inclusive_ways: 2 };

    #[test]
    fn a_victim_cache_gives_back_a_cores_line_and_keeps_a_devices() {
        assert_eq!(SKYLAKE.fetch_hit(false, false), FetchHit::MoveUp);
        assert_eq!(SKYLAKE.fetch_hit(false, true), FetchHit::Track);
        assert_eq!(Inclusion::ExclusiveVictim.fetch_hit(false, true), FetchHit::MoveUp);
    }

    #[test]
    fn what_the_llc_gives_up_or_never_had_is_not_listed_in_its_ways() {
        for inclusion in [SKYLAKE, Inclusion::ExclusiveVictim, Inclusion::Nine] {
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
