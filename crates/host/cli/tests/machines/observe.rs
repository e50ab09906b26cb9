//! Is each observed value that of its source, and is what nothing tells asked for by name?

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::on_machine::{OnMachine, Run};

/// A machine with a load, the report on it, and the scenario.
struct Observed {
    machine: OnMachine,
    report: Value,
    scenario: String,
    windows: PathBuf,
}

impl Observed {
    fn new(name: &str, overlays: &[&str], arguments: &[&str]) -> Self {
        let machine = OnMachine::new(name, overlays);
        // Beside the machine, not in it.
        let out = machine.path().with_extension("toml");
        let before = machine.content();
        let run = observe(&machine, &out, arguments);
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{}", run.out);
        // On one machine registers are cleared when they are read.
        let is_same = machine.content() == before || name == "clear-on-read";
        assert!(is_same, "an observation writes nothing: {name}");
        let report = serde_json::from_str(&run.out).expect("one JSON object");
        let scenario = fs::read_to_string(&out).expect("the scenario");
        let windows = out.with_extension("windows.jsonl");
        fs::remove_file(&out).expect("the scenario");
        Self { machine, report, scenario, windows }
    }

    /// Value, kind of source and source of a key.
    fn value(&self, key: &str) -> (Value, &str, &str) {
        let values = self.report["values"].as_array().expect("values");
        let found: Vec<_> = values.iter().filter(|value| value["key"] == key).collect();
        assert_eq!(found.len(), 1, "{key} once: {values:?}");
        let text = |field: &str| found[0][field].as_str().expect("text");
        (found[0]["value"].clone(), text("origin"), text("source"))
    }

    /// Asserts the value, the kind of its source, and a part of the source.
    fn assert(&self, key: &str, value: impl Into<Value>, origin: &str, source: &str) {
        let (found, kind, from) = self.value(key);
        assert_eq!((found, kind), (value.into(), origin), "{key}: {from}");
        assert!(from.contains(source), "{key}: {from}");
    }

    fn asked(&self) -> Vec<&str> {
        let questions = self.report["questions"].as_array().expect("questions");
        questions.iter().map(|open| open["key"].as_str().expect("a key")).collect()
    }

    fn texts(&self, list: &str) -> String {
        self.report[list].to_string()
    }

    fn file(&self, path: &str) -> String {
        fs::read_to_string(self.machine.path().join(path)).expect("a file").trim().to_owned()
    }
}

impl Drop for Observed {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.windows);
    }
}

fn observe(machine: &OnMachine, out: &std::path::Path, arguments: &[&str]) -> Run {
    let out = out.to_str().expect("a name");
    let all = [&["observe", "--format", "json", "--out", out], arguments].concat();
    machine.run(&all)
}

#[test]
fn values_of_a_forwarder_past_the_kernel_are_those_of_their_sources() {
    let seen = Observed::new("skylake", &["forwarding"], &[]);
    let nic = "sys/bus/pci/devices/0000:17:00.0";
    seen.assert("platform", "skylake-gold-6140", "assumed", "25344 KiB in 11 ways");
    seen.assert("nic", "connectx-5", "read", "15b3:1019");
    // Four CPUs were busy for all ten seconds; a fifth for three of them.
    seen.assert("cores", 4, "measured", "CPUs 2-5");
    seen.assert("core_ghz", 3.0, "measured", "CPUs 2-5");
    // The group `web` has CPUs 2-9.
    let web = seen.file("sys/fs/resctrl/web/schemata");
    assert!(web.contains("L3:0=01f"), "{web}");
    seen.assert("core_way_mask", 0x1f, "read", "group web");
    seen.assert(
        "packet_bytes",
        7_572_480_000_u64 / 7_395_000,
        "measured",
        "MAC counters of ens1f0",
    );
    let gbps = 7_395_000.0 * (1024.0 + 24.0) * 8.0 / 1e9;
    seen.assert("offered_gbps", (gbps * 1000.0_f64).round() / 1000.0, "measured", "preamble");
    seen.assert("application", "l2-forward", "assumed", "7390000 sent");
    seen.assert("hardware.pcie.lanes", 16, "read", "link width");
    seen.assert("hardware.pcie.gtransfers_per_s", 8.0, "read", "link speed");
    seen.assert("hardware.pcie.max_payload_bytes", 256, "read", "payload");
    seen.assert("hardware.pcie.max_read_request_bytes", 512, "read", "read request");
    assert_eq!(seen.file(&format!("{nic}/net/ens1f0/speed")), "100000");
    seen.assert("hardware.nic.line_rate_gbps", 100.0, "read", "speed");
    seen.assert("flow_control", false, "read", "pause of ens1f0");
    seen.assert("ddio_ways", 2, "read", "MSR 0xc8b of socket 0: 0x600");
    seen.assert("page_size", "1G", "read", "1 GiB");
    seen.assert("iommu", "off", "read", "iommu_group/type");
    seen.assert("uncore_ghz", 2.4, "read", "intel_uncore_frequency");
    // Rings of the kernel's driver are 1024, which says nothing of the program's.
    assert_eq!(seen.asked(), ["rx_descriptors", "tx_descriptors"]);
    assert!(seen.texts("left_out").contains("program l2fwd (process 4711) used 4.0 CPUs"));
    assert!(seen.texts("left_out").contains("may run on CPUs 2-5"));
}

#[test]
fn the_windows_beside_the_scenario_are_those_of_the_monitor() {
    let seen = Observed::new("skylake", &["forwarding"], &["--seconds", "3"]);
    let windows = fs::read_to_string(&seen.windows).expect("windows");
    let lines: Vec<Value> =
        windows.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(lines.len(), 3);
    let monitor = seen.machine.run(&["monitor", "--format", "json", "--windows", "1"]);
    let window: Value = serde_json::from_str(&monitor.out).expect("JSON");
    assert_eq!(lines[0]["sockets"], window["sockets"]);
    assert_eq!(lines[2]["ports"], window["ports"]);
}

#[test]
fn values_of_a_server_behind_the_stack_are_those_of_their_sources() {
    let seen = Observed::new("cascade-lake", &["receiving"], &[]);
    // CPUs 1 and 2 received packets, and interrupts of the card go to them and to CPU 7.
    seen.assert("cores", 2, "measured", "CPUs 1-2 received");
    seen.assert("rx_descriptors", 1024, "read", "ethtool rings of ens1f0");
    // A receiver has no send ring in the simulator, which refuses keys without effect.
    assert!(!seen.scenario.contains("tx_descriptors"), "{}", seen.scenario);
    // Offloads merge packets: 200,000 in the stack are a million frames of 1448 bytes.
    seen.assert("packet_bytes", 1448, "measured", "counters of ens1f0");
    let gbps: f64 = 1e6 * (1448.0 + 24.0) * 8.0 / 1e9;
    seen.assert("offered_gbps", gbps, "measured", "counters of ens1f0");
    seen.assert("application", "packet-sink", "assumed", "1000000 frames received");
    seen.assert("flow_control", true, "read", "pause");
    seen.assert("iommu", "4K", "assumed", "DMA-FQ");
    seen.assert("hardware.nic.line_rate_gbps", 25.0, "read", "speed");
    // 2 GiB read and written of each 128 KiB, 80 s of waiting in ten: eight at a time.
    seen.assert("tenant.0.name", "ssds", "measured", "SSD nvme2n1");
    seen.assert("tenant.0.block_io.block_bytes", 128 << 10, "measured", "131072 bytes");
    seen.assert("tenant.0.block_io.read_percent", 50, "measured", "share of the requests");
    seen.assert("tenant.0.block_io.depth", 8, "measured", "8.0 at a time");
    let seen_besides = seen.texts("left_out");
    assert!(seen_besides.contains("work queue wq0.0: dedicated, 32 entries"), "{seen_besides}");
    assert!(seen_besides.contains("ens1f0 dropped 5 packets in a second"), "{seen_besides}");
    assert!(seen_besides.contains("program storage (v2)"), "{seen_besides}");
    assert!(seen.asked().contains(&"tenant.0.ssd"), "{:?}", seen.asked());
}

#[test]
fn further_ports_ssds_and_copy_engines_are_tenants() {
    let seen = Observed::new("sapphire-rapids", &["forwarding", "busy-neighbours"], &[]);
    seen.assert("cores", 4, "measured", "CPUs 2-5");
    // The second port: 70,000 frames of 1,000 bytes in a second, taken by CPU 1.
    seen.assert("tenant.0.name", "eno1", "measured", "moves 0.6 Gbit/s");
    seen.assert("tenant.0.cores", 1, "measured", "CPUs 1 received");
    seen.assert("tenant.0.packet_bytes", 1000, "measured", "counters of eno1");
    let gbps: f64 = 70_000.0 * (1000.0 + 24.0) * 8.0 / 1e9;
    seen.assert("tenant.0.offered_gbps", (gbps * 1000.0).round() / 1000.0, "measured", "eno1");
    seen.assert("tenant.0.application", "packet-sink", "assumed", "70000 frames received");
    seen.assert("tenant.0.rx_descriptors", 256, "read", "ethtool rings of eno1");
    seen.assert("tenant.0.nic_socket", 0, "read", "socket 0");
    // Two SSDs of the other socket: 25.6 GB in ten seconds, in 400,000 requests that took 120 s.
    seen.assert("tenant.1.name", "ssds-of-other-socket", "measured", "SSD nvme1n1");
    seen.assert("tenant.1.block_io.ssds", 2, "measured", "moved data");
    seen.assert("tenant.1.block_io.block_bytes", 128 << 10, "measured", "131072 bytes");
    seen.assert("tenant.1.block_io.read_percent", 50, "measured", "requests");
    seen.assert("tenant.1.block_io.depth", 6, "measured", "6.0 at a time");
    seen.assert("tenant.1.socket", 1, "assumed", "socket 1");
    seen.assert("tenant.1.ssd", "xg5", "assumed", "stands in for 144d:a808");
    seen.assert("tenant.1.core_way_mask", 0x7fff, "assumed", "all ways");
    assert!(seen.asked().contains(&"tenant.1.ssd"), "{:?}", seen.asked());
    // The copy engine, as its counters and its driver's files have it.
    let windows = fs::read_to_string(&seen.windows).expect("windows");
    let window: Value = serde_json::from_str(windows.lines().next().expect("one")).expect("JSON");
    let number = |name: &str| window["engines"][0][name].as_f64().expect("a number");
    let (read, written) = (number("inbound_bytes_per_s"), number("outbound_bytes_per_s"));
    let requests = number("shared_requests_per_s") + number("dedicated_requests_per_s");
    let is_shared = number("shared_requests_per_s") > number("dedicated_requests_per_s");
    let (mode, entries) = if is_shared { ("shared", 64) } else { ("dedicated", 32) };
    seen.assert("tenant.2.name", "engines", "measured", "copy engine dsa0");
    seen.assert("tenant.2.dsa.instances", 1, "measured", "moved data");
    seen.assert("tenant.2.dsa.engines", 2, "read", "in a group");
    seen.assert("tenant.2.dsa.queue_mode", mode, "measured", "dsa0");
    seen.assert("tenant.2.dsa.queue_entries", entries, "read", "size of wq0.");
    seen.assert("tenant.2.offload.operation", "copy", "assumed", "operations are not counted");
    let bytes = (read.max(written) / requests).round().to_string();
    let (found, ..) = seen.value("tenant.2.offload.transfer_bytes");
    assert_eq!(found.to_string(), bytes);
    assert!(seen.asked().contains(&"tenant.2.offload.depth"), "{:?}", seen.asked());
    let scenario: toml::Table = seen.scenario.parse().expect("keys of TOML");
    let tenants = scenario["tenant"].as_array().expect("tenants");
    assert_eq!(tenants.len(), 3);
    assert_eq!(tenants[1]["block_io"]["ssds"].as_integer(), Some(2));
    let both = Observed::new(
        "sapphire-rapids",
        &["forwarding", "busy-neighbours"],
        &["--set", "tenant.1.ssd=p4800x"],
    );
    both.assert("tenant.1.ssd", "p4800x", "stated", "--set");
    assert!(!both.asked().contains(&"tenant.1.ssd"), "{:?}", both.asked());
}

#[test]
fn ports_that_programs_poll_share_the_cores_that_poll() {
    let seen = Observed::new("skylake", &["forwarding", "second-port"], &[]);
    seen.assert("cores", 2, "assumed", "CPUs 2-5 were busy all the time");
    seen.assert("tenant.0.name", "ens1f1", "measured", "shares the card of the main port");
    seen.assert("tenant.0.cores", 2, "assumed", "divided evenly among 2 ports");
    seen.assert("tenant.0.packet_bytes", 512, "measured", "MAC counters of ens1f1");
    // Keys of the main port would be inherited.
    seen.assert("tenant.0.core_way_mask", 0x1f, "read", "group web");
    for key in ["cores", "tenant.0.cores", "tenant.0.rx_descriptors"] {
        assert!(seen.asked().contains(&key), "{key}: {:?}", seen.asked());
    }
}

#[test]
fn of_a_card_that_a_program_has_the_port_s_counters_tell() {
    let seen = Observed::new("skylake", &["handed-over"], &["--port", "17:00.0"]);
    // 120 million lines of 64 bytes in a second.
    seen.assert("offered_gbps", 120e6 * 64.0 * 8.0 / 1e9, "assumed", "PCIe port");
    for key in ["packet_bytes", "application", "rx_descriptors", "cores"] {
        assert!(seen.asked().contains(&key), "{key}: {:?}", seen.asked());
    }
    let answered = Observed::new(
        "skylake",
        &["handed-over"],
        &["--set", "packet_bytes=512", "--set", "application=l3-forward", "--set", "cores=2"],
    );
    answered.assert("packet_bytes", 512, "stated", "--set");
    answered.assert("application", "l3-forward", "stated", "--set");
    assert!(!answered.asked().contains(&"cores"), "{:?}", answered.asked());
}

#[test]
fn a_switch_that_is_off_leaves_no_ways() {
    let machine = OnMachine::new("skylake", &["forwarding"]);
    let off = ["tune", "ddio", "off", "--device", "0000:17:00.0", "--apply"];
    assert_eq!(machine.run(&off).code, Some(0));
    let out = machine.path().with_extension("toml");
    let run = observe(&machine, &out, &["--seconds", "1"]);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    let values = report["values"].as_array().expect("values");
    let ways = values.iter().find(|value| value["key"] == "ddio_ways").expect("ways");
    assert_eq!(ways["value"], 0);
    let source = ways["source"].as_str().expect("a source");
    assert!(source.contains("root port 0000:16:00.0"), "{source}");
}

#[test]
fn every_machine_and_variant_gives_keys_of_toml_each_with_a_source() {
    let mut machines = fake_machines::machines().expect("the library");
    machines.extend(fake_machines::variants().expect("the library"));
    for machine in machines {
        let seen = Observed::new(&machine, &[], &["--seconds", "1"]);
        let scenario: toml::Table = seen.scenario.parse().expect(&machine);
        assert!(scenario.contains_key("title"), "{machine}");
        let values = seen.report["values"].as_array().expect("values");
        for value in values {
            assert!(!value["source"].as_str().expect("a source").is_empty(), "{machine}: {value}");
        }
        // Caches of AMD's parts are not modelled, and nothing stands in for them.
        let is_amd = seen.report["title"].as_str().expect("a title").contains("AMD");
        let asks = seen.asked().contains(&"platform");
        assert!(!is_amd || (asks && !scenario.contains_key("platform")), "{machine}");
        assert!(asks || scenario.contains_key("platform"), "{machine}");
    }
}

#[test]
fn each_missing_file_or_permission_is_a_sentence() {
    let plain = Observed::new("skylake", &["forwarding"], &[]);
    for failure in fake_machines::failures().expect("the library") {
        let seen = Observed::new("skylake", &["forwarding", &failure], &[]);
        // Each item that a failure takes away is told; writes that fail, another boot or another's lock hide nothing.
        let hidden = ["not-root", "msr-module-absent", "resctrl-not-mounted", "counters-refused"];
        if hidden.contains(&failure.as_str()) {
            let (with, without) = (seen.texts("unread"), plain.texts("unread"));
            assert!(with.len() > without.len(), "{failure}: {with}");
        }
    }
    let machine = OnMachine::new("skylake", &["forwarding"]);
    for gone in ["proc/stat", "proc/softirqs", "sys/bus/pci/devices/0000:17:00.0/net/ens1f0/speed"]
    {
        fs::remove_file(machine.path().join(gone)).expect("the file");
        let _ = fs::remove_file(machine.path().join("window").join(gone));
        let out = machine.path().with_extension("toml");
        let run = observe(&machine, &out, &["--seconds", "1"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        let report: Value = serde_json::from_str(&run.out).expect("JSON");
        let unread = report["unread"].to_string();
        let name = gone.rsplit('/').next().expect("a name");
        assert!(unread.contains(&format!("{name}: does not exist")), "{gone}: {unread}");
    }
}

#[test]
fn bad_input_is_told_with_what_is_allowed() {
    let machine = OnMachine::new("skylake", &["forwarding"]);
    let directory = machine.path().to_str().expect("a name").to_owned();
    for (arguments, expected) in [
        (
            ["--port", "eth9"],
            "--port eth9: no such network port; this machine has ens1f0, ens1f1, eno1",
        ),
        (["--set", "cores"], "KEY=VALUE"),
        (["--set", "tenant.3.cores=1"], "the scenario has 0 tenants beside the main one"),
        (["--seconds", "0"], "allowed: a whole number from 1 to 3600"),
        (["--out", &directory], "--out"),
    ] {
        let run = machine.run(&[&["observe"], arguments.as_slice()].concat());
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.err);
        let ports = run.err.replace("eno1, ens1f0, ens1f1", "ens1f0, ens1f1, eno1");
        assert!(ports.contains(expected), "{}", run.err);
    }
}

#[test]
fn the_screen_of_a_forwarder_is_the_reviewed_one() {
    let machine = OnMachine::new("skylake", &["forwarding"]);
    let out = machine.path().with_extension("toml");
    let run = machine.run(&["observe", "--out", out.to_str().expect("a name")]);
    assert_eq!((run.code, run.err.as_str()), (Some(0), ""));
    let scenario = fs::read_to_string(&out).expect("the scenario");
    let shown = format!("{}\n== the scenario ==\n{scenario}", run.out);
    let root = machine.path().to_str().expect("a name");
    insta::assert_snapshot!("observe", shown.replace("\u{1b}", "").replace(root, "MACHINE"));
    let _ = fs::remove_file(out.with_extension("windows.jsonl"));
    let _ = fs::remove_file(&out);
}
