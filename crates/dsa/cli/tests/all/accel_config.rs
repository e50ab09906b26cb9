//! accel-config (package accel-config): a configuration there and back, and what is refused.

use crate::runs::Place;

const CONFIGURE: &str = "
set -e
accel-config config-engine dsa0/engine0.0 --group-id=0
accel-config config-engine dsa0/engine0.1 --group-id=1
accel-config config-engine dsa0/engine0.2 --group-id=1
accel-config config-wq dsa0/wq0.0 --group-id=0 --mode=dedicated --wq-size=16 --type=user \\
  --name=own --driver-name=user --priority=10 --block-on-fault=1 \\
  --max-transfer-size=1048576 --max-batch-size=64
accel-config config-wq dsa0/wq0.1 --group-id=1 --mode=shared --wq-size=32 --threshold=20 \\
  --type=user --name=all --driver-name=user --priority=5
accel-config enable-device dsa0
accel-config enable-wq dsa0/wq0.0 dsa0/wq0.1
set +e
";

/// Runs a script after [`CONFIGURE`]: output and messages.
fn configured(place: &Place, script: &str) -> (String, String) {
    let ended = place.script(&["--unconfigured", "--quiet"], &format!("{CONFIGURE}{script}"));
    let errors = ended.errors.clone();
    (ended.with(0), errors)
}

fn file(place: &Place, name: &str) -> String {
    std::fs::read_to_string(place.path().join(name)).expect("is written")
}

#[test]
fn a_configuration_is_saved_and_loaded() {
    let place = Place::new();
    let (_, errors) = configured(
        &place,
        "set -e
        accel-config list > before
        accel-config save-config -s saved
        accel-config disable-wq dsa0/wq0.0 dsa0/wq0.1
        accel-config disable-device dsa0
        accel-config list > disabled
        accel-config load-config -c saved -e
        accel-config list > after
        accel-config save-config -s saved-again
        $client shared wq0.1
        $client dedicated wq0.0
        ",
    );
    assert!(errors.contains("enabled 2 wq(s) out of 2"), "{errors}");
    assert!(errors.contains("disabled 1 device(s) out of 1"), "{errors}");
    // Minor numbers are given in the order of enabling, which is another one when a file is loaded.
    let listed = |name: &str| -> Vec<String> {
        let text = file(&place, name);
        let lines = text.lines().filter(|line| !line.contains("\"cdev_minor\""));
        lines.map(str::to_owned).collect()
    };
    assert_eq!(listed("disabled").concat(), "[]");
    assert_eq!(listed("before"), listed("after"));
    assert_eq!(file(&place, "saved"), file(&place, "saved-again"));
    let before: serde_json::Value = serde_json::from_str(&file(&place, "before")).expect("is JSON");
    let group = &before[0]["groups"][1];
    let queue = &group["grouped_workqueues"][0];
    assert_eq!(
        [&queue["dev"], &queue["mode"], &queue["name"], &queue["state"]],
        ["wq0.1", "shared", "all", "enabled"]
    );
    assert_eq!([&queue["size"], &queue["threshold"], &queue["priority"]], [32, 20, 5]);
    assert_eq!(group["grouped_engines"].as_array().map(Vec::len), Some(2));
}

#[test]
fn a_saved_configuration_is_that_of_another_run() {
    let place = Place::new();
    configured(&place, "accel-config save-config -s saved.json");
    let list = ["accel-config", "list"];
    let out = place.run(&["--config", "saved.json"], &list).with(0);
    let queues: serde_json::Value = serde_json::from_str(&out).expect("is JSON");
    let own = &queues[0]["groups"][0]["grouped_workqueues"][0];
    assert_eq!([&own["name"], &own["mode"], &own["state"]], ["own", "dedicated", "enabled"]);
    assert_eq!(own["max_transfer_size"], 1_048_576);
}

/// A write that is refused, and how the kernel says so.
const REFUSED: &[(&str, &str, &str)] = &[
    // The device is on.
    ("wq0.0/size", "8", "Operation not permitted"),
    ("wq0.2/size", "8", "Operation not permitted"),
    ("group0.0/traffic_class_a", "0", "Operation not permitted"),
    ("dsa0/read_buffer_limit", "8", "Operation not permitted"),
    // The queue is enabled.
    ("wq0.0/mode", "shared", "Operation not permitted"),
    ("wq0.0/name", "other", "Operation not permitted"),
    ("wq0.0/priority", "1", "Operation not permitted"),
    ("wq0.1/threshold", "10", "No such device or address"),
    ("wq0.1/block_on_fault", "0", "No such device or address"),
    // The value is none.
    ("wq0.1/threshold", "40", "Invalid argument"),
    ("wq0.1/threshold", "0", "Invalid argument"),
    ("wq0.2/name", "", "Invalid argument"),
    ("wq0.2/mode", "exclusive", "Invalid argument"),
    ("wq0.2/priority", "16", "Invalid argument"),
    ("wq0.2/group_id", "4", "Invalid argument"),
    ("wq0.2/max_transfer_size", "0", "Invalid argument"),
    ("wq0.2/max_transfer_size", "2147483649", "Invalid argument"),
    // A dedicated queue has none.
    ("wq0.0/enqcmds_retries", "3", "Operation not supported"),
    // There is nothing to write.
    ("dsa0/gen_cap", "1", "Permission denied"),
    ("wq0.0/occupancy", "1", "Permission denied"),
];

#[test]
fn refused_changes_have_the_error_numbers_of_the_kernel() {
    let place = Place::new();
    let mut script = "exec 2>&1\n".to_owned();
    for (attribute, value, _) in REFUSED {
        script += &format!("echo '{value}' > /sys/bus/dsa/devices/{attribute}\n");
    }
    // Root may write to any file of most file systems, but not to these.
    script += "cat /sys/bus/dsa/devices/wq0.[01]/{size,threshold,name}";
    let (out, _) = configured(&place, &script);
    let lines: Vec<&str> = out.lines().filter(|line| line.contains(": line ")).collect();
    assert_eq!(lines.len(), REFUSED.len(), "{out}");
    for ((attribute, value, error), line) in REFUSED.iter().zip(lines) {
        assert!(line.ends_with(error), "{value} to {attribute}: {line}");
    }
    assert!(out.ends_with("16\n32\n0\n20\nown\nall\n"), "{out}");
}

#[test]
fn what_is_bound_is_not_bound_again() {
    let place = Place::new();
    let (out, _) = configured(
        &place,
        "exec 2>&1
        cd /sys/bus/dsa
        for pair in user/wq0.0 idxd/dsa0 user/wq0.7 user/nothing; do
          echo ${pair#*/} > drivers/${pair%/*}/bind; cat devices/dsa0/cmd_status
        done
        readlink devices/wq0.0/driver; ls drivers/user
        accel-config enable-wq dsa0/wq0.0; echo code $?
        accel-config enable-device dsa0; echo code $?",
    );
    let busy = "echo: write error: Device or resource busy";
    let wanted = [
        busy,
        "0",
        busy,
        "0",
        // Its driver's name is not the driver.
        "echo: write error: No such device",
        "0x80200000",
        "echo: write error: No such device",
        "0x80200000",
        "bind",
        "unbind",
        "wq0.0",
        "wq0.1",
        "enabled 0 wq(s) out of 1",
        "code 1",
        "enabled 0 device(s) out of 1",
        "code 1",
    ];
    let mut lines = out.lines();
    for text in wanted {
        assert!(lines.any(|line| line.ends_with(text)), "{text} is not in its place:\n{out}");
    }
    assert!(out.contains("/bus/dsa/drivers/user\n"), "{out}");
}

#[test]
fn queues_in_use_are_not_disabled() {
    let place = Place::new();
    let (out, _) = configured(
        &place,
        "exec 2>&1
        exec 5<>/dev/dsa/wq0.1
        cat /sys/bus/dsa/devices/wq0.1/clients
        accel-config disable-wq dsa0/wq0.1; echo code $?
        accel-config disable-device dsa0; echo code $?
        exec 5>&-
        until [ $(</sys/bus/dsa/devices/wq0.1/clients) = 0 ]; do :; done
        accel-config disable-wq dsa0/wq0.1; echo code $?
        ls /dev/dsa
        accel-config disable-device dsa0; echo code $?
        ls /dev/dsa; cat /sys/bus/dsa/devices/wq0.1/{state,size,name}",
    );
    let wanted = [
        "1",
        "libaccfg: accfg_wq_control:  wq disable refused.",
        "code 1",
        "libaccfg: accfg_device_control: Device disable refused.",
        "code 1",
        "disabled 1 wq(s) out of 1",
        "code 0",
        "wq0.0",
        "disabled 1 device(s) out of 1",
        "code 0",
        "disabled",
        "0",
        "",
    ];
    let mut lines = out.lines();
    for text in wanted {
        assert!(lines.any(|line| line == text), "{text:?} is not in its place:\n{out}");
    }
}

#[test]
fn a_device_without_configuration_is_not_enabled() {
    let place = Place::new();
    let ended = place.script(
        &["--unconfigured"],
        "accel-config enable-device dsa0 >/dev/null; echo $?; cat /sys/bus/dsa/devices/dsa0/{state,cmd_status}",
    );
    assert_eq!(ended.with(0), "1\ndisabled\n0x800d0000\n");
}
