//! The channel, bank and row of a line.
//!
//! Models: interleave over any number of channels at a given granularity, over banks by bits of the
//! address within the channel, with hashes as named alternatives.
//! Source: permutation-based interleave (Zhang et al., MICRO'00) for the bank hash; for bank groups in
//! the lowest bits, the fine-grained open-page layout that Linux' skx_edac driver decodes (recalled).
//! Simplifies: holes, mirroring and a processor's exact hashes are left out: the spread is balanced,
//! but single addresses may differ.

use crate::divisor::Divisor;
use units::narrow::fit;
use units::{LINE_BYTES, LineAddr};

/// How lines are spread over channels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelHash {
    /// Block modulo channels.
    Modulo,
    /// As `Modulo`, rotated by a hash of the higher address bits: strides that are multiples of the
    /// channels are spread too.
    Rotated,
}

/// How the bank of a row is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BankHash {
    /// Address bits.
    Plain,
    /// Address bits XORed with the low bits of the row.
    RowXor,
}

/// Shape of a socket's memory, and how addresses are spread over it.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Independent data buses: DDR4 channels, or DDR5 subchannels.
    pub channels: u32,
    /// Number of ranks on each channel, a power of two.
    pub ranks: u32,
    /// Number of bank groups of a rank, a power of two.
    pub bank_groups: u32,
    /// Number of banks of a bank group, a power of two.
    pub banks_per_group: u32,
    /// Bytes of a rank's open row, a power of two.
    pub row_bytes: u32,
    /// Neighbouring lines on one channel, a power of two.
    pub channel_granularity_lines: u32,
    /// Number of bank groups over which a channel's neighbouring lines are spread, a power of two.
    pub neighbouring_bank_groups: u32,
    /// How lines are spread over channels.
    pub channel_hash: ChannelHash,
    /// How rows are spread over banks.
    pub bank_hash: BankHash,
}

/// The channel of a line and its location there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LineLocation {
    pub(super) channel: u32,
    pub(super) in_channel: BankRow,
}

/// Location of a line in its channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BankRow {
    /// Number of the bank in the channel: the lowest bits are the bank group, the highest the rank.
    pub(super) bank: u32,
    pub(super) row: u32,
}

/// The map of [`Geometry`], prepared for look-ups: a channel's line number is, from below, bank group
/// bits, the column, the other bank bits, and the row. Masks and factors are stored so that no step
/// needs a branch.
#[derive(Clone, Debug)]
pub(super) struct Interleave {
    channels: Divisor,
    granularity_bits: u32,
    offset_mask: u64,
    /// Factor of the hash that rotates channels; zero if they are not rotated.
    rotation_factor: u64,
    group_mask: u64,
    /// Shift from the bank bits above the column to their position in the bank; the mask selects them.
    high_shift: u32,
    high_mask: u64,
    row_shift: u32,
    /// Shift of the row's bits beyond the number that a bank has.
    folded_row_shift: u32,
    /// The bits of the bank that are XORed with the row.
    hash_mask: u64,
}

impl Geometry {
    /// Banks on one channel.
    #[must_use]
    pub fn banks_per_channel(&self) -> u32 {
        self.ranks * self.bank_groups * self.banks_per_group
    }
}

impl Interleave {
    /// # Panics
    /// If a number that must be a power of two is not. Platforms are checked before they get here.
    pub(super) fn new(geometry: &Geometry) -> Self {
        let bits = |number: u32| {
            assert!(number.is_power_of_two());
            number.trailing_zeros()
        };
        assert!(geometry.neighbouring_bank_groups <= geometry.bank_groups);
        let group_bits = bits(geometry.neighbouring_bank_groups);
        let bank_bits = bits(geometry.banks_per_channel());
        let granularity_bits = bits(geometry.channel_granularity_lines);
        let column_bits = bits(geometry.row_bytes / fit::<u32, _>(LINE_BYTES));
        let row_shift = column_bits + bank_bits;
        Self {
            channels: Divisor::new(u64::from(geometry.channels)),
            granularity_bits,
            offset_mask: mask(granularity_bits),
            rotation_factor: match geometry.channel_hash {
                ChannelHash::Modulo => 0,
                ChannelHash::Rotated => GOLDEN,
            },
            group_mask: mask(group_bits),
            high_shift: column_bits,
            high_mask: mask(bank_bits) - mask(group_bits),
            row_shift,
            folded_row_shift: row_shift + bank_bits,
            hash_mask: match geometry.bank_hash {
                BankHash::Plain => 0,
                BankHash::RowXor => mask(bank_bits),
            },
        }
    }

    #[inline]
    pub(super) fn place(&self, line: LineAddr) -> LineLocation {
        let block = line.0 >> self.granularity_bits;
        let channels = self.channels.value();
        let stripe = self.channels.quotient(block);
        let rotated = block - stripe * channels + self.rotation(stripe);
        let channel = if rotated >= channels { rotated - channels } else { rotated };
        let line = stripe << self.granularity_bits | line.0 & self.offset_mask;
        LineLocation { channel: fit(channel), in_channel: self.bank_and_row(line) }
    }

    /// The number of channels by which a stripe is rotated: evenly spread over the values of
    /// neighbouring stripes and of strides.
    #[inline]
    fn rotation(&self, stripe: u64) -> u64 {
        let mixed = stripe.wrapping_mul(self.rotation_factor);
        ((mixed >> 32) * self.channels.value()) >> 32
    }

    /// Bank and row of the channel's line `line`.
    #[inline]
    fn bank_and_row(&self, line: u64) -> BankRow {
        let row = line >> self.row_shift;
        let bank = line >> self.high_shift & self.high_mask | line & self.group_mask;
        // The row is folded once, so that rows far apart also differ in their bank.
        let bank = bank ^ (row ^ line >> self.folded_row_shift) & self.hash_mask;
        BankRow { bank: fit(bank), row: fit(row) }
    }
}

/// The lowest `bits` bits.
#[inline]
fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// 2^64 over the golden ratio: Fibonacci hashing (Knuth, volume 3, section 6.4).
const GOLDEN: u64 = 0x9E37_79B9_7F4A_7C15;

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    fn six_channels() -> Geometry {
        Geometry {
            channels: 6,
            ranks: 2,
            bank_groups: 4,
            banks_per_group: 4,
            row_bytes: 8192,
            channel_granularity_lines: 4,
            neighbouring_bank_groups: 2,
            channel_hash: ChannelHash::Rotated,
            bank_hash: BankHash::RowXor,
        }
    }

    fn lines_per_channel(geometry: &Geometry, lines: impl Iterator<Item = u64>) -> Vec<u64> {
        let interleave = Interleave::new(geometry);
        let mut count = vec![0; geometry.channels as usize];
        for line in lines {
            count[interleave.place(LineAddr(line)).channel as usize] += 1;
        }
        count
    }

    #[test]
    fn consecutive_lines_are_spread_evenly_over_channels() {
        for hash in [ChannelHash::Modulo, ChannelHash::Rotated] {
            let geometry = Geometry { channel_hash: hash, ..six_channels() };
            let stripe = u64::from(geometry.channels * geometry.channel_granularity_lines);
            let first = 1_000 * stripe;
            let count = lines_per_channel(&geometry, first..first + 50 * stripe);
            assert_eq!(count, vec![50 * u64::from(geometry.channel_granularity_lines); 6]);
        }
    }

    #[test]
    fn a_stride_over_all_channels_meets_one_channel_unless_they_are_rotated() {
        let geometry = six_channels();
        let stripe = u64::from(geometry.channels * geometry.channel_granularity_lines);
        let strided = || (0..6_000).map(|i| i * stripe);
        let plain = Geometry { channel_hash: ChannelHash::Modulo, ..geometry.clone() };
        assert_eq!(lines_per_channel(&plain, strided())[0], 6_000);
        let rotated = lines_per_channel(&geometry, strided());
        assert!(rotated.iter().all(|&count| count.abs_diff(1_000) < 50), "{rotated:?}");
    }

    #[test]
    fn every_row_of_every_bank_holds_a_row_of_lines() {
        let geometry = six_channels();
        let interleave = Interleave::new(&geometry);
        let row_lines = u64::from(geometry.row_bytes) / LINE_BYTES;
        let rows = 8 * u64::from(geometry.channels * geometry.banks_per_channel());
        let mut held: BTreeMap<(u32, u32, u32), u64> = BTreeMap::new();
        for line in 0..rows * row_lines {
            let place = interleave.place(LineAddr(line));
            *held
                .entry((place.channel, place.in_channel.bank, place.in_channel.row))
                .or_default() += 1;
        }
        assert_eq!(held.len() as u64, rows);
        assert!(held.values().all(|&lines| lines == row_lines));
    }

    #[test]
    fn a_channel_s_neighbouring_lines_alternate_between_bank_groups() {
        let geometry = Geometry { channels: 1, ..six_channels() };
        let interleave = Interleave::new(&geometry);
        let group = |line| interleave.place(LineAddr(line)).in_channel.bank % geometry.bank_groups;
        assert_ne!(group(0), group(1));
        assert_eq!(group(0), group(2));
    }

    #[test]
    fn rows_of_one_address_bank_lie_in_different_banks_if_hashed() {
        let banks_of_eight_rows = |bank_hash| {
            let geometry = Geometry { channels: 1, bank_hash, ..six_channels() };
            let row_of_all_banks = u64::from(geometry.row_bytes * geometry.banks_per_channel());
            let lines = (0..8).map(|row| LineAddr(row * row_of_all_banks / LINE_BYTES));
            let interleave = Interleave::new(&geometry);
            let mut banks: Vec<u32> =
                lines.map(|line| interleave.place(line).in_channel.bank).collect();
            banks.sort_unstable();
            banks.dedup();
            banks.len()
        };
        assert_eq!(banks_of_eight_rows(BankHash::Plain), 1);
        assert_eq!(banks_of_eight_rows(BankHash::RowXor), 8);
    }
}
