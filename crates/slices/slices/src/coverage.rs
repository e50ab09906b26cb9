//! The addresses for which a slice function was established.

use crate::gf2::LinearMap;
use address_map::{ADDRESS_BITS, MOST_MASKS, Parities};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::LineAddr;

/// Addresses that are an origin XORed with any combination of some vectors. A few huge pages only show the
/// effect of the differences between their addresses, not of every address bit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CoveredAddresses {
    /// A covered address; bits within a line are zero.
    pub origin: u64,
    /// Vectors; the XOR of the origin with any combination of them is covered.
    pub span: Vec<u64>,
}

/// The addresses for which a table holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// All physical addresses below this one, a power of two.
    Below(u64),
    /// Some physical addresses.
    Only(CoveredAddresses),
}

impl Coverage {
    /// The coverage of the origin XORed with all combinations of `span`; [`Self::Below`], if these are all
    /// addresses below a power of two.
    pub(crate) fn from_span(origin: u64, span: &LinearMap) -> Self {
        let basis = span.basis();
        let highest = basis.first().map_or(0, |vector| 64 - vector.leading_zeros());
        let whole = (LINE_BIT..highest).all(|bit| span.value(1 << bit).is_some());
        match whole && origin >> highest == 0 {
            true => Self::Below(1 << highest),
            false => Self::Only(CoveredAddresses { origin, span: basis }),
        }
    }

    /// Bits of an address, and the values that they have in covered addresses and in no others. `None` if
    /// no such bits exist; they do for coverage below a limit or within one huge page.
    pub(crate) fn fixed_bits(&self) -> Option<(u64, u64)> {
        match self {
            Self::Below(limit) => Some((!(limit - 1), 0)),
            Self::Only(covered) => {
                let checks = checks(&covered.span);
                let bits = checks.iter().fold(!((1 << ADDRESS_BITS) - 1), |all, bit| all | bit);
                let single = checks.iter().all(|mask| mask.is_power_of_two());
                single.then_some((bits, covered.origin & bits))
            }
        }
    }

    /// Prepares look-ups of addresses in the coverage.
    #[must_use]
    pub fn lookup(&self) -> CoverageLookup {
        let (limit, origin, checks) = match self {
            Self::Below(limit) => (*limit, 0, Vec::new()),
            Self::Only(covered) => (1 << ADDRESS_BITS, covered.origin, checks(&covered.span)),
        };
        let checks = checks.chunks(MOST_MASKS).map(|masks| {
            let parities = Parities::new(masks);
            let wanted = parities.look_up(LineAddr::of_byte(origin));
            (parities, wanted)
        });
        CoverageLookup { limit, checks: checks.collect() }
    }
}

/// Lowest bit of an address that chooses a line.
const LINE_BIT: u32 = units::LINE_BYTES.trailing_zeros();

/// A [`Coverage`], laid out for look-ups.
#[derive(Clone, Debug)]
pub struct CoverageLookup {
    limit: u64,
    /// Covered addresses have these parities.
    checks: Box<[(Parities, u32)]>,
}

impl CoverageLookup {
    /// The lowest address above all covered ones; at most 2^[`ADDRESS_BITS`].
    #[must_use]
    pub fn limit(&self) -> u64 {
        self.limit
    }

    /// Parities of a line's address, linear over its bits. Below [`Self::limit`] they equal
    /// [`Self::wanted`] exactly if the address is covered.
    #[must_use]
    pub fn parities(&self, line: LineAddr) -> u64 {
        let joined = self.checks.iter().enumerate();
        joined.fold(0, |all, (index, (parities, _))| {
            all | u64::from(parities.look_up(line)) << (MOST_MASKS * index)
        })
    }

    /// The parities of covered addresses.
    #[must_use]
    pub fn wanted(&self) -> u64 {
        let joined = self.checks.iter().enumerate();
        joined.fold(0, |all, (index, (_, wanted))| all | u64::from(*wanted) << (MOST_MASKS * index))
    }

    /// Whether the table holds for the physical address.
    #[must_use]
    pub fn covers(&self, physical_address: u64) -> bool {
        let line = LineAddr::of_byte(physical_address);
        physical_address < self.limit && self.parities(line) == self.wanted()
    }
}

/// Masks whose parities are all even for the combinations of `span`, and for no other vector.
fn checks(span: &[u64]) -> Vec<u64> {
    let mut echelon = LinearMap::default();
    span.iter().for_each(|&vector| {
        echelon.insert(vector, 0);
    });
    let rows = echelon.basis();
    let pivots: Vec<u32> = rows.iter().map(|row| 63 - row.leading_zeros()).collect();
    // A free bit and the pivots of those rows that contain it: each row meets the mask twice or
    // not at all.
    (LINE_BIT..ADDRESS_BITS)
        .filter(|bit| !pivots.contains(bit))
        .map(|free| {
            let with = rows.iter().zip(&pivots).filter(|(row, _)| *row >> free & 1 == 1);
            with.fold(1 << free, |mask, (_, pivot)| mask | 1 << pivot)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn line_address() -> impl Strategy<Value = u64> {
        (0..1u64 << (ADDRESS_BITS - LINE_BIT)).prop_map(|line| line << LINE_BIT)
    }

    proptest! {
        #[test]
        fn an_address_is_covered_if_it_is_the_origin_and_a_combination_of_the_span(
            origin in line_address(),
            span in proptest::collection::vec(line_address(), 1..30),
            choice in any::<u32>(),
            other in line_address(),
        ) {
            let mut map = LinearMap::default();
            span.iter().for_each(|&vector| { map.insert(vector, 0); });
            let lookup = Coverage::from_span(origin, &map).lookup();
            let chosen = span.iter().enumerate().filter(|(index, _)| choice >> index & 1 == 1);
            let inside = chosen.fold(origin, |sum, (_, vector)| sum ^ vector);
            prop_assert!(lookup.covers(inside) && lookup.covers(inside | 63));
            prop_assert_eq!(lookup.covers(other), map.value(other ^ origin).is_some());
        }
    }

    #[test]
    fn all_bits_below_one_are_a_plain_limit() {
        let mut map = LinearMap::default();
        (6..30).for_each(|bit| {
            map.insert(1 << bit, 0);
        });
        assert_eq!(Coverage::from_span(0x1234_5000, &map), Coverage::Below(1 << 30));
        let above = Coverage::from_span(1 << 35, &map);
        assert!(matches!(above, Coverage::Only(_)), "{above:?}");
        assert!(above.lookup().covers(1 << 35) && !above.lookup().covers(0));
    }
}
