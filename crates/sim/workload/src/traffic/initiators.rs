//! Initiators of storage requests over TCP: each connection keeps a number of requests in flight.
//!
//! Models: a closed loop: the next request of a connection arrives a time after the last segment of an
//! answer has left; requests share the wire, one after the other at line rate.
//! Source: SPDK's perf and fio at a fixed queue depth over NVMe/TCP.
//! Simplifies: the initiators' hosts and the network take a constant time and lose nothing;
//! acknowledgements are no packets of their own.

use hdrhistogram::Histogram;
use model::latency_histogram::{self, latency_histogram};
use model::traffic::{Arrival, Departure, PacketSource};
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use units::{Bytes, GbitPerSec, Picos, WIRE_OVERHEAD_BYTES};

/// All initiators of a target.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InitiatorsConfig {
    /// Connections; each is a flow with this number.
    pub connections: u32,
    /// Number of requests that each connection keeps in flight.
    pub depth: u32,
    /// Size of a request on the wire without FCS.
    pub request_bytes: u64,
    /// Number of TCP segments of an answer.
    pub segments: u64,
    /// Time from the departure of an answer's last segment to the arrival of the next request.
    pub turnaround: Picos,
    /// Greatest rate at which requests arrive.
    pub line_rate_gbps: f64,
}

/// A request that is due: when, its number, its connection.
type Due = Reverse<(Picos, u64, u32)>;

/// A request that has arrived.
#[derive(Clone, Copy, Debug)]
struct RequestInFlight {
    connection: u32,
    /// Segments of its answer that have not left.
    segments: u64,
}

/// The other end of all connections.
#[derive(Clone, Debug)]
pub struct Initiators {
    config: InitiatorsConfig,
    wire_time: Picos,
    /// When the wire has delivered all requests that arrived.
    wire_free: Picos,
    due: BinaryHeap<Due>,
    /// The request that the port has been told of, and its arrival.
    announced: Option<(Due, Picos)>,
    /// Requests by their arrival: no two arrive at once.
    in_flight: BTreeMap<Picos, RequestInFlight>,
    asked: u64,
    answers: u64,
    latency_ns: Histogram<u64>,
}

impl Initiators {
    /// Initiators whose first requests are spread over one turnaround.
    #[must_use]
    pub fn new(config: InitiatorsConfig) -> Self {
        let all = u64::from(config.connections) * u64::from(config.depth);
        let connection = (0..config.depth).flat_map(|_| 0..config.connections);
        let first = |number: u64| Picos(config.turnaround.0 * number / all.max(1));
        let due = (0..all).zip(connection).map(|(number, it)| Reverse((first(number), number, it)));
        let rate = GbitPerSec(config.line_rate_gbps);
        Self {
            wire_time: rate.time_for(Bytes(config.request_bytes + WIRE_OVERHEAD_BYTES)),
            wire_free: Picos::ZERO,
            due: due.collect(),
            announced: None,
            in_flight: BTreeMap::new(),
            asked: all,
            answers: 0,
            latency_ns: latency_histogram(),
            config,
        }
    }

    /// Latencies of requests since the last call, in ns: from the end of its arrival to that of the
    /// departure of its answer.
    pub fn take_latencies(&mut self) -> Histogram<u64> {
        latency_histogram::take(&mut self.latency_ns)
    }

    /// Number of requests that have been answered.
    #[must_use]
    pub fn answers(&self) -> u64 {
        self.answers
    }

    /// Requests that have arrived and are not answered.
    #[must_use]
    pub fn in_flight(&self) -> usize {
        self.in_flight.len()
    }
}

impl PacketSource for Initiators {
    fn next_arrival(&mut self) -> Option<Arrival> {
        if let Some((Reverse((_, _, connection)), arrival)) = self.announced.take() {
            // The port asks again because it has taken the last announcement.
            self.wire_free = arrival;
            let segments = self.config.segments;
            self.in_flight.insert(arrival, RequestInFlight { connection, segments });
        }
        let next = self.due.pop()?;
        let Reverse((wanted, _, connection)) = next;
        let time = wanted.max(self.wire_free + self.wire_time);
        self.announced = Some((next, time));
        let bytes = Bytes(self.config.request_bytes);
        Some(Arrival { time, bytes, rss_hash: connection, flow: Some(connection) })
    }

    fn awaits_answers(&self) -> bool {
        true
    }

    fn answered(&mut self, departure: Departure) {
        // The arrival that was announced is void.
        self.due.extend(self.announced.take().map(|(due, _)| due));
        let Some(request) = self.in_flight.get_mut(&departure.arrival) else { return };
        request.segments -= 1;
        if request.segments > 0 {
            return;
        }
        let connection = request.connection;
        self.in_flight.remove(&departure.arrival);
        self.answers += 1;
        let latency = departure.time.saturating_sub(departure.arrival);
        self.latency_ns.saturating_record(latency.0 / 1_000);
        let due = departure.time + self.config.turnaround;
        self.due.push(Reverse((due, self.asked, connection)));
        self.asked += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: InitiatorsConfig = InitiatorsConfig {
        connections: 2,
        depth: 2,
        request_bytes: 138,
        segments: 3,
        turnaround: Picos(20_000_000),
        line_rate_gbps: 100.0,
    };

    fn leaves(arrival: Arrival, time: Picos) -> Departure {
        Departure { time, arrival: arrival.time, bytes: Bytes(1514) }
    }

    #[test]
    fn each_connection_has_as_many_requests_in_flight_as_stated_and_no_more() {
        let mut initiators = Initiators::new(CONFIG);
        let all: Vec<Arrival> = std::iter::from_fn(|| initiators.next_arrival()).collect();
        assert_eq!(all.iter().map(|it| it.flow).collect::<Vec<_>>(), [0, 1, 0, 1].map(Some));
        assert!(all.windows(2).all(|pair| pair[0].time < pair[1].time));
        assert_eq!(initiators.in_flight(), 4);
    }

    #[test]
    fn a_request_follows_the_last_segment_of_an_answer_by_a_turnaround() {
        let mut initiators = Initiators::new(CONFIG);
        let all: Vec<Arrival> = std::iter::from_fn(|| initiators.next_arrival()).collect();
        for time in [40, 50].map(|us| Picos(us * 1_000_000)) {
            initiators.answered(leaves(all[1], time));
            assert_eq!(initiators.next_arrival(), None, "an answer has three segments");
        }
        let end = Picos(60_000_000);
        initiators.answered(leaves(all[1], end));
        let next = initiators.next_arrival().expect("the answer has left");
        assert_eq!((next.time, next.flow), (end + CONFIG.turnaround, Some(1)));
        assert_eq!((initiators.answers, initiators.in_flight()), (1, 3));
        let latencies = initiators.take_latencies();
        let expected = (end - all[1].time).0 / 1_000;
        // The histogram keeps three digits.
        assert!(latencies.max().abs_diff(expected) <= expected / 1_000, "{}", latencies.max());
    }

    #[test]
    fn an_announcement_that_an_answer_makes_void_is_made_again_and_no_request_is_lost() {
        let mut initiators = Initiators::new(CONFIG);
        let first = initiators.next_arrival().expect("four requests");
        // The port takes the first and knows of the second when segments of the first leave.
        let second = initiators.next_arrival().expect("four requests");
        let early = first.time + Picos(1);
        initiators.answered(leaves(first, early));
        assert_eq!(initiators.next_arrival(), Some(second));
        let others: Vec<Arrival> = std::iter::from_fn(|| initiators.next_arrival()).collect();
        assert_eq!((others.len(), initiators.in_flight()), (2, 4));
    }

    #[test]
    fn requests_that_are_due_at_once_arrive_one_after_the_other() {
        let at_once = InitiatorsConfig { turnaround: Picos::ZERO, ..CONFIG };
        let mut initiators = Initiators::new(at_once);
        let all: Vec<Arrival> = std::iter::from_fn(|| initiators.next_arrival()).collect();
        let gaps: Vec<u64> = all.windows(2).map(|pair| (pair[1].time - pair[0].time).0).collect();
        // 162 bytes at 100 Gbit/s.
        assert_eq!(gaps, [12_960; 3]);
    }
}
