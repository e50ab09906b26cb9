//! The state of the QLRU family; its parameters are described with their names.
//!
//! Models: quad-age LRU, as found by measurement in the L2 and L3 caches of Intel's client processors.
//! Source: Abel and Reineke, nanoBench (ISPASS 2020); uops.info/cache.html.
//! Simplifies: an empty way counts as one of age 3, as after WBINVD. The block that U1 and U3 spare is
//! also left out of the greatest age, without which R0 with U1 would not always find a victim. Masks
//! are our extension: if no way of a partial mask is at age 3, the ways of the mask age as with UMO,
//! and R0 and R2 then take the lowest of the greatest age.

use super::ages::Ages;
use super::qlru_name::{Insertion, Location, QlruSpec, UpdateTime};
use super::{below, highest, lowest};
use rand_xoshiro::Xoshiro256PlusPlus;
use tag_array::TagArray;
use units::{SetIndex, WayMask};

const OLDEST: u32 = 3;

/// The ages of all sets.
#[derive(Clone, Debug)]
pub(super) struct Qlru {
    ages: Ages<2>,
    spec: QlruSpec,
    all_ways: WayMask,
}

impl Qlru {
    pub(super) fn new(sets: u32, all_ways: WayMask, spec: QlruSpec) -> Self {
        Self { ages: Ages::new(sets, OLDEST), spec, all_ways }
    }

    // Not inlined: there are many call sites, which stay small for the most common policies.
    #[inline(never)]
    pub(super) fn hit(&mut self, tags: &TagArray, set: SetIndex, way: u32) {
        let age = match self.ages.get(set, way) {
            3 => self.spec.hit.from_three,
            2 => self.spec.hit.from_two,
            _ => 0,
        };
        self.ages.put(set, way, age.into());
        self.update_after_access(tags, set, way);
    }

    #[inline(never)]
    pub(super) fn fill(
        &mut self,
        tags: &TagArray,
        set: SetIndex,
        way: u32,
        rng: &mut Xoshiro256PlusPlus,
    ) {
        let age = match self.spec.insertion {
            Insertion::Always { age } => age.into(),
            Insertion::OneIn { blocks, age } if below(rng, blocks.into()) == 0 => age.into(),
            Insertion::OneIn { .. } => OLDEST,
        };
        self.ages.put(set, way, age);
        self.update_after_access(tags, set, way);
    }

    #[inline]
    fn update_after_access(&mut self, tags: &TagArray, set: SetIndex, way: u32) {
        let accessed = 1 << way;
        if self.spec.update_time == UpdateTime::MissOnly
            || self.ages.oldest(set, self.all_ways).0 == OLDEST
            || tags.empty_ways(set, WayMask(self.all_ways.0 & !accessed)).0 != 0
        {
            return;
        }
        let spared = if self.spec.update.spares_accessed() { accessed } else { 0 };
        self.update(set, WayMask(self.all_ways.0 & !spared));
    }

    /// Ages `ways`, none of which is at age 3.
    #[inline]
    fn update(&mut self, set: SetIndex, ways: WayMask) {
        let one_step = self.spec.update.is_one_step();
        let years = if one_step { 1 } else { OLDEST - self.ages.oldest(set, ways).0 };
        self.ages.add(set, ways, years);
    }

    /// The empty way that is filled first.
    #[inline]
    pub(super) fn first_empty(&self, empty: WayMask) -> u32 {
        if self.spec.location == Location::R2 { highest(empty) } else { lowest(empty) }
    }

    #[inline(never)]
    pub(super) fn victim(&mut self, set: SetIndex, within: WayMask) -> u32 {
        let ages_now = self.spec.update_time == UpdateTime::MissOnly || within != self.all_ways;
        if ages_now && self.ages.oldest(set, within).0 != OLDEST {
            self.update(set, within);
        }
        let (age, ways) = self.ages.oldest(set, within);
        match self.spec.location {
            Location::R1 if age != OLDEST => lowest(within),
            _ => lowest(ways),
        }
    }
}
