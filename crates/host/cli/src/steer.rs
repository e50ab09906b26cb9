//! `steer`: a controller sets the ways for I/O from the counters of device writes.

use std::time::{Duration, Instant};

use clap::{Args, ValueEnum};
use controllers::{Iat, IatConfig, Threshold, ThresholdConfig, WayController};
use host::cpu::PackageId;
use host::monitor::Monitor;
use host::steer::{SteerError, SteeringLoop, SteeringOutcome, SteeringStep, WayBounds, bounds};
use host::tune::{StateDirectory, TunePlanner};
use serde::Serialize;

use crate::HostContext;
use crate::crash_point;
use crate::failure::{Ending, HostFailure};
use crate::output::{TextOrJson, Versioned, emit_error, emit_while_read};
use crate::signals::Signals;
use crate::temporary_settings::{check_nothing_pending, put_back, put_back_lines};
use crate::tune::{lock, plan_failure};
use crate::value_parsers::{duration, small_number, within};
use crate::watchdog::Watchdog;

/// Relative change of a counter below which IAT takes it for stable.
const STABLE_SHARE: f64 = 0.03;

/// Let a controller set the ways for I/O from what counters report
///
/// After each window the controller of a socket looks at the lines that devices wrote and that were not
/// in the cache, and asks for more ways or fewer. Without --apply nothing is written: what would be set
/// is shown. With --apply each change goes through journal and read-back as with tune, and the first
/// values are put back in the end, however it ends: after the time of --for, with Ctrl-C or another
/// signal (130, at the end of the window), when counters vanish or another program sets the ways (1). If
/// skipline-host itself is killed, a second process puts them back, and if that is killed too,
/// `skipline-host restore` does.
#[derive(Args)]
pub struct SteerArguments {
    /// The controller that decides
    #[arg(long, value_enum, default_value_t)]
    controller: ControllerRule,
    /// Only this socket
    #[arg(long, value_name = "ID", value_parser = small_number)]
    socket: Option<u32>,
    /// Milliseconds of a window
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = within(10..=60_000))]
    window: u64,
    /// Fewest ways, no fewer than tune sets [default: the fewest of this CPU model]
    #[arg(long, value_name = "N", value_parser = small_number)]
    min_ways: Option<u32>,
    /// Most ways
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = small_number)]
    max_ways: u32,
    /// Write misses in a second above which devices lack ways
    #[arg(long, value_name = "MISSES", default_value_t = 1_000_000, value_parser = within(0..=u64::MAX))]
    grow_above: u64,
    /// Threshold: write misses in a second below which a window is quiet
    #[arg(long, value_name = "MISSES", default_value_t = 100_000, value_parser = within(0..=u64::MAX))]
    shrink_below: u64,
    /// Threshold: quiet windows in a row before a way is taken back
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = within(1..=64))]
    shrink_after: u64,
    /// Changes of all sockets together in any minute
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = within(1..=600))]
    changes_per_minute: u64,
    /// End after this time (like 10m; ms, s, m or h)
    #[arg(long, value_name = "TIME", value_parser = duration)]
    r#for: Option<Duration>,
    /// End after so many windows
    #[arg(long, value_name = "N", value_parser = within(1..=u64::MAX))]
    windows: Option<u64>,
    /// Write; without it nothing is written
    #[arg(long)]
    apply: bool,
    /// Format of the output: text, or a JSON object for each socket and window
    #[arg(long, value_enum, default_value_t)]
    format: TextOrJson,
}

/// The controller that decides.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum ControllerRule {
    /// One way more while devices miss often, one less when they have missed seldom for a while
    #[default]
    Threshold,
    /// IAT of ISCA'21 (recalled) for devices alone: masks of groups stay
    Iat,
}

impl SteerArguments {
    /// The bounds of each socket.
    fn bounds(&self, planner: &TunePlanner<'_>) -> Result<Vec<WayBounds>, HostFailure> {
        let found = bounds(planner, self.socket.map(PackageId)).map_err(plan_failure)?;
        for socket in &found {
            let (least, most) = (self.min_ways.unwrap_or(socket.fewest), self.max_ways);
            if least < socket.fewest || most > socket.most || least > most {
                return Err(HostFailure::bad_input(format!(
                    "--min-ways {least}, --max-ways {most}: allowed are {} to {} on socket {}",
                    socket.fewest, socket.most, socket.socket
                )));
            }
        }
        if self.controller == ControllerRule::Threshold && self.shrink_below > self.grow_above {
            return Err(HostFailure::bad_input(format!(
                "--shrink-below {}: allowed is up to --grow-above {}",
                self.shrink_below, self.grow_above
            )));
        }
        Ok(found)
    }

    fn controller(&self, socket: WayBounds) -> Box<dyn WayController> {
        let bounds = (self.min_ways.unwrap_or(socket.fewest), self.max_ways);
        let grow_above_per_s = self.grow_above as f64;
        match self.controller {
            ControllerRule::Threshold => {
                let config = ThresholdConfig {
                    bounds,
                    grow_above_per_s,
                    shrink_below_per_s: self.shrink_below as f64,
                    shrink_after_periods: u32::try_from(self.shrink_after).unwrap_or(u32::MAX),
                };
                Box::new(Threshold::new(config, socket.now))
            }
            ControllerRule::Iat => {
                let config = IatConfig {
                    llc_ways: socket.most,
                    bounds,
                    miss_low_per_s: grow_above_per_s,
                    stable_share: STABLE_SHARE,
                    tenants: Vec::new(),
                };
                Box::new(Iat::new(config, socket.now))
            }
        }
    }
}

pub fn run(arguments: &SteerArguments, context: &HostContext) -> Result<(), HostFailure> {
    let planner = TunePlanner::new(&context.host).map_err(plan_failure)?;
    let sockets = arguments.bounds(&planner)?;
    let monitor = Monitor::prepare(&context.host, planner.generation(), planner.sockets());
    if !monitor.counts_device_hits() {
        let why = monitor.unavailable().iter().map(|unread| format!("\n  {unread}"));
        let why: String = why.collect();
        return Err(HostFailure::refused(format!(
            "writes of devices cannot be counted here:{why}"
        )));
    }
    let window = Duration::from_millis(arguments.window);
    let limits = (window, usize::try_from(arguments.changes_per_minute).unwrap_or(usize::MAX));
    let make = |socket| arguments.controller(socket);
    if !arguments.apply {
        let parts = (&planner, &monitor);
        let mut steering = SteeringLoop::new(&context.host, parts, limits, &sockets, make)
            .map_err(plan_failure)?;
        emit_error("dry run: nothing is written; --apply writes\n");
        let mut signals = Signals::catch()?;
        return steer(arguments, context, &mut steering, None, &mut signals);
    }
    let state = lock(context)?;
    check_nothing_pending(context, &state)?;
    // The process that had the lock before may have changed the ways.
    let sockets = arguments.bounds(&planner)?;
    let mut signals = Signals::catch()?;
    let mut steering =
        SteeringLoop::new(&context.host, (&planner, &monitor), limits, &sockets, make)
            .map_err(plan_failure)?;
    let watchdog = Watchdog::start(context, &state)?;
    let ended = steer(arguments, context, &mut steering, Some(&state), &mut signals);
    // The values go back also after a failure.
    let restored = put_back(context, &state);
    watchdog.dismiss();
    match (ended, restored) {
        // A value that is not put back matters more than why steering has ended.
        (Err(failure), Err(left)) => {
            emit_error(&format!("{}\n", failure.message()));
            Err(left)
        }
        (ended, restored) => {
            emit_error(&put_back_lines(&restored?));
            ended
        }
    }
}

/// Steers window by window, until the time is over, a signal arrives, or an error occurs.
fn steer(
    arguments: &SteerArguments,
    context: &HostContext,
    steering: &mut SteeringLoop<'_>,
    state: Option<&StateDirectory<'_>>,
    signals: &mut Signals,
) -> Result<(), HostFailure> {
    let began = Instant::now();
    let (mut number, mut passed) = (0, Duration::ZERO);
    let mut hook = crash_point::step_hook(context.host.root.is_real());
    while arguments.windows.is_none_or(|most| number < most)
        && arguments.r#for.is_none_or(|most| passed < most)
    {
        let writer = state.map(|state| (state, &mut hook as host::tune::Watch<'_>));
        let steered = steering.step(writer, passed).map_err(steer_failure)?;
        for socket in &steered {
            emit_while_read(&line(arguments.format, number, socket)?)?;
        }
        number += 1;
        // Counters of a described machine do not wait: its windows are those that were asked for.
        let counted = Duration::from_millis(arguments.window).saturating_mul(small_count(number));
        passed = if context.host.root.is_real() { began.elapsed() } else { counted };
        if signals.poll(pause(arguments, context))? {
            return Err(HostFailure::reported(Ending::Interrupted));
        }
    }
    Ok(())
}

fn small_count(number: u64) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The time to wait for a signal after a window: zero, but for a described machine whose windows have no
/// limit. They take no time, so the output would rush past.
fn pause(arguments: &SteerArguments, context: &HostContext) -> Duration {
    let is_endless = arguments.windows.is_none() && arguments.r#for.is_none();
    match is_endless && !context.host.root.is_real() {
        true => Duration::from_millis(arguments.window),
        false => Duration::ZERO,
    }
}

/// The failure of a command that cannot steer any further.
fn steer_failure(error: SteerError) -> HostFailure {
    match error {
        SteerError::Plan(error) => plan_failure(error),
        SteerError::Apply(error) => HostFailure::from_apply(&error, &error),
        SteerError::NotAsAsked { is_refused: true, .. } => HostFailure::refused(error),
        SteerError::NotAsAsked { .. } => HostFailure::with_ending(Ending::NotAsAsked, error),
        other => HostFailure::failed(format!("{other}; steering has ended")),
    }
}

/// A socket in one window, as the JSON output has it.
#[derive(Serialize)]
struct SteerRow<'a> {
    window: u64,
    #[serde(flatten)]
    steered: &'a SteeringStep,
}

fn line(format: TextOrJson, window: u64, steered: &SteeringStep) -> Result<String, HostFailure> {
    if format == TextOrJson::Json {
        let row = SteerRow { window, steered };
        let text = serde_json::to_string(&Versioned::new(&row)).map_err(std::io::Error::from)?;
        return Ok(text + "\n");
    }
    let SteeringStep { socket, write_hits_per_s, write_misses_per_s, ways, wanted, became } =
        steered;
    let became = match became {
        SteeringOutcome::AsIs => String::new(),
        SteeringOutcome::WouldSet => format!(", would be {wanted}"),
        SteeringOutcome::Set => format!(", now {wanted}"),
        SteeringOutcome::TooOften => {
            format!(", wanted {wanted}: too many changes in the last minute")
        }
    };
    let [hits, misses] = [write_hits_per_s, write_misses_per_s].map(|lines| lines / 1e6);
    Ok(format!(
        "window {window}, socket {socket}: {hits:.2} M/s hit, {misses:.2} M/s miss; {ways} ways{became}\n"
    ))
}
