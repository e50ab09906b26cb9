//! A command line becomes the scenario that an experiment has: both ask the model the same.

use crate::measurements::options;
use dsa_bench::model::scenario_of;
use scenario::Scenario;
use std::path::Path;

const PLATFORM: &str = "sapphire-rapids-56";
/// The scenario of the paper's copies.
const COPIES: &str = "experiments/asplos24/copy-scenario.toml";
/// Keys that are left out of the comparison: length and purpose of a run, sets of buffers, and keys with
/// which the engine that is measured has nothing to do.
const APART: [&str; 6] = ["testbed", "run", "title", "question", "stated", "name"];

/// The scenario of a file with every default filled in, as JSON, without what is apart.
fn resolved(text: &str, settings: &[(&str, &str)]) -> serde_json::Value {
    let settings: Vec<(String, String)> =
        settings.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let read = Scenario::read("a.toml", text, &settings).expect("is valid");
    let platform = scenario::builtin::platform("a.toml", PLATFORM).expect("is built in");
    let job = scenario::Job::new("a.toml", read, platform, PLATFORM, 1).expect("is accepted");
    let mut all = serde_json::to_value(job.scenario()).expect("is JSON");
    let keys = all.as_object_mut().expect("is an object");
    for key in APART {
        keys.remove(key);
    }
    all["offload"].as_object_mut().expect("is a table").remove("buffers");
    all
}

fn same(line: &str, settings: &[(&str, &str)]) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let copies = std::fs::read_to_string(root.join(COPIES)).expect("is there");
    let options = options(&format!("-z F,F {line}")).expect("is valid");
    let points = options.points().expect("are valid");
    let own = scenario_of(&options, &points[0], PLATFORM, options.by_cpu).expect("there is one");
    assert_eq!(resolved(&own, &[]), resolved(&copies, settings), "{line}");
}

#[test]
fn command_lines_are_the_points_of_the_experiments() {
    same("-q 32", &[]);
    same("-q 1 -s 64K", &[("offload.transfer_bytes", "65536"), ("offload.depth", "1")]);
    same("-q 32 -w 1", &[("dsa.queue_mode", "\"shared\"")]);
    same(
        "-q 4 -b 16 --engines 4",
        &[("offload.batch", "16"), ("offload.depth", "4"), ("dsa.engines", "4")],
    );
    same("-q 32 --pages 2M", &[("iommu", "\"2M\"")]);
    same("-q 1 --phases", &[("offload.depth", "1"), ("offload.descriptors", "\"allocated\"")]);
    same("-q 32 --threads 4", &[("cores", "4"), ("dsa.queues", "4")]);
    same(
        "-q 32 --source-node cxl --destination-node other-socket",
        &[("offload.source_node", "\"cxl\""), ("offload.destination_node", "\"other-socket\"")],
    );
    same(
        "-q 32 -f --instances 2",
        &[("offload.cache_control", "1"), ("dsa.instances", "2"), ("cores", "2")],
    );
    same("-q 1 -x 0x100", &[("offload.depth", "1"), ("offload.wait", "\"umwait\"")]);
}
