//! Files as real machines have them: devices by their numbers, IAA beside DSA, thresholds of dedicated queues,
//! operations of queues; and parts as public listings show them.

use crate::runs::{Place, ended};
use std::fmt::Write;

/// An object of a device with one queue, whose further keys are given.
fn device(number: usize, queue: &str) -> String {
    format!(
        r#"{{"dev":"dsa{number}","groups":[{{"dev":"group{number}.0","grouped_workqueues":[{{"dev":"wq{number}.0",
        "size":16,"group_id":0,"priority":10,"type":"user","driver_name":"user","name":"q",{queue}}}],
        "grouped_engines":[{{"dev":"engine{number}.0","group_id":0}}]}}]}}"#
    )
}

const SHARED: &str = r#""mode":"shared","threshold":15"#;

fn with_file(text: &str) -> Place {
    let place = Place::new();
    std::fs::write(place.path().join("devices.json"), text).expect("is written");
    place
}

const FROM_FILE: [&str; 3] = ["--quiet", "--config", "devices.json"];

#[test]
fn devices_have_the_numbers_of_the_file() {
    // Two sockets: IAA has the odd numbers.
    let numbers = [0, 2, 4, 6, 8, 10, 12, 14];
    let devices: Vec<String> = numbers.iter().map(|number| device(*number, SHARED)).collect();
    let place = with_file(&format!("[{}]", devices.join(",")));
    let script = "for device in /sys/bus/dsa/devices/dsa*; do
                      echo $(basename $device) $(cat $device/numa_node) $(basename $(dirname $(readlink -f $device)))
                  done
                  for queue in /dev/dsa/*; do $client shared $(basename $queue); done";
    let mut expected = String::new();
    // In the order of names.
    for (number, bus) in
        [(0, "6a"), (10, "ec"), (12, "f1"), (14, "f6"), (2, "6f"), (4, "74"), (6, "79"), (8, "e7")]
    {
        writeln!(expected, "dsa{number} {} 0000:{bus}:01.0", u8::from(number >= 8)).expect("grows");
    }
    expected += &"crc 0xe3069283\n".repeat(8);
    assert_eq!(place.script(&FROM_FILE, script).with(0), expected);

    // The real tool finds the same devices, and saves what it loads.
    let script = "accel-config list | grep -o '\"dev\":\"dsa[0-9]*\"' | wc -l
                  accel-config save-config -s first.json && accel-config disable-device dsa8 >/dev/null 2>&1
                  accel-config load-config -c first.json -e >/dev/null 2>&1
                  accel-config save-config -s second.json && cmp first.json second.json && echo same";
    if std::path::Path::new("/usr/bin/accel-config").exists() {
        assert_eq!(place.script(&FROM_FILE, script).with(0), "8\nsame\n");
    }
}

#[test]
fn up_to_sixteen_devices_without_a_file() {
    let script = "ls /dev/dsa | wc -l; $client shared wq15.1";
    let out = Place::new().script(&["--quiet", "--devices", "16"], script).with(0);
    assert_eq!(out, "32\ncrc 0xe3069283\n");
}

#[test]
fn other_accelerators_of_a_file_are_passed_over_with_a_note() {
    let other = device(1, SHARED).replace("dsa1", "iax1");
    let place = with_file(&format!("[{},{other}]", device(0, SHARED)));
    let found = place.run(&FROM_FILE, &["ls", "/dev/dsa"]);
    assert!(found.errors.contains("iax1 is not a DSA device; left as it is"), "{}", found.errors);
    assert_eq!(found.with(0), "wq0.0\n");
    let checked =
        place.script(&["--quiet", "--unconfigured"], "$dsa config check devices.json >&2");
    assert!(checked.errors.contains("devices.json: iax1: not a DSA device"), "{}", checked.errors);
    checked.with(0);
}

#[test]
fn thresholds_of_dedicated_queues_are_left_out_as_accel_config_does() {
    for threshold in [0, 15, 16, 500] {
        let queue = format!(r#""mode":"dedicated","threshold":{threshold}"#);
        let place = with_file(&format!("[{}]", device(0, &queue)));
        let script = "cat /sys/bus/dsa/devices/wq0.0/{mode,threshold,state}";
        assert_eq!(place.script(&FROM_FILE, script).with(0), "dedicated\n0\nenabled\n");
        let script =
            "$dsa config apply devices.json --apply >&2 && cat /sys/bus/dsa/devices/wq0.0/state";
        let applied = place.script(&["--quiet", "--unconfigured"], script);
        assert_eq!(applied.with(0), "enabled\n");
    }
}

#[test]
fn parts_have_the_capabilities_of_public_listings() {
    let place = Place::new();
    let words = "00000000,00000000,00000000,00000000,00000000,00000000,";
    let script = "cd /sys/bus/dsa/devices/dsa0; cat version gen_cap op_cap; ls wq0.0/op_config 2>/dev/null | wc -l";
    for (part, rest) in [
        ("sapphire-rapids", "0x100\n0x40915f0107\n@00000001,003f027d\n0\n"),
        ("emerald-rapids", "0x100\n0x40915f0107\n@00000001,003f027d\n0\n"),
        ("generous", "0x100\n0x40915f010f\n@00000001,003f03fd\n0\n"),
    ] {
        let out = place.script(&["--quiet", "--part", part], script).with(0);
        assert_eq!(out, rest.replace('@', words), "{part}");
    }
    let out = place.script(&["--quiet", "--part", "sierra-forest"], script).with(0);
    assert!(out.ends_with(&format!("{words}0000007b,00bf067f\n1\n")), "{out}");
    // Another command line, another part: no delta records on what has shipped.
    for (part, status) in
        [("sapphire-rapids", "0x10"), ("sierra-forest", "0x10"), ("generous", "0x01")]
    {
        let out = place.client(&["--quiet", "--part", part], &["delta", "wq0.1"]).with(0);
        assert_eq!(out, format!("status {status}\n"), "{part}");
    }
}

#[test]
fn a_queue_does_the_operations_of_its_op_config_alone() {
    let words = "00000000,".repeat(7);
    // Without CRC: bit 16.
    let queue = format!(r#"{SHARED},"op_config":"{words}003e067f""#);
    let place = with_file(&format!("[{}]", device(0, &queue)));
    let options = [&FROM_FILE[..], &["--part", "sierra-forest"]].concat();
    let script = "cat /sys/bus/dsa/devices/wq0.0/op_config; $client crc wq0.0";
    assert_eq!(place.script(&options, script).with(0), format!("{words}003e067f\nstatus 0x10\n"));
    let none = ended(place.command(&["run"]).args(FROM_FILE).args(["--", "true"])).refused();
    assert!(none.contains("wq0.0: op_config") && none.contains("does not have it"), "{none}");
    // Debian's tool loads the file, too; it does not know the key, and leaves all operations.
    let script =
        "accel-config load-config -c devices.json -e >&2; cat /sys/bus/dsa/devices/wq0.0/state";
    if std::path::Path::new("/usr/bin/accel-config").exists() {
        let options = ["--quiet", "--unconfigured", "--part", "sierra-forest"];
        assert_eq!(place.script(&options, script).with(0), "enabled\n");
    }
}
