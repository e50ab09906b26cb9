//! Verifies that a control has an effect, by hit rates of device writes before a change, after it, and
//! with the old value again.

use std::time::Duration;

use serde::Serialize;

use super::apply::AppliedChange;
use crate::controls::ControlTarget;
use crate::cpu::{CpuSocket, PackageId, sockets};
use crate::error::FileError;
use crate::machine::Host;
use crate::monitor::Monitor;
use crate::numa::{cpus_by_node, socket_of_node};
use crate::offline::OfflineCpus;
use crate::pci::Tree;

/// Number of windows of each measurement; their spread is the noise.
const WINDOWS: u32 = 5;
/// Least number of device writes in all windows: fewer allow no verdict.
const LEAST_WRITES: u64 = 10_000;
/// A change smaller than this many percentage points is no effect, however steady.
const LEAST_CHANGE_POINTS: f64 = 1.0;
/// Least change of an effect in standard errors.
const STANDARD_ERRORS: f64 = 4.0;

/// Hit rates of device writes at one socket.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HitRates {
    /// Socket at which the writes were counted.
    pub socket: PackageId,
    /// Number of full-line writes in all windows.
    pub writes: u64,
    /// Mean hit rate over the windows, in percent.
    pub mean_percent: f64,
    /// Standard deviation of the hit rate in one window, in percentage points.
    pub sd_points: f64,
}

/// Verdict on the effect of a change.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "verdict")]
pub enum Verdict {
    /// Hit rates changed.
    Effective {
        /// The largest change beyond noise among the sockets, in percentage points, after minus before.
        change_points: f64,
    },
    /// The control has the new value, and hit rates stayed.
    NoEffectObserved {
        /// The largest change among the sockets, in percentage points.
        change_points: f64,
    },
    /// The change was refused.
    Refused,
    /// The measurements allow no verdict.
    NotJudged {
        /// The reason.
        reason: String,
    },
}

/// Measures hit rates of device writes in several windows, on every socket.
///
/// # Errors
/// If the kernel refuses an event.
pub fn measure_hit_rates(
    host: &Host,
    monitor: &Monitor,
    window: Duration,
) -> Result<Vec<HitRates>, FileError> {
    let mut by_socket: Vec<(PackageId, u64, Vec<f64>)> = Vec::new();
    for _ in 0..WINDOWS {
        for socket in monitor.sample(host, window)?.sockets {
            let Some(writes) = socket.pcie_write else { continue };
            let at = by_socket.iter().position(|(id, ..)| *id == socket.socket);
            let at = at.unwrap_or_else(|| {
                by_socket.push((socket.socket, 0, Vec::new()));
                by_socket.len() - 1
            });
            by_socket[at].1 =
                by_socket[at].1.saturating_add(writes.hits).saturating_add(writes.misses);
            by_socket[at].2.extend(writes.hit_percent());
        }
    }
    Ok(by_socket
        .into_iter()
        .map(|(socket, writes, rates)| summary(socket, writes, &rates))
        .collect())
}

fn summary(socket: PackageId, writes: u64, rates: &[f64]) -> HitRates {
    let count = rates.len().max(1) as f64;
    let mean_percent = rates.iter().sum::<f64>() / count;
    let squares: f64 = rates.iter().map(|rate| (rate - mean_percent).powi(2)).sum();
    let sd_points = (squares / (count - 1.0).max(1.0)).sqrt();
    HitRates { socket, writes, mean_percent, sd_points }
}

/// Sockets whose devices the written controls affect; `None` if one of the controls affects all sockets,
/// or its socket is not known.
#[must_use]
pub fn affected_sockets(host: &Host, applied: &[AppliedChange]) -> Option<Vec<PackageId>> {
    let known = sockets(&host.root).ok()?;
    let written = applied.iter().filter(|one| one.outcome.was_written());
    written.map(|one| socket_of(host, &known, &one.target)).collect()
}

fn socket_of(host: &Host, known: &[CpuSocket], target: &ControlTarget) -> Option<PackageId> {
    let found = match target {
        ControlTarget::Msr { socket, .. } => return Some(*socket),
        ControlTarget::Switch { .. } => None,
        ControlTarget::Mask { domain, .. } => {
            known.iter().find(|socket| socket.caches.iter().any(|cache| cache.id == *domain))
        }
        ControlTarget::Port { function, .. } => {
            let node = Tree::read(&host.root).ok()?.get(*function)?.node?;
            return socket_of_node(&cpus_by_node(&host.root), node, known);
        }
    };
    found.map(|socket| socket.id)
}

/// The reason why hit rates do not judge a change: a port that was written belongs to a socket whose
/// counters cannot be read, or may. `None` if every socket with written ports is counted.
#[must_use]
pub fn uncounted_port(host: &Host, applied: &[AppliedChange]) -> Option<String> {
    let known = sockets(&host.root).ok()?;
    let tree = Tree::read(&host.root).ok()?;
    let offline = OfflineCpus::read(&host.root, &known, &tree);
    let hidden = offline.sockets.first()?;
    let is_uncounted = |one: &&AppliedChange| match &one.target {
        ControlTarget::Port { function, .. } => {
            let node = tree.get(*function).and_then(|function| function.node);
            one.outcome.was_written()
                && offline.socket_of_device(&host.root, node, &known).is_none()
        }
        _ => false,
    };
    let port = applied.iter().find(is_uncounted)?;
    Some(format!("{}: its socket has no counters here; {hidden}: {}", port.place, hidden.reason()))
}

/// Result of a socket's three measurements: which of the two differences are beyond noise.
#[derive(Clone, Copy, PartialEq)]
enum ChangedSides {
    /// Both differences are beyond noise and of one direction.
    Both,
    /// One is, or they have opposite directions: the load has changed.
    One,
    Neither,
}

/// The verdict from the sockets that had traffic in all three measurements. A change counts only if it
/// shows both when the new value was set and when the old one was restored.
#[must_use]
pub fn verdict(before: &[HitRates], after: &[HitRates], back: &[HitRates]) -> Verdict {
    let sockets = before.iter().filter_map(|before| {
        let same = |rates: &&HitRates| rates.socket == before.socket;
        let (after, back) = (after.iter().find(same)?, back.iter().find(same)?);
        let writes = before.writes.min(after.writes).min(back.writes);
        (writes >= LEAST_WRITES).then_some([before, after, back])
    });
    let sockets: Vec<[&HitRates; 3]> = sockets.collect();
    let changes: Vec<(f64, ChangedSides)> = sockets.iter().map(|rates| change(*rates)).collect();
    let largest = |wanted: Option<ChangedSides>| {
        let of_kind = changes.iter().filter(|(_, side)| wanted.is_none_or(|side_| *side == side_));
        of_kind.map(|(points, _)| *points).reduce(|a, b| if b.abs() > a.abs() { b } else { a })
    };
    // Noise of one socket may be more than the effect at another.
    if let Some(change_points) = largest(Some(ChangedSides::Both)) {
        return Verdict::Effective { change_points };
    }
    let drifted = changes.iter().position(|(_, side)| *side == ChangedSides::One);
    match (drifted, largest(None)) {
        (Some(index), _) => {
            let [before, after, back] = sockets[index].map(|rates| rates.mean_percent);
            let reason = format!(
                "the load changed meanwhile: {before:.1} % before, {after:.1} % with the new value, \
                 {back:.1} % with the old one again (socket {}); repeat it under a steady load",
                sockets[index][0].socket
            );
            Verdict::NotJudged { reason }
        }
        (None, Some(change_points)) => Verdict::NoEffectObserved { change_points },
        (None, None) => Verdict::NotJudged {
            reason: format!(
                "fewer than {LEAST_WRITES} device writes were seen; run the I/O load while verifying"
            ),
        },
    }
}

/// The mean of both differences in percentage points, and which of them are beyond the noise of the
/// windows.
fn change([before, after, back]: [&HitRates; 3]) -> (f64, ChangedSides) {
    let [rise, fall] = [before, back].map(|old| after.mean_percent - old.mean_percent);
    let is_beyond = |old: &HitRates, change: f64| {
        let variance = (old.sd_points.powi(2) + after.sd_points.powi(2)) / f64::from(WINDOWS);
        change.abs() > LEAST_CHANGE_POINTS.max(STANDARD_ERRORS * variance.sqrt())
    };
    let side = match (is_beyond(before, rise), is_beyond(back, fall)) {
        (true, true) if rise * fall > 0.0 => ChangedSides::Both,
        (false, false) => ChangedSides::Neither,
        _ => ChangedSides::One,
    };
    (f64::midpoint(rise, fall), side)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(mean_percent: f64, sd_points: f64, writes: u64) -> Vec<HitRates> {
        vec![HitRates { socket: PackageId(0), writes, mean_percent, sd_points }]
    }

    /// Judged with the rate of the beginning in the end.
    fn returned(before: &[HitRates], after: &[HitRates]) -> Verdict {
        verdict(before, after, before)
    }

    #[test]
    fn a_change_within_the_noise_of_the_windows_is_no_effect() {
        let verdict = returned(&rates(50.0, 5.0, 1 << 20), &rates(58.0, 5.0, 1 << 20));
        assert_eq!(verdict, Verdict::NoEffectObserved { change_points: 8.0 });
    }

    #[test]
    fn the_same_change_in_quiet_windows_is_an_effect() {
        let verdict = returned(&rates(50.0, 0.5, 1 << 20), &rates(58.0, 0.5, 1 << 20));
        assert_eq!(verdict, Verdict::Effective { change_points: 8.0 });
    }

    #[test]
    fn the_change_that_is_told_is_that_of_a_socket_beyond_its_noise() {
        let both = |noisy: f64, quiet: f64| {
            let mut both = rates(noisy, 5.0, 1 << 20);
            let second = HitRates { socket: PackageId(1), ..rates(quiet, 0.1, 1 << 20).remove(0) };
            both.push(second);
            both
        };
        let judged = returned(&both(50.0, 50.0), &both(58.0, 47.0));
        assert_eq!(judged, Verdict::Effective { change_points: -3.0 });
        let judged = returned(&both(50.0, 50.0), &both(58.0, 50.5));
        assert_eq!(judged, Verdict::NoEffectObserved { change_points: 8.0 });
    }

    #[test]
    fn a_load_that_drifts_is_no_effect_of_the_control() {
        // As high in the end as with the new value: it has risen by itself.
        let quiet = |mean| rates(mean, 0.1, 1 << 20);
        for back in [58.0, 66.0] {
            let judged = verdict(&quiet(50.0), &quiet(58.0), &quiet(back));
            let Verdict::NotJudged { reason } = judged else { panic!("{judged:?}") };
            assert!(reason.starts_with("the load changed meanwhile: 50.0 % before"), "{reason}");
        }
        // It drifts, and the control does something all the same.
        let judged = verdict(&quiet(50.0), &quiet(58.0), &quiet(54.0));
        assert_eq!(judged, Verdict::Effective { change_points: 6.0 });
    }

    #[test]
    fn without_traffic_nothing_is_judged() {
        let verdict = returned(&rates(0.0, 0.0, 9_999), &rates(100.0, 0.0, 9_999));
        assert!(matches!(verdict, Verdict::NotJudged { .. }));
    }
}
