//! `slices map`: learns the slice function and writes it as a table.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ::slices::recovery::{
    HugePage, PAGE_LIMIT, PageSize, Recovered, RecoveryError, Settings, recover,
};
use clap::{Args, ValueEnum};
use host::cpu::CpuId;
use host::slices::{
    BoxPlan, BoxReaders, ClassesError, Counting, LookupOracle, NoCounters, ProbeMemory,
    ProbePageSize, ProgrammedBoxes, SliceMachine, TimingOracle, TimingPlan,
};

use super::asking::{AskError, Asking, stop_flag};
use super::view::{Report, Verdict, show};
use super::{MemoryArguments, no_counters};
use crate::Context;
use crate::failure::Failure;
use crate::number::{small, within};
use crate::out_file::OutFile;
use crate::output::{Format, bytes};
use units::narrow::fit;

/// Learn the slice function of this machine and write it as a table
///
/// Lines of huge pages are loaded and flushed over and over while the counters of all slices run: the
/// slice with most look-ups has the line. Single answers may be wrong: every decision is a vote, the
/// result is compared with fresh addresses, and the table states its evidence and the addresses for which
/// it holds. What is not established is not written: the verdict is then "not enough evidence".
///
/// Through perf (a kernel with the uncore driver) nothing of the machine is changed. Without it the
/// counters' own control registers have to be written: without --apply that is only shown; with it each old
/// value is journalled on the disk first, and put back at the end, after Ctrl-C and after errors;
/// `skipline-host restore` puts them back after a kill.
///
/// Needs root (physical addresses, counters) and free huge pages. In a virtual machine, physical addresses
/// are the guest's and counters are hidden: run it on the host.
#[derive(Args)]
pub struct Arguments {
    /// Who is asked
    #[arg(long, value_enum, default_value_t)]
    oracle: Oracle,

    /// The table file
    #[arg(long, value_name = "FILE", default_value = "slices.toml")]
    out: PathBuf,

    #[command(flatten)]
    memory: MemoryArguments,

    /// Most questions to ask
    #[arg(long, value_name = "QUERIES", default_value_t = 4_000_000, value_parser = within(10_000..=10_000_000_000))]
    budget: u64,

    /// The processor that asks, and whose socket is asked [default: the first]
    #[arg(long, value_name = "N", value_parser = small)]
    cpu: Option<u32>,

    /// How many slices the socket has, where neither kernel nor size of the cache tell
    #[arg(long, value_name = "N", value_parser = within(2..=256))]
    slices: Option<u64>,

    /// Write the registers of counters, where they are needed
    #[arg(long)]
    apply: bool,

    /// For people or for programs
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Oracle {
    /// Counters; timing where this machine has none
    #[default]
    Auto,
    /// Counters of look-ups at each slice
    Counters,
    /// Latencies from several cores: slices up to their names, which the table then gives by distance
    Timing,
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let out = OutFile::prepare(&arguments.out)?;
    let machine =
        SliceMachine::read(&context.host, arguments.cpu.map(CpuId)).map_err(no_counters)?;
    let map = Map { arguments, context, machine, out };
    match arguments.oracle {
        Oracle::Timing => map.by_timing(None),
        Oracle::Counters => map.by_counters(map.counting().map_err(no_counters)?),
        Oracle::Auto => match map.counting() {
            Ok(counting) => map.by_counters(counting),
            Err(NoCounters::NotHere(reason)) => map.by_timing(Some(reason)),
            Err(error) => Err(no_counters(error)),
        },
    }
}

struct Map<'a> {
    arguments: &'a Arguments,
    context: &'a Context,
    machine: SliceMachine,
    out: OutFile,
}

impl Map<'_> {
    /// What the user says.
    fn slices(&self) -> Option<u32> {
        self.arguments.slices.map(fit)
    }

    fn counting(&self) -> Result<Counting, NoCounters> {
        self.machine.counting(&self.context.host, self.slices())
    }

    fn by_counters(&self, counting: Counting) -> Result<(), Failure> {
        match counting {
            Counting::Perf(slices, running) => {
                let mut report = self.report("counters", Some("perf"), slices);
                let memory = self.memory(&mut report)?;
                let oracle = LookupOracle::new(memory, BoxReaders::Perf(running));
                let found = self.ask_counters(&mut report, oracle, &stop_flag()?);
                self.finish(&report, found)
            }
            Counting::Registers(plan) => {
                let slices = fit(plan.counters.len());
                let report = self.report("counters", Some("registers"), slices);
                if self.arguments.apply {
                    self.by_registers(report, &plan)
                } else {
                    show(self.arguments.format, &report, &Verdict::DryRun(&plan.plan))
                }
            }
        }
    }

    /// The boxes are put back before anything is printed.
    fn by_registers(&self, mut report: Report, plan: &BoxPlan) -> Result<(), Failure> {
        let host = &self.context.host;
        let memory = self.memory(&mut report)?;
        let stop = stop_flag()?;
        let state = self
            .context
            .lock(self.context.state_dir())
            .map_err(|error| Failure::failed(format!("nothing was written: {error}")))?;
        let mut watch = crate::tune::crash::as_told(host.root.is_real());
        let programmed =
            ProgrammedBoxes::program(host, state, plan, &mut watch).map_err(Failure::failed)?;
        let readers =
            BoxReaders::Registers(host.registers.as_ref(), self.machine.cpu, plan.counters.clone());
        let found = self.ask_counters(&mut report, LookupOracle::new(memory, readers), &stop);
        let put_back = programmed.put_back();
        let told = self.finish(&report, found);
        put_back.map_err(Failure::failed).and(told)
    }

    fn ask_counters(
        &self,
        report: &mut Report,
        mut oracle: LookupOracle<'_>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Recovered, RecoveryError<AskError>> {
        let ask = |address| oracle.ask(address).map_err(AskError::from);
        self.ask(report, ask, stop)
    }

    fn by_timing(&self, instead_of: Option<String>) -> Result<(), Failure> {
        let known = self.slices().or_else(|| self.machine.slices(&self.context.host));
        let mut report = self.report("timing", None, known.unwrap_or(0));
        report.notes.extend(instead_of.map(|reason| format!("no counters: {reason}")));
        let Some(slices) = known.filter(|slices| *slices >= 2) else {
            let reason =
                "timing tells slices apart only if their number is known; say it with --slices N";
            return show(self.arguments.format, &report, &Verdict::NotEnough(reason.into()));
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
            Err(error) => {
                show(self.arguments.format, &report, &Verdict::NotEnough(error.to_string()))
            }
            Ok(mut oracle) => {
                let ask = |address| oracle.ask(address).map_err(AskError::from);
                let found = self.ask(&mut report, ask, &stop);
                self.finish(&report, found)
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

    fn ask(
        &self,
        report: &mut Report,
        ask: impl FnMut(u64) -> Result<Option<u16>, AskError>,
        stop: &Arc<AtomicBool>,
    ) -> Result<Recovered, RecoveryError<AskError>> {
        let budget = self.arguments.budget;
        let settings =
            Settings { most_questions: budget, ..Settings::new(&report.part, &report.source()) };
        let mut oracle = Asking::new(ask, report.slices, budget, Arc::clone(stop));
        let found = recover(&mut oracle, &report.pages, &settings);
        report.questions = oracle.asked();
        found
    }

    fn finish(
        &self,
        report: &Report,
        found: Result<Recovered, RecoveryError<AskError>>,
    ) -> Result<(), Failure> {
        let format = self.arguments.format;
        match found {
            Ok(recovered) => {
                self.out.write(&recovered.file.write())?;
                show(format, report, &Verdict::Established(&recovered, &self.arguments.out))
            }
            Err(RecoveryError::NotEnoughEvidence(reason)) => {
                show(format, report, &Verdict::NotEnough(reason.to_string()))
            }
            Err(RecoveryError::Oracle(silent @ AskError::Silent(_))) => {
                show(format, report, &Verdict::NotEnough(silent.to_string()))
            }
            Err(RecoveryError::Oracle(AskError::Stopped)) => Err(Failure::interrupted(format!(
                "interrupted after {} questions; no table was written",
                report.questions
            ))),
            Err(RecoveryError::Oracle(error)) => Err(Failure::failed(error)),
            Err(error) => Err(Failure::failed(error)),
        }
    }

    fn report(&self, oracle: &'static str, through: Option<&'static str>, slices: u32) -> Report {
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
