//! Runs packets, or other work, through a warm machine, for profilers: `packets [FILE] COUNT KEY=VALUE...`
//! sets keys of a scenario, experiments/ddio-bench/l2fwd.toml by default. Only [`measured`] is of interest.

use model::machine::Machine;
use model::tracer::NoTrace;
use model::traffic::PacketSource;
use units::Picos;

fn main() {
    let mut arguments = std::env::args().skip(1).peekable();
    let named = arguments.next_if(|argument| argument.ends_with(".toml"));
    let file = named.as_deref().unwrap_or("experiments/ddio-bench/l2fwd.toml");
    let count = arguments.next().and_then(|count| count.parse().ok());
    let keys: Option<Vec<(String, String)>> = arguments
        .map(|key| key.split_once('=').map(|(key, value)| (key.into(), value.into())))
        .collect();
    let (Some(count), Some(keys)) = (count, keys) else {
        eprintln!("usage: packets [FILE] COUNT [KEY=VALUE...]");
        std::process::exit(2);
    };
    let job = match scenario::job(file, &keys, 1) {
        Ok(job) => job,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let mut machine = job.machine(NoTrace);
    measured(&mut machine, count);
    let before = machine.fabric.counters().line_ops;
    measured(&mut machine, count);
    println!("{}", machine.fabric.counters().line_ops - before);
}

/// Runs so many packets more.
#[inline(never)]
fn measured<S: PacketSource>(machine: &mut Machine<S, NoTrace>, packets: u64) {
    let until = machine.progress() + packets;
    machine.run(until, Picos::NEVER);
}
