//! Who is asked about lines, and with which memory: what `slices map` and `slices check` share.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::slices::recovery::{HugePage, PAGE_LIMIT, PageSize};
use clap::{Args, ValueEnum};
use host::cpu::{CpuId, PackageId};
use host::probe_memory::{ProbeMemory, ProbePageSize};
use host::slices::{
    BoxPlan, BoxReaders, ClassesError, CountersError, CountingMethod, LookupOracle,
    ProgrammedBoxes, SliceMachine, TimingOracle, TimingPlan,
};
use host::tune::TunePlan;

use super::asking::AskError;
use super::view::Report;
use super::{MemoryArguments, no_counters};
use crate::Context;
use crate::failure::Failure;
use crate::hold::stop_flag;
use crate::number::{small, within};
use crate::output::bytes;
use units::narrow::fit;

/// The oracle, the socket and the memory that are asked about.
#[derive(Args)]
pub struct OracleArguments {
    /// Who is asked
    #[arg(long, value_enum, default_value_t)]
    pub oracle: Oracle,

    #[command(flatten)]
    memory: MemoryArguments,

    /// The processor that asks, and whose socket is asked [default: the socket's first]
    #[arg(long, value_name = "N", value_parser = small)]
    cpu: Option<u32>,

    /// The socket that is asked, as the kernel numbers it [default: the processor's, or the first]
    ///
    /// Slice numbers belong to a socket: processor and memory have to be its own.
    #[arg(long, value_name = "N", value_parser = small)]
    socket: Option<u32>,

    /// How many slices the socket has, where neither kernel nor size of the cache tell
    #[arg(long, value_name = "N", value_parser = within(2..=256))]
    slices: Option<u64>,

    /// Write the registers of counters, where they are needed
    #[arg(long)]
    apply: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Oracle {
    /// Counters; timing where this machine has none
    #[default]
    Auto,
    /// Counters of look-ups at each slice
    Counters,
    /// Latencies from several cores: slices up to their names, which the table then gives by distance
    Timing,
}

/// A way to ask: the slice of a physical address, or `None` if no slice stands out.
pub type Ask<'a> = dyn FnMut(u64) -> Result<Option<u16>, AskError> + 'a;

/// A socket to be asked about.
pub struct Asked<'a> {
    arguments: &'a OracleArguments,
    context: &'a Context,
    pub machine: SliceMachine,
    /// Slices of the table that is compared, where there is one.
    of_table: Option<u32>,
}

/// What came of asking.
pub struct Told<T> {
    pub report: Report,
    pub outcome: Outcome<T>,
    /// Whether registers that were written are as they were.
    pub put_back: Result<(), Failure>,
}

pub enum Outcome<T> {
    Answered(T),
    NotEnough(String),
    DryRun(TunePlan),
}

impl<'a> Asked<'a> {
    pub fn new(arguments: &'a OracleArguments, context: &'a Context) -> Result<Self, Failure> {
        let (cpu, socket) = (arguments.cpu.map(CpuId), arguments.socket.map(PackageId));
        let machine = SliceMachine::read(&context.host, cpu, socket).map_err(no_counters)?;
        Ok(Self { arguments, context, machine, of_table: None })
    }

    /// Slices of the socket: what the user says, else what kernel or size of the cache tell.
    pub fn slices(&self) -> Option<u32> {
        let said = self.arguments.slices.map(fit);
        said.or_else(|| self.machine.slice_count(&self.context.host))
    }

    /// The same for a table of so many slices: where nothing else tells their number, it does.
    pub fn with_slices_of_table(self, slices: u32) -> Self {
        Self { of_table: Some(slices), ..self }
    }

    /// Lets `work` ask. It counts its questions in the report.
    pub fn ask<T>(
        &self,
        work: impl FnOnce(&mut Report, &mut Ask<'_>, &Arc<AtomicBool>) -> T,
    ) -> Result<Told<T>, Failure> {
        match self.arguments.oracle {
            Oracle::Timing => self.by_timing(None, work),
            Oracle::Counters => self.by_counters(self.counting().map_err(no_counters)?, work),
            Oracle::Auto => match self.counting() {
                Ok(counting) => self.by_counters(counting, work),
                Err(CountersError::NotHere(reason)) => self.by_timing(Some(reason), work),
                Err(error) => Err(no_counters(error)),
            },
        }
    }

    fn counting(&self) -> Result<CountingMethod, CountersError> {
        self.machine.counting_method(&self.context.host, self.arguments.slices.map(fit))
    }

    fn by_counters<T>(
        &self,
        counting: CountingMethod,
        work: impl FnOnce(&mut Report, &mut Ask<'_>, &Arc<AtomicBool>) -> T,
    ) -> Result<Told<T>, Failure> {
        match counting {
            CountingMethod::Perf(slices, running) => {
                let mut report = self.report("counters", Some("perf"), slices);
                let memory = self.memory(&mut report)?;
                let mut oracle = LookupOracle::new(memory, BoxReaders::Perf(running));
                let mut ask = |address| oracle.ask(address).map_err(AskError::from);
                let answered = work(&mut report, &mut ask, &stop_flag()?);
                Ok(Told { report, outcome: Outcome::Answered(answered), put_back: Ok(()) })
            }
            CountingMethod::Registers(plan) => {
                let slices = fit(plan.counters.len());
                let report = self.report("counters", Some("registers"), slices);
                if self.arguments.apply {
                    self.by_registers(report, &plan, work)
                } else {
                    let outcome = Outcome::DryRun(plan.plan);
                    Ok(Told { report, outcome, put_back: Ok(()) })
                }
            }
        }
    }

    /// The boxes are put back before anything is printed.
    fn by_registers<T>(
        &self,
        mut report: Report,
        plan: &BoxPlan,
        work: impl FnOnce(&mut Report, &mut Ask<'_>, &Arc<AtomicBool>) -> T,
    ) -> Result<Told<T>, Failure> {
        let host = &self.context.host;
        let memory = self.memory(&mut report)?;
        let stop = stop_flag()?;
        let state = self
            .context
            .lock(self.context.state_dir())
            .map_err(|error| Failure::of_state(&error, format!("nothing was written: {error}")))?;
        let mut watch = crate::tune::crash::as_told(host.root.is_real());
        let programmed = ProgrammedBoxes::program(host, state, plan, &mut watch)
            .map_err(|error| Failure::of_program(&error))?;
        let readers =
            BoxReaders::Registers(host.registers.as_ref(), self.machine.cpu, plan.counters.clone());
        let mut oracle = LookupOracle::new(memory, readers);
        let mut ask = |address| oracle.ask(address).map_err(AskError::from);
        let answered = work(&mut report, &mut ask, &stop);
        let put_back = programmed.restore().map_err(|error| Failure::of_program(&error));
        Ok(Told { report, outcome: Outcome::Answered(answered), put_back })
    }

    fn by_timing<T>(
        &self,
        instead_of: Option<String>,
        work: impl FnOnce(&mut Report, &mut Ask<'_>, &Arc<AtomicBool>) -> T,
    ) -> Result<Told<T>, Failure> {
        let known = self.slices().or(self.of_table);
        let mut report = self.report("timing", None, known.unwrap_or(0));
        report.notes.extend(instead_of.map(|reason| format!("no counters: {reason}")));
        let not_enough =
            |report, reason| Told { report, outcome: Outcome::NotEnough(reason), put_back: Ok(()) };
        let Some(slices) = known.filter(|slices| *slices >= 2) else {
            let reason =
                "timing tells slices apart only if their number is known; say it with --slices N";
            return Ok(not_enough(report, reason.into()));
        };
        if self.machine.model.virtual_machine {
            report.notes.push(
                "this is a virtual machine: its physical addresses are the hypervisor's pretence, and a \
                 table would hold until the hypervisor moves its memory"
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
                let mut ask = |address| oracle.ask(address).map_err(AskError::from);
                let answered = work(&mut report, &mut ask, &stop);
                Ok(Told { report, outcome: Outcome::Answered(answered), put_back: Ok(()) })
            }
        }
    }

    fn memory(&self, report: &mut Report) -> Result<Box<dyn ProbeMemory>, Failure> {
        let memory = self.arguments.memory.map(self.context, self.machine.cpu)?;
        let size = |size| match size {
            ProbePageSize::TwoMiB => PageSize::TwoMiB,
            ProbePageSize::OneGiB => PageSize::OneGiB,
        };
        let pages = memory.pages().iter();
        let pages = pages.map(|page| HugePage { start: page.start, size: size(page.size) });
        report.pages = pages.filter(|page| page.start < PAGE_LIMIT).collect();
        note_left_out(report, memory.pages().len())?;
        Ok(memory)
    }

    pub fn report(
        &self,
        oracle: &'static str,
        through: Option<&'static str>,
        slices: u32,
    ) -> Report {
        Report {
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

/// Says how many of all pages are too high for tables; without any other there is nothing to ask about.
fn note_left_out(report: &mut Report, all: usize) -> Result<(), Failure> {
    let limit = bytes(PAGE_LIMIT);
    let left_out = all - report.pages.len();
    if left_out == all {
        return Err(Failure::failed(format!(
            "none of {all} huge pages is below {limit}, and tables hold no higher addresses\n  remedy: more \
             pages, or --cpu with a processor of the socket that has the low addresses"
        )));
    }
    if left_out > 0 {
        report.notes.push(format!(
            "{left_out} of {all} huge pages are left out: they are not below {limit}, and tables hold no higher \
             addresses"
        ));
    }
    Ok(())
}
