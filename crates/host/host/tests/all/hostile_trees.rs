//! Whatever a tree holds, is it an answer or a reason, and never a panic?

use std::fs;
use std::os::unix::fs::{FileExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::cpu::{CpuModel, Generations, cpu_list, sockets};
use host::monitor::Monitor;
use host::pci_address::Bdf;
use host::resctrl::MaskLine;
use host::status::{HostStatus, explain};
use host::tune::{DEFAULT_STATE, IoAllocRequest, Journal, TunePlanner};
use host::{Host, Root};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::machines::machine;

/// Everything that reads.
fn read_all(root: &Path) {
    let Ok(host) = Host::from_tree(root) else { return };
    let status = HostStatus::read(&host, DEFAULT_STATE);
    let _ = explain(&status);
    let _ = serde_json::to_string(&status).expect("any status is JSON");
    let sockets = sockets(&host.root).unwrap_or_default();
    let generations = Generations::built_in();
    let cpu = CpuModel::read(&host.root).ok();
    let generation = cpu.as_ref().and_then(|cpu| generations.find(cpu));
    let monitor = Monitor::prepare(&host, generation, &sockets);
    let _ = monitor.sample(&host, Duration::from_millis(100));
    if let Ok(planner) = TunePlanner::new(&host) {
        let planner = planner.allow_unmeasured(true);
        for ways in [0, 2, 11, 40, u32::MAX] {
            let _ = planner.ddio_ways(ways, None);
        }
        for mask in [0, 1, 0x400, u64::MAX] {
            let _ = planner.cat("default", mask, None);
            let _ = planner.io_alloc(IoAllocRequest::Mask(mask));
        }
        let _ = planner.ddio(false, None);
        for device in ["17:00.0", "10001:17:00.0", "b1:00.0"] {
            let _ = planner.ddio(false, Some(device.parse().expect("an address")));
        }
    }
    let _ = Journal::peek(&host.root, DEFAULT_STATE);
}

/// One file of each kind that is read.
const VICTIMS: [&str; 22] = [
    "registers.toml",
    "registers.state",
    "proc/cpuinfo",
    "proc/sys/kernel/random/boot_id",
    "sys/devices/system/cpu/online",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id",
    "sys/devices/system/cpu/cpu0/cache/index3/size",
    "sys/devices/system/cpu/cpu0/cache/index3/ways_of_associativity",
    "sys/devices/system/cpu/cpu0/cache/index3/shared_cpu_list",
    "sys/devices/system/node/node0/cpulist",
    "sys/devices/system/cpu/intel_uncore_frequency/package_00_die_00/min_freq_khz",
    "sys/bus/event_source/devices/uncore_cha_0/type",
    "sys/bus/event_source/devices/uncore_cha_0/cpumask",
    "sys/bus/event_source/devices/uncore_cha_0/format/umask",
    "sys/bus/pci/devices/0000:16:00.0/config",
    "sys/bus/pci/devices/0000:17:00.0/class",
    "sys/bus/pci/devices/0000:17:00.0/numa_node",
    "sys/fs/resctrl/schemata",
    "sys/fs/resctrl/info/L3/cbm_mask",
    "sys/fs/resctrl/info/L3/io_alloc",
    "sys/fs/resctrl/info/L3/io_alloc_cbm",
    "var/lib/skipline-host/journal.json",
];

#[derive(Clone, Debug)]
enum Junk {
    Bytes(Vec<u8>),
    /// Text that looks like what belongs there.
    Text(String),
    LoopOfLinks,
    LinkOutside,
    Directory,
    Pipe,
    /// Larger than anything that is read.
    Huge,
    Nothing,
}

fn junk() -> impl Strategy<Value = Junk> {
    prop_oneof![
        4 => prop::collection::vec(any::<u8>(), 0..300).prop_map(Junk::Bytes),
        6 => "[-0-9a-fx:;=,. \\nL3kKMonfig\\[\\]{}\"]{0,60}".prop_map(Junk::Text),
        1 => "(18446744073709551615|4294967295|-1|0)[KM]?".prop_map(Junk::Text),
        1 => Just(Junk::LoopOfLinks),
        1 => Just(Junk::LinkOutside),
        1 => Just(Junk::Directory),
        1 => Just(Junk::Pipe),
        1 => Just(Junk::Huge),
        1 => Just(Junk::Nothing),
    ]
}

fn put(path: &Path, junk: &Junk) {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path).expect("removing");
    } else {
        let _ = fs::remove_file(path);
    }
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent).expect("a directory");
    }
    match junk {
        Junk::Bytes(bytes) => fs::write(path, bytes).expect("writing"),
        Junk::Text(text) => fs::write(path, text).expect("writing"),
        Junk::LoopOfLinks => {
            let name = path.file_name().expect("a name");
            symlink(name, path).expect("a link");
        }
        Junk::LinkOutside => symlink("/etc/passwd", path).expect("a link"),
        Junk::Directory => fs::create_dir(path).expect("a directory"),
        Junk::Pipe => {
            rustix::fs::mkfifoat(rustix::fs::CWD, path, 0o644.into()).expect("a pipe");
        }
        Junk::Huge => {
            let file = fs::File::create(path).expect("a file");
            file.write_all_at(b"x", 1 << 40).expect("a file with a hole");
        }
        Junk::Nothing => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: soak::amount(40, 600),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(soak::seed(17)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn junk_in_any_file_is_a_reason_and_no_panic(
        index in prop::sample::select(vec!["skylake", "turin", "ice-lake"]),
        changes in prop::collection::vec((prop::sample::select(&VICTIMS[..]), junk()), 1..5),
    ) {
        let directory = machine(index);
        for (victim, junk) in &changes {
            let path = directory.path().join(victim);
            put(&path, junk);
        }
        read_all(directory.path());
    }

    #[test]
    fn parsers_take_any_text(text in ".{0,80}", near in "[-0-9a-fxL:;=,. ]{0,40}") {
        for text in [&text, &near] {
            let _ = cpu_list(text);
            let _ = text.parse::<Bdf>();
            let _ = MaskLine::parse(text);
            let _ = host::fake::MachineDescription::parse(text);
        }
    }

    #[test]
    fn masks_read_back_as_they_print(masks in prop::collection::vec((any::<u32>(), any::<u64>()), 1..6)) {
        let text: Vec<String> = masks.iter().map(|(domain, mask)| format!("{domain}={mask:016x}")).collect();
        let line = MaskLine::parse(&format!("L3:{}", text.join(";"))).expect("a line");
        prop_assert_eq!(&line.masks, &masks);
        prop_assert_eq!(MaskLine::parse(&line.to_string()), Some(line));
    }
}

#[test]
fn a_link_out_of_the_tree_stays_inside_it() {
    let directory = tempfile::tempdir().expect("a directory");
    fs::create_dir(directory.path().join("etc")).expect("a directory");
    symlink("/etc/passwd", directory.path().join("absolute")).expect("a link");
    symlink("../../../../../../../etc/passwd", directory.path().join("upwards")).expect("a link");
    let root = Root::from_tree(directory.path()).expect("the tree");
    for path in ["absolute", "upwards"] {
        let error = root.read_text(path).expect_err("the tree has no such file").to_string();
        assert!(error.ends_with("does not exist"), "{error}");
    }
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = |name: &str| -> PathBuf { directory.path().join(name) };
    for (name, junk, expected) in [
        ("loop", Junk::LoopOfLinks, "is a loop of links"),
        ("huge", Junk::Huge, "is longer than 4194304 bytes"),
        ("binary", Junk::Bytes(vec![0xff, 0xfe, 0]), "is not valid UTF-8 text"),
        ("pipe", Junk::Pipe, "is not a regular file"),
        ("directory", Junk::Directory, "is not a regular file"),
        ("missing", Junk::Nothing, "does not exist"),
    ] {
        put(&path(name), &junk);
        let root = Root::from_tree(directory.path()).expect("the tree");
        let error = root.read_text(name).expect_err("an error").to_string();
        assert!(error.ends_with(expected), "{error}");
    }
    put(&path("number"), &Junk::Text("twelve\n".into()));
    let root = Root::from_tree(directory.path()).expect("the tree");
    let error = root.read_number("number").expect_err("an error").to_string();
    assert!(error.ends_with("holds \"twelve\" instead of a whole number"), "{error}");
}

#[test]
fn bridges_in_a_circle_are_told() {
    let directory = machine("skylake");
    let config = directory.path().join("sys/bus/pci/devices/0000:16:00.0/config");
    let mut bytes = fs::read(&config).expect("configuration space");
    bytes[0x19] = 0x16;
    fs::write(&config, bytes).expect("configuration space");
    let host = Host::from_tree(directory.path()).expect("the machine");
    let planner = TunePlanner::new(&host).expect("the CPU's model");
    let device = "16:00.0".parse().expect("an address");
    let error = planner.ddio(false, Some(device)).expect_err("a circle").to_string();
    assert!(error.contains("name each other's buses in a circle"), "{error}");
    read_all(directory.path());
}

#[test]
fn a_tree_that_is_read_only_refuses_before_anything_is_written() {
    let directory = machine("skylake");
    let state = directory.path().join("var");
    symlink("/proc/self", state).expect("a link");
    let host = Host::from_tree(directory.path()).expect("the machine");
    let refused = host::tune::StateDirectory::lock(&host.root, DEFAULT_STATE);
    assert!(refused.is_err());
}
