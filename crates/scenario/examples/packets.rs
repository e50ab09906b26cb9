//! Runs packets through a warm machine, for profilers: `packets COUNT KEY=VALUE...` sets keys of
//! experiments/ddio-bench/l2fwd.toml. Only [`measured`] is of interest.

use model::machine::Machine;
use model::tracer::NoTrace;
use model::traffic::PacketSource;
use units::Picos;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let count = arguments.next().and_then(|count| count.parse().ok());
    let keys: Option<Vec<(String, String)>> = arguments
        .map(|key| key.split_once('=').map(|(key, value)| (key.into(), value.into())))
        .collect();
    let (Some(count), Some(keys)) = (count, keys) else {
        eprintln!("usage: packets COUNT [KEY=VALUE...]");
        std::process::exit(2);
    };
    let job = match scenario::job("experiments/ddio-bench/l2fwd.toml", &keys, 1) {
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
