//! The log of descriptors that a run writes.

use crate::runs::Place;
use recordings::descriptor_log::{self, LoggedDescriptor};
use serde_json::Value;
use std::collections::BTreeSet;

/// The log, line by line and as a replay reads it: submissions with their descriptors.
fn read(place: &Place) -> (Vec<Value>, Vec<Vec<LoggedDescriptor>>) {
    let path = place.path().join("log.jsonl");
    let text = std::fs::read_to_string(&path).expect("is written");
    let lines: Vec<Value> =
        text.lines().map(|line| serde_json::from_str(line).expect("is JSON")).collect();
    let times: Vec<u64> =
        lines.iter().map(|line| line["time_ns"].as_u64().expect("is there")).collect();
    assert!(times.is_sorted());
    let entries = place.path().read_dir().expect("is a directory");
    let mut names = entries.map(|entry| entry.expect("is there").file_name());
    assert!(!names.any(|name| name.to_string_lossy().starts_with(".skipline.")), "a draft");
    let mut log: Vec<Vec<LoggedDescriptor>> = Vec::new();
    let read = descriptor_log::read(&path, |descriptor| {
        match log.last_mut().filter(|_| descriptor.continues_batch) {
            Some(batch) => batch.push(descriptor),
            None => log.push(vec![descriptor]),
        }
    });
    read.expect("is a log");
    (lines, log)
}

#[test]
fn a_log_has_a_line_for_each_descriptor() {
    let place = Place::new();
    let ended = place.client(&["--record", "log.jsonl"], &["load", "wq0.1", "1000", "3"]);
    assert!(ended.errors.contains("1000 descriptors recorded"), "{}", ended.errors);
    ended.with(0);
    let (lines, log) = read(&place);
    assert_eq!((lines.len(), log.len()), (1000, 1000));
    let opcodes: BTreeSet<_> = lines.iter().filter_map(|line| line["opcode"].as_u64()).collect();
    assert_eq!(opcodes, BTreeSet::from([3, 4]));
    assert!(lines.iter().all(|line| line["queue"] == "wq0.1" && line["status"] == 1));
    assert!(lines.iter().all(|line| line["portal"] == 0));
}

#[test]
fn members_of_a_batch_are_together_while_other_programs_submit() {
    let place = Place::new();
    let script = "for n in 1 2 3; do $client load wq0.1 400 $n >/dev/null & done
                  $client batches wq0.0 100; wait";
    place.script(&["--record", "log.jsonl", "--quiet"], script).with(0);
    let (lines, log) = read(&place);
    assert_eq!(lines.len(), 3 * 400 + 100 * 4);
    let batches: Vec<_> = log.iter().filter(|own| own.len() > 1).collect();
    assert_eq!((log.len(), batches.len()), (3 * 400 + 100, 100));
    assert!(batches.iter().all(|batch| batch.len() == 4));
    // A fence may be a member's only, and members keep their order.
    let copies = lines.iter().filter(|line| line["queue"] == "wq0.0" && line["opcode"] == 3);
    assert!(copies.clone().all(|line| line["flags"].as_u64().is_some_and(|flags| flags & 1 == 1)));
    assert_eq!(copies.count(), 100);
    // Each program has a portal of its own.
    let pair = |line: &Value| (line["process"].as_u64(), line["portal"].as_u64());
    let pairs: BTreeSet<_> = lines.iter().map(pair).collect();
    let portals: BTreeSet<_> = pairs.iter().map(|(_, portal)| portal).collect();
    let processes: BTreeSet<_> = pairs.iter().map(|(process, _)| process).collect();
    assert_eq!((pairs.len(), portals.len(), processes.len()), (4, 4, 4));
}

#[test]
fn a_program_that_is_killed_leaves_its_descriptors() {
    let place = Place::new();
    let script = "$client load wq0.1 300 7 >/dev/null; kill -9 $$";
    place.script(&["--record", "log.jsonl"], script).with(137);
    assert_eq!(read(&place).0.len(), 300);
}

#[test]
fn a_program_without_descriptors_leaves_an_empty_log() {
    let place = Place::new();
    place.run(&["--record", "log.jsonl"], &["true"]).with(0);
    let text = std::fs::read_to_string(place.path().join("log.jsonl")).expect("is written");
    assert_eq!(text, "");
}

#[test]
fn of_a_log_that_the_disk_has_no_room_for_the_first_lines_are_kept() {
    let place = Place::new();
    // Only who may mount has a small disk.
    let script = "mkdir small && mount -t tmpfs -o size=64k tmpfs small || { echo no disk; exit 0; }
                  $dsa run --quiet --record small/log.jsonl -- sh -c \"$client load wq0.1 1000 3; exit 7\"
                  echo code $?; wc -l < small/log.jsonl; tail -c 3 small/log.jsonl; ls -A small";
    let (client, dsa) = (crate::runs::client(), crate::runs::command());
    let text = format!("client='{}' dsa='{}'\n{script}", client.display(), dsa.display());
    let mut command = std::process::Command::new("unshare");
    let command = place.for_tests(&mut command).args(["--mount", "bash", "-c", &text]);
    let ended = crate::runs::ended(command);
    if ended.code == Some(1) || ended.out.contains("no disk") {
        return;
    }
    let lines: Vec<&str> = ended.out.lines().skip_while(|line| !line.starts_with("code")).collect();
    let [code, count, end, name] = lines[..] else { panic!("{ended:?}") };
    let count: u64 = count.trim().parse().expect("a number");
    // The last line is whole.
    assert!(end.ends_with('}'), "{ended:?}");
    assert_eq!((code, name), ("code 7", "log.jsonl"), "{ended:?}");
    assert!((100..1000).contains(&count), "{ended:?}");
    let lost = format!("{} descriptors are missing in the record: the disk was full", 1000 - count);
    assert!(ended.errors.contains(&lost), "{ended:?}");
}

#[test]
fn lines_for_which_there_is_no_room_are_counted() {
    let place = Place::new();
    // A limit of the size of files is met as a full disk is.
    let script = "ulimit -f 16; $client load wq0.1 1000 3 >/dev/null";
    let ended = place.script(&["--record", "log.jsonl"], script);
    let count = |what: &str| -> usize {
        let mut words = ended.errors.lines().filter_map(|line| line.split_once(what));
        let (before, _) = words.next().unwrap_or_else(|| panic!("{}", ended.errors));
        before.rsplit(' ').next().expect("is there").parse().expect("is a number")
    };
    let (written, lost) =
        (count(" descriptors recorded"), count(" descriptors are missing in the record"));
    assert!(written > 0 && lost > 0 && written + lost == 1000, "{written} {lost}");
    assert_eq!(read(&place).0.len(), written);
}
