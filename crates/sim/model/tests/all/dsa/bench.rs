//! A copy engine on a small machine, its client, and descriptors for it.

use crate::small_fabric;
use model::device::DeviceKind;
use model::device::dsa::descriptor::{Descriptor, Destination, DsaWork, Operation};
use model::device::dsa::portal::{Completion, Portal, Submission};
use model::device::dsa::{
    Dsa, DsaConfig, DsaCounters, DsaTiming, GroupConfig, PortalConfig, QueueMode, WorkQueueConfig,
};
use model::fabric::Fabric;
use model::root_complex::attachment::{AttachmentConfig, MeshStopConfig};
use model::root_complex::iio::IioConfig;
use model::root_complex::iommu::{IommuConfig, PageSize, VictimChoice};
use model::tracer::NoTrace;
use units::{GbitPerSec, LineAddr, Picos, RootPortId};

pub const PORT: RootPortId = RootPortId(0);
pub const PAGE_LINES: u64 = 64;
/// Operands lie apart: one of each descriptor in each region.
pub const SOURCES: u64 = 1 << 16;
pub const SECONDS: u64 = 2 << 16;
pub const THIRDS: u64 = 3 << 16;
pub const RECORDS: u64 = 4 << 16;
pub const LIST: LineAddr = LineAddr(5 << 16);
pub const WALK: Picos = Picos(200_000);
pub const TIMING: DsaTiming = DsaTiming {
    descriptor_interval: Picos(40_000),
    dispatch: Picos(200_000),
    finish: Picos(80_000),
    checksum: Picos(200_000),
    translation: Picos(100_000),
    page_request: Picos(50_000_000),
    portal: Picos(70_000),
};

pub fn queue(size: u32, priority: u32) -> WorkQueueConfig {
    WorkQueueConfig {
        mode: QueueMode::Dedicated,
        size,
        priority,
        max_batch: 64,
        max_transfer_bytes: 1 << 20,
        thresholds: Vec::new(),
    }
}

pub fn group(queues: Vec<WorkQueueConfig>, engines: u32) -> GroupConfig {
    GroupConfig {
        queues,
        engines,
        read_buffers_reserved: 0,
        read_buffers_allowed: 96,
        uses_read_buffer_limit: false,
    }
}

/// An instance with a portal for each queue of its groups.
pub fn config(groups: Vec<GroupConfig>) -> DsaConfig {
    let numbered = groups.iter().enumerate();
    let portals = numbered
        .flat_map(|(group, it)| {
            (0..it.queues.len()).map(move |queue| PortalConfig { group, queue })
        })
        .collect();
    DsaConfig {
        port: PORT,
        groups,
        portals,
        read_buffers: 96,
        read_buffer_limit: None,
        descriptors_per_engine: 32,
        pages_ahead: 4,
        page_lines: PAGE_LINES,
        timing: TIMING,
    }
}

/// An instance on a small machine, and its client.
pub struct Bench {
    pub fabric: Fabric,
    pub dsa: Dsa,
    pub portals: Vec<Portal>,
    pub now: Picos,
}

impl Bench {
    pub fn new(config: DsaConfig) -> Self {
        let mut machine = small_fabric::config();
        machine.ports[0].attachment = AttachmentConfig::Mesh(MeshStopConfig {
            write_rate: GbitPerSec(240.0),
            read_rate: GbitPerSec(240.0),
            propagation: Picos(10_000),
            iio: IioConfig {
                write_entries: 1_024,
                read_entries: 1_024,
                ..machine.socket.iio.clone()
            },
        });
        machine.ports[0].iommu = Some(IommuConfig {
            entries: 64,
            victims: VictimChoice::Lru,
            page: PageSize::Kib4,
            mappings: Vec::new(),
            walk: WALK,
            concurrent_walks: 4,
        });
        let mut fabric = Fabric::new(&machine, NoTrace);
        fabric.start_clock();
        let portals = vec![Portal::default(); config.portals.len()];
        Self { fabric, dsa: Dsa::new(config), portals, now: Picos::ZERO }
    }

    pub fn post(&mut self, portal: usize, work: DsaWork, visible: Picos) {
        self.portals[portal].posted.push_back(Submission { visible, work });
    }

    /// Runs until nothing is left to do; returns the completions in the order of their records.
    pub fn run(&mut self) -> Vec<(usize, Completion)> {
        let mut done = Vec::new();
        loop {
            let before = (self.now, self.dsa.counters_at(self.now).front_busy);
            self.now = self.dsa.next_wake(0, &self.portals, self.now);
            if self.now == Picos::NEVER {
                break;
            }
            self.dsa.step(0, &mut self.fabric, &mut self.portals, self.now, self.now);
            self.is_busy_for_no_longer_than_passes(before);
            assert_eq!(self.dsa.check_invariants(&self.portals), Ok(()));
            for (number, portal) in self.portals.iter_mut().enumerate() {
                done.extend(portal.completed.drain(..).map(|completion| (number, completion)));
            }
        }
        assert_eq!(self.fabric.check_invariants(), Ok(()));
        self.now = done.iter().map(|(_, it)| it.phases.recorded).max().unwrap_or(Picos::ZERO);
        done
    }

    /// Fronts are busy for no longer than time has passed since a time and what they were busy until then.
    fn is_busy_for_no_longer_than_passes(&self, (from, before): (Picos, Picos)) {
        let engines: u32 = self.dsa.config().groups.iter().map(|group| group.engines).sum();
        let busy = self.dsa.counters_at(self.now).front_busy - before;
        let passed = Picos((self.now - from).0 * u64::from(engines));
        assert!(busy <= passed, "{busy:?} in {passed:?} of {engines} engines");
    }

    pub fn counters(&self) -> DsaCounters {
        self.dsa.counters_at(self.now)
    }

    /// Makes the page of a line absent.
    pub fn take_away(&mut self, line: u64) {
        let first = LineAddr(line / PAGE_LINES * PAGE_LINES);
        self.fabric.iommu_mut(PORT).unmap(first, PAGE_LINES);
    }
}

/// A descriptor whose operands begin `place` lines into each region.
pub fn descriptor(id: u64, operation: Operation, bytes: u64, place: u64) -> Descriptor {
    Descriptor {
        id,
        operation,
        bytes,
        source: LineAddr(SOURCES + place),
        second: LineAddr(SECONDS + place),
        third: LineAddr(THIRDS + place),
        record: LineAddr(RECORDS + id),
        destination: Destination::Cache,
        fence: false,
        block_on_fault: true,
        wants_record: true,
    }
}

pub fn copy(id: u64, bytes: u64) -> Descriptor {
    descriptor(id, Operation::Move, bytes, id * PAGE_LINES)
}

pub fn no_op(id: u64) -> Descriptor {
    descriptor(id, Operation::NoOp, 0, 0)
}

pub fn batch(id: u64, members: Vec<Descriptor>) -> DsaWork {
    let descriptor = Descriptor { source: LIST, ..no_op(id) };
    DsaWork::Batch { descriptor, members }
}

pub fn one_queue(engines: u32) -> Bench {
    Bench::new(config(vec![group(vec![queue(128, 1)], engines)]))
}
