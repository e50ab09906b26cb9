//! `skipline-dsa stats`: counts of the queues of runs.

use crate::failure::CommandFailure;
use crate::live_runs::{self, LiveRun};
use dsa::hardware::{Opcode, status};
use dsa_run::registers::QueueRegisters;
use std::io::Write;
use std::sync::atomic::{AtomicU64, Ordering};

/// Show how many descriptors, operations and bytes the queues of runs have done.
#[derive(clap::Args)]
pub struct StatsArguments {
    /// Only the run of this process.
    #[arg(long, value_name = "PID")]
    run: Option<u32>,
    /// A JSON object for each queue.
    #[arg(long)]
    json: bool,
}

/// Prints the counts of all queues that were ever enabled.
pub fn run(arguments: &StatsArguments) -> Result<(), CommandFailure> {
    let live_runs = live_runs::all();
    let wanted = |run: &&LiveRun| arguments.run.is_none_or(|process| process == run.process);
    let chosen: Vec<&LiveRun> = live_runs.iter().filter(wanted).collect();
    if chosen.is_empty() {
        let known: Vec<String> = live_runs.iter().map(|run| run.process.to_string()).collect();
        let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
        return Err(CommandFailure::bad_input(format!(
            "no such run is under way; known runs: {known}"
        )));
    }
    let mut out = std::io::stdout().lock();
    for run in chosen {
        if !arguments.json {
            writeln!(out, "run {}", run.process)?;
        }
        for (number, device) in run.devices().enumerate() {
            for (queue, own) in device.queue.iter().enumerate() {
                if own.generation.load(Ordering::Relaxed) == 0 {
                    continue;
                }
                let name = format!("wq{number}.{queue}");
                let in_flight = run.registers.in_flight(number, queue);
                let text = if arguments.json {
                    json(run, &name, own)
                } else {
                    lines(&name, own, in_flight)
                };
                out.write_all(text.as_bytes())?;
            }
        }
    }
    Ok(())
}

fn get(counter: &AtomicU64) -> u64 {
    counter.load(Ordering::Relaxed)
}

/// The counters that are not zero, with their numbers.
fn counted(counters: &[AtomicU64]) -> impl Iterator<Item = (u8, u64)> {
    let all = counters.iter().enumerate();
    all.map(|(number, counter)| (units::narrow::fit(number), get(counter)))
        .filter(|(_, count)| *count > 0)
}

fn lines(name: &str, queue: &QueueRegisters, in_flight: u32) -> String {
    let counts = &queue.counts;
    let mut text = format!(
        "{name}  accepted {}, retried {}, lost {}, held {}, with engines {}\n",
        get(&counts.accepted),
        get(&counts.retried),
        get(&counts.lost),
        queue.occupancy(),
        in_flight.saturating_sub(queue.occupancy()),
    );
    for (code, count) in counted(&counts.ended) {
        text += &format!("  {count} ended with {code:#04x}, {}\n", status::describe(code));
    }
    for (code, count) in counted(&counts.done) {
        let operation = Opcode::from_code(code).map_or("unknown operation", Opcode::name);
        text += &format!("  {count} {operation}\n");
    }
    text + &format!("  {} bytes\n", get(&counts.bytes))
}

fn json(run: &LiveRun, name: &str, queue: &QueueRegisters) -> String {
    let counts = &queue.counts;
    let map = |counters: &[AtomicU64]| -> serde_json::Map<String, serde_json::Value> {
        counted(counters).map(|(code, count)| (format!("{code:#04x}"), count.into())).collect()
    };
    let object = serde_json::json!({
        "run": run.process, "queue": name,
        "accepted": get(&counts.accepted), "retried": get(&counts.retried),
        "lost": get(&counts.lost), "occupancy": queue.occupancy(),
        "ended_by_status": map(&counts.ended), "done_by_opcode": map(&counts.done),
        "bytes": get(&counts.bytes),
    });
    format!("{object}\n")
}
