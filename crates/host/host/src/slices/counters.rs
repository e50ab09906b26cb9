//! Counters of look-ups at each slice: read through perf if the kernel offers the boxes as event sources,
//! else through the registers of the boxes.

use super::box_programming::{BoxPlan, ProgramError};
use super::socket::select_socket;
use crate::controls::{BoxUnit, COUNTER_BITS, check_server, check_slices_of_one_die};
use crate::cpu::{CpuId, CpuModel, CpuSocket, Generation, Generations, PackageId, sockets};
use crate::error::{FileError, Problem};
use crate::machine::Host;
use crate::registers::Registers;
use crate::unavailable::remedy;
use crate::uncore::{CounterRequest, EventWords, Formats, RunningCounters, boxes};
use units::narrow::fit;

/// The socket whose slices are examined, and the processor that accesses lines.
#[derive(Clone, Debug)]
pub struct SliceMachine {
    /// CPU model of the machine.
    pub model: CpuModel,
    /// CPU generation; `None` if it is not in the table.
    pub generation: Option<Generation>,
    /// Socket whose slices are counted.
    pub socket: CpuSocket,
    /// Processor that accesses the lines.
    pub cpu: CpuId,
    /// The boxes of the slices; `None` if they are not known.
    pub unit: Option<BoxUnit>,
}

/// Error of counting look-ups at slices.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CountersError {
    /// no counters of this machine's slices are known or visible
    #[error("{0}")]
    NotHere(String),
    /// only the kernel reaches the counters, and it offers no event source
    #[error(
        "no public source gives the register addresses of {generation}'s slices, and the kernel offers no \
         event source {unit}\n  remedy: modprobe intel_uncore, on a kernel that knows this CPU; hypervisors hide it"
    )]
    OnlyPerf {
        /// The generation.
        generation: String,
        /// The kernel's name of the boxes.
        unit: String,
    },
    /// the system refuses access to the counters
    #[error("{error}{}", remedy(.error).map(|remedy| format!("\n  remedy: {remedy}")).unwrap_or_default())]
    Refused {
        /// The file or register, and the reason.
        error: FileError,
    },
    /// another program uses the counters
    #[error(transparent)]
    Program(ProgramError),
    /// a package of several dies
    #[error("{0}")]
    SeveralDies(String),
    /// the request is invalid
    #[error("{0}")]
    BadRequest(String),
}

impl From<FileError> for CountersError {
    fn from(error: FileError) -> Self {
        Self::Refused { error }
    }
}

impl From<ProgramError> for CountersError {
    fn from(error: ProgramError) -> Self {
        match error {
            ProgramError::File { error } => Self::Refused { error },
            other => Self::Program(other),
        }
    }
}

/// Reason why the number of slices does not follow from the size of the cache.
#[derive(Debug, thiserror::Error)]
enum SliceCountError {
    /// more than one cache, or none
    #[error("the kernel describes {0} last-level caches of this socket, not one")]
    Caches(usize),
    /// a CPU whose slices have another size
    #[error(
        "its last-level cache of {cache_kib} KiB is not a multiple of {slice_kib} KiB, a slice"
    )]
    NoMultiple { cache_kib: u64, slice_kib: u64 },
    /// a CPU with larger slices, or unknown boxes
    #[error(
        "its last-level cache of {cache_kib} KiB makes {count} slices of {slice_kib} KiB, and registers of \
         {most} boxes are known"
    )]
    TooMany { cache_kib: u64, slice_kib: u64, count: u64, most: u32 },
}

/// Method by which look-ups are counted.
pub enum CountingMethod {
    /// The kernel counts through perf, in this number of boxes: no register is written.
    Perf(u32, Box<dyn RunningCounters>),
    /// Registers of the boxes count, after the plan is written.
    Registers(BoxPlan),
}

/// Readers of the counters of all boxes.
pub enum BoxReaders<'h> {
    /// Events of the kernel.
    Perf(Box<dyn RunningCounters>),
    /// Counter registers, reached through a processor of the socket.
    Registers(&'h (dyn Registers + Send + Sync), CpuId, Vec<u32>),
}

impl BoxReaders<'_> {
    /// Reads the count of each box, modulo 2^48.
    ///
    /// # Errors
    /// If a counter cannot be read.
    pub fn read(&mut self) -> Result<Vec<u64>, FileError> {
        match self {
            Self::Perf(running) => running.read(),
            Self::Registers(registers, cpu, counters) => {
                counters.iter().map(|&counter| registers.read(*cpu, counter)).collect()
            }
        }
    }

    /// Difference of two readings of a counter, modulo 2^48.
    #[must_use]
    pub fn difference(before: u64, now: u64) -> u64 {
        now.wrapping_sub(before) & ((1 << COUNTER_BITS) - 1)
    }
}

impl SliceMachine {
    /// Reads the socket of processor `cpu`, or the given socket; without either, the first.
    ///
    /// # Errors
    /// If CPU model or sockets cannot be read, the processor or socket does not exist, the processor is
    /// in another socket, or the socket has several dies.
    pub fn read(
        host: &Host,
        cpu: Option<CpuId>,
        socket: Option<PackageId>,
    ) -> Result<Self, CountersError> {
        let model = CpuModel::read(&host.root)?;
        let socket = select_socket(sockets(&host.root)?, cpu, socket)?;
        let generation = Generations::built_in().find(&model).cloned();
        // Core complexes of AMD have a cache each, and no boxes that are counted.
        if generation.as_ref().is_some_and(Generation::is_intel) {
            check_slices_of_one_die(&socket).map_err(CountersError::SeveralDies)?;
        }
        let unit =
            generation.as_ref().and_then(|known| BoxUnit::for_events(known.events.as_deref()?));
        let cpu = cpu.unwrap_or(socket.first_cpu());
        Ok(Self { model, generation, socket, cpu, unit })
    }

    /// Number of slices of the socket: the number of boxes that the kernel lists, else the size of the
    /// cache divided by that of a slice; `None` if neither is known.
    #[must_use]
    pub fn slice_count(&self, host: &Host) -> Option<u32> {
        let unit = self.unit.as_ref()?;
        let listed = fit(crate::uncore::count_boxes(&host.root, &unit.unit));
        if listed > 0 { Some(listed) } else { self.slices_from_size(unit).ok() }
    }

    fn slices_from_size(&self, unit: &BoxUnit) -> Result<u32, SliceCountError> {
        let [cache] = self.socket.caches.as_slice() else {
            return Err(SliceCountError::Caches(self.socket.caches.len()));
        };
        let (bytes, slice_kib) = (cache.size_bytes, unit.slice_kib);
        let (cache_kib, slice_bytes) = (bytes >> 10, slice_kib << 10);
        if bytes == 0 || !bytes.is_multiple_of(slice_bytes) {
            return Err(SliceCountError::NoMultiple { cache_kib, slice_kib });
        }
        let (count, most) = (bytes / slice_bytes, unit.registers.boxes());
        let known = u32::try_from(count).ok().filter(|count| *count <= most);
        known.ok_or(SliceCountError::TooMany { cache_kib, slice_kib, count, most })
    }

    /// Chooses the method that counts look-ups: perf, else registers. `slices` overrides the number of
    /// boxes that are read through registers.
    ///
    /// # Errors
    /// If look-ups cannot be counted, with the reason and the remedy.
    pub fn counting_method(
        &self,
        host: &Host,
        slices: Option<u32>,
    ) -> Result<CountingMethod, CountersError> {
        let unit = self
            .unit
            .as_ref()
            .ok_or_else(|| CountersError::NotHere(self.describe_missing_boxes()))?;
        let refused = match self.count_by_perf(host, unit) {
            Ok(Some(counting)) => return Ok(counting),
            Ok(None) => None,
            // An error other than a refusal means that the kernel uses the boxes itself.
            Err(error) if error.problem == Problem::NotPermitted => Some(error),
            Err(error) => return Err(error.into()),
        };
        let through_registers = self
            .check_addresses_known(unit)
            .and_then(|()| Ok(host.registers.detect(self.cpu)?))
            .and_then(|()| self.check_registers(host))
            .and_then(|()| self.count_by_registers(host, unit, slices));
        through_registers.map_err(|error| match (refused, error) {
            (Some(error), _) => CountersError::Refused { error },
            (None, CountersError::Refused { error }) if self.model.virtual_machine => {
                hidden_by_hypervisor(unit, &format!("; {error}"))
            }
            (None, CountersError::OnlyPerf { .. }) if self.model.virtual_machine => {
                hidden_by_hypervisor(unit, "")
            }
            (None, error) => error,
        })
    }

    fn describe_missing_boxes(&self) -> String {
        let machine = if self.model.virtual_machine { " (a virtual machine)" } else { "" };
        let name = &self.model.name;
        match &self.generation {
            Some(known) if !known.is_intel() => format!(
                "\"{name}\"{machine}: AMD publishes no counter that distinguishes the slices of {}",
                known.name
            ),
            Some(known) => format!(
                "\"{name}\"{machine}: no public source for the boxes of {}'s slices is in the tables",
                known.name
            ),
            None => format!(
                "\"{name}\"{machine}, {} family {:#x} model {:#x} stepping {}, is not in the table of \
                 generations; what is missing is a public source for the counters of its slices",
                self.model.vendor, self.model.family, self.model.model, self.model.stepping
            ),
        }
    }

    fn count_by_perf(
        &self,
        host: &Host,
        unit: &BoxUnit,
    ) -> Result<Option<CountingMethod>, FileError> {
        let listed = match boxes(&host.root, &unit.unit) {
            Ok(listed) => listed,
            Err(error) if error.problem == Problem::Missing => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut requests = Vec::new();
        for unit_box in &listed {
            let reader = unit_box.cpus.iter().find(|cpu| self.socket.cpus.contains(cpu));
            let Some(&cpu) = reader else { continue };
            let formats = Formats::read(&host.root, &unit_box.name)?;
            let words = formats.encode(&unit.fields, EventWords::default()).map_err(|error| {
                FileError::new(&unit_box.name, Problem::Other(error.to_string()))
            })?;
            let (unit, kind) = (unit_box.name.clone(), unit_box.kind);
            requests.push(CounterRequest { unit, kind, cpu, words });
        }
        if requests.is_empty() {
            return Ok(None);
        }
        let running = host.counters.open(&requests)?;
        Ok(Some(CountingMethod::Perf(fit(requests.len()), running)))
    }

    fn count_by_registers(
        &self,
        host: &Host,
        unit: &BoxUnit,
        slices: Option<u32>,
    ) -> Result<CountingMethod, CountersError> {
        let count = self.boxes_to_program(host, unit, slices).map_err(CountersError::BadRequest)?;
        Ok(CountingMethod::Registers(BoxPlan::for_socket(
            host,
            unit,
            &self.socket,
            self.cpu,
            count,
        )?))
    }

    /// Checks that the register addresses are known. This comes before privilege, which would not help.
    fn check_addresses_known(&self, unit: &BoxUnit) -> Result<(), CountersError> {
        match &self.generation {
            Some(known) if !unit.has_registers_of(&known.name) => Err(CountersError::OnlyPerf {
                generation: known.name.clone(),
                unit: unit.unit.clone(),
            }),
            _ => Ok(()),
        }
    }

    /// Refuses registers of a virtual machine, and of a CPU that only has a server's model number.
    fn check_registers(&self, host: &Host) -> Result<(), CountersError> {
        let Some(known) = &self.generation else { return Ok(()) };
        check_server(host, &self.model, known).map_err(CountersError::NotHere)
    }

    /// Number of boxes to program, or the reason why that number is not possible.
    fn boxes_to_program(
        &self,
        host: &Host,
        unit: &BoxUnit,
        slices: Option<u32>,
    ) -> Result<u32, String> {
        let (name, most) = (&unit.unit, unit.registers.boxes());
        match slices.or_else(|| self.slice_count(host)) {
            Some(count) if (1..=most).contains(&count) => Ok(count),
            Some(count) => {
                let said = if slices.is_some() { "--slices " } else { "" };
                Err(format!("{said}{count}: registers of 1 to {most} {name} are known"))
            }
            None => {
                let reason = self.slices_from_size(unit).err();
                let reason = reason.map(|reason| reason.to_string()).unwrap_or_default();
                Err(format!(
                    "the number of slices of this CPU is not known: the kernel lists no {name}, and {reason}; \
                     say it with --slices N, up to {most}"
                ))
            }
        }
    }
}

fn hidden_by_hypervisor(unit: &BoxUnit, besides: &str) -> CountersError {
    CountersError::NotHere(format!(
        "this is a virtual machine, whose hypervisor hides the counters of slices (no event source \
         {}{besides}): run it on the host itself",
        unit.unit
    ))
}
