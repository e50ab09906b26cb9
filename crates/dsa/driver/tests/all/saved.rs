//! Are accel-config's files read, applied and written, and are faults of them named?

use crate::{Machine, PART, named};
use dsa::hardware::capabilities::{Capabilities, gencap, wqcap};
use idxd::config_file::SavedConfig;
use idxd::{BusNode, Driver, DriverName, Errno, IdleHardware, Part, WorkQueueMode};

/// The form of `net_profile.conf` of Debian's package, with its commas behind last members.
const NET_PROFILE: &str = r#"[ { "dev":"dsa0", "read_buffer_limit":0, "groups":[
  { "dev":"group0.0", "grouped_workqueues":[
    { "dev":"wq0.0", "mode":"dedicated", "size":32, "group_id":0, "priority":10,
      "block_on_fault":0, "max_batch_size":1024, "max_transfer_size":16384, "type":"user",
      "driver_name":"user", "name":"app,]1", "threshold":0 } ],
    "grouped_engines":[ { "dev":"engine0.0", "group_id":0 }, ] },
  { "dev":"group0.1", "grouped_workqueues":[
    { "dev":"wq0.1", "mode":"shared", "size":32, "group_id":1, "priority":10,
      "type":"user", "name":"app2", "threshold":28 } ],
    "grouped_engines":[ { "dev":"engine0.1", "group_id":1 }, ] } ] } ]"#;

fn apply(text: &str) -> Result<Machine, String> {
    let mut machine = Machine::new();
    let saved = SavedConfig::parse(text).map_err(|error| error.to_string())?;
    saved.apply(&mut machine.0, &IdleHardware).map_err(|error| error.to_string())?;
    Ok(machine)
}

#[test]
fn a_profile_configures_and_enables() {
    let machine = apply(NET_PROFILE).expect("the part has it");
    let expected = [
        ("dsa0", "state", "enabled"),
        ("wq0.0", "state", "enabled"),
        ("wq0.0", "mode", "dedicated"),
        ("wq0.0", "name", "app,]1"),
        ("wq0.0", "max_transfer_size", "16384"),
        ("wq0.1", "threshold", "28"),
        // The file has none: the type says it.
        ("wq0.1", "driver_name", "user"),
        ("group0.1", "work_queues", "wq0.1"),
        ("group0.1", "engines", "engine0.1"),
        ("wq0.2", "state", "disabled"),
    ];
    for (node, attribute, text) in expected {
        assert_eq!(machine.get(node, attribute), text, "{node}/{attribute}");
    }
    // The only device of a file may be there without a list.
    let alone = NET_PROFILE.trim().trim_start_matches('[').trim_end_matches(']');
    assert_eq!(SavedConfig::parse(alone), SavedConfig::parse(NET_PROFILE));
    // Applied to what it made, it has nothing to do.
    let (mut again, saved) =
        (machine.0.clone(), SavedConfig::parse(NET_PROFILE).expect("a profile"));
    saved.apply(&mut again, &IdleHardware).expect("nothing differs but names of states");
    assert_eq!(SavedConfig::from_driver(&again), SavedConfig::from_driver(&machine.0));
}

#[test]
fn what_is_saved_comes_back() {
    for part in [PART, Capabilities::VERSION_2] {
        let mut machine = Machine::with_queue(Part::new(part), "shared");
        machine.set("dsa0", "read_buffer_limit", "8");
        machine.set("group0.0", "read_buffers_reserved", "8");
        machine.set("group0.0", "read_buffers_allowed", "16");
        machine.set("group0.0", "use_read_buffer_limit", "1");
        machine.set("wq0.5", "size", "100");
        machine.set("engine0.3", "group_id", "0");
        for enabled in [false, true] {
            if enabled {
                machine.bind("idxd", "dsa0").expect("all checks hold");
                machine.bind("user", "wq0.0").expect("all checks hold");
            }
            let saved = SavedConfig::from_driver(&machine.0);
            let read = SavedConfig::parse(&saved.to_json()).expect("our own text");
            let mut other = Driver::new(vec![Part::new(part)]);
            read.apply(&mut other, &IdleHardware).expect("the same part");
            assert_eq!(SavedConfig::from_driver(&other), saved);
        }
    }
}

#[test]
fn sizes_change_in_any_order() {
    let mut machine = Machine::new();
    for (queue, size) in [("wq0.0", "100"), ("wq0.1", "28")] {
        machine.set(queue, "size", size);
    }
    let text = r#"[{"dev":"dsa0","ungrouped_workqueues":[{"dev":"wq0.1","size":100},
        {"dev":"wq0.0","size":28}]}]"#;
    SavedConfig::parse(text)
        .expect("a file")
        .apply(&mut machine.0, &IdleHardware)
        .expect("128 together");
    assert_eq!(
        (machine.get("wq0.0", "size"), machine.get("wq0.1", "size")),
        ("28".into(), "100".into())
    );
}

#[test]
fn faults_of_a_file_name_key_value_and_what_is_allowed() {
    let queue = |inside: &str| {
        format!(
            r#"[{{"dev":"dsa0","groups":[{{"dev":"group0.0","grouped_workqueues":[{{"dev":"wq0.0",{inside}}}]}}]}}]"#
        )
    };
    let rows = [
        (queue(r#""mode":"both""#), r#"wq0.0: mode = "both"; allowed is shared, dedicated"#),
        (queue(r#""size":"x""#), r#"wq0.0: size = "x"; allowed is a whole number from 0 on"#),
        (queue(r#""size":1.5"#), "wq0.0: size = 1.5; allowed is a whole number from 0 on"),
        (queue(r#""colour":1"#), "wq0.0: colour = 1; allowed is one of dev, state, mode, size,"),
        (queue(r#""group_id":1"#), r#"group_id = "1"; allowed is 0, as it stands in group0.0"#),
        (queue(r#""state":"on""#), r#"wq0.0: state = "on"; allowed is enabled, disabled,"#),
        (r#"[{"dev":"wq0.0"}]"#.into(), r#"the file: dev = "wq0.0"; allowed is dsaN"#),
        (r#"[{"dev":"dsa"}]"#.into(), r#"the file: dev = "dsa"; allowed is dsaN, groupN.M"#),
        (r#"[{"dev":"dsa0"},{"dev":"dsa0"}]"#.into(), "allowed is each name once"),
        (r#"[{"groups":[]}]"#.into(), "the file: dev = null"),
        (r#""dsa0""#.into(), "allowed is a list in brackets"),
        (
            r#"[{"dev":"dsa0","groups":[{"dev":"group1.0"}]}]"#.into(),
            r#"dsa0: dev = "group1.0"; allowed is group0.M"#,
        ),
        (
            r#"[{"dev":"dsa0","ungrouped_engines":[{"dev":"wq0.0"}]}]"#.into(),
            r#"dsa0: dev = "wq0.0"; allowed is engine0.M"#,
        ),
        ("[\n  {\"dev\" \"dsa0\"}]".into(), "not JSON: expected `:` at line 2 column 10"),
    ];
    for (text, expected) in rows {
        let error = SavedConfig::parse(&text).expect_err(&text).to_string();
        assert!(error.contains(expected), "{error:?} does not say {expected:?}");
    }
}

#[test]
fn refusals_name_the_attribute_and_the_reason() {
    let rows = [
        (
            NET_PROFILE.replace("dsa0", "dsa1").replace("0.0", "1.0").replace("0.1", "1.1"),
            "dsa1: dev = \"dsa1\" was refused: ENODEV, no such device",
        ),
        (
            NET_PROFILE.replace("\"size\":32", "\"size\":100"),
            "wq0.1: size = \"100\" was refused: EINVAL, invalid argument",
        ),
        (
            NET_PROFILE.replace("\"threshold\":28", "\"threshold\":0"),
            "wq0.1: bind = \"user\" was refused: ENXIO, no such device or address; cmd_status \
             0x80060000: a shared queue needs a threshold: write its threshold",
        ),
        (
            NET_PROFILE.replace("\"driver_name\":\"user\"", "\"driver_name\":\"vfio\""),
            "wq0.0: driver_name = \"vfio\" was refused: ENODEV",
        ),
        (
            NET_PROFILE.replace("{ \"dev\":\"engine0.0\", \"group_id\":0 },", ""),
            "dsa0: bind = \"idxd\" was refused: ENXIO, no such device or address; cmd_status 0x15",
        ),
    ];
    for (text, expected) in rows {
        let error = apply(&text).map(|_| ()).expect_err(expected);
        assert!(error.starts_with(expected), "{error:?} does not begin with {expected:?}");
    }
}

#[test]
fn a_file_may_leave_devices_and_queues_off() {
    let off = NET_PROFILE.replace("\"read_buffer_limit\":0,", "\"state\":\"disabled\",");
    let machine = apply(&off).expect("the part has it");
    assert_eq!(machine.get("dsa0", "state"), "disabled");
    assert_eq!(machine.get("wq0.1", "name"), "app2");
    let one = NET_PROFILE.replace("\"threshold\":28", "\"threshold\":28, \"state\":\"disabled\"");
    let machine = apply(&one).expect("the part has it");
    let states = ["wq0.0", "wq0.1"].map(|queue| machine.get(queue, "state"));
    assert_eq!(states, ["enabled", "disabled"]);
}

#[test]
fn the_default_has_a_queue_for_dpdk_and_a_shared_one() {
    let mut driver = Driver::new(Part::for_machine(&[PART; 4]));
    SavedConfig::default_for(&[PART; 4])
        .apply(&mut driver, &IdleHardware)
        .expect("the part has it");
    for (number, device) in driver.devices().iter().enumerate() {
        let [own, shared] = [0, 1].map(|queue| &device.queues()[queue]);
        assert_eq!(own.name(), format!("dpdk_wq{number}.0"));
        assert_eq!(
            (own.mode(), own.size(), own.most_batch()),
            (WorkQueueMode::Dedicated, 16, 1024)
        );
        assert_eq!(
            (shared.mode(), shared.name(), shared.threshold()),
            (WorkQueueMode::Shared, "shared", 14)
        );
        assert!(own.block_on_fault() && shared.block_on_fault());
        assert_eq!((own.group(), shared.group()), (Some(0), Some(1)));
        let engines: Vec<_> = device.engines().iter().map(idxd::IdxdEngine::group).collect();
        assert_eq!(engines, [Some(0), Some(1), Some(1), Some(1)]);
        assert_eq!(driver.bound(BusNode::Queue(number, 1)), Some(DriverName::User));
    }
}

#[test]
fn the_default_fits_smaller_parts() {
    let parts = [
        (Capabilities { engines: 1, ..PART }, vec![0, 0]),
        (Capabilities { groups: 1, ..PART }, vec![0, 0]),
        (Capabilities { work_queues: 1, ..PART }, vec![0]),
        (Capabilities { queue_entries: 8, ..PART }, vec![0, 1]),
        (Capabilities { queue_features: wqcap::SHARED, ..PART }, vec![0]),
        (Capabilities { gen_cap: gencap::CONFIGURABLE | 3 << 21 | 12 << 16, ..PART }, vec![0, 1]),
    ];
    for (part, groups) in parts {
        let mut driver = Driver::new(vec![Part::new(part)]);
        SavedConfig::default_for(&[part])
            .apply(&mut driver, &IdleHardware)
            .expect("it fits the part");
        let queues = driver.devices()[0].queues().iter().filter(|queue| queue.is_enabled());
        let of_queues: Vec<_> = queues.filter_map(idxd::IdxdQueue::group).collect();
        assert_eq!(of_queues, groups, "{part:?}");
        let engines = driver.devices()[0].engines();
        assert!(engines.iter().all(|engine| engine.group().is_some()), "{part:?}");
    }
}

#[test]
fn an_enabled_device_refuses_another_configuration() {
    let mut machine = Machine::enabled("shared");
    let error =
        SavedConfig::parse(NET_PROFILE).expect("a file").apply(&mut machine.0, &IdleHardware);
    let error = error.expect_err("the sizes differ");
    assert_eq!((error.node, error.errno), (named("wq0.0"), Errno::EPERM));
}
