//! Counters that vanish and other programs end the steering of a machine, and what it set comes back.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use controllers::{Threshold, ThresholdConfig};
use host::Host;
use host::cpu::{CpuId, PackageId};
use host::error::{FileError, Problem};
use host::monitor::Monitor;
use host::steer::{SteerError, SteeringLoop, SteeringOutcome, bounds};
use host::tune::{
    DEFAULT_STATE, RestoreOptions, StateDirectory, TunePlanner, ignore_steps, restore,
};
use host::uncore::{CounterRequest, RunningCounters, UncoreCounters, Window};

use crate::machines::expanded;

const WAYS: u32 = 0xc8b;
const WINDOW: Duration = Duration::from_millis(100);

/// Counters that are gone after some windows, as when the module of the kernel is removed.
struct VanishingCounters {
    counters: Box<dyn UncoreCounters + Send + Sync>,
    left: AtomicUsize,
}

impl UncoreCounters for VanishingCounters {
    fn open(&self, requests: &[CounterRequest]) -> Result<Box<dyn RunningCounters>, FileError> {
        self.counters.open(requests)
    }

    fn measure(
        &self,
        groups: &[Vec<CounterRequest>],
        window: Duration,
    ) -> Result<Window, FileError> {
        let left = self.left.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |n| n.checked_sub(1));
        match left {
            Ok(_) => self.counters.measure(groups, window),
            Err(_) => Err(FileError { path: "uncore_cha_0".into(), problem: Problem::Missing }),
        }
    }
}

fn with_counters_for(windows: usize, host: Host) -> Host {
    let counters = VanishingCounters { counters: host.counters, left: AtomicUsize::new(windows) };
    Host { counters: Box::new(counters), ..host }
}

/// Steers until something ends it, at most for `windows`; what ended it, and how many changes were made.
fn steer(
    host: &Host,
    windows: u32,
    mut meanwhile: impl FnMut(&Host, u32),
) -> (Option<SteerError>, usize) {
    let planner = TunePlanner::new(host).expect("the CPU's model");
    let monitor = Monitor::prepare(host, planner.generation(), planner.sockets());
    let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
    let sockets = bounds(&planner, Some(PackageId(0))).expect("a register");
    let config = ThresholdConfig {
        bounds: (2, 6),
        grow_above_per_s: 1e6,
        shrink_below_per_s: 1e5,
        shrink_after_periods: 2,
    };
    let parts = (&planner, &monitor);
    let mut steering = SteeringLoop::new(host, parts, (WINDOW, 60), &sockets, |socket| {
        Box::new(Threshold::new(config, socket.now))
    })
    .expect("it begins");
    let mut changes = 0;
    for window in 0..windows {
        match steering.step(Some((&state, &mut ignore_steps)), WINDOW * window) {
            Ok(told) => {
                changes += told.iter().filter(|one| one.became == SteeringOutcome::Set).count();
            }
            Err(error) => return (Some(error), changes),
        }
        meanwhile(host, window);
    }
    (None, changes)
}

fn ways(host: &Host) -> u64 {
    host.registers.read(CpuId(0), WAYS).expect("the register")
}

fn put_back(host: &Host) {
    let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
    restore(host, &state, RestoreOptions::default(), &mut Vec::new(), &mut ignore_steps)
        .expect("a restore");
}

#[test]
fn counters_that_vanish_end_it_and_the_first_ways_come_back() {
    for windows in 0..5 {
        let directory = expanded("skylake", &[]);
        let host =
            with_counters_for(windows, Host::from_tree(directory.path()).expect("the machine"));
        let first = ways(&host);
        let (ended, changes) = steer(&host, 9, |_, _| ());
        assert!(matches!(ended, Some(SteerError::Unread(_))), "{ended:?}");
        assert_eq!(changes, windows.min(4));
        put_back(&host);
        assert_eq!(ways(&host), first);
    }
}

#[test]
fn the_ways_of_another_program_end_it_and_stay() {
    let directory = expanded("skylake", &[]);
    let host = Host::from_tree(directory.path()).expect("the machine");
    let theirs = 0x7c0;
    let (ended, _) = steer(&host, 9, |host, window| {
        if window == 1 {
            assert_eq!(ways(host), 0x780);
            host.registers.write(CpuId(0), WAYS, theirs).expect("a write");
        }
    });
    let expected = 0x780;
    let socket = PackageId(0);
    assert_eq!(ended, Some(SteerError::Foreign { socket, holds: theirs, expected }));
    put_back(&host);
    assert_eq!(ways(&host), theirs);
}

#[test]
fn without_counters_nothing_is_written() {
    let directory = expanded("skylake", &["no-uncore-driver"]);
    let host = Host::from_tree(directory.path()).expect("the machine");
    let (ended, changes) = steer(&host, 3, |_, _| ());
    assert!(matches!(ended, Some(SteerError::CountersGone { .. })), "{ended:?}");
    assert_eq!(changes, 0);
}
