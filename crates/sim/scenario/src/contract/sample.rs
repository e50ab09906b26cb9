//! All readings of a machine, as numbers that only grow, and differences of two readings: one batch.

use model::counters::{CoreCounters, Counters, PortCounters};
use model::device::DeviceId;
use model::miss_kinds::AccessCounts;
use model::reading;
use model::reading::Reading;
use model::software::Account;
use std::any::Any;
use std::fmt::Debug;
use units::Picos;

/// A reading, or the difference of two.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Simulated time of the sample.
    pub span: Picos,
    /// Units of work that the run counts as progress.
    pub(crate) progress: u64,
    /// The fabric's counters.
    pub(crate) counters: Counters,
    /// Counters of each core.
    pub(crate) cores: Vec<CoreCounters>,
    /// Account of the software of each core.
    pub(crate) software: Vec<Account>,
    /// Counters of each device, in the machine's order.
    pub(crate) devices: Vec<DeviceSample>,
    /// Counters of each root port.
    pub(crate) ports: Vec<PortSample>,
    /// Lines read from and written to DRAM.
    pub(crate) dram_lines: (u64, u64),
    /// Lines read from and written to CXL memory.
    pub(crate) cxl_lines: (u64, u64),
    /// Time for which each resource of the fabric was busy, in the order of [`Fabric::resources`].
    pub(crate) busy: Vec<Picos>,
    /// Evictions: evictor x owner x [unread, read], flattened.
    pub(crate) evictions: Vec<u64>,
    /// Number of packets that have been received and have not left: a level, so a difference keeps
    /// the later reading.
    pub backlog: u64,
    /// Receive rings with a used entry, and those in which every entry has been used; levels too.
    pub(crate) rings_used: (usize, usize),
    /// Kinds of LLC misses of each agent, if the run counts them.
    pub(crate) misses: Vec<AccessCounts>,
    /// Kinds of misses of each device's writes, in a cache as large as the ways of devices.
    pub(crate) device_writes: Vec<AccessCounts>,
    /// Bytes of the LLC held for each agent: a level too.
    pub(crate) occupancy: Vec<u64>,
}

reading!(
    Sample {
        span,
        progress,
        counters,
        cores,
        software,
        devices,
        ports,
        dram_lines,
        cxl_lines,
        busy,
        evictions,
        misses,
        device_writes
    },
    levels { backlog, rings_used, occupancy }
);

impl Sample {
    /// The reading of a device, if it is of the kind that has this one.
    ///
    /// # Panics
    /// If the device is of another kind, which is our own fault.
    pub(crate) fn device<R: DeviceReading>(&self, id: DeviceId) -> &R {
        self.devices[id.index()].reading()
    }
}

/// The counts of a kind of device: a reading, or the difference of two.
pub(crate) trait DeviceReading: Reading + Clone + Debug + 'static {
    /// Packets that arrived at the device.
    fn packets_offered(&self) -> u64 {
        0
    }

    /// Packets that it wrote into host memory.
    fn packets_received(&self) -> u64 {
        0
    }

    /// Time for which a receive ring of it was full, if it has any.
    fn ring_full(&self) -> Option<Picos> {
        None
    }
}

/// The reading of a device of any kind.
#[derive(Debug)]
pub(crate) struct DeviceSample(Box<dyn AnyReading>);

/// A reading whose type is known to the room of its kind alone.
trait AnyReading: Debug {
    fn as_any(&self) -> &dyn Any;
    fn copied(&self) -> Box<dyn AnyReading>;
    fn since(&self, earlier: &DeviceSample) -> Box<dyn AnyReading>;
    fn plus(&self, later: &DeviceSample) -> Box<dyn AnyReading>;
    fn packets_offered(&self) -> u64;
    fn packets_received(&self) -> u64;
    fn ring_full(&self) -> Option<Picos>;
}

impl<R: DeviceReading> AnyReading for R {
    fn as_any(&self) -> &dyn Any {
        self
    }

    fn copied(&self) -> Box<dyn AnyReading> {
        Box::new(self.clone())
    }

    fn since(&self, earlier: &DeviceSample) -> Box<dyn AnyReading> {
        Box::new(Reading::since(self, earlier.reading()))
    }

    fn plus(&self, later: &DeviceSample) -> Box<dyn AnyReading> {
        Box::new(Reading::plus(self, later.reading()))
    }

    fn packets_offered(&self) -> u64 {
        DeviceReading::packets_offered(self)
    }

    fn packets_received(&self) -> u64 {
        DeviceReading::packets_received(self)
    }

    fn ring_full(&self) -> Option<Picos> {
        DeviceReading::ring_full(self)
    }
}

impl DeviceSample {
    /// The reading of a device.
    pub(crate) fn new(reading: impl DeviceReading) -> Self {
        Self(Box::new(reading))
    }

    /// The reading of a device of a kind that is known.
    ///
    /// # Panics
    /// If it is the reading of a device of another kind, which is our own fault.
    pub(crate) fn reading<R: DeviceReading>(&self) -> &R {
        let found = self.0.as_any().downcast_ref();
        found.unwrap_or_else(|| panic!("a reading of another kind of device: {self:?}"))
    }

    /// Packets that arrived at the device.
    pub(crate) fn packets_offered(&self) -> u64 {
        self.0.packets_offered()
    }

    /// Packets that it wrote into host memory.
    pub(crate) fn packets_received(&self) -> u64 {
        self.0.packets_received()
    }

    /// Time for which a receive ring of it was full, if it has any.
    pub(crate) fn ring_full(&self) -> Option<Picos> {
        self.0.ring_full()
    }
}

impl Clone for DeviceSample {
    fn clone(&self) -> Self {
        Self(self.0.copied())
    }
}

/// # Panics
/// If these are readings of different kinds of devices, which is our own fault.
impl Reading for DeviceSample {
    fn since(&self, earlier: &Self) -> Self {
        Self(self.0.since(earlier))
    }

    fn plus(&self, later: &Self) -> Self {
        Self(self.0.plus(later))
    }
}

/// Counters and DDIO ways of a root port.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PortSample {
    /// Counters of the port.
    pub counters: PortCounters,
    /// Ways in which its devices may allocate: a level, so a difference keeps the later reading.
    pub ddio_ways: u32,
}

reading!(PortSample { counters }, levels { ddio_ways });
