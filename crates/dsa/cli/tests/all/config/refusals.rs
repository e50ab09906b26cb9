//! Does a refusal say what is wrong, what is allowed and what to do, with the code of the table?

use super::{TWO_QUEUES, place};
use crate::runs::{Ended, Place, ended};

/// `config` outside of any run.
fn config(place: &Place, arguments: &[&str]) -> Ended {
    let arguments = [&["config"], arguments].concat();
    ended(&mut place.command(&arguments))
}

#[test]
fn every_refused_value_is_named_with_file_key_value_and_what_is_allowed() {
    let place = place();
    let bad = TWO_QUEUES
        .replace("\"size\":32", "\"size\":120")
        .replace("\"threshold\":20", "\"threshold\":121")
        .replace("\"priority\":10", "\"priority\":16")
        .replace("\"read_buffers_allowed\":40", "\"read_buffers_allowed\":7")
        .replace("engine0.2", "engine0.9");
    std::fs::write(place.path().join("bad.json"), bad).expect("is written");
    let script = "$dsa config check bad.json; echo $?
        $dsa config apply bad.json --apply > again; echo $?
        $dsa config check bad.json | diff - again
        $dsa config check bad.json --format json | tr -d ' \\n'";
    let out = place.script(&["--quiet"], script).with(0);
    let wanted = "\
bad.json: engine0.9: dev = \"engine0.9\"; allowed is engine0.0 to engine0.3 (ENODEV, no such device)
bad.json: group0.0: read_buffers_allowed = \"7\"; allowed is 8 to 96 (EINVAL, invalid argument)
bad.json: wq0.5: size = \"16\"; allowed is 0 to 8 (EINVAL, invalid argument)
bad.json: wq0.2: threshold = \"121\"; allowed is 1 to 120 (EINVAL, invalid argument)
bad.json: wq0.5: priority = \"16\"; allowed is 1 to 15 (EINVAL, invalid argument)
5 value(s) would be refused; nothing was written.
2
2
";
    assert!(out.starts_with(wanted), "{out}");
    assert!(out.contains("\"key\":\"threshold\",\"node\":\"wq0.2\",\"value\":\"121\""), "{out}");
    assert!(out.contains("\"allowed\":\"1to120\""), "{out}");
}

#[test]
fn what_only_the_device_refuses_is_foretold_by_the_key_that_it_is_about() {
    let place = place();
    let bad = TWO_QUEUES
        .replace("\"priority\":5", "\"priority\":0")
        .replace("\"driver_name\":\"user\",\"threshold\":0", "\"driver_name\":\"vfio\"");
    std::fs::write(place.path().join("bad.json"), bad).expect("is written");
    let out = place.script(&["--quiet"], "$dsa config check bad.json; echo $?").with(0);
    let wanted = "\
bad.json: wq0.2: priority = \"0\"; allowed is 1 to 15 (ENXIO, no such device or address; \
cmd_status 0x23: the priority of the queue is 0; allowed are 1 to 15)
bad.json: wq0.5: driver_name = \"vfio\"; allowed is user, dmaengine, for a queue that is to be enabled \
(ENODEV, no such device; cmd_status 0x80200000: driver_name of the queue is not the driver that it is \
bound to)
2 value(s) would be refused; nothing was written.
2
";
    assert_eq!(out, wanted);
}

#[test]
fn files_that_are_none_are_bad_input() {
    let place = place();
    let write = |name: &str, text: &str| {
        std::fs::write(place.path().join(name), text).expect("is written");
    };
    write("broken.json", "[{\"dev\" 1}]");
    write("empty.json", "[]");
    write("key.json", &TWO_QUEUES.replace("threshold", "treshold"));
    let script = "for file in none broken empty key; do
          $dsa config check $file.json; echo $?; $dsa config apply $file.json --apply; echo $?
        done 2>&1
        $dsa config show --device dsa7 2>&1; echo $?";
    let out = place.script(&["--quiet"], script).with(0);
    let wanted = [
        "error: none.json: No such file or directory",
        "error: broken.json: not JSON: expected `:` at line 1 column 9",
        "error: empty.json: it names no device; allowed is a list of devices",
        "error: key.json: wq0.2: treshold = 20; allowed is one of dev, state, mode, size,",
        "error: --device dsa7: allowed is dsa0",
    ];
    for words in wanted {
        assert!(out.contains(words), "{words} is not in:\n{out}");
    }
    assert_eq!(out.matches("\n2\n").count(), 9, "{out}");
}

#[test]
fn queues_in_use_are_left_alone_unless_asked() {
    let place = place();
    let script = "exec 5<>/dev/dsa/wq0.1
        accel-config list > before
        $dsa config check two.json | tail -1; echo ${PIPESTATUS[0]}
        $dsa config apply two.json --apply | tail -1; echo ${PIPESTATUS[0]}
        $dsa config reset --factory | tail -1; echo ${PIPESTATUS[0]}
        accel-config list | diff before -
        $dsa config apply two.json --apply --even-if-in-use | tail -1; echo ${PIPESTATUS[0]}
        exec 5>&-
        exec 6<>/dev/dsa/wq0.2
        $dsa config reset 2>&1; echo $?
        exec 6>&-
        until [ $(</sys/bus/dsa/devices/wq0.2/clients) = 0 ]; do :; done
        $dsa config reset | cut -d, -f1
        accel-config list | grep -c '\"state\":\"enabled\"'";
    let out = place.script(&["--quiet"], script).with(0);
    let lines: Vec<&str> = out.lines().collect();
    let of = |line: &str, queue: &str| {
        let begin = format!("{queue} is in use: 1 client(s), of process(es) ");
        line.trim_start_matches("error: ").starts_with(&begin)
            && line.ends_with("end them, or add --even-if-in-use")
    };
    for line in [0, 2, 4] {
        assert!(of(lines[line], "wq0.1"), "{out}");
        assert_eq!(lines[line + 1], "3", "{out}");
    }
    assert!(lines[6].starts_with("All of it was written"), "{out}");
    assert_eq!(lines[7], "0", "{out}");
    assert!(of(lines[8], "wq0.2"), "{out}");
    assert_eq!(lines[9..], ["3", "dsa0: put back", "3"], "{out}");
}

#[test]
fn another_program_s_change_is_not_lost() {
    let place = place();
    let script = "exec 2>&1
        $dsa config apply two.json --apply > applied
        accel-config disable-wq dsa0/wq0.5
        $dsa config reset; echo $?
        sed 's/20/10/' two.json > other.json; $dsa config apply other.json --apply; echo $?
        $dsa config reset --all | cut -d, -f1";
    let out = place.script(&["--quiet"], script).with(0);
    let wanted = "dsa0: left alone: another program has changed it since (wq0.5: state enabled -> \
                  disabled); --all puts it back; it stays in the journal until --forget\n1\n";
    assert!(out.contains(wanted), "{out}");
    assert!(out.contains("error: dsa0: another program has changed it since"), "{out}");
    assert!(out.ends_with("\n3\ndsa0: put back\n"), "{out}");
}

#[test]
fn a_second_one_waits_only_if_asked() {
    let place = place();
    let script = "exec 2>&1
        $dsa config reset --factory > out
        exec 7>>$SKIPLINE_DSA_RUN/config.lock/lock; flock 7
        $dsa config apply two.json --apply; echo $?
        { $dsa config apply two.json --apply --wait > out 2>&1 7>&-; echo waited $?; } &
        until grep -q waiting out; do :; done
        flock -u 7; wait";
    let out = place.script(&["--quiet"], script).with(0);
    let wanted = "error: nothing was written: another skipline-dsa is changing the devices (it holds the \
                  lock ";
    assert!(out.starts_with(wanted), "{out}");
    assert!(out.ends_with(" (bash) of user 0); --wait waits for it\n3\nwaited 0\n"), "{out}");
}

#[test]
fn a_run_without_namespaces_says_where_its_configuration_comes_from() {
    let place = place();
    let script = "$dsa config show | head -1; $dsa config apply two.json --apply; echo $?";
    let ended = place.script(&["--quiet", "--without-namespaces"], script);
    assert!(ended.errors.contains("skipline-dsa run --config FILE"), "{}", ended.errors);
    assert!(ended.with(0).ends_with("\n3\n"));
}

#[test]
fn a_machine_without_driver_or_devices_says_what_is_missing() {
    let place = place();
    let tree = place.path().join("tree");
    std::fs::create_dir(&tree).expect("is created");
    let root = ["--root", "tree"];
    for words in [&["show"][..], &["check", "two.json"], &["apply", "two.json", "--apply"]] {
        let ended = config(&place, &[&root, words].concat());
        assert!(ended.errors.contains("sys/bus/dsa does not exist: the driver idxd is not loaded"));
        assert!(ended.errors.contains("remedy: sudo modprobe idxd"), "{}", ended.errors);
        ended.with(3);
    }
    std::fs::create_dir_all(tree.join("sys/bus/dsa/devices/iax1")).expect("is created");
    let ended = config(&place, &[&root[..], &["show"]].concat());
    assert!(ended.errors.contains("has no DSA"), "{}", ended.errors);
    ended.with(3);
    let out = config(&place, &[&root[..], &["reset"]].concat()).with(0);
    assert!(out.starts_with("Nothing to put back"), "{out}");
    assert!(!tree.join("var").exists());
}
