//! Counters over time: ways of the LLC by owner, fill of rings, bandwidth of links and memory.

use super::ShownWindow;
use super::file::TraceFile;
use super::schema::{EventType, TrackEvent};
use super::tracks::Tracks;
use model::tracer::{QueueLevels, SpanPlace, Tracer};
use std::collections::BTreeMap;
use units::{Id, Picos};

/// Bytes are counted in windows of this length; a link moves some packets in each.
const BANDWIDTH_WINDOW: Picos = Picos(1_000_000);

/// A value of a counter at a time.
pub(super) struct CounterPoint {
    pub time: Picos,
    track: u64,
    value: f64,
}

impl CounterPoint {
    pub(super) fn write(&self, file: &mut TraceFile) {
        let event = TrackEvent {
            r#type: Some(EventType::Counter as i32),
            track_uuid: Some(self.track),
            double_counter_value: Some(self.value),
            ..TrackEvent::default()
        };
        file.event(self.time, event);
    }
}

/// Declares all counters; returns their values in time order.
pub(super) fn points<T: Tracer>(
    shown: &ShownWindow<'_, T>,
    file: &mut TraceFile,
    tracks: &mut Tracks,
) -> Vec<CounterPoint> {
    let mut points = Vec::new();
    bandwidths(shown, file, tracks, &mut points);
    ways_by_owner(shown, file, tracks, &mut points);
    ring_levels(shown, file, tracks, &mut points);
    points.sort_by_key(|point| point.time);
    points
}

/// Ways of the LLC that the lines of each agent would fill.
fn ways_by_owner<T: Tracer>(
    shown: &ShownWindow<'_, T>,
    file: &mut TraceFile,
    tracks: &mut Tracks,
    points: &mut Vec<CounterPoint>,
) {
    for (agent, name) in shown.agents.iter().enumerate() {
        let track = tracks.counter(file, "LLC ways by owner", name, "ways");
        points.extend(shown.window.levels.iter().map(|sample| {
            let value = sample.occupancy_bytes[agent] as f64 / shown.way_bytes as f64;
            CounterPoint { time: sample.time, track, value }
        }));
    }
}

/// Named level of a device's queues.
type NamedLevel = (&'static str, fn(&QueueLevels) -> usize);

/// Levels of the queues of each device that has any.
fn ring_levels<T: Tracer>(
    shown: &ShownWindow<'_, T>,
    file: &mut TraceFile,
    tracks: &mut Tracks,
    points: &mut Vec<CounterPoint>,
) {
    const LEVELS: [NamedLevel; 3] = [
        ("buffers posted", |levels| levels.buffers_posted),
        ("packets that no core has read", |levels| levels.packets_unseen),
        ("packets to send", |levels| levels.packets_to_send),
    ];
    let samples = &shown.window.levels;
    for (device, name) in shown.devices.iter().enumerate() {
        for (level, read) in LEVELS {
            if samples.iter().all(|sample| read(&sample.devices[device]) == 0) {
                continue;
            }
            let track = tracks.counter(file, &format!("rings of {name}"), level, "entries");
            points.extend(samples.iter().map(|sample| {
                let value = read(&sample.devices[device]) as f64;
                CounterPoint { time: sample.time, track, value }
            }));
        }
    }
}

/// Bandwidth of each direction of a link, with the overhead of its TLPs, and of memory.
fn bandwidths<T: Tracer>(
    shown: &ShownWindow<'_, T>,
    file: &mut TraceFile,
    tracks: &mut Tracks,
    points: &mut Vec<CounterPoint>,
) {
    let mut moved: BTreeMap<(String, &str), BTreeMap<u64, u64>> = BTreeMap::new();
    for timed in &shown.window.spans {
        let span = &timed.span;
        let device = |port: units::RootPortId| &shown.agents[shown.cores + port.index()];
        let series = match span.place {
            SpanPlace::TowardsMemory(port) | SpanPlace::ReadRequests(port) => {
                (format!("link of {}, towards memory", device(port)), "Gbit/s")
            }
            SpanPlace::TowardsDevice(port) => {
                (format!("link of {}, towards the device", device(port)), "Gbit/s")
            }
            SpanPlace::MemoryRead(node) => (format!("memory of node {node}, reads"), "GB/s"),
            SpanPlace::MemoryWrite(node) => (format!("memory of node {node}, writes"), "GB/s"),
            SpanPlace::WriteEntries(_) | SpanPlace::ReadEntries(_) => continue,
        };
        let window = span.end.0 / BANDWIDTH_WINDOW.0;
        *moved.entry(series).or_default().entry(window).or_default() += span.bytes;
    }
    for ((name, unit), windows) in moved {
        let track = tracks.counter(file, "bandwidth", &name, unit);
        let bits = if unit == "Gbit/s" { 8.0 } else { 1.0 };
        let (first, last) = (windows.keys().next(), windows.keys().next_back());
        let (Some(&first), Some(&last)) = (first, last) else { continue };
        points.extend((first..=last + 1).map(|window| {
            let bytes = windows.get(&window).copied().unwrap_or_default();
            let value = bytes as f64 * bits / BANDWIDTH_WINDOW.as_ns();
            CounterPoint { time: Picos(window * BANDWIDTH_WINDOW.0), track, value }
        }));
    }
}
