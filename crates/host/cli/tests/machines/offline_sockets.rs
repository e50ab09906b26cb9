//! A socket without online CPUs: is it named, and never taken for set?

use std::fs;

use crate::on_machine::{OnMachine, Run};

/// Skylake with the CPUs of a list online, and the rest of the tree as it was.
fn skylake_online(list: &str) -> OnMachine {
    let machine = OnMachine::new("skylake", &[]);
    machine.put("sys/devices/system/cpu/online", list);
    machine
}

/// The socket below which `status` shows each port, or another heading.
fn headings_of_ports(status: &Run) -> Vec<(String, String)> {
    let mut heading = String::new();
    let mut found = Vec::new();
    for line in status.out.lines() {
        if line.starts_with("SOCKET") || line.starts_with("DEVICES") || line.starts_with("CACHE") {
            heading = line.split("   ").next().unwrap_or_default().to_owned();
        }
        if let Some(rest) = line.trim_start().strip_prefix("Port ") {
            let port = rest.split_whitespace().next().unwrap_or_default();
            found.push((port.to_owned(), heading.clone()));
        }
    }
    found
}

fn heading_of(status: &Run, port: &str) -> String {
    let found = headings_of_ports(status);
    let heading = found.iter().find(|(it, _)| it == port).map(|(_, heading)| heading.clone());
    heading.unwrap_or_else(|| panic!("{port} is not shown: {}", status.out))
}

const ELSEWHERE: &str = "DEVICES OF SOCKETS THAT ARE NOT REACHED OR NOT KNOWN";

#[test]
fn ports_of_a_socket_without_online_cpus_are_not_shown_under_another_one() {
    let as_the_kernel_shows_it = OnMachine::new("offline-socket", &[]);
    for machine in [as_the_kernel_shows_it, skylake_online("0-17")] {
        let status = machine.run(&["status"]);
        assert_eq!(heading_of(&status, "0000:16:00.0"), "SOCKET 0");
        assert_eq!(heading_of(&status, "0000:ae:00.0"), ELSEWHERE);
        assert!(status.out.contains("Offline CPUs 18-35"), "{}", status.out);
        assert!(status.out.contains("its CPUs 18-35 are offline"), "{}", status.out);
    }
}

#[test]
fn a_change_of_all_sockets_names_the_one_that_it_does_not_reach() {
    for (machine, name) in [
        (OnMachine::new("offline-socket", &[]), "the socket of NUMA node 1"),
        (skylake_online("0-17"), "socket 1"),
        (skylake_online("18-35"), "socket 0"),
    ] {
        for arguments in [&["tune", "ddio-ways", "4"][..], &["tune", "ddio-mask", "0x700"]] {
            let dry = machine.run(arguments);
            let message = format!("MSR 0xc8b of {name} is left out: its CPUs");
            assert!(dry.out.replace("\n     ", "").contains(&message), "{}", dry.out);
            let run = machine.run(&[arguments, &["--apply"]].concat());
            assert_eq!(run.code, Some(4), "{}{}", run.out, run.err);
            let json = machine.run(&[arguments, &["--format", "json"]].concat());
            assert!(json.out.contains("left_out"), "{}", json.out);
            assert_eq!(machine.run(&["restore"]).code, Some(0));
        }
    }
}

#[test]
fn settings_that_are_held_are_refused_while_a_socket_is_not_reached() {
    for machine in [OnMachine::new("offline-socket", &[]), skylake_online("0-17")] {
        let before = machine.content();
        for arguments in [
            &["run", "--ddio-ways", "4", "--apply", "--", "true"][..],
            &["tune", "ddio-ways", "4", "--apply", "--for", "1ms"],
            &["tune", "ddio-mask", "0x700", "--apply", "--for", "1ms"],
            &["steer", "--windows", "1"],
            &["steer", "--windows", "1", "--apply"],
            &["tune", "ddio-ways", "4", "--socket", "1", "--apply"],
        ] {
            let run = machine.run(arguments);
            assert_eq!(run.code, Some(3), "{arguments:?}: {}{}", run.out, run.err);
            assert!(run.err.contains("18-35 are offline"), "{arguments:?}: {}", run.err);
        }
        assert!(machine.content() == before);
        for arguments in [
            &["run", "--ddio-ways", "4", "--socket", "0", "--apply", "--", "true"][..],
            &["steer", "--windows", "1", "--socket", "0", "--apply"],
            &["tune", "ddio-ways", "4", "--socket", "0", "--apply"],
        ] {
            let run = machine.run(arguments);
            assert_eq!(run.code, Some(0), "{arguments:?}: {}{}", run.out, run.err);
        }
    }
}

#[test]
fn counters_of_a_socket_without_online_cpus_are_missed_and_judge_nothing() {
    let machine = OnMachine::new("offline-socket", &[]);
    let run = machine.run(&["monitor", "--windows", "1", "--format", "text"]);
    assert!(run.out.contains("counters of the socket of NUMA node 1"), "{}", run.out);
    let tune =
        ["tune", "ddio", "off", "--device", "af:00.0", "--apply", "--verify", "--window", "1"];
    let run = machine.run(&tune);
    assert_eq!(run.code, Some(6), "{}{}", run.out, run.err);
    assert!(run.out.contains("its socket has no counters here"), "{}", run.out);
}

#[test]
fn cpus_that_are_offline_beside_online_ones_of_their_socket_leave_nothing_out() {
    let machine = skylake_online("1-16,18,20-35");
    // As the kernel shows it; the nodes still list the CPUs.
    for cpu in [0, 17, 19] {
        let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        fs::remove_dir_all(machine.path().join(topology)).expect("its topology");
    }
    let status = machine.run(&["status"]);
    assert!(status.out.contains("Offline CPUs 0,17,19"), "{}", status.out);
    assert!(!status.out.contains("DEVICES"), "{}", status.out);
    let run = machine.run(&["tune", "ddio-ways", "4", "--apply"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
}

#[test]
fn threads_that_are_switched_off_hide_no_socket_where_one_node_tells_nothing() {
    let machine = skylake_online("0-17");
    // One socket of 18 cores with two threads each, on a kernel without NUMA.
    for cpu in 18..36 {
        let topology = format!("sys/devices/system/cpu/cpu{cpu}/topology");
        fs::remove_dir_all(machine.path().join(topology)).expect("its topology");
    }
    fs::remove_dir_all(machine.path().join("sys/devices/system/node")).expect("the nodes");
    let tune = ["tune", "ddio-ways", "4", "--apply"];
    let run = machine.run(&tune);
    assert_eq!(run.code, Some(4), "{}{}", run.out, run.err);
    assert!(run.out.contains("a socket that may be there"), "{}", run.out);
    assert_eq!(heading_of(&machine.run(&["status"]), "0000:16:00.0"), ELSEWHERE);
    machine.put("sys/devices/system/cpu/smt/control", "off");
    let run = machine.run(&tune);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert_eq!(heading_of(&machine.run(&["status"]), "0000:16:00.0"), "SOCKET 0");
}

#[test]
fn a_port_without_a_node_is_nobody_s_while_a_socket_is_not_reached() {
    let machine = OnMachine::new("offline-socket", &[]);
    machine.put("sys/bus/pci/devices/0000:16:00.0/numa_node", "-1");
    machine.put("sys/bus/pci/devices/0000:17:00.0/numa_node", "-1");
    machine.put("sys/bus/pci/devices/0000:17:00.1/numa_node", "-1");
    assert_eq!(heading_of(&machine.run(&["status"]), "0000:16:00.0"), ELSEWHERE);
}

#[test]
fn a_node_with_devices_and_without_cpus_tells_of_a_socket_also_if_no_cpu_is_left_of_it() {
    let machine = OnMachine::new("offline-socket", &[]);
    // nr_cpus=18: the kernel knows no CPU of it.
    machine.put("sys/devices/system/cpu/present", "0-17");
    for cpu in 18..36 {
        let folder = machine.path().join(format!("sys/devices/system/cpu/cpu{cpu}"));
        fs::remove_dir_all(folder).expect("its folder");
        let link = machine.path().join(format!("sys/devices/system/node/node1/cpu{cpu}"));
        fs::remove_file(link).expect("its link");
    }
    let run = machine.run(&["tune", "ddio-ways", "4", "--apply"]);
    assert_eq!(run.code, Some(4), "{}{}", run.out, run.err);
    assert!(run.out.contains("the socket of NUMA node 1"), "{}", run.out);
}

#[test]
fn a_register_is_put_back_at_the_socket_that_is_left() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    machine.put("sys/devices/system/cpu/online", "0-17");
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(1), "{}{}", run.out, run.err);
    assert!(run.out.contains("socket 1: no CPU of it is online"), "{}", run.out);
    assert!(run.out.contains("MSR 0xc8b of socket 0: put back to 0x600"), "{}", run.out);
    machine.put("sys/devices/system/cpu/online", "0-35");
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    assert!(!machine.path().join("registers.state").exists());
}
