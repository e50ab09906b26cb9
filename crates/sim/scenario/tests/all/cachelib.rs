//! The cache of items: which copies engines do, and what that changes.

use crate::overload::{run_on, value};
use crate::random_scenarios::part;
use scenario::result::RunResult;

const PLATFORM: &str = "sapphire-rapids-56";

fn run(keys: &str) -> RunResult {
    let text = format!(
        "application = \"cachelib\"\ncachelib.items = 16384\n\
         run.batch_packets = 2000\nrun.min_batches = 10\nrun.max_batches = 10\n{keys}"
    );
    run_on(PLATFORM, &text, 5)
}

#[test]
fn engines_copy_the_few_items_that_carry_most_bytes() {
    // ASPLOS'24, appendix B: 4.8 % of the copies are of 8 KiB and more, and carry 96.4 % of the bytes.
    let result = run("cachelib.by = \"dsa\"\ncores = 4\n");
    let copies = value(&result, "offloaded_copies_percent");
    let bytes = value(&result, "offloaded_bytes_percent");
    assert!((copies - 4.8).abs() < 0.7, "{copies} % of copies");
    assert!((bytes - 96.4).abs() < 1.0, "{bytes} % of bytes");
    let none = value(&run(""), "offloaded_copies_percent");
    assert!(none.abs() < 1e-9, "{none} % without engines");
}

#[test]
fn requests_are_gets_and_sets_in_their_shares() {
    let result = run("cachelib.get_percent = 80\n");
    let (gets, sets) = (value(&result, "store_gets_per_s"), value(&result, "store_sets_per_s"));
    assert!((gets / (gets + sets) - 0.8).abs() < 0.02, "{gets} gets, {sets} sets");
    assert!((gets + sets - value(&result, "work_per_s")).abs() < 1.0);
}

#[test]
fn engines_raise_the_rate_and_shorten_the_tail() {
    let by_core = run("cores = 4\n");
    let by_engines = run("cores = 4\ncachelib.by = \"dsa\"\ndsa.engines = 4\ndsa.queues = 4\n");
    let rate = |result: &RunResult| value(result, "work_per_s");
    let tail = |result: &RunResult| part(result, "latency_ns", "p99.9");
    assert!(rate(&by_engines) > rate(&by_core), "{} {}", rate(&by_engines), rate(&by_core));
    assert!(tail(&by_engines) < tail(&by_core), "{} {}", tail(&by_engines), tail(&by_core));
}
