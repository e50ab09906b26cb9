//! Address bits on which it depends whether a table and a machine differ.

use address_map::ADDRESS_BITS;
use units::LINE_BYTES;

/// One or two address bits: addresses with odd parity of these bits (one is set, but not both) differ more
/// often than others.
#[derive(Clone, Debug, PartialEq)]
pub struct DifferencePattern {
    /// Numbers of the address bits, one or two.
    pub bits: Vec<u32>,
    /// Share of differing addresses among those with odd parity of the bits, from 0 to 1.
    pub share_odd: f64,
    /// Share of differing addresses among those with even parity of the bits, from 0 to 1.
    pub share_even: f64,
}

/// Least difference of the two shares: if a mask lacks a bit, nearly all addresses with that bit differ.
const CLEAR: f64 = 0.5;

/// Fewest differing addresses: with fewer, chance could make a pattern.
const FEWEST: usize = 16;

/// Most patterns. Each is searched in the addresses that the earlier patterns leave.
const MOST_PATTERNS: usize = 4;

/// Finds the patterns in addresses, each with whether it differs.
pub(super) fn patterns(mut judged: Vec<(u64, bool)>) -> Vec<DifferencePattern> {
    let mut found = Vec::new();
    while found.len() < MOST_PATTERNS
        && judged.iter().filter(|(_, differs)| *differs).count() >= FEWEST
    {
        let masks = masks(&judged);
        let clearest = masks
            .into_iter()
            .map(|mask| (mask, shares(&judged, mask)))
            .filter(|(_, [odd, even])| odd - even > CLEAR)
            // A single bit is preferred to a pair that has the same shares by chance.
            .max_by(|(one, [o1, e1]), (other, [o2, e2])| {
                let by_share = (o1 - e1).total_cmp(&(o2 - e2));
                by_share.then(other.count_ones().cmp(&one.count_ones()))
            });
        let Some((mask, [share_odd, share_even])) = clearest else { break };
        let bits = (0..u64::BITS).filter(|bit| mask >> bit & 1 == 1).collect();
        found.push(DifferencePattern { bits, share_odd, share_even });
        judged.retain(|(address, _)| !is_odd(*address, mask));
    }
    found
}

fn is_odd(address: u64, mask: u64) -> bool {
    (address & mask).count_ones() % 2 == 1
}

/// Masks of the bits that are not the same in all addresses: each bit alone, and each pair.
fn masks(judged: &[(u64, bool)]) -> Vec<u64> {
    let changing = judged.iter().fold(0, |all, (address, _)| all | (address ^ judged[0].0));
    let bits: Vec<u64> = (LINE_BYTES.trailing_zeros()..ADDRESS_BITS)
        .map(|bit| 1 << bit)
        .filter(|bit| changing & bit != 0)
        .collect();
    let pairs = bits
        .iter()
        .enumerate()
        .flat_map(|(at, one)| bits[at + 1..].iter().map(move |other| one | other));
    bits.iter().copied().chain(pairs).collect()
}

/// Shares of differing addresses among those of odd and of even parity; 0 if there are none.
fn shares(judged: &[(u64, bool)], mask: u64) -> [f64; 2] {
    let mut counts = [[0u32; 2]; 2];
    for &(address, differs) in judged {
        let half = &mut counts[usize::from(!is_odd(address, mask))];
        half[0] += 1;
        half[1] += u32::from(differs);
    }
    counts.map(|[all, differing]| f64::from(differing) / f64::from(all.max(1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn addresses() -> impl Iterator<Item = u64> {
        (0..2000u64).map(|at| at.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 27 & !63)
    }

    #[test]
    fn bits_are_named_one_by_one_or_as_the_pair_that_cancels() {
        let either =
            addresses().map(|address| (address, address >> 33 & 1 | address >> 9 & 1 == 1));
        let mut bits: Vec<_> = patterns(either.collect()).into_iter().map(|p| p.bits).collect();
        bits.sort();
        assert_eq!(bits, [vec![9], vec![33]]);
        let pair = addresses().map(|address| (address, is_odd(address, 1 << 33 | 1 << 9)));
        let [pattern] = &patterns(pair.collect())[..] else { panic!("one pattern") };
        assert_eq!(
            (&pattern.bits, pattern.share_odd, pattern.share_even),
            (&vec![9, 33], 1.0, 0.0)
        );
    }

    #[test]
    fn what_differs_everywhere_or_hardly_anywhere_has_no_pattern() {
        assert!(patterns(addresses().map(|address| (address, true)).collect()).is_empty());
        assert!(
            patterns(addresses().map(|address| (address, address % 640 == 0)).collect()).is_empty()
        );
        let few = addresses().take(100).map(|address| (address, address >> 33 & 7 == 7));
        assert!(patterns(few.collect()).is_empty());
    }
}
