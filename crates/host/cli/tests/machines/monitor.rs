//! Are counts those of the hardware, and the formats those that programs read?

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::on_machine::{OnMachine, screen};

const WINDOW: [&str; 5] = ["monitor", "--windows", "1", "--interval", "1000"];

fn json(machine: &str) -> serde_json::Value {
    let run = OnMachine::new(machine, &[]).run(&[&WINDOW[..], &["--format", "json"]].concat());
    assert_eq!(run.code, Some(0), "{machine}: {}", run.err);
    serde_json::from_str(&run.out).expect("one JSON object a line")
}

/// Writes per second at socket 0 and their hit rate, as the machines' descriptions say.
#[test]
fn every_generation_counts_the_hits_and_misses_that_its_traffic_makes() {
    for (machine, writes, percent) in [
        ("haswell", 60_000_000_u64, 70),
        ("skylake", 120_000_000, 46),
        ("cascade-lake", 140_000_000, 42),
        ("ice-lake", 200_000_000, 71),
        ("sapphire-rapids", 400_000_000, 78),
    ] {
        let socket = &json(machine)["sockets"][0];
        let hits = writes * percent / 100;
        assert_eq!(socket["pcie_write"]["hits"], hits, "{machine}");
        assert_eq!(socket["pcie_write"]["misses"], writes - hits, "{machine}");
        let dram = socket["dram_write_bytes_per_s"].as_f64().expect("a rate");
        assert!((dram - (writes - hits) as f64 * 64.0).abs() < 1.0, "{machine}: {dram}");
    }
}

#[test]
fn ports_carry_the_bytes_of_their_devices() {
    for machine in ["skylake", "ice-lake", "sapphire-rapids"] {
        let ports = json(machine)["ports"].as_array().expect("ports").clone();
        let busy: Vec<_> = ports.iter().filter(|p| p["write_bytes_per_s"] != 0.0).collect();
        assert_eq!(busy.len(), 2, "{machine}");
        assert_eq!(busy[0]["bus"], "0000:16", "{machine}");
        assert_eq!((&busy[0]["stack"], &busy[0]["part"]), (&1.into(), &0.into()), "{machine}");
    }
    let port = &json("skylake")["ports"];
    let written: f64 = port
        .as_array()
        .expect("ports")
        .iter()
        .filter_map(|p| p["write_bytes_per_s"].as_f64())
        .sum();
    assert!((written - 150_000_000.0 * 64.0).abs() < 1.0, "{written}");
}

/// A port that carried bytes: whose devices they are, and each by address and names.
fn named(port: &serde_json::Value) -> String {
    let device = |device: &serde_json::Value| {
        let names = device["names"].as_array().expect("names");
        let names: Vec<&str> = names.iter().filter_map(|name| name.as_str()).collect();
        format!("{} {}", device["bdf"].as_str().expect("an address"), names.join(" "))
    };
    let devices = port["devices"].as_array().expect("devices");
    let devices: Vec<String> = devices.iter().map(device).collect();
    format!("{}: {}", port["devices_of"].as_str().expect("whose"), devices.join(", "))
}

#[test]
fn ports_name_the_devices_behind_them_or_those_of_the_stack() {
    let nic = "0000:17:00.0 ens1f0, 0000:17:00.1 ens1f1";
    let ssds = "0000:b1:00.0 nvme0, 0000:b2:00.0 nvme1";
    for (machine, whose) in [
        ("skylake", "port"),
        ("cascade-lake", "port"),
        ("ice-lake", "stack"),
        ("sapphire-rapids", "stack"),
        ("emerald-rapids", "stack"),
    ] {
        let sample = json(machine);
        let ports = sample["ports"].as_array().expect("ports");
        let busy = ports.iter().filter(|port| port["write_bytes_per_s"] != 0.0);
        let busy: Vec<String> = busy.map(named).collect();
        assert_eq!(busy, [format!("{whose}: {nic}"), format!("{whose}: {ssds}")], "{machine}");
        let text = OnMachine::new(machine, &[]).run(&WINDOW).out;
        let some = if whose == "stack" { "some of: " } else { "" };
        assert!(text.contains(&format!("({some}ens1f0, ens1f1)\n")), "{machine}: {text}");
        assert!(text.contains(&format!("({some}nvme0, nvme1)\n")), "{machine}: {text}");
    }
}

/// Bus 0 has ports of the chipset only; the other part of the network card's stack has no port.
#[test]
fn a_part_without_a_port_of_its_own_names_no_device_of_another_port() {
    let sample = json("skylake");
    let ports = sample["ports"].as_array().expect("ports");
    let of = |bus: &str, part: u32| {
        let found = ports.iter().find(|port| port["bus"] == bus && port["part"] == part);
        named(found.unwrap_or_else(|| panic!("no part {part} of bus {bus}")))
    };
    assert_eq!(of("0000:00", 0), "stack: 0000:01:00.0 eno1");
    assert_eq!(of("0000:16", 1), "stack: ");
}

/// A control group and a network interface may have any name: neither kernel nor driver forbids escapes.
#[test]
fn names_of_groups_and_devices_do_not_reach_the_terminal_as_they_are() {
    let machine = OnMachine::new("skylake", &[]);
    let resctrl = machine.path().join("sys/fs/resctrl");
    fs::rename(resctrl.join("web"), resctrl.join("w\u{1b}[8mb\u{1b}]0;x\u{7}")).expect("a name");
    let interfaces = machine.path().join("sys/bus/pci/devices/0000:17:00.0/net");
    fs::rename(interfaces.join("ens1f0"), interfaces.join("e\u{1b}[31m")).expect("a name");
    for arguments in [&WINDOW[..], &["status"]] {
        let out = machine.run(arguments).out;
        assert!(out.contains("w\u{fffd}[8mb\u{fffd}]0;x\u{fffd}"), "{out}");
        assert!(out.contains("e\u{fffd}[31m"), "{out}");
        assert!(!out.contains(|c: char| c.is_control() && c != '\n'), "{out}");
    }
    // JSON escapes what it can, and stays what programs read.
    let json = machine.run(&[&WINDOW[..], &["--format", "json"]].concat()).out;
    let sample: serde_json::Value = serde_json::from_str(&json).expect("one JSON object a line");
    let ports = sample["ports"].as_array().expect("ports");
    assert!(ports.iter().any(|port| port["devices"][0]["names"][0] == "e\u{1b}[31m"), "{json}");
}

#[test]
fn amd_has_no_device_events_and_shows_memory_and_groups() {
    let sample = json("turin");
    assert!(sample["sockets"][0]["pcie_write"].is_null());
    assert!(sample["sockets"][0]["dram_write_bytes_per_s"].as_f64().expect("a rate") > 0.0);
    assert_eq!(sample["occupancy"].as_array().map(Vec::len), Some(8));
}

#[test]
fn csv_has_a_line_for_each_socket_engine_and_group_of_a_window() {
    let arguments = ["monitor", "--windows", "2", "--interval", "100", "--format", "csv"];
    let screens = ["skylake", "sapphire-rapids"].map(|machine| {
        let run = OnMachine::new(machine, &[]).run(&arguments);
        let rows: Vec<Vec<&str>> = run.out.lines().map(|line| line.split(',').collect()).collect();
        let times: Vec<f64> = rows[1..].iter().map(|row| row[1].parse().expect("a time")).collect();
        assert!(times.iter().all(|time| *time > 1.7e9), "{times:?}");
        let timeless = |row: &Vec<&str>| [&row[..1], &row[2..]].concat().join(",");
        let rows: Vec<String> = rows.iter().map(timeless).collect();
        screen(machine, &rows.join("\n"))
    });
    insta::assert_snapshot!("csv", screens.join("\n\n"));
}

#[test]
fn the_table_says_the_window_and_what_cannot_be_measured() {
    let screens = ["skylake", "turin"]
        .map(|machine| screen(machine, &OnMachine::new(machine, &[]).run(&WINDOW).out));
    insta::assert_snapshot!("tables", screens.join("\n\n"));
}

#[test]
fn without_privilege_or_events_the_reason_is_told() {
    for (failure, expected) in [
        ("not-root", "perf_event_paranoid"),
        ("no-uncore-driver", "this kernel offers no event source uncore_cha"),
    ] {
        let run = OnMachine::new("skylake", &[failure]).run(&WINDOW);
        assert!((run.out.clone() + &run.err).contains(expected), "{}{}", run.out, run.err);
    }
}

#[test]
fn prometheus_serves_no_number_of_windows() {
    let machine = OnMachine::new("skylake", &["no-uncore-driver", "resctrl-not-mounted"]);
    let run = machine.run(&["monitor", "--prometheus", "0", "--windows", "1"]);
    assert_eq!(run.code, Some(2), "{}", run.err);
    assert!(
        run.err.contains("cannot be used with") && run.err.contains("--windows"),
        "{}",
        run.err
    );
}

/// The exporter of a machine, and its address.
fn exporter(machine: &OnMachine) -> (Child, String) {
    let mut command = machine.command(&["monitor", "--prometheus", "0", "--interval", "600000"]);
    let mut child = command.stderr(Stdio::piped()).spawn().expect("the binary runs");
    let mut line = String::new();
    let mut err = BufReader::new(child.stderr.take().expect("standard error"));
    err.read_line(&mut line).expect("a line");
    let address =
        line.trim().strip_prefix("serving http://").and_then(|l| l.strip_suffix("/metrics"));
    let address = address.expect("an address").to_owned();
    (child, address)
}

#[test]
fn rings_and_ways_are_served_in_bytes() {
    let machine = OnMachine::new("cascade-lake", &["receiving"]);
    let (mut child, address) = exporter(&machine);
    let mut client = TcpStream::connect(&address).expect("a connection");
    client.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").expect("a request");
    let mut page = String::new();
    client.read_to_string(&mut page).expect("an answer");
    child.kill().expect("stopping it");
    child.wait().expect("its end");
    // Two queues of 1024 descriptors; a frame of 1518 bytes takes 24 lines.
    let rings = 2 * 1024 * 24 * 64;
    let of_interface = "{socket=\"0\",interface=\"ens1f0\"";
    for expected in [
        format!("skipline_receive_ring_bytes{of_interface}}} {rings}\n"),
        format!("skipline_interface_bytes_total{of_interface},direction=\"received\"}} 7000000\n"),
        format!("skipline_io_ways_bytes{{socket=\"1\"}} {}\n", (28160 << 10) / 11 * 2),
    ] {
        assert!(page.contains(&expected), "{expected}{page}");
    }
    // Nothing tells of the other port's rings: it is left out, not zero.
    assert!(!page.contains("interface=\"ens1f1\""), "{page}");
}

#[test]
fn prometheus_is_served_on_loopback() {
    let machine = OnMachine::new("skylake", &[]);
    let (mut child, address) = exporter(&machine);
    assert!(address.starts_with("127.0.0.1:"), "{address}");
    // Each of them kept the next one waiting for a second, once.
    let idle: Vec<TcpStream> =
        (0..100).map(|_| TcpStream::connect(&address).expect("a connection")).collect();
    let ask = |request: &str| {
        let mut client = TcpStream::connect(&address).expect("a connection");
        client.set_read_timeout(Some(Duration::from_secs(60))).expect("its limit");
        client.write_all(request.as_bytes()).expect("a request");
        let mut answer = String::new();
        client.read_to_string(&mut answer).expect("an answer");
        answer
    };
    let page = ask("GET /metrics HTTP/1.1\r\n\r\n");
    let elsewhere = ask("GET / HTTP/1.1\r\n\r\n");
    let queried = ask("GET /metrics?name=x HTTP/1.1\r\n\r\n");
    let only_head = ask("HEAD /metrics HTTP/1.1\r\n\r\n");
    let junk = ask("\r\n");
    let misled = ask("GET /metrics HTTP/1.1\r\nHost: evil.example\r\n\r\n");
    let named = ask("GET /metrics HTTP/1.1\r\nHost: localhost:9123\r\n\r\n");
    drop(idle);
    child.kill().expect("stopping it");
    child.wait().expect("its end");
    assert!(elsewhere.starts_with("HTTP/1.1 404"), "{elsewhere}");
    assert_eq!(queried, page);
    assert_eq!(named, page);
    assert!(misled.starts_with("HTTP/1.1 421"), "{misled}");
    assert_eq!(only_head, page.split_inclusive("\r\n\r\n").next().unwrap_or_default());
    assert!(junk.starts_with("HTTP/1.1 405"), "{junk}");
    insta::assert_snapshot!(page.replace("\r\n", "\n"));
}
