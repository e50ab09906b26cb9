//! Are registers of every die meant where a socket has several, and those of the socket where it has
//! several NUMA nodes?

use std::fs;

use crate::on_machine::{OnMachine, STATE};

const WINDOW: [&str; 7] = ["monitor", "--windows", "1", "--interval", "1000", "--format", "json"];

/// Cascade Lake-AP: the upper half of each socket's CPUs is another die, with a cache of its own.
fn with_two_dies() -> OnMachine {
    let machine = OnMachine::new("cascade-lake", &[]);
    let folder = machine.path().join("sys/devices/system/cpu");
    let text = |path: &str| fs::read_to_string(folder.join(path)).expect("a file");
    let cores = text("cpu0/cache/index3/shared_cpu_list");
    let (_, last) = cores.trim().split_once('-').expect("a range");
    let cores: u32 = last.parse::<u32>().expect("a number") + 1;
    for cpu in 0..2 * cores {
        let die = cpu / (cores / 2);
        let first = die * cores / 2;
        let cache = folder.join(format!("cpu{cpu}/cache/index3"));
        fs::write(cache.join("id"), format!("{die}\n")).expect("the number of a cache");
        let shared = format!("{first}-{}\n", first + cores / 2 - 1);
        fs::write(cache.join("shared_cpu_list"), shared).expect("the CPUs of a cache");
    }
    machine
}

#[test]
fn a_package_of_two_dies_is_refused_and_not_shown_by_one_of_them() {
    let machine = with_two_dies();
    let before = machine.content();
    let change = ["tune", "ddio-ways", "4", "--apply"];
    let run = machine.run(&change);
    assert_eq!((run.code, run.out.as_str()), (Some(3), ""));
    assert!(run.err.contains("socket 0 has 2 dies, each with a last-level cache"), "{}", run.err);
    let status = machine.run(&["status"]);
    assert!(!status.out.contains("I/O ways"), "{}", status.out);
    assert!(status.out.contains("has 2 dies"), "{}", status.out);
    // A journal of an earlier version, which reached one die.
    let whole = OnMachine::new("cascade-lake", &[]);
    assert_eq!(whole.run(&change).code, Some(0));
    let state = machine.path().join(STATE);
    fs::create_dir_all(&state).expect("a directory");
    fs::copy(whole.path().join(STATE).join("journal.json"), state.join("journal.json"))
        .expect("it");
    let run = machine.run(&["restore", "--all"]);
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.out.contains("has 2 dies"), "{}", run.out);
    assert!(machine.content() == before);
    // Switches belong to ports, wherever the dies are.
    assert_eq!(machine.run(&["tune", "ddio", "off"]).code, Some(0));
}

/// One processor of a socket reads the counters of its own die only.
#[test]
fn counters_of_one_die_do_not_pass_for_those_of_the_socket() {
    let machine = OnMachine::new("cascade-lake-ap", &[]);
    // As kernels before 5.3.
    let sources = machine.path().join("sys/bus/event_source/devices");
    for source in fs::read_dir(sources).expect("event sources").flatten() {
        fs::write(source.path().join("cpumask"), "0,20\n").expect("the readers");
    }
    let before = machine.content();
    let run = machine.run(&WINDOW);
    assert_eq!(run.code, Some(0), "{}", run.err);
    let sample: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    for socket in sample["sockets"].as_array().expect("sockets") {
        for what in ["pcie_write", "pcie_partial_write", "pcie_read", "dram_read_bytes_per_s"] {
            assert!(socket[what].is_null(), "{what}: {socket}");
        }
    }
    assert_eq!(sample["ports"], serde_json::json!([]));
    let text = machine.run(&WINDOW[..5]).out;
    assert!(text.contains("hits and misses of devices: socket 0 has 2 dies"), "{text}");
    for command in [&["map", "--apply", "--recover"][..], &["map"], &["check"]] {
        let out = machine.path().join("slices.toml").display().to_string();
        let out = ["--out", &out];
        let out = if command[0] == "map" { &out[..] } else { &[] };
        let run = machine.run(&[&["slices"], command, out].concat());
        assert_eq!((run.code, run.out.as_str()), (Some(3), ""), "{command:?}: {}", run.err);
        assert!(run.err.contains("socket 0 has 2 dies, each with a last-level cache and slices"));
    }
    assert!(machine.content() == before);
}

/// The kernel names a reader on each die: together they count what the socket does.
#[test]
fn counters_of_all_dies_are_summed() {
    let machine = OnMachine::new("cascade-lake-ap", &[]);
    let readers = machine.path().join("sys/bus/event_source/devices/uncore_cha_0/cpumask");
    assert_eq!(fs::read_to_string(readers).expect("the readers"), "0,10,20,30\n");
    let sample = |machine: &OnMachine| -> serde_json::Value {
        serde_json::from_str(&machine.run(&WINDOW).out).expect("one JSON object")
    };
    // Here each die counts as much as the whole of the machine with one.
    let (both, one) = (sample(&machine), sample(&OnMachine::new("cascade-lake", &[])));
    for (both, one) in (0..2).map(|at| (&both["sockets"][at], &one["sockets"][at])) {
        let twice = one["pcie_write"]["hits"].as_u64().expect("hits") * 2;
        assert_eq!(both["pcie_write"]["hits"], twice);
    }
    assert_eq!(both["ports"], serde_json::json!([]), "stacks of two dies have one number");
}

#[test]
fn sub_numa_clusters_share_the_register_of_their_socket() {
    let machine = OnMachine::new("skylake", &[]);
    let nodes = machine.path().join("sys/devices/system/node");
    for (node, cpus) in [(0, "0-8"), (1, "9-17"), (2, "18-26"), (3, "27-35")] {
        let folder = nodes.join(format!("node{node}"));
        fs::create_dir_all(&folder).expect("a node");
        fs::write(folder.join("cpulist"), format!("{cpus}\n")).expect("its CPUs");
    }
    let devices = machine.path().join("sys/bus/pci/devices");
    for (function, node) in [("0000:16:00.0", 1), ("0000:17:00.0", 1), ("0000:ae:00.0", 3)] {
        let path = devices.join(function).join("numa_node");
        fs::write(path, format!("{node}\n")).expect("the node of a function");
    }
    let run = machine.run(&["tune", "ddio-ways", "4"]);
    assert_eq!(run.out.matches("MSR 0xc8b of socket").count(), 2, "{}", run.out);
    let status = machine.run(&["status", "--format", "json"]);
    let status: serde_json::Value = serde_json::from_str(&status.out).expect("one JSON object");
    for (socket, port) in [(0, "0000:16:00.0"), (1, "0000:ae:00.0")] {
        let ports = status["sockets"][socket]["ports"].as_array().expect("ports");
        assert!(ports.iter().any(|found| found["port"] == port), "{socket}: {ports:?}");
    }
    let change = ["tune", "ddio", "off", "--device", "b1:00.0", "--apply", "--verify"];
    let run = machine.run(&change);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("on socket 1") && !run.out.contains("on socket 0"), "{}", run.out);
}
