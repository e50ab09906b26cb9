//! Programs that close, fork, stop, die or become others while the device works for them.

use crate::runs::Place;

const QUEUE: &str = "wq0.1";
/// SIGKILL, as a shell has it.
const KILLED: i32 = 137;

/// A plan under which each descriptor takes a second.
fn slow(place: &Place) -> String {
    let path = place.path().join("slow.toml");
    let plan = "seed = 1\n[delays]\nrate = 1.0\nnanoseconds = 1_000_000_000\n";
    std::fs::write(&path, plan).expect("is written");
    path.to_str().expect("is text").to_owned()
}

#[test]
fn children_that_are_forked_while_a_thread_submits_have_a_queue_and_a_log() {
    let place = Place::new();
    place.client(&["--record", "log.jsonl"], &["forks-while-submitting", QUEUE]).with(0);
    let log = std::fs::read_to_string(place.path().join("log.jsonl")).expect("is written");
    let process = |line: &str| {
        let line: serde_json::Value = serde_json::from_str(line).expect("is JSON");
        line["process"].as_u64()
    };
    let processes: std::collections::BTreeSet<_> = log.lines().map(process).collect();
    assert_eq!(processes.len(), 41);
}

#[test]
fn a_program_may_close_the_descriptors_of_the_library() {
    let place = Place::new();
    let script =
        "ulimit -n 2048; $client closes-descriptors wq0.1; grep -L '^own$' file*; ls file* | wc -l";
    let ended = place.script(&["--record", "log.jsonl"], script);
    assert!(ended.errors.contains("11 descriptors recorded"), "{}", ended.errors);
    let out = ended.with(0);
    // No file has a line of the log, and the files went up to the number of the log.
    let count: usize = out.trim().parse().unwrap_or_else(|_| panic!("{out}"));
    assert!(count > 900, "{count}");
}

#[test]
fn a_queue_that_is_closed_while_it_is_full_ends_all_of_it_before_it_is_disabled() {
    assert_eq!(Place::new().client(&[], &["closes-busy", QUEUE]).with(0), "done\n");
}

#[test]
fn a_dedicated_queue_that_was_closed_is_free() {
    Place::new().client(&[], &["reopens", "wq0.0", "2000"]).with(0);
}

#[test]
fn what_a_killed_program_held_of_a_queue_is_free() {
    let place = Place::new();
    let script = "$client dies-busy wq0.1; echo $?
                  for look in $(seq 5000); do
                    held=$(cat /sys/bus/dsa/devices/wq0.1/occupancy)
                    [ $held = 0 ] && break
                  done
                  echo $held";
    let out = place.script(&["--inject", &slow(&place), "--quiet"], script).with(0);
    assert_eq!(out, format!("{KILLED}\n0\n"));
}

#[test]
fn a_program_that_becomes_another_one_leaves_a_free_queue() {
    let place = Place::new();
    let occupancy = "/sys/bus/dsa/devices/wq0.1/occupancy";
    let words = ["executes-busy", QUEUE, "cat", occupancy];
    assert_eq!(place.client(&["--inject", &slow(&place)], &words).with(0), "0\n");
}

#[test]
fn other_devices_answer_while_a_queue_drains() {
    let place = Place::new();
    let script = "$client stops-busy wq0.1 & program=$!
                  until [ \"$(cut -d' ' -f3 /proc/$program/stat)\" = T ]; do :; done
                  echo wq0.1 > /sys/bus/dsa/drivers/user/unbind & unbind=$!
                  # It takes nothing any more as soon as it drains.
                  while $dsa list | grep -q 'wq0.1 '; do :; done
                  cat /sys/bus/dsa/devices/{dsa1,wq0.1}/state
                  echo wq1.1 > /sys/bus/dsa/drivers/user/unbind
                  cat /sys/bus/dsa/devices/wq1.1/state
                  case $(cut -d' ' -f3 /proc/$unbind/stat) in [SD]) echo drains;; esac
                  kill -CONT $program
                  wait $unbind; echo $?
                  wait $program; echo $?
                  cat /sys/bus/dsa/devices/wq0.1/state";
    let options = ["--devices", "2", "--inject", &slow(&place), "--quiet"];
    let out = place.script(&options, script).with(0);
    assert_eq!(out, "enabled\nenabled\ndisabled\ndrains\n0\n0\ndisabled\n");
}

#[test]
fn where_no_thread_can_be_had_mapping_a_queue_says_try_again() {
    let ended = Place::new().client(&["--quiet"], &["no-threads", QUEUE]);
    let line = "skipline-dsa: wq0.1: the system cannot start a thread for an engine";
    assert!(
        ended.errors.starts_with(line) && ended.errors.lines().count() == 1,
        "{}",
        ended.errors
    );
    ended.with(0);
}
