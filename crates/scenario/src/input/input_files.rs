//! Which files decide the result of a run: whoever keeps results asks whether one of them has changed.

use crate::devices::DeviceKind;
use crate::input::builtin::{self, PLATFORM_FOLDER, path_of};
use crate::run::Job;
use crate::scenario::Tenant;

/// Paths of all files that a job from `scenario_file` was read from, where the run itself finds them: scenario,
/// platform and its slice table, and each tenant's devices and capture. Where no file is at such a path,
/// the one of that name was read that is part of the program.
#[must_use]
pub fn input_files(scenario_file: &str, job: &Job) -> Vec<String> {
    let scenario = job.scenario();
    let platform = path_of(scenario_file, PLATFORM_FOLDER, &scenario.machine.platform);
    let table = job.platform().llc.slice_table_file(&platform);
    let own = scenario.tenants().flat_map(|tenant| files_of_tenant(scenario_file, tenant));
    [scenario_file.into(), platform].into_iter().chain(table).chain(own).collect()
}

fn files_of_tenant(scenario_file: &str, tenant: &Tenant) -> impl Iterator<Item = String> {
    let devices = DeviceKind::ALL.into_iter().filter_map(move |kind| {
        Some(path_of(scenario_file, kind.folder(), tenant.devices.named(kind)?))
    });
    let capture = tenant.devices.nic.traffic.pcap.as_ref();
    devices.chain(capture.map(|path| builtin::beside(scenario_file, path)))
}
