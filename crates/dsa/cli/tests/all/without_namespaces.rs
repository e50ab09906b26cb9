//! Runs without namespaces: variables, and a library in place of libaccel-config.

use crate::runs::{Ended, Place, command, ended};
use std::process::Command;

const WITHOUT: &str = "--without-namespaces";

#[track_caller]
fn client(words: &[&str]) -> String {
    Place::new().client(&["--quiet", WITHOUT], words).with(0)
}

#[test]
fn programs_that_open_queues_by_their_paths_submit() {
    assert_eq!(client(&["shared", "wq0.1"]), "crc 0xe3069283\n");
    client(&["dedicated", "wq0.0"]);
    client(&["batches", "wq0.0", "50"]);
    client(&["shared-full", "wq0.1"]);
    client(&["executes", "wq0.1", "shared", "wq0.1"]);
}

#[test]
fn files_of_queues_are_as_with_namespaces() {
    client(&["dedicated-file", "wq0.0"]);
    client(&["forks", "wq0.1"]);
    client(&["reopens", "wq0.0", "500"]);
    client(&["four", "wq0.1", "2000", "1"]);
}

#[test]
fn what_a_killed_program_had_open_is_closed() {
    let script = "$client dies-busy wq0.1; $client dies-busy wq0.0 2>/dev/null
                  for look in $(seq 5000); do
                    state=$(cat /sys/bus/dsa/devices/wq0.1/{occupancy,clients} | tr '\\n' ' ')
                    [ \"$state\" = '0 0 ' ] && break
                  done
                  echo $state";
    assert_eq!(Place::new().script(&["--quiet", WITHOUT], script).with(0), "0 0\n");
}

#[test]
fn attributes_are_read_and_not_written() {
    let script = "at=/sys/bus/dsa/devices
                  cat $at/dsa0/state $at/wq0.0/mode $at/wq0.1/name
                  test -d $at/dsa0 -a -e /sys/module/idxd && ls /dev/dsa
                  cat $(realpath $at/dsa0)/wq0.1/threshold $at/dsa0/../numa_node
                  echo other > $at/wq0.1/name
                  echo $? $(< $at/wq0.1/name)
                  cat /dev/dsa/wq0.7 2>&1";
    let ended = Place::new().script(&["--quiet", WITHOUT], script);
    assert!(ended.errors.contains("Permission denied"), "{}", ended.errors);
    let out = ended.with(1);
    let (out, none) = out.rsplit_once("\ncat: ").expect("there is no such queue");
    assert_eq!(out, "enabled\ndedicated\nshared\nwq0.0\nwq0.1\n14\n0\n1 shared");
    assert_eq!(none, "/dev/dsa/wq0.7: No such file or directory\n");
}

/// A script of accel-config, once with namespaces and once without.
fn both(script: &str) -> [Vec<String>; 2] {
    [&["--quiet"][..], &["--quiet", WITHOUT]].map(|options| {
        let Ended { out, .. } = Place::new().script(options, &format!("exec 2>&1\n{script}"));
        // Debian's library does not read the capabilities of operations as this kernel writes them, and
        // has other words for the codes of refusals.
        let mut lines = Vec::new();
        let mut is_skipped = false;
        for line in out.lines() {
            is_skipped |= line.trim() == "\"op_cap\":[";
            let words = line.split_once(" wq error - ").map_or(line, |(code, _)| code);
            let words = if words.starts_with("Error[") {
                words.split_once(": ").map_or(words, |(code, _)| code)
            } else {
                words
            };
            if !is_skipped {
                lines.push(words.trim_end_matches(':').to_owned());
            }
            is_skipped &= line.trim() != "],";
        }
        lines
    })
}

#[test]
fn accel_config_shows_configures_and_refuses_as_with_namespaces() {
    let commands = [
        "list -i",
        "save-config -s saved",
        "disable-wq dsa0/wq0.0",
        "disable-wq dsa0/wq0.0",
        "config-wq dsa0/wq0.0 --wq-size=8",
        "config-wq dsa0/wq0.0 --group-id=0 --mode=dedicated --type=user --name=own \
         --driver-name=user --priority=10 --block-on-fault=1 --max-batch-size=64",
        "config-wq dsa0/wq0.0 --driver-name=none",
        "config-wq dsa0/wq0.0 --priority=16",
        "config-wq dsa0/wq0.0 --threshold=5",
        "enable-wq dsa0/wq0.0",
        "enable-wq dsa0/wq0.0",
        "enable-wq dsa0/wq0.2",
        "config-wq dsa0/wq0.2 --group-id=0 --mode=shared --type=user --name=x --driver-name=user",
        "enable-wq dsa0/wq0.2",
        "config-device dsa0 --read-buffer-limit=10",
        "config-group dsa0/group0.0 --read-buffers-reserved=8",
        "disable-device dsa0",
        "list -i",
        "enable-device dsa0",
        "enable-wq dsa0/wq0.0",
        "enable-device dsa7",
        "enable-wq dsa0/wq0.9",
        "config-device dsa0 --read-buffer-limit=10",
        "config-engine dsa0/engine0.0 --group-id=9",
        "load-config -c saved -e",
        "list",
    ];
    let lines: Vec<String> = commands
        .iter()
        .map(|command| format!("echo '## {command}'; accel-config {command}; echo \"code $?\"\n"))
        .collect();
    let [with, without] = both(&format!("{}cat saved; $client shared wq0.1", lines.concat()));
    assert!(with.len() > 500 && with.iter().any(|line| line == "code 1"), "{with:?}");
    assert_eq!(without, with);
}

#[test]
fn the_library_has_the_functions_and_versions_of_debians() {
    let place = Place::new();
    let names = "nm -D --defined-only --with-symbol-versions \"$1\" | cut -d' ' -f3 | sort";
    let script = format!(
        "names() {{ {names}; }}
         names ${{LD_LIBRARY_PATH%%:*}}/libaccel-config.so.1 > own
         names \"$(LD_LIBRARY_PATH= ldd $(command -v accel-config) | \
           sed -n 's/.*libaccel-config.so.1 => \\([^ ]*\\).*/\\1/p')\" > debian
         wc -l < debian; diff own debian"
    );
    let out = place.script(&["--quiet", WITHOUT], &script).with(0);
    assert!(out.trim().parse::<usize>().is_ok_and(|count| count > 100), "{out}");
}

#[test]
fn a_program_that_loads_the_library_by_name_lists_queues_and_submits() {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/accel_config.c");
    place.compile(&["-std=gnu11", "-Wall", "-Werror", source, "-o", "finds", "-ldl"]);
    let with = place.run(&["--quiet"], &["./finds"]).with(0);
    let without = place.run(&["--quiet", WITHOUT], &["./finds"]).with(0);
    assert!(
        without.contains("\nwq0.1 mode 0 type 2 size 16 group 1 name shared: /dev/dsa/wq0.1\n")
    );
    assert!(without.ends_with("status 1\n"), "{without}");
    assert_eq!(without, with);
}

#[test]
fn where_namespaces_are_forbidden_a_run_says_so_and_goes_on() {
    let place = Place::new();
    let mut forbidding = Command::new("unshare");
    place.for_tests(&mut forbidding);
    let script = "echo 0 > /proc/sys/user/max_mnt_namespaces
                  echo 0 > /proc/sys/user/max_user_namespaces
                  \"$0\" run -- accel-config list && \"$0\" doctor";
    forbidding.args(["--user", "--map-root-user", "bash", "-c", script]).arg(command());
    let ended = ended(&mut forbidding);
    let line = "skipline-dsa: 1 device(s), without namespaces (the system refuses them: No space";
    assert!(ended.errors.starts_with(line), "{}", ended.errors);
    let out = ended.with(0);
    assert!(out.contains("\"dev\":\"wq0.1\"") && out.contains("without namespaces: DPDK"), "{out}");
    assert_eq!(place.left(), [""; 0]);
}
