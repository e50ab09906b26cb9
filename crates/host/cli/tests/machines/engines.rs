//! Are copy engines and monitoring groups in a window?

use std::fs;

use crate::on_machine::OnMachine;

fn window(machine: &OnMachine) -> serde_json::Value {
    let run = machine.run(&["monitor", "--windows", "1", "--interval", "1000", "--format", "json"]);
    assert_eq!(run.code, Some(0), "{}", run.err);
    serde_json::from_str(&run.out).expect("one JSON object")
}

#[test]
fn a_copy_engine_is_counted_in_the_encoding_of_the_kernel_s_driver() {
    let machine = OnMachine::new("sapphire-rapids", &[]);
    let engine = &window(&machine)["engines"][0];
    assert_eq!((&engine["device"], &engine["node"]), (&"dsa0".into(), &0.into()));
    let about = |field: &str, expected: f64| {
        let found = engine[field].as_f64().expect("a rate");
        assert!((found / expected - 1.0).abs() < 1e-3, "{field}: {found}");
    };
    // 400 million lines of 64 bytes written and 380 million read, 78 % of the writes hit.
    about("inbound_bytes_per_s", 400e6 * 64.0);
    about("outbound_bytes_per_s", 380e6 * 64.0);
    about("shared_requests_per_s", 400e6 * 0.78 * 64.0 / 65536.0);
    about("dedicated_requests_per_s", 400e6 * 0.22 * 64.0 / 65536.0);
    let text = machine.run(&["monitor", "--windows", "1", "--format", "text"]).out;
    assert!(text.contains("copy engine dsa0 (node 0)") && text.contains("in 25.60 GB/s"), "{text}");
}

#[test]
fn an_engine_whose_driver_offers_no_events_is_named_and_the_rest_is_measured() {
    let machine = OnMachine::new("sapphire-rapids", &[]);
    let source = machine.path().join("sys/bus/event_source/devices/dsa0");
    // A driver that has other fields.
    fs::rename(source.join("format/event"), source.join("format/events")).expect("a field");
    let text = machine.run(&["monitor", "--windows", "1", "--format", "text"]).out;
    assert!(
        text.contains("copy engines (DSA): this kernel's dsa0 has no field \"event\""),
        "{text}"
    );
    fs::remove_dir_all(&source).expect("the event source");
    let text = machine.run(&["monitor", "--windows", "1", "--format", "text"]).out;
    assert!(text.contains("copy engines (DSA): this kernel offers no event source"), "{text}");
    assert!(window(&machine)["sockets"][0]["pcie_write"]["hits"].as_u64() > Some(0));
    // Where there is none nothing is said.
    let text =
        OnMachine::new("skylake", &[]).run(&["monitor", "--windows", "1", "--format", "text"]).out;
    assert!(!text.contains("DSA"), "{text}");
}

#[test]
fn monitoring_groups_are_shown_below_their_control_group() {
    let machine = OnMachine::new("skylake", &[]);
    let mount = machine.path().join("sys/fs/resctrl");
    for (group, bytes) in [("mon_groups/idle", "0"), ("web/mon_groups/worker", "2097152")] {
        let folder = mount.join(group).join("mon_data/mon_L3_00");
        fs::create_dir_all(&folder).expect("a group");
        fs::write(folder.join("llc_occupancy"), format!("{bytes}\n")).expect("its bytes");
    }
    let sample = window(&machine);
    let held = sample["occupancy"].as_array().expect("groups");
    for (group, bytes) in [("default/idle", 0), ("web/worker", 2 << 20), ("web", 4 << 20)] {
        let found = held.iter().find(|one| one["group"] == group && one["domain"] == 0);
        assert_eq!(found.map(|one| one["bytes"].as_u64()), Some(Some(bytes)), "{group}: {held:?}");
    }
}
