//! `run`: settings that are held while a command runs.

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

use crate::Context;
use crate::failure::Failure;
use crate::guard::Guard;
use crate::hold::{check_nothing_pending, check_reaches_all, is_ignored, put_back};
use crate::number::small;
use crate::output::{Paint, emit, emit_error};
use crate::tune::{State, crash, ending, lock, mask, refused, request, view};

/// Hold settings while a command runs, and put the old values back
///
/// Without --apply the plan is shown, and COMMAND is not run. With --apply the settings are written and
/// read back as by tune; if one is not as asked all are put back and COMMAND is not run. They are put
/// back when COMMAND ends, however it ends, and its exit code is passed on (128 + signal after a signal;
/// 126 or 127 if it cannot be started). SIGTERM and SIGHUP are passed on to COMMAND; Ctrl-C reaches it from
/// the terminal. If skipline-host itself is killed, a second process puts them back once COMMAND has ended,
/// and if that is killed too, `skipline-host restore` does. No other skipline-host can change this machine
/// meanwhile. What skipline-host says goes to standard error.
#[derive(Args)]
pub struct Arguments {
    /// Let I/O writes allocate in the N top ways of the LLC, as tune ddio-ways
    #[arg(long, value_name = "N", value_parser = small)]
    ddio_ways: Option<u32>,
    /// Let I/O writes allocate in the ways of a mask, as tune ddio-mask
    #[arg(long, value_name = "MASK", value_parser = mask, conflicts_with = "ddio_ways")]
    ddio_mask: Option<u64>,
    /// Write a mask of a shape that no public source has tried
    #[arg(long, requires = "ddio_mask")]
    untried_mask: bool,
    /// Only on this socket, with --ddio-ways or --ddio-mask
    #[arg(long, value_name = "ID", value_parser = small)]
    socket: Option<u32>,
    /// Change the ways although the register has other bits set, which keep their values
    #[arg(long)]
    keep_unknown_bits: bool,
    /// Switch DDIO at root ports, as tune ddio
    #[arg(long, value_enum)]
    ddio: Option<State>,
    /// Only at the root port above this device
    #[arg(long, value_name = "BDF", requires = "ddio")]
    device: Option<Bdf>,
    /// Switch it although no measurement of this part's switch is published
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

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let planner = TunePlanner::new(&context.host).map_err(refused)?;
    let planner = planner.keep_unknown_bits(arguments.keep_unknown_bits);
    let planner = planner.allow_any_mask(arguments.untried_mask);
    let planner = planner.allow_unmeasured(arguments.unmeasured);
    let has_ways = arguments.ddio_ways.is_some() || arguments.ddio_mask.is_some();
    if !has_ways && (arguments.socket.is_some() || arguments.keep_unknown_bits) {
        let which = if arguments.socket.is_some() { "--socket" } else { "--keep-unknown-bits" };
        return Err(Failure::bad_input(format!(
            "{which} belongs to --ddio-ways or --ddio-mask; give one of them"
        )));
    }
    let planned = || -> Result<TunePlan, Failure> {
        let plans = plans(arguments, &planner).map_err(refused)?;
        check_once(&plans)?;
        let plan = TunePlan::join(plans).ok_or_else(|| {
            Failure::bad_input(
                "nothing to hold: give --ddio-ways, --ddio-mask, --ddio, --io-alloc or --cat",
            )
        })?;
        check_reaches_all(&plan)?;
        Ok(plan)
    };
    let plan = planned()?;
    if !arguments.apply {
        let paint = Paint::of_stdout();
        let shown = view::plan(&plan, paint) + &view::dry_run(&plan, paint);
        return Ok(emit(&(shown + "The command was not run.\n"))?);
    }
    let state = lock(context)?;
    // The one that had the lock may have changed the values that a plan begins at.
    let plan = planned()?;
    check_nothing_pending(context, &state)?;
    let forwarding = Forwarding::catch()?;
    let guard = Guard::start(context, &state)?;
    let held = hold(context, &state, &plan);
    let ended = held.and_then(|()| forwarding.run(&arguments.command, &guard));
    // Whatever happened before.
    let restored = put_back(context, &state).inspect_err(|_| {
        // A value that is not put back matters more than why it ended.
        let why = ended.as_ref().err().map(Failure::message).filter(|why| !why.is_empty());
        emit_error(&why.map(|why| format!("error: {why}\n")).unwrap_or_default());
    });
    guard.dismiss();
    let restored = restored?;
    let lines = restored.iter().map(|one| format!("  {}: put back\n", one.place));
    emit_error(&lines.collect::<String>());
    let status = ended?;
    match status.code().or_else(|| status.signal().map(|signal| 128 + signal)) {
        Some(0) => Ok(()),
        code => Err(Failure::silent(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))),
    }
}

fn plans(arguments: &Arguments, planner: &TunePlanner<'_>) -> Result<Vec<TunePlan>, TunePlanError> {
    let mut plans = Vec::new();
    if let Some(ways) = arguments.ddio_ways {
        plans.push(planner.ddio_ways(ways, arguments.socket.map(PackageId))?);
    }
    if let Some(mask) = arguments.ddio_mask {
        plans.push(planner.ddio_mask(mask, arguments.socket.map(PackageId))?);
    }
    if let Some(state) = arguments.ddio {
        plans.push(planner.ddio(state == State::On, arguments.device)?);
    }
    if let Some(request) = arguments.io_alloc {
        plans.push(planner.io_alloc(request)?);
    }
    for (group, mask) in &arguments.cat {
        plans.push(planner.cat(group, *mask, None)?);
    }
    Ok(plans)
}

/// Refuses settings of which one would undo another.
fn check_once(plans: &[TunePlan]) -> Result<(), Failure> {
    for (number, plan) in plans.iter().enumerate() {
        for change in &plan.changes {
            let earlier = plans[..number].iter().flat_map(|earlier| &earlier.changes);
            if let Some(other) = earlier.into_iter().find(|it| it.target.is_same(&change.target)) {
                return Err(Failure::bad_input(format!(
                    "{}: {:#x} and {:#x} are both asked for; give one of them",
                    change.place, other.asked, change.asked
                )));
            }
        }
    }
    Ok(())
}

/// Writes the plan; an error if a control does not hold what was asked.
fn hold(context: &Context, state: &StateDirectory<'_>, plan: &TunePlan) -> Result<(), Failure> {
    let mut applied = Vec::new();
    let mut watch = crash::as_told(context.host.root.is_real());
    let ended = apply(&context.host, state, plan, &mut applied, &mut watch);
    emit_error(&(view::plan(plan, Paint::none()) + &view::outcomes(&applied, Paint::none())));
    ended
        .map_err(|error| Failure::of_apply(&error, format!("the command was not run: {error}")))?;
    match ending(&applied, &plan.left_out, None) {
        None => Ok(()),
        Some(ending) => Err(Failure::ended(ending, "not as asked, so the command was not run")),
    }
}

/// Signals that must not end this program, so that it puts back what it holds.
struct Forwarding {
    /// Signals that are passed on to the command, and where each is heard.
    passed_on: Vec<(Signal, UnixStream)>,
    /// Ctrl-C or Ctrl-\\, which the terminal sends to the command as well.
    interrupted: Arc<AtomicBool>,
}

impl Forwarding {
    fn catch() -> Result<Self, Failure> {
        let mut passed_on = Vec::new();
        let signals = [Signal::TERM, Signal::HUP].into_iter();
        // What nohup has ignored stays ignored, here and in the command.
        for signal in signals.filter(|it| !is_ignored(it.as_raw())) {
            let (read, write) = UnixStream::pair().map_err(Failure::failed)?;
            signal_hook::low_level::pipe::register(signal.as_raw(), write)
                .map_err(Failure::failed)?;
            passed_on.push((signal, read));
        }
        let interrupted = Arc::new(AtomicBool::new(false));
        for signal in [SIGINT, SIGQUIT] {
            signal_hook::flag::register(signal, Arc::clone(&interrupted))
                .map_err(Failure::failed)?;
        }
        Ok(Self { passed_on, interrupted })
    }

    /// Runs the command to its end. Signals that came before it was started are passed on too.
    fn run(self, command: &[String], guard: &Guard) -> Result<ExitStatus, Failure> {
        if self.interrupted.load(Ordering::SeqCst) {
            return Err(Failure::interrupted("interrupted; the command was not run"));
        }
        let [program, arguments @ ..] = command else {
            return Err(Failure::bad_input("COMMAND is missing"));
        };
        let mut child = Command::new(program).args(arguments).spawn().map_err(|error| {
            let code = if error.kind() == io::ErrorKind::NotFound { 127 } else { 126 };
            Failure::passed(code, format!("{program}: cannot be started: {error}"))
        })?;
        let told = guard.watch(&child).and_then(|()| self.pass_on_to(&child));
        let ended = child.wait().map_err(Failure::failed);
        told.and(ended)
    }

    /// A descriptor of the process, not its number: that may be another's once it has ended.
    fn pass_on_to(self, child: &Child) -> Result<(), Failure> {
        let process = pidfd_open(Pid::from_child(child), PidfdFlags::empty());
        let process = Arc::new(process.map_err(Failure::failed)?);
        for (signal, mut heard) in self.passed_on {
            let process = Arc::clone(&process);
            thread::spawn(move || {
                // Ends with this program; a command that has ended already takes no signal.
                while heard.read_exact(&mut [0]).is_ok() {
                    let _ = pidfd_send_signal(&*process, signal);
                }
            });
        }
        Ok(())
    }
}
