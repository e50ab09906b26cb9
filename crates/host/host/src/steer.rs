//! Steers the ways of devices: after each window a controller decides how many ways devices need, and
//! they are written to the register.
//!
//! The controllers are those of the crate `controllers`, which simulated machines have too. A change goes
//! through plan, journal and read-back as any other; anything unexpected ends the steering, and the
//! caller puts the first values back.

use std::time::Duration;

use controllers::{Governor, PeriodCounters, WayController};
use serde::Serialize;

use crate::cpu::PackageId;
use crate::error::FileError;
use crate::machine::Host;
use crate::monitor::{Monitor, MonitorSample, SocketSample};
use crate::tune::{
    ChangeOutcome, StateDirectory, TuneApplyError, TunePlan, TunePlanError, TunePlanner, Watch,
    apply,
};

/// Outcome of a controller's decision.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SteeringOutcome {
    /// The register has the wanted number of ways already.
    AsIs,
    /// The ways would be set; a dry run writes nothing.
    WouldSet,
    /// The ways were set.
    Set,
    /// The ways were not set: the last minute had as many changes as are allowed.
    TooOften,
}

/// Counts and decision of a socket after a window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SteeringStep {
    /// Socket that is steered.
    pub socket: PackageId,
    /// Lines that devices wrote and that were in the LLC, each second.
    pub write_hits_per_s: f64,
    /// Lines that devices wrote and that were not in the LLC, each second.
    pub write_misses_per_s: f64,
    /// Number of ways of devices during the window.
    pub ways: u32,
    /// Number of ways that the controller wants.
    pub wanted: u32,
    /// Outcome of the controller's decision.
    pub became: SteeringOutcome,
}

/// Error that ends steering.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SteerError {
    /// the events that the controller needs are not counted any more
    #[error("the counters of socket {socket} are gone: {reason}")]
    CountersGone {
        /// The socket.
        socket: PackageId,
        /// The missing counters, or the reason.
        reason: String,
    },
    /// the kernel refuses the events
    #[error("the counters are gone: {0}")]
    Unread(#[from] FileError),
    /// another program wrote the register
    #[error(
        "another program set the ways of socket {socket} to {holds:#x}, where {expected:#x} was"
    )]
    Foreign {
        /// The socket.
        socket: PackageId,
        /// Current mask.
        holds: u64,
        /// Mask that was set last.
        expected: u64,
    },
    /// the register does not read back the requested value
    #[error("{place} does not hold what was asked ({outcome})")]
    NotAsAsked {
        /// The control.
        place: String,
        /// Outcome of the write, for messages.
        outcome: String,
        /// Whether the write was refused, rather than accepted.
        is_refused: bool,
    },
    /// the change cannot be planned
    #[error("{0}")]
    Plan(#[from] TunePlanError),
    /// a change could not be carried out
    #[error("{0}")]
    Apply(#[from] TuneApplyError),
}

/// A socket that is steered, with its controller.
struct SteeredSocket {
    id: PackageId,
    controller: Box<dyn WayController>,
    /// Current mask of ways, in the bits of the register's field.
    mask: u64,
}

/// Bounds of the ways that a controller may request on a socket, and the current number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WayBounds {
    /// Socket that is steered.
    pub socket: PackageId,
    /// Least number of ways that the tool sets.
    pub fewest: u32,
    /// Number of ways of the LLC.
    pub most: u32,
    /// Current number of ways of devices.
    pub now: u32,
}

/// Steering of the sockets of a machine by one controller each.
pub struct SteeringLoop<'a> {
    host: &'a Host,
    planner: &'a TunePlanner<'a>,
    monitor: &'a Monitor,
    window: Duration,
    governor: Governor,
    sockets: Vec<SteeredSocket>,
}

impl<'a> SteeringLoop<'a> {
    /// Starts steering with a controller for each of `sockets`, which `make` builds; it makes at most
    /// `most_changes` changes in any minute.
    ///
    /// # Errors
    /// If a socket's register cannot be read.
    pub fn new(
        host: &'a Host,
        (planner, monitor): (&'a TunePlanner<'a>, &'a Monitor),
        (window, most_changes): (Duration, usize),
        sockets: &[WayBounds],
        make: impl Fn(WayBounds) -> Box<dyn WayController>,
    ) -> Result<Self, TunePlanError> {
        let steered = sockets.iter().map(|&bounds| {
            let (mask, _) = plan_ways(planner, bounds.socket, bounds.most)?;
            Ok(SteeredSocket { id: bounds.socket, controller: make(bounds), mask })
        });
        let sockets = steered.collect::<Result<Vec<_>, TunePlanError>>()?;
        Ok(Self { host, planner, monitor, window, governor: Governor::new(most_changes), sockets })
    }

    /// Counts for a window and carries out the decisions of the controllers. `now` is the time since any
    /// fixed beginning. Without `writer` nothing is written.
    ///
    /// # Errors
    /// If counters are gone, another program wrote a register, or a write was refused or ignored.
    pub fn step(
        &mut self,
        mut writer: Option<(&StateDirectory<'_>, Watch<'_>)>,
        now: Duration,
    ) -> Result<Vec<SteeringStep>, SteerError> {
        let sample = self.monitor.sample(self.host, self.window)?;
        let mut steps = Vec::new();
        for socket in &mut self.sockets {
            let seen = controller_input(&sample, socket.id)?;
            let wanted = socket.controller.decide(&seen).io;
            let (holds, plan) = plan_ways(self.planner, socket.id, wanted)?;
            if holds != socket.mask {
                let (socket, expected) = (socket.id, socket.mask);
                return Err(SteerError::Foreign { socket, holds, expected });
            }
            let ways = holds.count_ones();
            let became = match &mut writer {
                _ if wanted == ways => SteeringOutcome::AsIs,
                None => SteeringOutcome::WouldSet,
                Some(_) if !self.governor.permits(now) => SteeringOutcome::TooOften,
                Some((state, watch)) => {
                    socket.mask = write(self.host, state, &plan, *watch)?;
                    SteeringOutcome::Set
                }
            };
            if matches!(became, SteeringOutcome::WouldSet | SteeringOutcome::TooOften) {
                socket.controller.keep_io_ways(ways);
            }
            let per_s = |lines: u64| lines as f64 / seen.period_s;
            steps.push(SteeringStep {
                socket: socket.id,
                write_hits_per_s: per_s(seen.io_write_hits),
                write_misses_per_s: per_s(seen.io_write_misses),
                ways,
                wanted,
                became,
            });
        }
        Ok(steps)
    }
}

/// Reads the bounds of each socket, or of one.
///
/// # Errors
/// If the machine has no register for the ways of I/O, or the register cannot be read.
pub fn bounds(
    planner: &TunePlanner<'_>,
    only: Option<PackageId>,
) -> Result<Vec<WayBounds>, TunePlanError> {
    let (fewest, sockets) = planner.ways_bounds(only)?;
    let of_socket = |(socket, most): (PackageId, u32)| {
        let (mask, _) = plan_ways(planner, socket, most)?;
        Ok(WayBounds { socket, fewest: fewest.min(most), most, now: mask.count_ones() })
    };
    sockets.into_iter().map(of_socket).collect()
}

/// The current mask of the register, and the plan that sets a number of ways.
fn plan_ways(
    planner: &TunePlanner<'_>,
    id: PackageId,
    ways: u32,
) -> Result<(u64, TunePlan), TunePlanError> {
    let plan = planner.ddio_ways(ways, Some(id))?;
    let holds = plan.changes.first().map_or(0, |change| change.old.unwrap_or(0) & change.owned);
    Ok((holds, plan))
}

/// Writes a plan of one register, and returns the mask that it then has.
fn write(
    host: &Host,
    state: &StateDirectory<'_>,
    plan: &TunePlan,
    watch: Watch<'_>,
) -> Result<u64, SteerError> {
    let mut done = Vec::new();
    apply(host, state, plan, &mut done, watch)?;
    let owned = plan.changes.first().map_or(0, |change| change.owned);
    match done.last() {
        Some(one) if matches!(one.outcome, ChangeOutcome::Set | ChangeOutcome::AlreadySo) => {
            Ok(one.asked & owned)
        }
        last => {
            let place = last.map(|one| one.place.clone()).unwrap_or_default();
            let outcome = last.map(|one| describe_outcome(&one.outcome)).unwrap_or_default();
            let is_refused =
                last.is_some_and(|one| matches!(one.outcome, ChangeOutcome::Refused { .. }));
            Err(SteerError::NotAsAsked { place, outcome, is_refused })
        }
    }
}

fn describe_outcome(outcome: &ChangeOutcome) -> String {
    match outcome {
        ChangeOutcome::Refused { reason } => format!("refused: {reason}"),
        ChangeOutcome::NotReadBack { reason } => format!("cannot be read back: {reason}"),
        ChangeOutcome::Ignored => "the write was ignored".into(),
        ChangeOutcome::Widened { holds } | ChangeOutcome::Different { holds } => {
            format!("it holds {holds:#x}")
        }
        ChangeOutcome::AlreadySo | ChangeOutcome::Kept | ChangeOutcome::Set => {
            "it was not written".into()
        }
    }
}

fn controller_input(sample: &MonitorSample, id: PackageId) -> Result<PeriodCounters, SteerError> {
    let gone = |reason: &str| SteerError::CountersGone { socket: id, reason: reason.into() };
    let of_socket: Option<&SocketSample> = sample.sockets.iter().find(|one| one.socket == id);
    let written = of_socket.and_then(|one| one.pcie_write);
    let written = written.ok_or_else(|| gone("writes of devices are not counted"))?;
    if of_socket.and_then(|one| one.running_share) == Some(0.0) {
        return Err(gone("another program has taken them for the whole window"));
    }
    Ok(PeriodCounters {
        period_s: sample.window_ms / 1e3,
        io_write_hits: written.hits,
        io_write_misses: written.misses,
        tenants: Vec::new(),
    })
}
