//! `run`: settings that are in force while a command runs.

use std::io::{self, Read};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use clap::Args;
use host::cpu::PackageId;
use host::pci_address::Bdf;
use host::tune::{IoAllocRequest, StateDirectory, TunePlan, TunePlanError, TunePlanner, apply};
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use signal_hook::consts::{SIGINT, SIGQUIT};

use crate::HostContext;
use crate::crash_point;
use crate::failure::HostFailure;
use crate::output::{Paint, emit, emit_error};
use crate::signals::is_ignored;
use crate::temporary_settings::{
    check_nothing_pending, check_reaches_all, put_back, put_back_lines,
};
use crate::tune::{SwitchState, ending, lock, mask, plan_failure, request, view};
use crate::value_parsers::small_number;
use crate::watchdog::Watchdog;

/// Hold settings while a command runs, and put the old values back
///
/// Without --apply the plan is shown, and COMMAND is not run. With --apply the settings are written and
/// read back as by tune; if one is not as asked all are put back and COMMAND is not run. They are put
/// back when COMMAND ends, however it ends, and its exit code is passed on (128 + signal after a signal;
/// 126 or 127 if it cannot be started). SIGTERM and SIGHUP are passed on to COMMAND; Ctrl-C reaches it from
/// the terminal. If skipline-host itself is killed, a second process puts them back once COMMAND has ended,
/// and if that is killed too, `skipline-host restore` does. No other skipline-host can change this machine
/// meanwhile. The messages of skipline-host go to standard error.
#[derive(Args)]
pub struct HostRunArguments {
    /// Let I/O writes allocate in the N top ways of the LLC, as tune ddio-ways
    #[arg(long, value_name = "N", value_parser = small_number)]
    ddio_ways: Option<u32>,
    /// Let I/O writes allocate in the ways of a mask, as tune ddio-mask
    #[arg(long, value_name = "MASK", value_parser = mask, conflicts_with = "ddio_ways")]
    ddio_mask: Option<u64>,
    /// Write a mask of a shape that no public source has tried
    #[arg(long, requires = "ddio_mask")]
    untried_mask: bool,
    /// Only on this socket, with --ddio-ways or --ddio-mask
    #[arg(long, value_name = "ID", value_parser = small_number)]
    socket: Option<u32>,
    /// Change the ways although the register has other bits set, which keep their values
    #[arg(long)]
    keep_unknown_bits: bool,
    /// Switch DDIO at root ports, as tune ddio
    #[arg(long, value_enum)]
    ddio: Option<SwitchState>,
    /// Only at the root port above this device
    #[arg(long, value_name = "BDF", requires = "ddio")]
    device: Option<Bdf>,
    /// Switch it although no measurement of this CPU model's switch is published
    #[arg(long, requires = "ddio")]
    unmeasured: bool,
    /// Let I/O allocate in the L3 under a mask of its own, as tune io-alloc
    #[arg(long, value_name = "on|off|MASK", value_parser = request)]
    io_alloc: Option<IoAllocRequest>,
    /// Give a group a mask of ways, like web=0xf; may be repeated
    #[arg(long, value_name = "GROUP=MASK", value_parser = group_mask)]
    cat: Vec<(String, u64)>,
    /// Write and run; without it the plan is shown
    #[arg(long)]
    apply: bool,
    /// The command and its arguments
    #[arg(last = true, required = true, value_name = "COMMAND")]
    command: Vec<String>,
}

fn group_mask(text: &str) -> Result<(String, u64), String> {
    let (group, ways) = text.rsplit_once('=').ok_or("write it as GROUP=MASK, like web=0xf")?;
    Ok((group.to_owned(), mask(ways)?))
}

pub fn run(arguments: &HostRunArguments, context: &HostContext) -> Result<(), HostFailure> {
    let planner = TunePlanner::new(&context.host).map_err(plan_failure)?;
    let planner = planner.keep_unknown_bits(arguments.keep_unknown_bits);
    let planner = planner.allow_any_mask(arguments.untried_mask);
    let planner = planner.allow_unmeasured(arguments.unmeasured);
    let has_ways = arguments.ddio_ways.is_some() || arguments.ddio_mask.is_some();
    if !has_ways && (arguments.socket.is_some() || arguments.keep_unknown_bits) {
        let which = if arguments.socket.is_some() { "--socket" } else { "--keep-unknown-bits" };
        return Err(HostFailure::bad_input(format!(
            "{which} belongs to --ddio-ways or --ddio-mask; give one of them"
        )));
    }
    let planned = || -> Result<TunePlan, HostFailure> {
        let plans = plans(arguments, &planner).map_err(plan_failure)?;
        check_no_conflict(&plans)?;
        let plan = TunePlan::join(plans).ok_or_else(|| {
            HostFailure::bad_input(
                "nothing to hold: give --ddio-ways, --ddio-mask, --ddio, --io-alloc or --cat",
            )
        })?;
        check_reaches_all(&plan)?;
        Ok(plan)
    };
    let plan = planned()?;
    if !arguments.apply {
        let paint = Paint::for_stdout();
        let shown = view::plan(&plan, paint) + &view::dry_run(&plan, paint);
        return Ok(emit(&(shown + "The command was not run.\n"))?);
    }
    let state = lock(context)?;
    // The process that had the lock before may have changed the values that a plan starts from.
    let plan = planned()?;
    check_nothing_pending(context, &state)?;
    let forwarding = CommandSignals::catch()?;
    let watchdog = Watchdog::start(context, &state)?;
    let written = write_settings(context, &state, &plan);
    let ended = written.and_then(|()| forwarding.run(&arguments.command, &watchdog));
    // The values go back also after a failure.
    let restored = put_back(context, &state).inspect_err(|_| {
        // A value that is not put back is the failure of this command; the earlier one is printed.
        let why = ended.as_ref().err().map(HostFailure::message).filter(|why| !why.is_empty());
        emit_error(&why.map(|why| format!("error: {why}\n")).unwrap_or_default());
    });
    watchdog.dismiss();
    emit_error(&put_back_lines(&restored?));
    let status = ended?;
    match status.code().or_else(|| status.signal().map(|signal| 128 + signal)) {
        Some(0) => Ok(()),
        code => {
            Err(HostFailure::code_only(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)))
        }
    }
}

fn plans(
    arguments: &HostRunArguments,
    planner: &TunePlanner<'_>,
) -> Result<Vec<TunePlan>, TunePlanError> {
    let mut plans = Vec::new();
    if let Some(ways) = arguments.ddio_ways {
        plans.push(planner.ddio_ways(ways, arguments.socket.map(PackageId))?);
    }
    if let Some(mask) = arguments.ddio_mask {
        plans.push(planner.ddio_mask(mask, arguments.socket.map(PackageId))?);
    }
    if let Some(state) = arguments.ddio {
        plans.push(planner.ddio(state == SwitchState::On, arguments.device)?);
    }
    if let Some(request) = arguments.io_alloc {
        plans.push(planner.io_alloc(request)?);
    }
    for (group, mask) in &arguments.cat {
        plans.push(planner.cat(group, *mask, None)?);
    }
    Ok(plans)
}

/// Refuses two settings of the same control: the second would undo the first.
fn check_no_conflict(plans: &[TunePlan]) -> Result<(), HostFailure> {
    for (number, plan) in plans.iter().enumerate() {
        for change in &plan.changes {
            let earlier = plans[..number].iter().flat_map(|earlier| &earlier.changes);
            if let Some(other) = earlier.into_iter().find(|it| it.target.is_same(&change.target)) {
                return Err(HostFailure::bad_input(format!(
                    "{}: {:#x} and {:#x} are both asked for; give one of them",
                    change.place, other.asked, change.asked
                )));
            }
        }
    }
    Ok(())
}

/// Writes the plan and reports the outcome of each write.
///
/// # Errors
/// If a write fails, or a control does not contain the value that was asked for.
fn write_settings(
    context: &HostContext,
    state: &StateDirectory<'_>,
    plan: &TunePlan,
) -> Result<(), HostFailure> {
    let mut applied = Vec::new();
    let mut hook = crash_point::step_hook(context.host.root.is_real());
    let ended = apply(&context.host, state, plan, &mut applied, &mut hook);
    emit_error(&(view::plan(plan, Paint::none()) + &view::outcomes(&applied, Paint::none())));
    ended.map_err(|error| {
        HostFailure::from_apply(&error, format!("the command was not run: {error}"))
    })?;
    match ending(&applied, &plan.left_out, None) {
        None => Ok(()),
        Some(ending) => {
            Err(HostFailure::with_ending(ending, "not as asked, so the command was not run"))
        }
    }
}

/// Signals that must not end this program before it has put the old values back: SIGTERM and SIGHUP go to
/// the command, SIGINT and SIGQUIT are noted.
struct CommandSignals {
    /// Signals that are passed on to the command, and the stream that has a byte for each arrival.
    passed_on: Vec<(Signal, UnixStream)>,
    /// Ctrl-C or Ctrl-\\, which the terminal sends to the command as well.
    interrupted: Arc<AtomicBool>,
}

impl CommandSignals {
    fn catch() -> Result<Self, HostFailure> {
        let mut passed_on = Vec::new();
        let signals = [Signal::TERM, Signal::HUP].into_iter();
        // A signal that nohup has made this program ignore stays ignored, here and in the command.
        for signal in signals.filter(|it| !is_ignored(it.as_raw())) {
            let (read, write) = UnixStream::pair().map_err(HostFailure::failed)?;
            signal_hook::low_level::pipe::register(signal.as_raw(), write)
                .map_err(HostFailure::failed)?;
            passed_on.push((signal, read));
        }
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGQUIT] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .map_err(HostFailure::failed)?;
        }
        Ok(Self { passed_on, interrupted })
    }

    /// Runs the command to its end. Signals that arrived before it was started are passed on too.
    fn run(self, command: &[String], watchdog: &Watchdog) -> Result<ExitStatus, HostFailure> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Err(HostFailure::interrupted("interrupted; the command was not run"));
        }
        let [program, arguments @ ..] = command else {
            return Err(HostFailure::bad_input("COMMAND is missing"));
        };
        let mut child = Command::new(program).args(arguments).spawn().map_err(|error| {
            let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
            HostFailure::with_code(code, format!("{program}: cannot be started: {error}"))
        })?;
        let connected = watchdog.watch(&child).and_then(|()| self.pass_on_to(&child));
        let ended = child.wait().map_err(HostFailure::failed);
        connected.and(ended)
    }

    /// Starts a thread for each signal that passes it on. The threads use a descriptor of the process, not
    /// its number, which may be another process's once the command has ended.
    fn pass_on_to(self, child: &Child) -> Result<(), HostFailure> {
        let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
        let process = Arc::new(process.map_err(HostFailure::failed)?);
        for (signal, mut arrivals) in self.passed_on {
            let process = Arc::clone(&process);
            thread::spawn(move || {
                // Ends with this program; a command that has ended already takes no signal.
                while arrivals.read_exact(&mut [0]).is_ok() {
                    let _ = pidfd_send_signal(&*process, signal);
                }
            });
        }
        Ok(())
    }
}
