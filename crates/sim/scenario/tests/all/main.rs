//! Whole runs, and the files that describe them: one program, one module per question.

#![expect(clippy::cast_possible_truncation, reason = "machines of the tests are small")]

mod answers;
mod applications;
mod buffer_pool;
mod cachelib;
mod cbdma;
mod chained_buffers;
mod controllers;
mod counters;
mod descriptor_replay;
mod descriptor_replay_by_cores;
mod descriptor_stories;
mod dsa_calibrated;
mod dsa_rows;
mod engine_telemetry;
mod filling;
mod forwarder;
mod freed_buffers;
mod hardware;
mod host_kernels;
mod idle_time;
mod interference_zones;
mod key_value;
mod keys;
mod kinds;
mod laws;
mod message_passing;
mod metrics;
mod nic;
mod nvme_tcp_target;
mod offload;
mod overload;
mod ping_pong;
mod placement;
mod platforms;
mod ports;
mod probe;
mod queues;
mod random_scenarios;
mod schema_ranges;
mod slice_distances;
mod slice_placement;
#[path = "../../../model/tests/all/small_fabric.rs"]
mod small_fabric;
mod ssd;
mod steered_laws;
mod tenants;
mod testbeds;
mod vhost_switch;

use scenario::{InputError, Job, Scenario, builtin};

/// The scenario `text`, which names its platform; facts that it replaces are those of the platform.
pub fn job_of(text: &str, seed: u64) -> Result<Job, InputError> {
    const FILE: &str = "a.toml";
    let scenario = Scenario::read(FILE, text, &[])?;
    let name = scenario.platform_name().to_owned();
    let platform = builtin::platform_with(FILE, &name, &scenario.platform_facts())?;
    Job::new(FILE, scenario, platform, &name, seed)
}
