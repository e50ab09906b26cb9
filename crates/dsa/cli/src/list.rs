//! `skipline-dsa list`: the devices of runs and of the machine.

use crate::failure::CommandFailure;
use crate::live_runs::{self, LiveRun};
use dsa_run::registers::state;
use std::io::Write;
use std::sync::atomic::Ordering;

/// List the devices of runs that are under way, and those of the machine.
#[derive(clap::Args)]
pub struct ListArguments {}

/// Prints the devices with their enabled queues.
pub fn run(_: &ListArguments) -> Result<(), CommandFailure> {
    let mut out = std::io::stdout().lock();
    let live_runs = live_runs::all();
    for run in &live_runs {
        list_run(run, &mut out)?;
    }
    let real = machine_devices();
    for (name, state) in &real {
        writeln!(out, "machine  {name:<6} {state}")?;
    }
    if live_runs.is_empty() && real.is_empty() {
        writeln!(
            out,
            "no run is under way, and this machine has no device; see `skipline-dsa doctor`"
        )?;
    }
    Ok(())
}

fn list_run(run: &LiveRun, out: &mut impl Write) -> Result<(), CommandFailure> {
    writeln!(out, "run {}", run.process)?;
    let devices = run.devices().enumerate();
    // Numbers between those of a configuration have no device.
    for (number, device) in devices.filter(|(_, device)| device.capabilities().version != 0) {
        let state = state_name(device.state.load(Ordering::Acquire));
        let version = device.capabilities().version;
        writeln!(out, "  dsa{number}  {state}, version {version:#x}")?;
        for (queue, own) in device.queue.iter().enumerate() {
            if own.state.load(Ordering::Acquire) == state::DISABLED {
                continue;
            }
            let get = |register: &std::sync::atomic::AtomicU32| register.load(Ordering::Relaxed);
            let mode = match get(&own.dedicated) {
                0 => format!("shared, threshold {}", get(&own.threshold)),
                _ => "dedicated".to_owned(),
            };
            let (group, size) = (get(&own.group), get(&own.size));
            let engines =
                device.engines.get(units::narrow::usize_from(group.into())).map_or(0, get);
            writeln!(
                out,
                "    wq{number}.{queue}  {mode}, {size} entries, {} held, group {group} with {engines} \
                 engine(s)",
                own.occupancy()
            )?;
        }
    }
    Ok(())
}

/// The name of a device's state in the registers.
pub fn state_name(value: u32) -> &'static str {
    match value {
        state::ENABLED => "enabled",
        state::HALTED => "halted",
        _ => "disabled",
    }
}

/// The devices of the kernel's driver with their states; within a run the list is empty, as a run hides them.
pub fn machine_devices() -> Vec<(String, String)> {
    if std::env::var_os(dsa_run::RUN_DIRECTORY).is_some() {
        return Vec::new();
    }
    let Ok(entries) = std::fs::read_dir("/sys/bus/dsa/devices") else { return Vec::new() };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut devices: Vec<(String, String)> = names
        .filter(|name| name.starts_with("dsa"))
        .map(|name| {
            let path = format!("/sys/bus/dsa/devices/{name}/state");
            let state = std::fs::read_to_string(path).unwrap_or_else(|error| error.to_string());
            (name, state.trim_end().to_owned())
        })
        .collect();
    devices.sort();
    devices
}
