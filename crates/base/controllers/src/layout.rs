//! Which ways each tenant gets, so that those share with devices whom it costs least.
//!
//! Source: the shuffling of IAT (ISCA'21), recalled: tenants of best effort that use the LLC least lie at
//! the top, where devices allocate; others stay below as long as there is room.

use units::WayMask;

/// A tenant in the order of its claim to ways of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TenantClaim {
    /// Number of ways that the tenant gets.
    pub ways: u32,
    /// Whether it may share ways with devices before others have to.
    pub best_effort: bool,
    /// Number of accesses of the tenant to the LLC in the last period: of two tenants alike, the
    /// one with fewer shares ways with devices first.
    pub references: u64,
}

/// The ways of each tenant in an LLC of `llc_ways`, of which devices use the top ones.
///
/// Tenants are laid from the bottom: first those that are not of best effort, each kind by falling
/// references. Who finds no room above the others ends at the top and overlaps with them.
///
/// # Panics
/// If a tenant has no way, or more than there are: a bug of the caller.
#[must_use]
pub fn layout(tenants: &[TenantClaim], llc_ways: u32) -> Vec<WayMask> {
    let mut order: Vec<usize> = (0..tenants.len()).collect();
    order.sort_by_key(|&at| (tenants[at].best_effort, std::cmp::Reverse(tenants[at].references)));
    let mut masks = vec![WayMask(0); tenants.len()];
    let mut from = 0;
    for at in order {
        let ways = tenants[at].ways;
        assert!((1..=llc_ways).contains(&ways), "a tenant has {ways} of {llc_ways} ways");
        let begin = from.min(llc_ways - ways);
        masks[at] = WayMask(WayMask::bottom(ways).0 << begin);
        from = begin + ways;
    }
    masks
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rank(ways: u32, best_effort: bool, references: u64) -> TenantClaim {
        TenantClaim { ways, best_effort, references }
    }

    #[test]
    fn best_effort_and_few_references_lie_at_the_top() {
        let tenants = [rank(2, true, 10), rank(4, false, 1), rank(3, true, 900), rank(2, false, 5)];
        let masks = layout(&tenants, 11);
        assert_eq!(
            masks,
            [WayMask(0b110_0000_0000), WayMask(0b11_1100), WayMask(0b1_1100_0000), WayMask(0b11)]
        );
    }

    #[test]
    fn who_finds_no_room_ends_at_the_top() {
        let masks = layout(&[rank(8, false, 9), rank(8, false, 1)], 11);
        assert_eq!(masks, [WayMask(0xff), WayMask(0x7f8)]);
    }

    proptest! {
        /// Each mask is consecutive, as long as asked and within the LLC, and none overlap while there
        /// is room for all.
        #[test]
        fn masks_are_what_the_register_takes(
            tenants in prop::collection::vec((1_u32..12, any::<bool>(), 0_u64..100), 1..6),
            llc_ways in 11_u32..21,
        ) {
            let tenants: Vec<TenantClaim> = tenants.into_iter().map(|(w, b, r)| rank(w, b, r)).collect();
            let tenants: Vec<TenantClaim> =
                tenants.into_iter().map(|one| TenantClaim { ways: one.ways.min(11), ..one }).collect();
            let masks = layout(&tenants, llc_ways);
            for (mask, tenant) in masks.iter().zip(&tenants) {
                prop_assert_eq!(mask.0.count_ones(), tenant.ways);
                let from_bottom = mask.0 >> mask.0.trailing_zeros();
                prop_assert_eq!(from_bottom.trailing_ones(), tenant.ways, "a gap in {:?}", mask);
                prop_assert!(mask.0 < 1 << llc_ways);
            }
            let all: u32 = tenants.iter().map(|tenant| tenant.ways).sum();
            if all <= llc_ways {
                let union = masks.iter().fold(0, |union, mask| union | mask.0);
                prop_assert_eq!(union.count_ones(), all, "an overlap without need");
            }
        }
    }
}
