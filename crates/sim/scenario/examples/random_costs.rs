//! Costs of simulating scenarios at random: `random_costs [COUNT]`, 500 by default. Exits with 1 if one of
//! them costs more than ten times the median.
//!
//! Scenarios are those of the law that every run ends (`tests/all/laws.rs`), drawn from a fixed seed. Packets,
//! blocks and accesses to memory are of different size: what is counted is the line operation, of which each
//! of them consists. A packet of 1500 B that is forwarded takes some sixty. A run whose reservations grow
//! without bound costs more and more per operation. The cost for each unit of the main tenant's work is
//! printed beside it, and judged by no one: a slow main tenant pays for its neighbours.

#[path = "../tests/all/random_scenarios.rs"]
#[allow(dead_code)]
mod random_scenarios;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use random_scenarios::{Sketch, any_scenario};
use std::process::ExitCode;

const COUNT: usize = 500;
/// Times the median that no scenario may cost.
const MOST: f64 = 10.0;
/// Scenarios that are printed whole.
const SHOWN: usize = 3;
/// Runs of a scenario that seems too expensive: another program may have had the processor.
const AGAIN: usize = 2;

/// The cost of a run.
struct Cost {
    sketch: Sketch,
    ns_per_operation: f64,
    ns_per_work: f64,
}

fn cost(sketch: Sketch) -> Cost {
    let result = sketch.with("run.batch_packets", 256).run(1).expect("sketches are not refused");
    let ns = 1e9 * result.wall_s;
    Cost {
        ns_per_operation: ns / result.line_ops.max(1) as f64,
        ns_per_work: ns / result.packets.max(1) as f64,
        sketch,
    }
}

/// The median and the largest value.
fn median_and_most(costs: &[Cost], of: fn(&Cost) -> f64) -> (f64, f64) {
    let mut all: Vec<f64> = costs.iter().map(of).collect();
    all.sort_by(f64::total_cmp);
    (all[all.len() / 2], all[all.len() - 1])
}

fn main() -> ExitCode {
    let count = match std::env::args().nth(1).map(|count| count.parse()) {
        None => COUNT,
        Some(Ok(count)) if count > 0 => count,
        Some(_) => {
            eprintln!("usage: random_costs [COUNT]");
            return ExitCode::from(2);
        }
    };
    let mut runner = TestRunner::deterministic();
    let draw = |_| any_scenario().new_tree(&mut runner).expect("one can be drawn").current();
    let sketches: Vec<Sketch> = (0..count).map(draw).collect();
    let mut costs: Vec<Cost> = sketches.into_iter().map(cost).collect();
    let (median, _) = median_and_most(&costs, |cost| cost.ns_per_operation);
    for cost in costs.iter_mut().filter(|cost| cost.ns_per_operation > MOST * median) {
        for _ in 0..AGAIN {
            let again = self::cost(cost.sketch.clone());
            cost.ns_per_operation = cost.ns_per_operation.min(again.ns_per_operation);
        }
    }
    println!("{count} scenarios at random, batches of 256 units of the main tenant's work, seed 1");
    for (name, of) in [
        ("line operation", (|cost| cost.ns_per_operation) as fn(&Cost) -> f64),
        ("unit of the main tenant's work", |cost| cost.ns_per_work),
    ] {
        let (median, most) = median_and_most(&costs, of);
        println!("ns per {name}: median {median:.1}, most {most:.1}, ratio {:.2}", most / median);
    }
    costs.sort_by(|one, other| other.ns_per_operation.total_cmp(&one.ns_per_operation));
    for cost in costs.iter().take(SHOWN) {
        println!("\n{:.1} ns per line operation:{:?}", cost.ns_per_operation, cost.sketch);
    }
    let (median, most) = median_and_most(&costs, |cost| cost.ns_per_operation);
    if most > MOST * median { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
