//! A machine some of whose files hold any bytes is read without a panic.

use std::fs;
use std::path::Path;
use std::time::Duration;

use host::Host;
use host::calibrate::{Measurement, Processor, platform};
use host::cpu::{CpuModel, Generations, sockets};
use host::doctor::examine;
use host::monitor::Monitor;
use host::slices::SliceMachine;
use host::status::{HostStatus, explain};
use host::tune::{DEFAULT_STATE, IoAllocRequest, TunePlanner};

use super::input::Input;
use super::machine::{FileContents, MachineCache};

/// A file of each kind that is read. The corpus refers to them by number: add at the end.
pub const VICTIMS: [&str; 59] = [
    "registers.toml",
    "registers.state",
    "slices.toml",
    "proc/cpuinfo",
    "proc/meminfo",
    "proc/filesystems",
    "proc/mounts",
    "proc/cmdline",
    "proc/sys/kernel/random/boot_id",
    "proc/sys/kernel/perf_event_paranoid",
    "proc/sys/kernel/tainted",
    "sys/kernel/security/lockdown",
    "sys/module/msr/parameters/allow_writes",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/topology/core_id",
    "sys/devices/system/cpu/cpu0/cache/index3/level",
    "sys/devices/system/cpu/cpu0/cache/index3/id",
    "sys/devices/system/cpu/cpu0/cache/index3/size",
    "sys/devices/system/cpu/cpu0/cache/index3/ways_of_associativity",
    "sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/node/node0/hugepages/hugepages-2048kB/nr_hugepages",
    "sys/devices/system/node/node0/hugepages/hugepages-2048kB/free_hugepages",
    "sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/min_freq_khz",
    "sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/max_freq_khz",
    "sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/current_freq_khz",
    "sys/bus/event_source/devices/uncore_cha_0/type",
    "sys/bus/event_source/devices/uncore_cha_0/cpumask",
    "sys/bus/event_source/devices/uncore_cha_0/format/umask",
    "sys/bus/event_source/devices/uncore_iio_1/die0",
    "sys/bus/pci/devices/0000:16:00.0/config",
    "sys/bus/pci/devices/0000:16:00.0/class",
    "sys/bus/pci/devices/0000:16:00.0/vendor",
    "sys/bus/pci/devices/0000:16:00.0/device",
    "sys/bus/pci/devices/0000:16:00.0/numa_node",
    "sys/bus/pci/devices/0000:17:00.0/config",
    "sys/fs/resctrl/schemata",
    "sys/fs/resctrl/cpus_list",
    "sys/fs/resctrl/info/L3/cbm_mask",
    "sys/fs/resctrl/info/L3/min_cbm_bits",
    "sys/fs/resctrl/info/L3/shareable_bits",
    "sys/fs/resctrl/info/L3/sparse_masks",
    "sys/fs/resctrl/info/L3/num_closids",
    "sys/fs/resctrl/info/L3/io_alloc",
    "sys/fs/resctrl/info/L3/io_alloc_cbm",
    "var/lib/skipline-host/journal.json",
    "var/lib/skipline-host/elsewhere",
    "sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy",
    "sys/bus/dsa/devices/dsa0/numa_node",
    "sys/kernel/iommu_groups/0/type",
    "measured.json",
    "sys/devices/system/cpu/present",
    "sys/devices/system/cpu/cpu0/online",
    "sys/devices/system/cpu/cpu0/topology/die_id",
    "sys/devices/system/cpu/cpu0/topology/cluster_id",
    "sys/devices/system/cpu/cpu0/topology/core_cpus_list",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu0/cache/index3/type",
];

const MACHINES: [&str; 3] = ["cascade-lake", "turin", "sapphire-rapids"];
static KEPT: MachineCache = MachineCache::new();

/// Up to four files: number, length, bytes.
pub fn read(bytes: &[u8]) {
    let mut input = Input(bytes);
    KEPT.with(input.one_of(&MACHINES), |machine| {
        let root = machine.root();
        let before = FileContents::read(root, &VICTIMS);
        for _ in 0..4 {
            if input.is_empty() {
                break;
            }
            let path = root.join(input.one_of(&VICTIMS));
            let length = usize::from(input.byte()) << (input.byte() % 6);
            let content = input.take(length);
            // A machine has not every kind of file: AMD has no uncore units.
            if path.parent().is_some_and(Path::is_dir) {
                fs::write(path, content).expect("a file of the machine");
            }
        }
        if let Ok(host) = Host::from_tree(root) {
            read_all(&host);
        }
        before.put_back();
    });
}

/// The files that no machine has a place for: nothing that is written there is ever read.
pub fn without_a_place() -> Vec<&'static str> {
    let mut left = VICTIMS.to_vec();
    for name in MACHINES {
        KEPT.with(name, |machine| {
            let has_place =
                |path: &str| machine.root().join(path).parent().is_some_and(Path::is_dir);
            left.retain(|path| !has_place(path));
        });
    }
    left
}

fn read_all(host: &Host) {
    let status = HostStatus::read(host, DEFAULT_STATE);
    let _ = explain(&status);
    let _ = serde_json::to_string(&status).expect("any status is JSON");
    let _ = examine(host, DEFAULT_STATE);
    let _ = Processor::read(&host.root);
    if let Ok(text) = host.root.read_text("measured.json") {
        let _ = Measurement::read("measured.json", &text).map(|measured| platform(&measured));
    }
    if let Ok(machine) = SliceMachine::read(host, None, None) {
        let _ = machine.slice_count(host);
        let _ = machine.counting_method(host, None);
    }
    let sockets = sockets(&host.root).unwrap_or_default();
    let generations = Generations::built_in();
    let cpu = CpuModel::read(&host.root).ok();
    let generation = cpu.as_ref().and_then(|cpu| generations.find(cpu));
    let monitor = Monitor::prepare(host, generation, &sockets);
    let _ = monitor.sample(host, Duration::from_millis(100));
    if let Ok(planner) = TunePlanner::new(host) {
        let planner = planner.allow_unmeasured(true);
        let _ = planner.ddio_ways(4, None);
        let _ = planner.ddio(false, None);
        let _ = planner.ddio(false, Some("17:00.0".parse().expect("an address")));
        let _ = planner.io_alloc(IoAllocRequest::Mask(0xf));
        let _ = planner.cat("db", 0xf, None);
        let _ = planner.cat("default", 0x400, Some(1));
    }
}
