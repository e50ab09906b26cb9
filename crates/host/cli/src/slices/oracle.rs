//! The oracle of `slices map` and `slices check`: its options, its socket, and its runs.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::slices::recovery::{HugePage, HugePageSize, PAGE_LIMIT};
use clap::{Args, ValueEnum};
use host::cpu::{CpuId, PackageId};
use host::probe_memory::{ProbeMemory, ProbePageSize};
use host::slices::{
    BoxPlan, BoxReaders, ClassesError, CountersError, CountingMethod, LookupOracle,
    ProgrammedBoxes, SliceMachine, TimingOracle, TimingPlan,
};
use host::tune::TunePlan;

use super::interruptible_oracle::OracleError;
use super::view::SlicesReport;
use super::{MemoryArguments, no_counters};
use crate::HostContext;
use crate::crash_point;
use crate::failure::HostFailure;
use crate::output::bytes;
use crate::signals::stop_flag;
use crate::value_parsers::{small_number, within};
use units::narrow::fit;

/// Options that choose the oracle, its socket and its memory.
#[derive(Args)]
pub struct OracleArguments {
    /// Method that finds the slice of a line
    #[arg(long, value_enum, default_value_t)]
    pub oracle: Oracle,

    #[command(flatten)]
    memory: MemoryArguments,

    /// The processor that loads the lines, and whose socket is examined [default: the socket's first]
    #[arg(long, value_name = "N", value_parser = small_number)]
    cpu: Option<u32>,

    /// The socket that is examined, as the kernel numbers it [default: the processor's, or the first]
    ///
    /// Slice numbers belong to a socket: processor and memory have to be in it.
    #[arg(long, value_name = "N", value_parser = small_number)]
    socket: Option<u32>,

    /// Number of slices of the socket, if neither the kernel nor the size of the cache gives it
    #[arg(long, value_name = "N", value_parser = within(2..=256))]
    slices: Option<u64>,

    /// Write the registers of counters, if they are needed
    #[arg(long)]
    apply: bool,
}

/// The kind of oracle.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Oracle {
    /// Counters; timing if this machine has none
    #[default]
    Auto,
    /// Counters of look-ups at each slice
    Counters,
    /// Latencies from several cores: slices up to their names, which the table then gives by distance
    Timing,
}

/// A function that finds the slice of a physical address, or `None` if no slice stands out.
pub type SliceQuery<'a> = dyn FnMut(u64) -> Result<Option<u16>, OracleError> + 'a;

/// The oracle of one socket, as the options choose it.
pub struct SocketOracle<'a> {
    arguments: &'a OracleArguments,
    context: &'a HostContext,
    pub machine: SliceMachine,
    /// Slices of the table that is compared with the machine.
    table_slices: Option<u32>,
}

/// The result of one use of the oracle.
pub struct OracleRun<T> {
    pub report: SlicesReport,
    pub outcome: OracleOutcome<T>,
    /// The failure to put back registers that were written, if it failed.
    pub put_back: Result<(), HostFailure>,
}

/// Result of a use of the oracle.
pub enum OracleOutcome<T> {
    /// The result of the work that used the oracle.
    Answered(T),
    /// The reason why this machine has no usable oracle.
    NotEnough(String),
    /// The registers that `--apply` would write; nothing was asked.
    DryRun(TunePlan),
}

impl<'a> SocketOracle<'a> {
    /// Examines the socket of the options.
    ///
    /// # Errors
    /// If this machine has no such processor or socket.
    pub fn new(
        arguments: &'a OracleArguments,
        context: &'a HostContext,
    ) -> Result<Self, HostFailure> {
        let (cpu, socket) = (arguments.cpu.map(CpuId), arguments.socket.map(PackageId));
        let machine = SliceMachine::read(&context.host, cpu, socket).map_err(no_counters)?;
        Ok(Self { arguments, context, machine, table_slices: None })
    }

    /// Number of slices of the socket: from `--slices`, else from the kernel or the size of the cache.
    pub fn slices(&self) -> Option<u32> {
        let given = self.arguments.slices.map(fit);
        given.or_else(|| self.machine.slice_count(&self.context.host))
    }

    /// Sets the number of slices of the table that is compared; used if the machine's number is not known.
    pub fn with_table_slices(self, slices: u32) -> Self {
        Self { table_slices: Some(slices), ..self }
    }

    /// Runs `work` with the oracle. `work` counts its questions in the report.
    ///
    /// # Errors
    /// If memory, counters or registers cannot be used.
    pub fn run<T>(
        &self,
        work: impl FnOnce(&mut SlicesReport, &mut SliceQuery<'_>, &Arc<AtomicBool>) -> T,
    ) -> Result<OracleRun<T>, HostFailure> {
        match self.arguments.oracle {
            Oracle::Timing => self.run_timing(None, work),
            Oracle::Counters => self.run_counters(self.counting().map_err(no_counters)?, work),
            Oracle::Auto => match self.counting() {
                Ok(counting) => self.run_counters(counting, work),
                Err(CountersError::NotHere(reason)) => self.run_timing(Some(reason), work),
                Err(error) => Err(no_counters(error)),
            },
        }
    }

    fn counting(&self) -> Result<CountingMethod, CountersError> {
        self.machine.counting_method(&self.context.host, self.arguments.slices.map(fit))
    }

    fn run_counters<T>(
        &self,
        counting: CountingMethod,
        work: impl FnOnce(&mut SlicesReport, &mut SliceQuery<'_>, &Arc<AtomicBool>) -> T,
    ) -> Result<OracleRun<T>, HostFailure> {
        match counting {
            CountingMethod::Perf(slices, running) => {
                let mut report = self.report("counters", Some("perf"), slices);
                let memory = self.memory(&mut report)?;
                let mut oracle = LookupOracle::new(memory, BoxReaders::Perf(running));
                let mut ask = |address| oracle.slice_of(address).map_err(OracleError::from);
                let answered = work(&mut report, &mut ask, &stop_flag()?);
                Ok(OracleRun {
                    report,
                    outcome: OracleOutcome::Answered(answered),
                    put_back: Ok(()),
                })
            }
            CountingMethod::Registers(plan) => {
                let slices = fit(plan.counters.len());
                let report = self.report("counters", Some("registers"), slices);
                if self.arguments.apply {
                    self.run_registers(report, &plan, work)
                } else {
                    let outcome = OracleOutcome::DryRun(plan.plan);
                    Ok(OracleRun { report, outcome, put_back: Ok(()) })
                }
            }
        }
    }

    /// Programs the counters by registers and puts these back before anything is printed.
    fn run_registers<T>(
        &self,
        mut report: SlicesReport,
        plan: &BoxPlan,
        work: impl FnOnce(&mut SlicesReport, &mut SliceQuery<'_>, &Arc<AtomicBool>) -> T,
    ) -> Result<OracleRun<T>, HostFailure> {
        let host = &self.context.host;
        let memory = self.memory(&mut report)?;
        let stop = stop_flag()?;
        let state = self.context.lock(self.context.state_dir()).map_err(|error| {
            HostFailure::from_state(&error, format!("nothing was written: {error}"))
        })?;
        let mut hook = crash_point::step_hook(host.root.is_real());
        let programmed = ProgrammedBoxes::program(host, state, plan, &mut hook)
            .map_err(|error| HostFailure::from_program(&error))?;
        let readers =
            BoxReaders::Registers(host.registers.as_ref(), self.machine.cpu, plan.counters.clone());
        let mut oracle = LookupOracle::new(memory, readers);
        let mut ask = |address| oracle.slice_of(address).map_err(OracleError::from);
        let answered = work(&mut report, &mut ask, &stop);
        let put_back = programmed.restore().map_err(|error| HostFailure::from_program(&error));
        Ok(OracleRun { report, outcome: OracleOutcome::Answered(answered), put_back })
    }

    /// Asks by timing; `no_counters` is the reason why counters are not used, for the report.
    fn run_timing<T>(
        &self,
        no_counters: Option<String>,
        work: impl FnOnce(&mut SlicesReport, &mut SliceQuery<'_>, &Arc<AtomicBool>) -> T,
    ) -> Result<OracleRun<T>, HostFailure> {
        let known = self.slices().or(self.table_slices);
        let mut report = self.report("timing", None, known.unwrap_or(0));
        report.notes.extend(no_counters.map(|reason| format!("no counters: {reason}")));
        let not_enough = |report, reason| OracleRun {
            report,
            outcome: OracleOutcome::NotEnough(reason),
            put_back: Ok(()),
        };
        let Some(slices) = known.filter(|slices| *slices >= 2) else {
            let reason =
                "timing tells slices apart only if their number is known; give it with --slices N";
            return Ok(not_enough(report, reason.into()));
        };
        if self.machine.model.virtual_machine {
            report.notes.push(
                "this is a virtual machine: its physical addresses are not the host's, and a table holds \
                 only until the hypervisor moves its memory"
                    .into(),
            );
        }
        let memory = self.memory(&mut report)?;
        let plan = TimingPlan::new(&self.machine.socket.core_cpus, slices);
        report.notes.push(format!(
            "slices are numbered by their distance from processor {}, not as the hardware does",
            plan.cpus.first().copied().unwrap_or_default()
        ));
        let stop = stop_flag()?;
        match TimingOracle::learn(memory, plan) {
            Err(ClassesError::Memory(error)) => Err(super::no_memory(error)),
            Err(error) => Ok(not_enough(report, error.to_string())),
            Ok(mut oracle) => {
                let mut ask = |address| oracle.slice_of(address).map_err(OracleError::from);
                let answered = work(&mut report, &mut ask, &stop);
                Ok(OracleRun {
                    report,
                    outcome: OracleOutcome::Answered(answered),
                    put_back: Ok(()),
                })
            }
        }
    }

    /// Maps the memory, and enters the pages that a table can cover in the report.
    fn memory(&self, report: &mut SlicesReport) -> Result<Box<dyn ProbeMemory>, HostFailure> {
        let memory = self.arguments.memory.map(self.context, self.machine.cpu)?;
        let size = |size| match size {
            ProbePageSize::TwoMiB => HugePageSize::TwoMiB,
            ProbePageSize::OneGiB => HugePageSize::OneGiB,
        };
        let pages = memory.pages().iter();
        let pages = pages.map(|page| HugePage { start: page.start, size: size(page.size) });
        report.pages = pages.filter(|page| page.start < PAGE_LIMIT).collect();
        note_left_out(report, memory.pages().len())?;
        Ok(memory)
    }

    /// A report of this socket without questions.
    pub fn report(
        &self,
        oracle: &'static str,
        through: Option<&'static str>,
        slices: u32,
    ) -> SlicesReport {
        SlicesReport {
            oracle,
            through,
            part: self.machine.model.name.clone(),
            socket: self.machine.socket.id,
            cpu: self.machine.cpu,
            slices,
            pages: Vec::new(),
            questions: 0,
            notes: Vec::new(),
        }
    }
}

/// Notes in the report how many of all pages are at addresses too high for tables.
///
/// # Errors
/// If all of them are.
fn note_left_out(report: &mut SlicesReport, all: usize) -> Result<(), HostFailure> {
    let limit = bytes(PAGE_LIMIT);
    let left_out = all - report.pages.len();
    if left_out == all {
        return Err(HostFailure::failed(format!(
            "none of {all} huge pages is below {limit}, and tables cannot contain higher addresses\n  remedy: more \
             pages, or --cpu with a processor of the socket that has the low addresses"
        )));
    }
    if left_out > 0 {
        report.notes.push(format!(
            "{left_out} of {all} huge pages are left out: they are not below {limit}, and tables cannot contain higher \
             addresses"
        ));
    }
    Ok(())
}
