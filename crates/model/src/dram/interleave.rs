//! Which channel, bank and row a line lies in.
//!
//! Models: interleave over any number of channels at a given granularity, over banks by bits of the
//! address within the channel, with hashes as named alternatives.
//! Source: permutation-based interleave (Zhang et al., MICRO'00) for the bank hash; for bank groups in
//! the lowest bits, the fine-grained open-page layout that Linux' skx_edac driver decodes (recalled).
//! Simplifies: holes, mirroring and the exact hashes of a part are left out: right in its balance,
//! not for one address.

use super::divisor::Divisor;
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

/// Shape of a socket's memory and the way addresses are spread over it.
#[derive(Clone, Debug)]
pub struct Geometry {
    /// Independent data buses: DDR4 channels, or DDR5 subchannels.
    pub channels: u32,
    /// Ranks on each channel, a power of two.
    pub ranks: u32,
    /// Bank groups of a rank, a power of two.
    pub bank_groups: u32,
    /// Banks of a bank group, a power of two.
    pub banks_per_group: u32,
    /// Bytes of a rank's open row, a power of two.
    pub row_bytes: u32,
    /// Neighbouring lines on one channel, a power of two.
    pub channel_granularity_lines: u32,
    /// Bank groups over which a channel's neighbouring lines are spread, a power of two.
    pub neighbouring_bank_groups: u32,
    /// How lines are spread over channels.
    pub channel_hash: ChannelHash,
    /// How rows are spread over banks.
    pub bank_hash: BankHash,
}

/// Where a line lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) channel: u32,
    /// Bank in the channel: its lowest bits are the bank group, its highest the rank.
    pub(super) bank: u32,
    pub(super) row: u32,
}

/// The map of [`Geometry`], ready for use: a channel's line number is, from below, bank group bits,
/// the column, the other bank bits, and the row.
#[derive(Clone, Debug)]
pub(super) struct Interleave {
    channels: Divisor,
    granularity_bits: u32,
    group_bits: u32,
    group_and_column_bits: u32,
    high_bits: u32,
    bank_bits: u32,
    channel_hash: ChannelHash,
    bank_hash: BankHash,
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
    /// If a number that must be a power of two is none: the platform is checked before it comes here.
    pub(super) fn new(geometry: &Geometry) -> Self {
        let bits = |number: u32| {
            assert!(number.is_power_of_two());
            number.trailing_zeros()
        };
        assert!(geometry.neighbouring_bank_groups <= geometry.bank_groups);
        let group_bits = bits(geometry.neighbouring_bank_groups);
        let bank_bits = bits(geometry.banks_per_channel());
        Self {
            channels: Divisor::new(u64::from(geometry.channels)),
            granularity_bits: bits(geometry.channel_granularity_lines),
            group_bits,
            group_and_column_bits: group_bits + bits(geometry.row_bytes / LINE_BYTES as u32),
            high_bits: bank_bits - group_bits,
            bank_bits,
            channel_hash: geometry.channel_hash,
            bank_hash: geometry.bank_hash,
        }
    }

    #[inline]
    pub(super) fn place(&self, line: LineAddr) -> Place {
        let block = line.0 >> self.granularity_bits;
        let channels = self.channels.value();
        let stripe = self.channels.quotient(block);
        let mut channel = block - stripe * channels;
        if self.channel_hash == ChannelHash::Rotated {
            channel += rotation(stripe, channels);
            if channel >= channels {
                channel -= channels;
            }
        }
        let offset = line.0 & mask(self.granularity_bits);
        let (bank, row) = self.bank_and_row(stripe << self.granularity_bits | offset);
        Place { channel: channel as u32, bank, row }
    }

    /// Bank and row of the channel's line `line`.
    #[inline]
    fn bank_and_row(&self, line: u64) -> (u32, u32) {
        let high = line >> self.group_and_column_bits;
        let row = high >> self.high_bits;
        let mut bank =
            (high & mask(self.high_bits)) << self.group_bits | line & mask(self.group_bits);
        if self.bank_hash == BankHash::RowXor {
            // Folded once, so that rows far apart differ in their bank too.
            bank ^= (row ^ row >> self.bank_bits) & mask(self.bank_bits);
        }
        (bank as u32, row as u32)
    }
}

/// The lowest `bits` bits.
#[inline]
fn mask(bits: u32) -> u64 {
    (1 << bits) - 1
}

/// A whole number below `n`, evenly spread over the values of neighbouring inputs and of strides.
#[inline]
fn rotation(stripe: u64, n: u64) -> u64 {
    // 2^64 over the golden ratio: Fibonacci hashing (Knuth, volume 3, section 6.4).
    let mixed = stripe.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    ((mixed >> 32) * n) >> 32
}

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
            *held.entry((place.channel, place.bank, place.row)).or_default() += 1;
        }
        assert_eq!(held.len() as u64, rows);
        assert!(held.values().all(|&lines| lines == row_lines));
    }

    #[test]
    fn a_channel_s_neighbouring_lines_alternate_between_bank_groups() {
        let geometry = Geometry { channels: 1, ..six_channels() };
        let interleave = Interleave::new(&geometry);
        let group = |line| interleave.place(LineAddr(line)).bank % geometry.bank_groups;
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
            let mut banks: Vec<u32> = lines.map(|line| interleave.place(line).bank).collect();
            banks.sort_unstable();
            banks.dedup();
            banks.len()
        };
        assert_eq!(banks_of_eight_rows(BankHash::Plain), 1);
        assert_eq!(banks_of_eight_rows(BankHash::RowXor), 8);
    }
}
