//! Classic pcap files: all magics, old versions, odd headers.
//!
//! Source: draft-ietf-opsawg-pcap; for versions before 2.4 the reader of libpcap (`sf-pcap.c`): the lengths
//! of a packet were stored in the other order before 2.3, and in either order by writers of 2.3.

use super::byte_order::ByteOrder;
use super::dice::Dice;
use super::odd_file::OddFile;
use super::packet::{ETHERNET, Frame, LINKS, Packet, TsharkTime};
use super::times::{Clock, SECOND_PS};

const MICROSECOND_MAGIC: u32 = 0xa1b2_c3d4;
const NANOSECOND_MAGIC: u32 = 0xa1b2_3c4d;
/// In the link type: the length of the FCS is in the upper four bits, in units of 16 bits.
const FCS_LENGTH_PRESENT: u32 = 1 << 26;
/// tshark keeps the nanoseconds of a second in 31 bits.
const TSHARK_FRACTION_END: u64 = 1 << 31;
/// By how odd the first packets are tshark guesses which of several variants of 1999 a file is; the files
/// here are of none of them.
const PACKETS_WITHOUT_ODD_LENGTHS: usize = 3;

/// The properties of a file that each of its packets depends on.
struct Header {
    order: ByteOrder,
    version: (u16, u16),
    ticks_per_second: u64,
    link: u16,
    link_header_bytes: usize,
    fcs_bytes: usize,
    snap_length_bytes: usize,
}

impl Header {
    fn draw(dice: &mut Dice) -> Self {
        let version = match dice.below(10) {
            0 => (2, dice.below(3) as u16),
            1 => (2, 3),
            2 => (543, 0),
            _ => (2, 4),
        };
        let (link, link_header_bytes) =
            if dice.happens(50) { (ETHERNET, 14) } else { dice.pick(&LINKS) };
        Self {
            order: dice.pick(&ByteOrder::BOTH),
            version,
            ticks_per_second: dice.pick(&[1_000_000, 1_000_000_000]),
            link,
            link_header_bytes,
            fcs_bytes: if link == ETHERNET && dice.happens(15) { 4 } else { 0 },
            snap_length_bytes: dice.pick(&[0, 64, 96, 1_500, 65_535, 262_144, 0x7fff_ffff]),
        }
    }

    fn encode(&self, dice: &mut Dice) -> Vec<u8> {
        let order = self.order;
        let magic =
            if self.ticks_per_second == 1_000_000 { MICROSECOND_MAGIC } else { NANOSECOND_MAGIC };
        let fcs = match self.fcs_bytes {
            0 if dice.happens(5) => FCS_LENGTH_PRESENT,
            0 => 0,
            bytes => FCS_LENGTH_PRESENT | (bytes as u32 / 2) << 28,
        };
        // Time zone and accuracy: zero in nearly all files, never used.
        let [zone, accuracy] = [0, 1].map(|_| if dice.happens(20) { dice.draw_u32() } else { 0 });
        [
            &order.encode_u32(magic)[..],
            &order.encode_u16(self.version.0),
            &order.encode_u16(self.version.1),
            &order.encode_u32(zone),
            &order.encode_u32(accuracy),
            &order.encode_u32(self.snap_length_bytes as u32),
            &order.encode_u32(u32::from(self.link) | fcs),
        ]
        .concat()
    }

    /// Whether the original length is stored before the captured one.
    fn has_lengths_swapped(&self, dice: &mut Dice) -> bool {
        match self.version {
            (2, 0..3) | (543, 0) => true,
            (2, 3) => dice.happens(50),
            _ => false,
        }
    }
}

pub fn draw(dice: &mut Dice) -> OddFile {
    let header = Header::draw(dice);
    let mut file = OddFile::without_packets();
    file.content = header.encode(dice);
    let mut clock = Clock::draw(dice);
    let are_fractions_odd = dice.happens(10);
    for number in 0..dice.pick(&[0, 1, 2, 5, 20, 40]) {
        let has_odd_lengths = number >= PACKETS_WITHOUT_ODD_LENGTHS && dice.happens(20);
        let has_long_fraction = are_fractions_odd && number > 2 && dice.happens(20);
        // This format has no times before 1970.
        let time_ps = clock.advance(dice).max(0);
        add_packet(&mut file, dice, &header, time_ps, has_odd_lengths, has_long_fraction);
    }
    file
}

fn add_packet(
    file: &mut OddFile,
    dice: &mut Dice,
    header: &Header,
    time_ps: i128,
    has_odd_lengths: bool,
    has_long_fraction: bool,
) {
    let mut frame = Frame::draw(dice, header.link, header.order);
    frame.bytes.extend(dice.draw_bytes(header.fcs_bytes));
    let whole = frame.bytes.len();
    let limit = if header.snap_length_bytes == 0 { whole } else { header.snap_length_bytes };
    let mut captured_bytes = whole.min(limit);
    let mut original_bytes = whole;
    if has_odd_lengths && dice.happens(50) {
        captured_bytes = whole;
    } else if dice.happens(10) {
        captured_bytes = dice.below(captured_bytes + 1);
    }
    // A file of version 2.3 is read so that no more is captured than there was.
    if has_odd_lengths && header.version != (2, 3) && dice.happens(50) {
        original_bytes = dice.below(captured_bytes + 1);
    }
    let (seconds, fraction) = split_time(time_ps, header.ticks_per_second, has_long_fraction);
    let fraction_ns = fraction * (1_000_000_000 / header.ticks_per_second);
    file.oddities.long_fractions += u64::from(fraction >= header.ticks_per_second);
    let is_swapped = header.has_lengths_swapped(dice);
    let mut lengths = [captured_bytes, original_bytes];
    if is_swapped {
        lengths.reverse();
    }
    for field in [seconds, fraction, lengths[0] as u64, lengths[1] as u64] {
        file.content.extend(header.order.encode_u32(field as u32));
    }
    file.content.extend(&frame.bytes[..captured_bytes]);
    let packet = Packet {
        link_header_bytes: Some(header.link_header_bytes),
        time_ps: Some(i128::from(seconds) * SECOND_PS + i128::from(fraction_ns) * 1_000),
        tshark_time: if fraction_ns < TSHARK_FRACTION_END {
            TsharkTime::Nanoseconds
        } else {
            TsharkTime::Wrong
        },
        original_bytes,
        captured_bytes,
        fcs_bytes: header.fcs_bytes,
        source_port: frame.source_port(captured_bytes),
    };
    file.add(packet, header.link, header.snap_length_bytes);
}

/// Seconds and ticks behind them; long fractions count some of the seconds.
fn split_time(time_ps: i128, ticks_per_second: u64, has_long_fraction: bool) -> (u64, u64) {
    let seconds = (time_ps / SECOND_PS) as u64;
    let fraction = (time_ps % SECOND_PS * i128::from(ticks_per_second) / SECOND_PS) as u64;
    let moved = if has_long_fraction { seconds.min(3) } else { 0 };
    (seconds - moved, fraction + moved * ticks_per_second)
}
