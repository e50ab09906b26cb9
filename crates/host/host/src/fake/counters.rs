//! Event counters of a described machine: they count its traffic, at exact rates.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::FakeMachine;
use super::description::{
    DescribedEvent, DescribedTraffic, HitRateControl, RegisterAnswer, TrafficQuantity,
};
use crate::cpu::{CpuId, cpu_list};
use crate::error::{FileError, Problem};
use crate::pci_address::Bdf;
use crate::pci_config::PciConfig;
use crate::resctrl::MaskLine;
use crate::uncore::{Count, CounterRequest, UncoreCounters, Window};

/// MSR address of the mask of I/O ways.
const IIO_LLC_WAYS: u32 = 0xc8b;
/// The root port's switch: offset, and the bit that means DDIO.
const PORT_SWITCH: (u16, u32) = (0x180, 1 << 7);

/// Counters that count the described traffic. A window passes without waiting.
#[derive(Clone, Debug)]
pub(super) struct FakeCounters {
    pub(super) machine: FakeMachine,
}

impl UncoreCounters for FakeCounters {
    fn open(
        &self,
        requests: &[CounterRequest],
    ) -> Result<Box<dyn crate::uncore::RunningCounters>, FileError> {
        self.machine.running(requests)
    }

    fn measure(
        &self,
        groups: &[Vec<CounterRequest>],
        window: Duration,
    ) -> Result<Window, FileError> {
        let unit = groups.iter().flatten().next().map_or("perf_event", |first| &first.unit);
        match self.machine.description.counters {
            RegisterAnswer::Ok => {}
            RegisterAnswer::Eperm => return Err(FileError::new(unit, Problem::NotPermitted)),
            RegisterAnswer::Eio
            | RegisterAnswer::Short
            | RegisterAnswer::Ignored
            | RegisterAnswer::Dead => {
                return Err(FileError::new(unit, Problem::Refused));
            }
            RegisterAnswer::Absent => return Err(FileError::new(unit, Problem::Missing)),
        }
        let micros = u64::try_from(window.as_micros()).unwrap_or(u64::MAX);
        self.machine.counted_micros.fetch_add(micros, Ordering::Relaxed);
        let count = |request: &CounterRequest| Count {
            value: self.per_second(request).saturating_mul(micros) / 1_000_000,
            running_share: 1.0,
        };
        let groups = groups.iter().map(|group| group.iter().map(count).collect()).collect();
        Ok(Window { groups, elapsed: window })
    }
}

impl FakeCounters {
    /// Count of one box in a second. An encoding that the description does not list counts nothing.
    fn per_second(&self, request: &CounterRequest) -> u64 {
        let (unit, number) = split_box_name(&request.unit);
        let matches = |event: &&DescribedEvent| {
            event.unit == unit
                && event.config == request.words.config
                && event.config1 == request.words.config1
                && event.only_box.is_none_or(|only| only == number)
        };
        let Some(event) = self.machine.description.event.iter().find(matches) else { return 0 };
        let socket = self.machine.socket_of(request.cpu);
        let traffic = self.machine.description.traffic.iter().filter(|traffic| {
            traffic.socket == socket && event.port.as_ref().is_none_or(|port| *port == traffic.port)
        });
        let lines: u64 = traffic
            .flat_map(|traffic| event.counts.iter().map(|what| self.lines(traffic, *what)))
            .fold(0, u64::saturating_add);
        let counts = lines.saturating_mul(units::LINE_BYTES) / event.bytes.max(1);
        if event.only_box.is_some() { counts } else { share(counts, number, self.boxes(unit)) }
    }

    fn boxes(&self, unit: &str) -> u64 {
        let names = self.machine.root.list("sys/bus/event_source/devices").unwrap_or_default();
        names.iter().filter(|name| split_box_name(name).0 == unit).count().max(1) as u64
    }

    fn lines(&self, traffic: &DescribedTraffic, what: TrafficQuantity) -> u64 {
        let write_hit = self.hit_percent(traffic);
        // Reads also hit lines that the CPU has left in its caches.
        let read_hit = traffic.read_hit_percent.unwrap_or(write_hit + 20).min(100);
        let (lines, percent) = match what {
            TrafficQuantity::WriteHits => (traffic.write_lines_per_s, write_hit),
            TrafficQuantity::WriteMisses => (traffic.write_lines_per_s, 100 - write_hit),
            TrafficQuantity::ReadHits => (traffic.read_lines_per_s, read_hit),
            TrafficQuantity::ReadMisses => (traffic.read_lines_per_s, 100 - read_hit),
            TrafficQuantity::DramReads => match traffic.dram_lines_per_s {
                Some([reads, _]) => (reads, 100),
                None => (traffic.read_lines_per_s, 100 - read_hit),
            },
            TrafficQuantity::DramWrites => match traffic.dram_lines_per_s {
                Some([_, writes]) => (writes, 100),
                None => (traffic.write_lines_per_s, 100 - write_hit),
            },
        };
        lines.saturating_mul(percent) / 100
    }

    fn hit_percent(&self, traffic: &DescribedTraffic) -> u64 {
        let ways = match traffic.follows {
            HitRateControl::Nothing => Some(0),
            HitRateControl::PortSwitch => self.port_allocates(traffic).then_some(2),
            HitRateControl::IioWays => self.iio_ways(traffic),
            HitRateControl::IoAlloc => self.io_alloc_ways(traffic.socket),
        };
        let more = |ways: u64| {
            let added = ways.saturating_mul(traffic.hit_percent_per_way);
            traffic.hit_percent.saturating_add(added)
        };
        ways.map_or(0, more).min(100)
    }

    fn port_allocates(&self, traffic: &DescribedTraffic) -> bool {
        let (offset, bit) = PORT_SWITCH;
        let Ok(port) = traffic.port.parse::<Bdf>() else { return true };
        PciConfig::read(&self.machine, port, offset).unwrap_or(bit) & bit != 0
    }

    fn iio_ways(&self, traffic: &DescribedTraffic) -> Option<u64> {
        let mask = self.machine.msr_value(self.cpu_of_socket(traffic.socket)?, IIO_LLC_WAYS)?;
        self.port_allocates(traffic).then(|| mask.count_ones().into())
    }

    fn io_alloc_ways(&self, socket: u64) -> Option<u64> {
        let info = "sys/fs/resctrl/info/L3";
        let state = self.machine.root.read_line(&format!("{info}/io_alloc")).ok()?;
        let text = self.machine.root.read_line(&format!("{info}/io_alloc_cbm")).ok()?;
        let cpu = self.cpu_of_socket(socket)?;
        let cache = format!("sys/devices/system/cpu/cpu{cpu}/cache/index3/id");
        let cache = u32::try_from(self.machine.root.read_number(&cache).ok()?).ok()?;
        let mask = MaskLine::parse(&text)?.mask(cache)?;
        (state == "enabled").then(|| mask.count_ones().into())
    }

    fn cpu_of_socket(&self, socket: u64) -> Option<CpuId> {
        let folder = "sys/devices/system/cpu";
        let online = self.machine.root.read_line(&format!("{folder}/online")).ok()?;
        cpu_list(&online)?.into_iter().find(|cpu| {
            let path = format!("{folder}/cpu{cpu}/topology/physical_package_id");
            self.machine.root.read_number(&path).ok() == Some(socket)
        })
    }
}

/// `uncore_cha_3` is box 3 of `uncore_cha`.
pub(super) fn split_box_name(name: &str) -> (&str, u64) {
    match name.rsplit_once('_') {
        Some((unit, number)) => match number.parse() {
            Ok(number) => (unit, number),
            Err(_) => (name, 0),
        },
        None => (name, 0),
    }
}

/// Share of `total` that box `number` counts: equal shares, the remainder at the first boxes.
fn share(total: u64, number: u64, boxes: u64) -> u64 {
    total / boxes + u64::from(number < total % boxes)
}
