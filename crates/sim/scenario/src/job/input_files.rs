//! The files that determine the result of a run: a store of results checks whether one of them has
//! changed.

use crate::job::Job;
use crate::kinds::DeviceClass;
use crate::scenario::Tenant;
use crate::text::files;
use facts::Kind;

/// Paths of all files that a job from `scenario_file` was read from, as the run itself finds them, each
/// once: scenario, testbed, platform and its slice table, each tenant's devices and capture, and the files that
/// these inherit from, including costs of software. Where there is no file at such a path, the embedded
/// one of that name was read.
#[must_use]
pub fn input_files(scenario_file: &str, job: &Job) -> Vec<String> {
    let scenario = job.scenario();
    let platforms = files::files_behind(scenario_file, Kind::Platform, &scenario.machine.platform);
    let table =
        platforms.first().and_then(|platform| job.platform().llc.slice_table_file(platform));
    let own = scenario.tenants().flat_map(|tenant| files_of_tenant(scenario_file, tenant));
    let testbed = scenario.machine.testbed.as_deref();
    let testbed = testbed.map(|named| files::testbed_path(scenario_file, named));
    let all =
        [scenario_file.into()].into_iter().chain(testbed).chain(platforms).chain(table).chain(own);
    let mut files: Vec<String> = Vec::new();
    for file in all {
        if !files.contains(&file) {
            files.push(file);
        }
    }
    files
}

fn files_of_tenant(scenario_file: &str, tenant: &Tenant) -> impl Iterator<Item = String> {
    let devices = DeviceClass::ALL.into_iter().filter_map(move |kind| {
        Some(files::files_behind(scenario_file, kind.files()?, kind.named(tenant.view())?))
    });
    let capture = tenant.kinds.devices.nic.traffic.pcap.as_ref();
    devices.flatten().chain(capture.map(|path| files::beside(scenario_file, path)))
}
