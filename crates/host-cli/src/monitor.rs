//! `monitor`: where I/O data goes right now.

mod live;
mod prometheus;
mod stream;
mod view;

use std::io::IsTerminal;
use std::time::Duration;

use clap::{Args, ValueEnum};
use host::cpu::{CpuModel, Generations, sockets};
use host::monitor::{Monitor, MonitorSample};

use crate::Context;
use crate::failure::Failure;
use crate::number::within;

/// Show hits and misses of devices, bandwidth and cache occupancy as they happen
///
/// In each window, for each socket: reads and writes of devices that hit or miss the LLC, DRAM bandwidth;
/// for each PCIe port its bandwidth; for each group of cache allocation what it holds of the LLC. Hits
/// and misses are counted in the same window by one group of counters. On a terminal this is a live
/// view (q quits); otherwise, or with --format, a stream of windows.
#[derive(Args)]
pub struct Arguments {
    /// Length of a window in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = within(10..=600_000))]
    interval: u64,

    /// Stop after N windows; default: never, and after one where the output is no terminal
    #[arg(long, value_name = "N", value_parser = within(1..=u64::MAX))]
    windows: Option<u64>,

    /// live: a view on the terminal; json: one object a line; csv: one line for each socket,
    /// copy engine and group's share of a cache
    #[arg(long, value_enum)]
    format: Option<Format>,

    /// Serve Prometheus text at http://127.0.0.1:PORT/metrics until stopped (loopback only; 0 chooses a
    /// port)
    #[arg(long, value_name = "PORT", conflicts_with_all = ["format", "windows"])]
    prometheus: Option<u16>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A view on the terminal
    Live,
    /// A table for each window
    Text,
    /// One object a line
    Json,
    /// One line for each socket, copy engine and group's share of a cache
    Csv,
}

/// Takes samples of one machine.
struct Sampler<'a> {
    context: &'a Context,
    monitor: Monitor,
    window: Duration,
}

impl Sampler<'_> {
    /// One window. Counters of a described machine do not wait, so this does where the number of
    /// windows has no limit.
    fn sample(&self, paced: bool) -> Result<MonitorSample, Failure> {
        if paced && (!self.context.host.root.is_real()) {
            std::thread::sleep(self.window);
        }
        self.monitor.sample(&self.context.host, self.window).map_err(|error| {
            let unread = host::Unavailable::from_error("events", &error);
            let remedy = unread.remedy.map(|remedy| format!("\n  remedy: {remedy}"));
            let message = format!("{}{}", unread.reason, remedy.unwrap_or_default());
            Failure::of_file(&error, message)
        })
    }
}

pub fn run(arguments: &Arguments, context: &Context) -> Result<(), Failure> {
    let root = &context.host.root;
    let sockets = sockets(root).map_err(Failure::failed)?;
    let cpu = CpuModel::read(root).map_err(Failure::failed)?;
    let generations = Generations::built_in();
    let monitor = Monitor::prepare(&context.host, generations.find(&cpu), &sockets);
    if monitor.is_empty() {
        return Err(nothing(&monitor));
    }
    let sampler = Sampler { context, monitor, window: Duration::from_millis(arguments.interval) };
    if let Some(port) = arguments.prometheus {
        return prometheus::serve(&sampler, port);
    }
    let on_terminal = std::io::stdout().is_terminal();
    let format = arguments.format.unwrap_or(if on_terminal { Format::Live } else { Format::Text });
    if format == Format::Live {
        if !on_terminal {
            return Err(Failure::bad_input(
                "--format live: standard output is no terminal; use text, json or csv",
            ));
        }
        return live::run(&sampler, arguments.windows);
    }
    let once = (format == Format::Text && !on_terminal).then_some(1);
    stream::run(&sampler, format, arguments.windows.or(once))
}

fn nothing(monitor: &Monitor) -> Failure {
    let mut message = "there is nothing to monitor on this machine:".to_owned();
    for unread in monitor.unavailable() {
        message += &format!("\n  {}", unread.to_string().replace('\n', "\n  "));
    }
    Failure::failed(message)
}
