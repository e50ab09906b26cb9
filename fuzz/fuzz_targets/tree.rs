//! A machine with one file of any content is read without a panic.
#![no_main]

use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;

use host::Host;
use host::status::{Status, explain};
use host::tune::{DEFAULT_STATE, IoAllocRequest, Planner};
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

const VICTIMS: [&str; 14] = [
    "registers.toml",
    "registers.state",
    "proc/cpuinfo",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/cache/index3/size",
    "sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list",
    "sys/devices/system/node/node0/cpulist",
    "sys/bus/event_source/devices/amd_umc_0/cpumask",
    "sys/bus/event_source/devices/amd_umc_0/format/event",
    "sys/bus/pci/devices/0000:17:00.0/config",
    "sys/fs/resctrl/schemata",
    "sys/fs/resctrl/info/L3/cbm_mask",
    "sys/fs/resctrl/info/L3/io_alloc_cbm",
    "var/lib/skipline-host/journal.json",
];

static MACHINE: OnceLock<TempDir> = OnceLock::new();

fn machine() -> &'static TempDir {
    MACHINE.get_or_init(|| {
        let directory = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir());
        let directory = directory.expect("a temporary directory");
        fake_machines::expand("turin", &[], directory.path()).expect("a machine");
        fs::create_dir_all(directory.path().join(DEFAULT_STATE)).expect("a directory");
        directory
    })
}

fuzz_target!(|bytes: &[u8]| {
    let Some((&victim, content)) = bytes.split_first() else { return };
    let root = machine().path();
    let path: PathBuf = root.join(VICTIMS[usize::from(victim) % VICTIMS.len()]);
    let before = fs::read(&path).ok();
    fs::write(&path, content).expect("writing");
    if let Ok(host) = Host::at(root) {
        let _ = explain(&Status::read(&host, DEFAULT_STATE));
        if let Ok(planner) = Planner::new(&host) {
            let _ = planner.ddio_ways(4, None);
            let _ = planner.io_alloc(IoAllocRequest::Mask(0xf));
            let _ = planner.cat("db", 0xf, None);
        }
    }
    match before {
        Some(before) => fs::write(&path, before).expect("writing"),
        None => fs::remove_file(&path).expect("removing"),
    }
});
