//! Tracks: a tree of names, and lanes side by side where marks of one group overlap.

use super::file::TraceFile;
use super::marks::{LaneGroup, Mark};
use super::schema::{CounterDescriptor, EXPLICIT_ORDER, TrackDescriptor};
use std::collections::BTreeMap;
use units::{Id, Picos, RootPortId};

/// The tracks that a trace has declared.
pub(super) struct Tracks {
    /// Tracks so far; the first is the root of all.
    declared: u64,
    /// Tracks that have children, by name.
    parents: BTreeMap<String, u64>,
    /// End of the last mark and number of each lane of a group.
    lanes: BTreeMap<LaneGroup, Vec<(Picos, u64)>>,
}

impl Tracks {
    /// Declares the root, which orders its children by rank.
    pub(super) fn new(file: &mut TraceFile, title: &str) -> Self {
        let mut tracks = Self { declared: 0, parents: BTreeMap::new(), lanes: BTreeMap::new() };
        let root = TrackDescriptor {
            name: Some(title.into()),
            child_ordering: Some(EXPLICIT_ORDER),
            ..TrackDescriptor::default()
        };
        tracks.declare(file, root);
        tracks
    }

    fn declare(&mut self, file: &mut TraceFile, track: TrackDescriptor) -> u64 {
        self.declared += 1;
        file.track(TrackDescriptor { uuid: Some(self.declared), ..track });
        self.declared
    }

    /// Declares a track below that with a name, which is declared if it is new. Earlier ones come first.
    fn declare_below(&mut self, file: &mut TraceFile, parent: &str, track: TrackDescriptor) -> u64 {
        let parent_uuid = match self.parents.get(parent) {
            Some(&number) => number,
            None => {
                let above = TrackDescriptor {
                    name: Some(parent.into()),
                    parent_uuid: Some(1),
                    child_ordering: Some(EXPLICIT_ORDER),
                    sibling_order_rank: i32::try_from(self.declared).ok(),
                    ..TrackDescriptor::default()
                };
                let number = self.declare(file, above);
                self.parents.insert(parent.into(), number);
                number
            }
        };
        self.declare(file, TrackDescriptor { parent_uuid: Some(parent_uuid), ..track })
    }

    /// Declares a counter.
    pub(super) fn counter(
        &mut self,
        file: &mut TraceFile,
        parent: &str,
        name: &str,
        unit: &str,
    ) -> u64 {
        let track = TrackDescriptor {
            name: Some(name.into()),
            counter: Some(CounterDescriptor { unit_name: Some(unit.into()) }),
            sibling_order_rank: i32::try_from(self.declared).ok(),
            ..TrackDescriptor::default()
        };
        self.declare_below(file, parent, track)
    }

    /// Declares the groups of all marks in their order, so that ranks follow a packet's way.
    pub(super) fn declare_groups(
        &mut self,
        file: &mut TraceFile,
        marks: &[Mark],
        agents: &[String],
        cores: usize,
    ) {
        let mut groups: Vec<LaneGroup> = marks.iter().map(|mark| mark.group).collect();
        groups.sort_unstable();
        groups.dedup();
        for group in groups {
            let lane = self.declare_lane(file, group, agents, cores);
            self.lanes.insert(group, vec![(Picos::ZERO, lane)]);
        }
    }

    fn declare_lane(
        &mut self,
        file: &mut TraceFile,
        group: LaneGroup,
        agents: &[String],
        cores: usize,
    ) -> u64 {
        let (parent, name) = names(group, agents, cores);
        let rank = self.lanes.keys().position(|&known| known == group);
        let rank = rank.unwrap_or(self.lanes.len());
        let track = TrackDescriptor {
            name: Some(name),
            sibling_order_rank: i32::try_from(rank).ok(),
            ..TrackDescriptor::default()
        };
        self.declare_below(file, &parent, track)
    }

    /// The track of the first lane of the group that is free when the mark starts. Tracks of one name
    /// below one parent are shown as one.
    pub(super) fn lane(
        &mut self,
        file: &mut TraceFile,
        mark: &Mark,
        agents: &[String],
        cores: usize,
    ) -> u64 {
        let lanes = self.lanes.entry(mark.group).or_default();
        if let Some((busy_until, track)) = lanes.iter_mut().find(|(end, _)| *end <= mark.start) {
            *busy_until = mark.end;
            return *track;
        }
        let track = self.declare_lane(file, mark.group, agents, cores);
        self.lanes.entry(mark.group).or_default().push((mark.end, track));
        track
    }
}

/// Names of a group: of the track above it, and its own.
fn names(group: LaneGroup, agents: &[String], cores: usize) -> (String, String) {
    let device = |port: RootPortId| &agents[cores + port.index()];
    match group {
        LaneGroup::Descriptor => ("descriptor".into(), "phases".into()),
        LaneGroup::Packets(port) => (device(port).clone(), "packets".into()),
        LaneGroup::Device(port) => (device(port).clone(), "line operations".into()),
        LaneGroup::TowardsMemory(port) => {
            (format!("link of {}", device(port)), "towards memory".into())
        }
        LaneGroup::TowardsDevice(port) => {
            (format!("link of {}", device(port)), "towards the device".into())
        }
        LaneGroup::Writes(port) => ("IIO".into(), format!("writes of {}", device(port))),
        LaneGroup::Reads(port) => ("IIO".into(), format!("reads of {}", device(port))),
        LaneGroup::Slice(socket, slice) => {
            (format!("LLC of socket {socket}"), format!("slice {slice}"))
        }
        LaneGroup::Core(core) => (agents[core.index()].clone(), "line operations".into()),
        LaneGroup::MemoryReads(node) => (format!("memory of node {node}"), "reads".into()),
        LaneGroup::MemoryWrites(node) => (format!("memory of node {node}"), "writes".into()),
    }
}
