//! Links between sockets: UPI, and QPI before it.
//!
//! Models: one direction for each ordered pair of sockets, with limited bandwidth and the latency of
//! crossing. Every message has a header per line of data; one without data (a request, an
//! acknowledgement) is a header alone.
//! Source: Intel MLC measurements in the platform file: reads of remote memory reach 34.3 GB/s per
//! direction on Skylake and Cascade Lake, 55.7 on Ice Lake, 30.6 on Haswell (QPI); the idle latency
//! grows by 50 to 55 ns on Skylake. A header of 8 bytes per line: nine QPI flits of 8 bytes (recalled).
//! Simplifies: all links between two sockets are one; every pair of sockets is connected directly; no
//! link-layer retries; the caller sends the messages of snoops and of directory look-ups.

use crate::occupancy::Meter;
use units::narrow::whole;
use units::{LINE_BYTES, Picos, SocketId};

/// Parameters of the links.
#[derive(Clone, Debug)]
pub struct UpiConfig {
    /// Number of sockets, each linked to every other.
    pub sockets: u32,
    /// Data per second and direction in reads of remote memory, without headers.
    pub read_gbytes_per_s: f64,
    /// Bytes of the header of each line and of each message without data.
    pub header_bytes: u64,
    /// Additional latency of an idle read of a remote line, compared with a local one: the request
    /// there and the line back.
    pub round_trip_extra: Picos,
}

impl UpiConfig {
    /// Bytes on the link for a message with `bytes` of data.
    #[must_use]
    pub fn message_bytes(&self, bytes: u64) -> u64 {
        bytes + bytes.div_ceil(LINE_BYTES).max(1) * self.header_bytes
    }

    /// Bandwidth per direction, including headers.
    #[must_use]
    pub fn raw_gbytes_per_s(&self) -> f64 {
        self.read_gbytes_per_s * self.message_bytes(LINE_BYTES) as f64 / LINE_BYTES as f64
    }

    /// How long a message with `bytes` of data occupies its direction.
    #[must_use]
    pub fn time_for(&self, bytes: u64) -> Picos {
        Picos::from_ns(self.message_bytes(bytes) as f64 / self.raw_gbytes_per_s())
    }

    /// From the end of a message's transmission to its arrival: half of the round trip that remains
    /// after request and line have been transmitted.
    #[must_use]
    pub fn propagation(&self) -> Picos {
        let transmitted = self.time_for(0) + self.time_for(LINE_BYTES);
        Picos(self.round_trip_extra.saturating_sub(transmitted).0 / 2)
    }
}

/// A direction between two sockets.
#[derive(Clone, Debug, Default)]
struct Direction {
    meter: Meter,
    data_bytes: u64,
}

/// The links of a machine.
#[derive(Clone, Debug)]
pub struct Upi {
    config: UpiConfig,
    propagation: Picos,
    ps_per_byte: f64,
    /// Sending socket x receiving socket.
    directions: Vec<Direction>,
}

impl Upi {
    /// Idle links.
    ///
    /// # Panics
    /// If the bandwidth is not above zero. Platforms are checked before they get here.
    #[must_use]
    pub fn new(config: UpiConfig) -> Self {
        assert!(config.read_gbytes_per_s > 0.0);
        Self {
            propagation: config.propagation(),
            ps_per_byte: 1e3 / config.raw_gbytes_per_s(),
            directions: vec![Direction::default(); (config.sockets * config.sockets) as usize],
            config,
        }
    }

    /// Parameters of the links.
    #[must_use]
    pub fn config(&self) -> &UpiConfig {
        &self.config
    }

    /// Sends a message with `bytes` of data, or none, from one socket to another; returns when it
    /// arrives. Within a socket it takes no time.
    #[inline]
    pub fn cross(&mut self, from: SocketId, to: SocketId, bytes: u64, now: Picos) -> Picos {
        if from == to {
            return now;
        }
        let span = self.config.message_bytes(bytes) as f64 * self.ps_per_byte;
        let index = self.index(from, to);
        let direction = &mut self.directions[index];
        direction.data_bytes += bytes;
        direction.meter.reserve(now, Picos(whole(span.round()))) + self.propagation
    }

    /// Bytes of data, without headers, that went from one socket to another.
    #[must_use]
    pub fn data_bytes(&self, from: SocketId, to: SocketId) -> u64 {
        self.directions[self.index(from, to)].data_bytes
    }

    /// Time for which a direction was busy until `now`, including headers.
    #[must_use]
    pub fn busy_until(&self, from: SocketId, to: SocketId, now: Picos) -> Picos {
        self.directions[self.index(from, to)].meter.busy_until(now)
    }

    /// Time for which the busiest direction was busy until `now`, including headers.
    #[must_use]
    pub fn most_busy_until(&self, now: Picos) -> Picos {
        let directions = self.directions.iter();
        directions.map(|direction| direction.meter.busy_until(now)).max().unwrap_or_default()
    }

    /// When every direction would carry a message of `now`.
    #[must_use]
    pub fn free_from(&self, now: Picos) -> Picos {
        let directions = self.directions.iter();
        directions.fold(now, |latest, direction| latest.max(direction.meter.free_from(now)))
    }

    /// Forgets all traffic so far.
    pub fn forget(&mut self) {
        self.directions.fill(Direction::default());
    }

    fn index(&self, from: SocketId, to: SocketId) -> usize {
        usize::from(from.0) * self.config.sockets as usize + usize::from(to.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::occupancy::Slots;

    const HERE: SocketId = SocketId(0);
    const THERE: SocketId = SocketId(1);

    fn links(read_gbytes_per_s: f64) -> Upi {
        Upi::new(UpiConfig {
            sockets: 2,
            read_gbytes_per_s,
            header_bytes: 8,
            // Gold 6140: 144.3 ns remote, 90.2 ns local.
            round_trip_extra: Picos(54_100),
        })
    }

    /// Reads a line of the other socket, whose memory takes no time.
    fn remote_read(upi: &mut Upi, reader: SocketId, home: SocketId, now: Picos) -> Picos {
        let asked = upi.cross(reader, home, 0, now);
        upi.cross(home, reader, LINE_BYTES, asked)
    }

    /// GB/s of reads by one socket, 400 at a time.
    fn read_gbytes_per_s(upi: &mut Upi, reader: SocketId, home: SocketId) -> f64 {
        let mut slots = Slots::new(400);
        let mut last = Picos::ZERO;
        for _ in 0..100_000 {
            last = remote_read(upi, reader, home, slots.ready(Picos::ZERO));
            slots.occupy(last);
        }
        100_000.0 * LINE_BYTES as f64 / last.as_ns()
    }

    #[test]
    fn an_idle_remote_read_takes_longer_by_what_was_measured() {
        let mut upi = links(34.3);
        let now = Picos(1_000_000);
        let extra = remote_read(&mut upi, HERE, THERE, now) - now;
        // Rounding to picoseconds, four times.
        assert!(extra.0.abs_diff(54_100) <= 2, "{extra:?}");
    }

    #[test]
    fn sustained_remote_reads_reach_the_measured_bandwidth_of_each_generation() {
        for measured in [30.6, 34.3, 55.7] {
            let reached = read_gbytes_per_s(&mut links(measured), HERE, THERE);
            assert!((reached / measured - 1.0).abs() < 0.01, "{reached} of {measured} GB/s");
        }
    }

    #[test]
    fn directions_carry_data_independently() {
        let mut upi = links(34.3);
        let alone = upi.cross(HERE, THERE, 4_096, Picos::ZERO);
        let mut busy = links(34.3);
        for _ in 0..1_000 {
            busy.cross(THERE, HERE, 4_096, Picos::ZERO);
        }
        assert_eq!(busy.cross(HERE, THERE, 4_096, Picos::ZERO), alone);
        assert_eq!(busy.data_bytes(THERE, HERE), 4_096_000);
        assert_eq!(busy.data_bytes(HERE, THERE), 4_096);
    }

    #[test]
    fn reads_both_ways_pay_for_each_other_s_requests() {
        // A direction then carries 72 bytes of line and 8 bytes of request for 64 bytes of data.
        let mut upi = links(34.3);
        let mut slots = Slots::new(800);
        let mut last = Picos::ZERO;
        for i in 0..200_000 {
            let (reader, home) = if i % 2 == 0 { (HERE, THERE) } else { (THERE, HERE) };
            last = remote_read(&mut upi, reader, home, slots.ready(Picos::ZERO));
            slots.occupy(last);
        }
        let each = 100_000.0 * LINE_BYTES as f64 / last.as_ns();
        assert!((each / (34.3 * 72.0 / 80.0) - 1.0).abs() < 0.01, "{each} GB/s each way");
    }

    #[test]
    fn a_message_has_a_header_for_each_line() {
        let config = links(34.3).config;
        assert_eq!(config.message_bytes(0), 8);
        assert_eq!(config.message_bytes(64), 72);
        assert_eq!(config.message_bytes(100), 116);
        assert!((config.raw_gbytes_per_s() - 38.6).abs() < 0.05);
    }

    #[test]
    fn every_pair_of_sockets_has_links_of_its_own() {
        let mut upi = Upi::new(UpiConfig { sockets: 4, ..links(34.3).config });
        let alone = upi.cross(SocketId(2), SocketId(3), 64, Picos::ZERO);
        for _ in 0..1_000 {
            upi.cross(SocketId(2), SocketId(1), 64, Picos::ZERO);
            upi.cross(SocketId(0), SocketId(3), 64, Picos::ZERO);
        }
        let mut fresh = Upi::new(upi.config().clone());
        fresh.cross(SocketId(2), SocketId(3), 64, Picos::ZERO);
        let second = fresh.cross(SocketId(2), SocketId(3), 64, Picos::ZERO);
        assert!(second > alone);
        assert_eq!(upi.cross(SocketId(2), SocketId(3), 64, Picos::ZERO), second);
        upi.forget();
        assert_eq!(upi.cross(SocketId(2), SocketId(3), 64, Picos::ZERO), alone);
        assert_eq!(upi.data_bytes(SocketId(0), SocketId(3)), 0);
    }

    #[test]
    fn what_stays_on_its_socket_crosses_nothing() {
        let mut upi = links(34.3);
        assert_eq!(upi.cross(THERE, THERE, 1 << 20, Picos(7)), Picos(7));
        assert_eq!(upi.data_bytes(THERE, THERE), 0);
        assert_eq!(upi.busy_until(HERE, THERE, Picos(1_000_000)), Picos::ZERO);
    }
}
