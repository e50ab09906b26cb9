//! Uncore events through perf_event_open.

use std::time::Duration;

use perf_event::events::Raw;
use perf_event::{Builder, Counter, Group};

use super::{Count, CounterRequest, UncoreCounters, Window};
use crate::error::{FileError, Problem};
use units::narrow::{fit, whole};

/// Backend that counts uncore events through perf_event_open.
#[derive(Clone, Copy, Debug, Default)]
pub struct PerfEvents;

struct OpenGroup {
    group: Group,
    counters: Vec<Counter>,
}

impl OpenGroup {
    fn open(requests: &[CounterRequest]) -> Result<Self, FileError> {
        let fail =
            |unit: &str, error: &std::io::Error| FileError::new(unit, Problem::from_io(error));
        let first = requests.first().ok_or_else(|| {
            FileError::new("perf_event", Problem::Other("an empty group of events".into()))
        })?;
        // Boxes refuse events that exclude kernel or hypervisor: they cannot distinguish them.
        let mut leader = Group::builder();
        leader.any_pid().one_cpu(first.cpu.0 as usize).include_kernel().include_hv();
        let mut group = leader.build_group().map_err(|error| fail(&first.unit, &error))?;
        let mut counters = Vec::new();
        for request in requests {
            let words = request.words;
            let event = Raw::new(words.config).config1(words.config1).config2(words.config2);
            let mut builder = Builder::new(event);
            builder.attrs_mut().type_ = request.kind;
            builder.any_pid().one_cpu(request.cpu.0 as usize).include_kernel().include_hv();
            counters.push(group.add(&builder).map_err(|error| fail(&request.unit, &error))?);
        }
        Ok(Self { group, counters })
    }

    /// Reads the counts, scaled to the whole window, and the time in which they were enabled.
    fn read(&mut self) -> std::io::Result<(Vec<Count>, Duration)> {
        let data = self.group.read()?;
        let enabled_for = data.time_enabled().unwrap_or_default();
        let enabled = enabled_for.as_secs_f64();
        let running = data.time_running().unwrap_or_default().as_secs_f64();
        let share = if enabled > 0.0 { running / enabled } else { 0.0 };
        let scaled = |value: u64| if share > 0.0 { whole(value as f64 / share) } else { 0 };
        let count = |counter: &Counter| Count {
            value: data.get(counter).map_or(0, |entry| scaled(entry.value())),
            running_share: share,
        };
        Ok((self.counters.iter().map(count).collect(), enabled_for))
    }
}

impl UncoreCounters for PerfEvents {
    fn open(
        &self,
        requests: &[CounterRequest],
    ) -> Result<Box<dyn super::RunningCounters>, FileError> {
        Ok(Box::new(super::running_counters::OpenEvents::open(requests)?))
    }

    fn measure(
        &self,
        groups: &[Vec<CounterRequest>],
        window: Duration,
    ) -> Result<Window, FileError> {
        let fail = |error: std::io::Error| FileError::new("perf_event", Problem::from_io(&error));
        let opened: Result<Vec<_>, _> = groups.iter().map(|group| OpenGroup::open(group)).collect();
        let mut opened = opened?;
        for open in &mut opened {
            open.group.enable().map_err(fail)?;
        }
        std::thread::sleep(window);
        for open in &mut opened {
            open.group.disable().map_err(fail)?;
        }
        let read: Result<Vec<_>, _> =
            opened.iter_mut().map(|open| open.read().map_err(fail)).collect();
        let (groups, enabled): (Vec<_>, Vec<Duration>) = read?.into_iter().unzip();
        let elapsed = match enabled.len() {
            0 => window,
            count => enabled.iter().sum::<Duration>() / fit::<u32, _>(count),
        };
        Ok(Window { groups, elapsed })
    }
}
