//! A capture file that is valid and odd, and what its writer means by it.

use recordings::capture::Oddities;

use super::dice::Dice;
use super::packet::Packet;
use super::{pcap_file, pcapng_file};

pub struct OddFile {
    pub content: Vec<u8>,
    pub packets: Vec<Packet>,
    /// Deviations that a reader of a replay should count.
    pub oddities: Oddities,
    /// Whether an option has a length that the format does not allow: tshark refuses the whole file for some
    /// of them, which neither libpcap nor a replay needs.
    pub is_refused_by_tshark: bool,
}

impl OddFile {
    pub fn draw(seed: u64) -> Self {
        let mut dice = Dice::new(seed);
        if dice.happens(35) { pcap_file::draw(&mut dice) } else { pcapng_file::draw(&mut dice) }
    }

    pub fn without_packets() -> Self {
        Self {
            content: Vec::new(),
            packets: Vec::new(),
            oddities: Oddities::default(),
            is_refused_by_tshark: false,
        }
    }

    /// Adds a packet of an interface with this snap length, and counts what is odd about its lengths.
    pub fn add(&mut self, packet: Packet, link: u16, snap_length_bytes: usize) {
        if packet.link_header_bytes.is_none() {
            self.oddities.left_out += 1;
            self.oddities.unsupported_link.get_or_insert(link.into());
        } else {
            let is_beyond_snap = snap_length_bytes > 0 && packet.captured_bytes > snap_length_bytes;
            self.oddities.beyond_snap_length += u64::from(is_beyond_snap);
            let is_beyond_original = packet.captured_bytes > packet.original_bytes;
            self.oddities.beyond_original_length += u64::from(is_beyond_original);
        }
        self.packets.push(packet);
    }
}
