//! The event log of a part of version 2: what the driver makes of its entries, and its size.

use crate::runs::Place;

const QUEUE: &str = "wq0.0";
const VERSION_2: [&str; 2] = ["--part", "version-2"];
/// A page that the device takes as absent.
const PLAN: &str =
    "seed = 1\n[page_faults]\nranges = [{ from = 0x200000000000, to = 0x200000001000 }]\n";

#[test]
fn the_driver_writes_records_that_the_device_could_not() {
    let place = Place::new();
    std::fs::write(place.path().join("plan.toml"), PLAN).expect("can be written");
    let options = [&VERSION_2[..], &["--inject", "plan.toml"]].concat();
    let out = place.client(&options, &["held-records", QUEUE, "200000000000"]).with(0);
    assert_eq!(out, "failures 0 errors [0, 0, 0, 0]\n");
}

#[test]
fn a_record_that_the_driver_cannot_write_either_is_counted_and_fails_its_batch() {
    let out = Place::new().client(&VERSION_2, &["lost-records", QUEUE, "log"]).with(0);
    assert_eq!(out, "batch 5 result 1 error 0x0\n");
}

#[test]
fn a_part_without_a_log_has_the_error_in_its_register() {
    let out = Place::new().client(&[], &["lost-records", QUEUE]).with(0);
    assert_eq!(out, "batch 5 result 0 error 0x1a\n");
}

#[test]
fn the_size_of_the_log_is_set_while_the_device_is_off() {
    let script = "
        size=/sys/bus/dsa/devices/dsa0/event_log_size
        for value in 63 65536 -1 many 65535 128; do
            if echo $value 2>/dev/null >$size; then echo $value taken; else echo $value refused; fi
        done
        cat $size";
    let options = [&VERSION_2[..], &["--unconfigured"]].concat();
    let out = Place::new().script(&options, script).with(0);
    let refused = ["63", "65536", "-1", "many"].map(|value| format!("{value} refused\n")).concat();
    assert_eq!(out, format!("{refused}65535 taken\n128 taken\n128\n"));
    let of_the_enabled = "
        size=/sys/bus/dsa/devices/dsa0/event_log_size
        echo 128 2>/dev/null >$size || echo refused
        cat $size";
    let out = Place::new().script(&VERSION_2, of_the_enabled).with(0);
    assert_eq!(out, "refused\n64\n");
    let none =
        Place::new().script(&[], "cat /sys/bus/dsa/devices/dsa0/event_log_size 2>&1 || true");
    assert!(none.with(0).contains("No such file"), "version 1 has no log");
}
