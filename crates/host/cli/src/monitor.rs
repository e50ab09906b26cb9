//! `monitor`: hits and misses of devices, bandwidth and cache occupancy, window by window.

mod live;
mod prometheus;
mod stream;
mod view;

use std::io::IsTerminal;
use std::time::Duration;

use clap::{Args, ValueEnum};
use host::cpu::{CpuModel, Generations, sockets};
use host::monitor::{Monitor, MonitorSample};

use crate::HostContext;
use crate::failure::HostFailure;
use crate::value_parsers::within;

/// Show hits and misses of devices, bandwidth and cache occupancy as they happen
///
/// In each window, for each socket: reads and writes of devices that hit or miss the LLC, DRAM bandwidth;
/// for each PCIe port its bandwidth; for each group of cache allocation its share of the LLC. Hits
/// and misses are counted in the same window by one group of counters. On a terminal this is a live
/// view (q quits); otherwise, or with --format, a stream of windows.
#[derive(Args)]
pub struct MonitorArguments {
    /// Length of a window in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = within(10..=600_000))]
    interval: u64,

    /// Stop after N windows; default: never, or after one if the output is not a terminal
    #[arg(long, value_name = "N", value_parser = within(1..=u64::MAX))]
    windows: Option<u64>,

    /// live: a view on the terminal; json: one object a line; csv: one line for each socket,
    /// copy engine and group's share of a cache
    #[arg(long, value_enum)]
    format: Option<MonitorFormat>,

    /// Serve Prometheus text at http://127.0.0.1:PORT/metrics until stopped (loopback only; 0 chooses a
    /// port)
    #[arg(long, value_name = "PORT", conflicts_with_all = ["format", "windows"])]
    prometheus: Option<u16>,
}

/// Format of the windows.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum MonitorFormat {
    /// A view on the terminal
    Live,
    /// A table for each window
    Text,
    /// One object a line
    Json,
    /// One line for each socket, copy engine and group's share of a cache
    Csv,
}

/// Takes samples of one machine, a window each.
struct Sampler<'a> {
    context: &'a HostContext,
    monitor: Monitor,
    window: Duration,
}

impl Sampler<'_> {
    /// Takes the sample of one window. Counters of a described machine take no time, so with `paced` (the
    /// number of windows has no limit) this waits for the length of a window.
    fn sample(&self, paced: bool) -> Result<MonitorSample, HostFailure> {
        if paced && (!self.context.host.root.is_real()) {
            std::thread::sleep(self.window);
        }
        self.monitor.sample(&self.context.host, self.window).map_err(|error| {
            let unread = host::Unavailable::from_error("events", &error);
            let remedy = unread.remedy.map(|remedy| format!("\n  remedy: {remedy}"));
            let message = format!("{}{}", unread.reason, remedy.unwrap_or_default());
            HostFailure::from_file(&error, message)
        })
    }
}

pub fn run(arguments: &MonitorArguments, context: &HostContext) -> Result<(), HostFailure> {
    let root = &context.host.root;
    let sockets = sockets(root).map_err(HostFailure::failed)?;
    let cpu = CpuModel::read(root).map_err(HostFailure::failed)?;
    let generations = Generations::built_in();
    let monitor = Monitor::prepare(&context.host, generations.find(&cpu), &sockets);
    if monitor.is_empty() {
        return Err(nothing_to_monitor(&monitor));
    }
    let sampler = Sampler { context, monitor, window: Duration::from_millis(arguments.interval) };
    if let Some(port) = arguments.prometheus {
        return prometheus::serve(&sampler, port);
    }
    let on_terminal = std::io::stdout().is_terminal();
    let format = arguments.format.unwrap_or(if on_terminal {
        MonitorFormat::Live
    } else {
        MonitorFormat::Text
    });
    if format == MonitorFormat::Live {
        if !on_terminal {
            return Err(HostFailure::bad_input(
                "--format live: standard output is not a terminal; use text, json or csv",
            ));
        }
        return live::run(&sampler, arguments.windows);
    }
    let once = (format == MonitorFormat::Text && !on_terminal).then_some(1);
    stream::run(&sampler, format, arguments.windows.or(once))
}

fn nothing_to_monitor(monitor: &Monitor) -> HostFailure {
    let mut message = "there is nothing to monitor on this machine:".to_owned();
    for unread in monitor.unavailable() {
        message += &format!("\n  {}", unread.to_string().replace('\n', "\n  "));
    }
    HostFailure::failed(message)
}
