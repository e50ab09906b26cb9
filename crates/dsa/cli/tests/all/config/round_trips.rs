//! Does what is applied come back, by our own reading and by accel-config's, in both directions?

use super::{place, read};

/// The list of accel-config, without numbers that are given in the order of enabling.
const LIST: &str = "list() { accel-config list | grep -v cdev_minor; }\n";

#[test]
fn dsa_25_a_configuration_is_applied_and_read_back_by_accel_config_too() {
    let place = place();
    let script = "set -e
        $dsa config apply two.json --apply > applied
        $dsa config show --format json > shown.json
        accel-config save-config -s saved.json
        list > ours
        accel-config disable-device dsa0 2>&1
        accel-config load-config -c two.json -e 2>&1
        list > theirs
        $dsa config show --format json > shown-theirs.json
        accel-config disable-device dsa0
        $dsa config reset --forget > forgotten
        $dsa config apply saved.json --apply > applied-saved
        list > ours-again
        $client shared wq0.2; $client dedicated wq0.5";
    let script = format!("{LIST}{script}");
    let out = place.script(&["--quiet", "--unconfigured"], &script).with(0);
    assert!(out.contains("Enabling wq wq0.5"), "{out}");
    let ours = read(&place, "ours");
    let listed: serde_json::Value = serde_json::from_str(&ours).expect("is JSON");
    let (device, group) = (&listed[0], &listed[0]["groups"][0]);
    let queue = &group["grouped_workqueues"][0];
    // Discovered, group, size, mode, priority, limits of batches and transfers, read buffers, enabled.
    assert_eq!([&device["dev"], &device["state"], &queue["state"]], ["dsa0", "enabled", "enabled"]);
    assert_eq!([&queue["dev"], &queue["mode"], &queue["name"]], ["wq0.2", "shared", "all"]);
    assert_eq!([&queue["size"], &queue["priority"], &queue["threshold"]], [32, 5, 20]);
    assert_eq!([&queue["max_batch_size"], &queue["max_transfer_size"]], [64, 1_048_576]);
    assert_eq!([&queue["group_id"], &device["read_buffer_limit"]], [0, 60]);
    assert_eq!([&group["read_buffers_reserved"], &group["read_buffers_allowed"]], [8, 40]);
    assert_eq!(group["grouped_engines"].as_array().map(Vec::len), Some(2));
    // accel-config's own loading of the same file, and ours of what it has saved, lead to the same.
    assert_eq!(read(&place, "theirs"), ours);
    assert_eq!(read(&place, "ours-again"), ours);
    assert_eq!(read(&place, "shown-theirs.json"), read(&place, "shown.json"));
}

#[test]
fn dsa_25_what_is_shown_is_loaded_by_accel_config_and_by_a_run() {
    let place = place();
    let script = "set -e
        list > before
        $dsa config show --format json > shown.json
        accel-config disable-device dsa0; accel-config disable-device dsa1
        accel-config load-config -c shown.json -e
        list > after
        $dsa config show --format json > shown-again.json";
    let script = format!("{LIST}{script}");
    place.script(&["--quiet", "--devices", "2"], &script).with(0);
    assert_eq!(read(&place, "after"), read(&place, "before"));
    assert_eq!(read(&place, "shown-again.json"), read(&place, "shown.json"));
    let show = "$dsa config show --format json";
    let out = place.script(&["--quiet", "--devices", "2", "--config", "shown.json"], show).with(0);
    assert_eq!(out, read(&place, "shown.json"));
}

#[test]
fn a_change_is_put_back_and_what_is_so_already_is_not_written() {
    let place = place();
    let script = "set -e
        list > before
        $dsa config apply two.json > dry; list | diff before -
        $dsa config apply two.json --apply > applied
        $dsa config check two.json
        $dsa config apply two.json --write
        $dsa config reset --dry-run
        $dsa config reset; list | diff before -
        $dsa config reset
        $dsa config reset --factory > factory
        accel-config list
        $dsa config restore; list | diff before -";
    let script = format!("{LIST}{script}");
    let out = place.script(&["--quiet"], &script).with(0);
    let lines: Vec<&str> = out.lines().collect();
    let have = "two.json: the devices have it already.";
    assert_eq!(lines[0], have);
    assert_eq!(lines[1], have);
    assert!(lines[2].starts_with("dsa0: would be put back, in "), "{out}");
    assert_eq!(lines[3], "Dry run: nothing was written.");
    assert!(lines[4].starts_with("dsa0: put back, in "), "{out}");
    assert!(lines[5].starts_with("Nothing to put back: there is no journal in "), "{out}");
    // accel-config lists no device that is off.
    assert_eq!(lines[6..8], ["[", "]"], "{out}");
    assert!(lines[8].starts_with("dsa0: put back, in "), "{out}");
    let (dry, applied) = (read(&place, "dry"), read(&place, "applied"));
    assert!(dry.ends_with("Dry run: nothing was written; --apply writes.\n"), "{dry}");
    assert!(applied.contains("wq0.2/threshold: \"0\" -> \"20\""), "{applied}");
    assert_eq!(dry.lines().count(), applied.lines().count());
}

#[test]
fn a_part_of_version_2_and_a_run_of_a_user_namespace_are_configured_alike() {
    let place = place();
    let script = "set -e
        $dsa config apply two.json --apply > applied
        $dsa config show --format json | grep event_log_size
        sed 's/\"dev\":\"dsa0\",/&\"event_log_size\":128,/' two.json > log.json
        $dsa config apply log.json --apply | grep event_log
        cat /sys/bus/dsa/devices/dsa0/event_log_size; $dsa config reset | cut -d, -f1";
    let out = place.script(&["--quiet", "--unconfigured", "--part", "version-2"], script).with(0);
    let wanted = "    \"event_log_size\":64,\n  dsa0: event_log_size 64 -> 128\n  \
                  dsa0/event_log_size: \"64\" -> \"128\"\n128\ndsa0: put back\n";
    assert_eq!(out, wanted);
}
