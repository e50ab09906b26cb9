//! Runs work through a warm machine, for profilers: `warm SCENARIO COUNT [KEY=VALUE...]` takes a scenario
//! file, and how many packets, blocks or operations of its main tenant are done twice. Only [`measured`] is
//! of interest. Printed are line operations and DRAM transfers of the second half.

use model::machine::Machine;
use model::tracer::NoTrace;
use model::traffic::PacketSource;
use units::Picos;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let scenario = arguments.next();
    let count = arguments.next().and_then(|count| count.parse().ok());
    let keys: Option<Vec<(String, String)>> = arguments
        .map(|key| key.split_once('=').map(|(key, value)| (key.into(), value.into())))
        .collect();
    let (Some(scenario), Some(count), Some(keys)) = (scenario, count, keys) else {
        eprintln!("usage: warm SCENARIO COUNT [KEY=VALUE...]");
        std::process::exit(2);
    };
    let job = match scenario::job(&scenario, &keys, 1) {
        Ok(job) => job,
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    };
    let mut machine = job.machine(NoTrace);
    measured(&mut machine, count);
    let before = moved(&machine);
    measured(&mut machine, count);
    let after = moved(&machine);
    println!("{} {}", after.0 - before.0, after.1 - before.1);
}

/// Line operations, and lines that DRAM has read and written.
fn moved<S: PacketSource>(machine: &Machine<S, NoTrace>) -> (u64, u64) {
    let (read, written) = machine.fabric.memory().dram_lines_moved();
    (machine.fabric.counters().line_ops, read + written)
}

/// Does so much work more.
#[inline(never)]
fn measured<S: PacketSource>(machine: &mut Machine<S, NoTrace>, work: u64) {
    let until = machine.progress() + work;
    machine.run(until, Picos::NEVER);
}
