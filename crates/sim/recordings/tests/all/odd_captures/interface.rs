//! Interfaces of pcapng: link types of all kinds, clocks of any resolution and offset.
//!
//! Source: draft-ietf-opsawg-pcapng, section 4.2. Resolutions are those of libpcap (`sf-pcapng.c`): 10^-19 s
//! and 2^-63 s are the finest.

use super::byte_order::ByteOrder;
use super::dice::Dice;
use super::packet::{ETHERNET, LINKS, TsharkTime};
use super::pcapng_options::{draw_option, encode_options};
use super::times::{Clock, SECOND_PS};

const IF_TSRESOL: u16 = 9;
const IF_FILTER: u16 = 11;
const IF_FCSLEN: u16 = 13;
const IF_TSOFFSET: u16 = 14;
const BASE_TWO: u8 = 0x80;
/// Link types that are not read. Nothing knows the last two; 147 is for private use.
const OTHER_LINKS: [u16; 6] = [105, 127, 147, 9, 9_999, 65_535];
/// tshark multiplies ticks of a fraction by 10^9 in 64 bits: the fraction is right below this.
const TSHARK_UNITS_PER_SECOND_END: u128 = (1 << 64) / 1_000_000_000;

pub struct Interface {
    pub link: u16,
    pub snap_length_bytes: usize,
    resolution: Option<u8>,
    offset_s: Option<i64>,
    /// Length of the FCS in bits.
    fcs_length: Option<Vec<u8>>,
    /// Options that a replay does not need.
    other_options: Vec<(u16, Vec<u8>)>,
}

impl Interface {
    pub fn draw(dice: &mut Dice, order: ByteOrder, clock: &Clock) -> Self {
        let link = match dice.below(10) {
            0..5 => ETHERNET,
            5 => dice.pick(&OTHER_LINKS),
            _ => dice.pick(&LINKS).0,
        };
        let resolution = match dice.below(10) {
            0..3 => None,
            3..6 => Some(dice.pick(&[3, 6, 9, 12, BASE_TWO | 10, BASE_TWO | 32])),
            6..8 => Some(dice.below(20) as u8),
            _ => Some(BASE_TWO | dice.below(64) as u8),
        };
        let now_s = (clock.now_ps() / SECOND_PS) as i64;
        // The ticks of a fine clock last for less than a second: its offset has to be near.
        let is_fine = resolution.is_some_and(|code| units_per_second(code) > 1 << 32);
        let offset_s = if is_fine && dice.happens(80) {
            Some(now_s)
        } else if dice.happens(30) {
            Some(dice.pick(&[0, 1, -1, -3_600, 7_200, now_s, -now_s, -3_000_000_000, 1 << 40]))
        } else {
            None
        };
        // Bits, as the format says; bytes in files of writers who took its example of 4 for that.
        let fcs_length = (link == ETHERNET && dice.happens(20))
            .then(|| dice.pick::<&[u8]>(&[&[0], &[4], &[32], &[32, 0], &[]]).to_vec());
        let snap_length_bytes = dice.pick(&[0, 0, 60, 128, 65_535, 262_144, 0xffff_ffff]);
        let codes = [1, 2, 3, 4, 5, 6, 7, 8, 10, IF_FILTER, 12, 15, 16, 17, 18];
        let count = dice.pick(&[0, 0, 1, 4]);
        let other_options = (0..count).map(|_| draw_option(dice, order, &codes)).collect();
        Self { link, snap_length_bytes, resolution, offset_s, fcs_length, other_options }
    }

    /// The fields of its block.
    pub fn encode(&self, dice: &mut Dice, order: ByteOrder) -> Vec<u8> {
        let used = [
            self.resolution.map(|code| (IF_TSRESOL, vec![code])),
            self.offset_s.map(|offset_s| (IF_TSOFFSET, order.encode_i64(offset_s).to_vec())),
            self.fcs_length.clone().map(|bits| (IF_FCSLEN, bits)),
        ];
        let mut options: Vec<_> = used.into_iter().flatten().collect();
        for option in &self.other_options {
            let at = dice.below(options.len() + 1);
            options.insert(at, option.clone());
        }
        [
            &order.encode_u16(self.link)[..],
            &order.encode_u16(if dice.happens(10) { 0xffff } else { 0 }),
            &order.encode_u32(self.snap_length_bytes as u32),
            &encode_options(dice, order, &options),
        ]
        .concat()
    }

    pub fn is_ethernet(&self) -> bool {
        self.link == ETHERNET
    }

    pub fn link_header_bytes(&self) -> Option<usize> {
        LINKS.iter().find(|(link, _)| *link == self.link).map(|(_, bytes)| *bytes)
    }

    pub fn fcs_bytes(&self) -> usize {
        match self.fcs_length.as_deref() {
            Some([4 | 32]) => 4,
            _ => 0,
        }
    }

    pub fn has_malformed_fcs_length(&self) -> bool {
        self.fcs_length.as_ref().is_some_and(|value| value.len() != 1)
    }

    /// tshark refuses a file for a filter without its first byte, the kind of filter.
    pub fn is_refused_by_tshark(&self) -> bool {
        self.other_options.iter().any(|(code, value)| *code == IF_FILTER && value.is_empty())
    }

    /// The ticks of its clock at a time; the nearest that it can have.
    pub fn ticks(&self, time_ps: i128) -> u64 {
        let units = units_per_second(self.code()).cast_signed();
        let since_offset_ps = time_ps - i128::from(self.offset_s.unwrap_or(0)) * SECOND_PS;
        let seconds = since_offset_ps.div_euclid(SECOND_PS);
        let fraction_ps = since_offset_ps.rem_euclid(SECOND_PS);
        let ticks = seconds * units + fraction_ps * units / SECOND_PS;
        ticks.clamp(0, u64::MAX.into()) as u64
    }

    /// The time of so many ticks.
    pub fn time_ps(&self, ticks: u64) -> i128 {
        let units = units_per_second(self.code()).cast_signed();
        let since_offset_ps = i128::from(ticks) * SECOND_PS / units;
        since_offset_ps + i128::from(self.offset_s.unwrap_or(0)) * SECOND_PS
    }

    pub fn tshark_time(&self) -> TsharkTime {
        if units_per_second(self.code()) < TSHARK_UNITS_PER_SECOND_END {
            TsharkTime::Nanoseconds
        } else {
            TsharkTime::Seconds
        }
    }

    fn code(&self) -> u8 {
        self.resolution.unwrap_or(6)
    }
}

fn units_per_second(code: u8) -> u128 {
    let exponent = u32::from(code & !BASE_TWO);
    if code & BASE_TWO == 0 { 10_u128.pow(exponent) } else { 1 << exponent }
}
