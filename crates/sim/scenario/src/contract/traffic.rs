//! The packets that arrive at a machine's cards, whatever makes them: the type parameter of its devices.

use hdrhistogram::Histogram;
use model::traffic::{Arrival, Departure, PacketSource};
use units::Picos;
use workload::traffic::{
    CaptureReplay, FixedRate, Initiators, Mix, PacketLists, PingPongClient, Trains, VaryingLoad,
};

/// A batch ends after this much simulated time even if it has not sent its packets.
pub(crate) const LONGEST_BATCH: Picos = Picos(200_000_000_000);

/// A source of arrivals of any kind.
#[derive(Debug)]
pub enum Traffic {
    /// One packet of each flow in turn.
    Fixed(FixedRate),
    /// Trains of flows.
    Trains(Trains),
    /// Lists of packets that are replayed.
    Lists(Box<PacketLists>),
    /// Sizes, arrivals and flows at random.
    Random(Box<Mix>),
    /// A source of another kind, at a load that changes.
    Varying(Box<VaryingLoad<Traffic>>),
    /// A capture.
    Replay(CaptureReplay),
    /// No packets.
    Silence,
    /// A client that waits for answers.
    PingPong(Box<PingPongClient>),
    /// Initiators that keep requests in flight.
    Initiators(Box<Initiators>),
}

impl Traffic {
    /// Latencies that a client measured since the last call, in ns; none if there is no client.
    pub(crate) fn take_one_way_latencies(&mut self) -> Option<Histogram<u64>> {
        match self {
            Self::PingPong(client) => Some(client.take_one_way_latencies()),
            _ => None,
        }
    }

    /// Latencies of requests since the last call, in ns; none if packets are no requests.
    pub(crate) fn take_request_latencies(&mut self) -> Option<Histogram<u64>> {
        match self {
            Self::Initiators(initiators) => Some(initiators.take_latencies()),
            _ => None,
        }
    }

    /// The initiators, if requests are theirs.
    #[must_use]
    pub fn as_initiators(&self) -> Option<&Initiators> {
        if let Self::Initiators(initiators) = self { Some(initiators) } else { None }
    }
}

impl PacketSource for Traffic {
    // Inlined, an arrival is built in its destination: a copy's fields would wait for one another.
    #[inline(always)]
    fn next_arrival(&mut self) -> Option<Arrival> {
        match self {
            Self::Fixed(source) => source.next_arrival(),
            Self::Trains(source) => source.next_arrival(),
            Self::Lists(source) => source.next_arrival(),
            Self::Random(source) => source.next_arrival(),
            Self::Varying(source) => stretched(source),
            Self::Replay(source) => source.next_arrival(),
            Self::PingPong(source) => source.next_arrival(),
            Self::Initiators(source) => source.next_arrival(),
            Self::Silence => None,
        }
    }

    fn awaits_answers(&self) -> bool {
        match self {
            Self::Fixed(source) => source.awaits_answers(),
            Self::Trains(source) => source.awaits_answers(),
            Self::Lists(source) => source.awaits_answers(),
            Self::Random(source) => source.awaits_answers(),
            Self::Varying(source) => source.awaits_answers(),
            Self::Replay(source) => source.awaits_answers(),
            Self::PingPong(source) => source.awaits_answers(),
            Self::Initiators(source) => source.awaits_answers(),
            Self::Silence => false,
        }
    }

    fn answered(&mut self, departure: Departure) {
        match self {
            Self::Fixed(source) => source.answered(departure),
            Self::Trains(source) => source.answered(departure),
            Self::Lists(source) => source.answered(departure),
            Self::Random(source) => source.answered(departure),
            Self::Varying(source) => source.answered(departure),
            Self::Replay(source) => source.answered(departure),
            Self::PingPong(source) => source.answered(departure),
            Self::Initiators(source) => source.answered(departure),
            Self::Silence => {}
        }
    }
}

/// Not inlined: it contains a source itself.
#[inline(never)]
fn stretched(source: &mut VaryingLoad<Traffic>) -> Option<Arrival> {
    source.next_arrival()
}
