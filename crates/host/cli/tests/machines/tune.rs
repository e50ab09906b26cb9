//! Is a change made as asked, and told truthfully?

use std::fs;

use crate::on_machine::{OnMachine, screen};

/// A machine, and a change that it takes.
pub const CHANGES: [(&str, &[&str]); 9] = [
    ("haswell", &["tune", "ddio", "off", "--unmeasured", "--device", "05:00.0"]),
    ("haswell", &["tune", "ddio", "off", "--unmeasured"]),
    ("skylake", &["tune", "ddio-ways", "4"]),
    ("skylake", &["tune", "ddio", "off", "--device", "10001:17:00.0"]),
    ("skylake", &["tune", "cat", "web", "0x3"]),
    ("cascade-lake", &["tune", "ddio-ways", "11"]),
    ("ice-lake", &["tune", "ddio-ways", "6"]),
    ("sapphire-rapids", &["tune", "cat", "cache-a", "0xf"]),
    ("turin", &["tune", "io-alloc", "0xf"]),
];

pub fn with<'a>(arguments: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [arguments, more].concat()
}

#[test]
fn without_apply_nothing_is_written_not_even_a_journal() {
    for (name, change) in CHANGES {
        let machine = OnMachine::new(name, &[]);
        let before = machine.content();
        let run = machine.run(change);
        assert_eq!(run.code, Some(0), "{name} {change:?}: {}", run.err);
        assert!(run.out.contains("Dry run: nothing was written."), "{}", run.out);
        assert!(machine.content() == before, "{name} {change:?}");
        assert!(!machine.path().join("var").exists(), "{name} {change:?}");
    }
}

#[test]
fn a_dry_run_shows_register_old_and_new_value_in_words() {
    let screens = CHANGES.iter().enumerate().map(|(index, (name, change))| {
        let run = OnMachine::new(name, &[]).run(change);
        screen(&format!("{index} {name}"), &run.out)
    });
    insta::assert_snapshot!("dry_runs", screens.collect::<Vec<_>>().join("\n\n"));
}

#[test]
fn a_control_that_works_is_effective_and_judged_at_the_sockets_that_it_touches() {
    for (name, change, sockets) in [
        ("skylake", ["tune", "ddio-ways", "6"].as_slice(), [true, true]),
        ("skylake", &["tune", "ddio-ways", "6", "--socket", "1"], [false, true]),
        ("skylake", &["tune", "ddio", "off", "--device", "17:00.1"], [true, false]),
        ("cascade-lake", &["tune", "ddio-ways", "6"], [true, true]),
        ("haswell", &["tune", "ddio", "off", "--unmeasured"], [true, true]),
    ] {
        let run = OnMachine::new(name, &[]).run(&with(change, &["--apply", "--verify"]));
        assert_eq!(run.code, Some(0), "{name} {change:?}: {}{}", run.out, run.err);
        assert!(run.out.contains("effective: the hit rate changed by"), "{}", run.out);
        let shown = ["on socket 0", "on socket 1"].map(|socket| run.out.contains(socket));
        assert_eq!(shown, sockets, "{}", run.out);
    }
}

#[test]
fn atc_09_the_tool_adds_ways_to_the_register_s_default_and_takes_none_of_it() {
    let machine = OnMachine::new("skylake", &[]);
    for ways in 3..=11u64 {
        let asked = ways.to_string();
        let run = machine.run(&["tune", "ddio-ways", &asked, "--apply"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        // The top ways of eleven, the default 0x600 among them: what the simulator's register takes.
        let mask = ((1 << ways) - 1) << (11 - ways);
        assert_eq!(mask & 0x600, 0x600);
        assert!(run.out.contains(&format!("reads back {mask:#x}")), "{}", run.out);
    }
    let run = machine.run(&["tune", "ddio-ways", "1", "--apply"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("the 2 default ones stay"), "{}", run.err);
    machine.run(&["restore"]);
    let status = machine.run(&["status"]);
    assert_eq!(status.out.matches("MSR 0xc8b = 0x600").count(), 2, "{}", status.out);
}

#[test]
fn atc_11_the_tool_switches_one_root_port_or_all_and_both_can_be_taken_back() {
    let ports_on = |machine: &OnMachine| machine.run(&["status"]).out.matches("DDIO on").count();
    let machine = OnMachine::new("skylake", &[]);
    let all = ports_on(&machine);
    assert!(all >= 3, "{}", machine.run(&["status"]).out);
    for (change, left) in [
        (["tune", "ddio", "off", "--device", "0000:17:00.0"].as_slice(), all - 1),
        (&["tune", "ddio", "off"], 0),
    ] {
        let run = machine.run(&with(change, &["--apply"]));
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert_eq!(ports_on(&machine), left);
        machine.run(&["restore"]);
        assert_eq!(ports_on(&machine), all);
    }
}

#[test]
fn what_was_so_already_is_not_judged_and_no_failure() {
    let machine = OnMachine::new("skylake", &[]);
    let change = ["tune", "ddio-ways", "6", "--apply", "--verify"];
    assert_eq!(machine.run(&change).code, Some(0));
    let again = machine.run(&change);
    assert_eq!(again.code, Some(0), "{}{}", again.out, again.err);
    assert!(again.out.contains("every control had its value already"), "{}", again.out);
}

#[test]
fn ice_lake_takes_the_mask_and_is_reported_as_without_effect() {
    let machine = OnMachine::new("ice-lake", &[]);
    let run = machine.run(&["tune", "ddio-ways", "6", "--apply", "--verify"]);
    assert_eq!(run.code, Some(5));
    insta::assert_snapshot!(run.out, @r#"
    tune ddio-ways 6
      MSR 0xc8b of socket 0
        now    0xc00      2 of 12 ways (10-11), without known effect here
        new    0xfc0      6 of 12 ways (6-11), without known effect here
      MSR 0xc8b of socket 1
        now    0xc00      2 of 12 ways (10-11), without known effect here
        new    0xfc0      6 of 12 ways (6-11), without known effect here
      note: on Ice Lake this control is known to have no effect on hit rates (reports of users of
            ddio-bench: reads 0xc00 of 12 ways, takes writes, hit rates stay); --verify measures it
      MSR 0xc8b of socket 0: set, reads back 0xfc0
      MSR 0xc8b of socket 1: set, reads back 0xfc0
    `skipline-host restore` puts the old values back.
      hit rate of device writes on socket 0 (5 windows of 200 ms each)
        71.0 ± 0.0 % before, 71.0 ± 0.0 % with it, 71.0 ± 0.0 % with the old value again
      hit rate of device writes on socket 1 (5 windows of 200 ms each)
        71.0 ± 0.0 % before, 71.0 ± 0.0 % with it, 71.0 ± 0.0 % with the old value again
    accepted, no effect observed: the hit rate changed by 0.0 pp, within noise
    To check by other means: compare DRAM writes in `skipline-host monitor` under the same load.
    "#);
    let run = machine.run(&["tune", "ddio-ways", "8", "--apply", "--verify", "--format", "json"]);
    let report: serde_json::Value = serde_json::from_str(&run.out).expect("one JSON object");
    assert_eq!(report["applied"][0]["result"], "set");
    assert_eq!(report["verification"]["verdict"], "no-effect-observed");
}

#[test]
fn a_write_that_is_ignored_is_neither_effective_nor_accepted() {
    let machine = OnMachine::new("skylake", &["writes-ignored"]);
    let run = machine.run(&["tune", "ddio-ways", "4", "--apply", "--verify"]);
    assert_eq!(run.code, Some(4));
    let expected = "not judged: MSR 0xc8b of socket 0: the value did not change";
    assert!(run.out.contains(expected) && !run.out.contains("accepted"), "{}", run.out);
}

#[test]
fn a_group_with_the_name_of_the_default_group_is_told_apart_from_it() {
    let machine = OnMachine::new("skylake", &[]);
    let mount = machine.path().join("sys/fs/resctrl");
    for file in ["schemata", "cpus_list", "mon_data/mon_L3_00/llc_occupancy"] {
        let copy = mount.join("default").join(file);
        fs::create_dir_all(copy.parent().expect("a directory")).expect("the group");
        fs::copy(mount.join("web").join(file), copy).expect("its file");
    }
    let before = machine.content();
    let run = machine.run(&["tune", "cat", "default", "0x3", "--apply"]);
    assert_eq!(run.code, Some(2), "{}", run.out);
    assert!(
        run.err.contains("write / for the default group, /default for the other"),
        "{}",
        run.err
    );
    assert!(machine.content() == before);
    let masks = |file: &str| fs::read_to_string(mount.join(file)).expect("masks");
    for (group, expected) in
        [("/", ["L3:0=003", "L3:0=01f"]), ("/default", ["L3:0=003", "L3:0=003"])]
    {
        assert_eq!(machine.run(&["tune", "cat", group, "0x3", "--apply"]).code, Some(0), "{group}");
        for (file, mask) in ["schemata", "default/schemata"].into_iter().zip(expected) {
            assert!(masks(file).contains(mask), "{group}: {file}: {}", masks(file));
        }
    }
    let status = machine.run(&["status"]).out;
    for head in ["\n  /           CPUs 0-35", "\n  /default    CPUs 2-9"] {
        assert!(status.contains(head), "{head}: {status}");
    }
    let window = machine.run(&["monitor", "--windows", "1", "--format", "json"]).out;
    assert!(window.contains("\"group\":\"/\"") && window.contains("\"group\":\"/default\""));
}

#[test]
fn every_group_has_a_name_that_begins_at_the_mount() {
    let machine = OnMachine::new("skylake", &[]);
    for (group, file) in [("/", "resctrl/schemata"), ("/web", "resctrl/web/schemata")] {
        let run = machine.run(&["tune", "cat", group, "0x3"]);
        assert!(run.out.contains(&format!("/sys/fs/{file}\n")), "{group}: {}{}", run.out, run.err);
    }
    let run = machine.run(&["tune", "cat", "", "0x3"]);
    assert_eq!(run.code, Some(2), "an empty name is refused: {}", run.out);
}

#[test]
fn a_switch_that_does_not_respond_is_told() {
    let run = OnMachine::new("skylake", &["writes-ignored"])
        .run(&["tune", "ddio", "off", "--device", "17:00.0", "--apply"]);
    assert_eq!(run.code, Some(4));
    let expected = "ignored: the write was taken, and it still reads 0x80";
    assert!(run.out.contains(expected), "{}", run.out);
}

#[test]
fn a_mask_that_is_silently_widened_is_reported_as_widened() {
    let machine = OnMachine::new("cascade-lake", &[]);
    let before = machine.content();
    let run = machine.run(&["tune", "cat", "batch", "0x400", "--apply"]);
    assert_eq!(run.code, Some(4));
    assert!(run.out.contains("widened: asked 0x400, reads back 0x600"), "{}", run.out);
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    assert!(machine.content() == before);

    let run =
        OnMachine::new("skylake", &["one-way-more"]).run(&["tune", "ddio-ways", "2", "--apply"]);
    assert_eq!(
        (run.code, run.out.contains("had this value already")),
        (Some(0), true),
        "{}",
        run.out
    );
    let run =
        OnMachine::new("ice-lake", &["one-way-more"]).run(&["tune", "ddio-ways", "3", "--apply"]);
    assert!(run.out.contains("widened: asked 0xe00, reads back 0xf00"), "{}", run.out);
}

#[test]
fn io_alloc_is_switched_and_confined_where_the_kernel_has_it() {
    let machine = OnMachine::new("turin", &[]);
    let run = machine.run(&["tune", "io-alloc", "0x3", "--apply"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    let info = machine.path().join("sys/fs/resctrl/info/L3");
    let text = |name: &str| fs::read_to_string(info.join(name)).expect("a file");
    assert_eq!(text("io_alloc"), "enabled\n");
    assert_eq!(text("io_alloc_cbm"), "0=0003;1=0003;2=0003;3=0003\n");
    let run = OnMachine::new("skylake", &[]).run(&["tune", "io-alloc", "on"]);
    assert_eq!(run.code, Some(3));
    assert!(run.err.contains("Linux 6.19 or newer"), "{}", run.err);
}

#[test]
fn every_failure_of_a_write_is_told_and_leaves_the_machine_as_it_was() {
    for (failure, change, code, expected) in [
        ("msr-module-absent", "ddio-ways", 1, "modprobe msr"),
        ("not-root", "ddio-ways", 3, "run as root"),
        ("msr-refused", "ddio-ways", 3, "the hardware or its driver refused"),
        ("msr-short-read", "ddio-ways", 1, "gave 4 of 8 bytes"),
        ("lockdown", "ddio-ways", 3, "refused: ROOT/dev/cpu/0/msr: not permitted"),
        (
            "writes-ignored",
            "ddio-ways",
            4,
            "ignored: the write was taken, and it still reads 0x600",
        ),
        ("writes-refused", "ddio-ways", 3, "refused: ROOT/dev/cpu/0/msr: the hardware"),
        ("resctrl-not-mounted", "cat", 3, "mount -t resctrl"),
    ] {
        let machine = OnMachine::new("skylake", &[failure]);
        let before = machine.content();
        let arguments: &[&str] = match change {
            "cat" => &["tune", "cat", "web", "0x3", "--apply"],
            _ => &["tune", "ddio-ways", "4", "--apply"],
        };
        let run = machine.run(arguments);
        assert_eq!(run.code, Some(code), "{failure}");
        let said = run.out + &run.err;
        assert!(said.contains(expected), "{failure}: {said}");
        assert!(machine.content() == before, "{failure}");
        let restored = machine.run(&["restore"]);
        assert!(restored.out.starts_with("Nothing to put back"), "{failure}: {}", restored.out);
    }
}

#[test]
fn bad_wishes_name_what_is_allowed() {
    for (machine, arguments, expected) in [
        (
            "skylake",
            ["tune", "ddio-ways", "1"].as_slice(),
            "ddio-ways 1: allowed are 2 to 11 on socket 0",
        ),
        ("skylake", &["tune", "ddio-ways", "12"], "ddio-ways 12: allowed are 2 to 11"),
        ("skylake", &["tune", "ddio-ways", "4", "--socket", "7"], "this machine has 0, 1"),
        ("skylake", &["tune", "cat", "web", "0x5"], "0x5 has holes; masks must be contiguous here"),
        ("skylake", &["tune", "cat", "web", "0x800"], "0x800 has bits outside 0x7ff"),
        ("skylake", &["tune", "cat", "missing", "0x1"], "the groups are default, web"),
        (
            "skylake",
            &["tune", "ddio", "off", "--device", "99:00.0"],
            "PCI function 0000:99:00.0 not found",
        ),
        (
            "skylake",
            &["tune", "ddio", "off", "--device", "00:04.0"],
            "root port not found above it",
        ),
        ("turin", &["tune", "io-alloc", "0x10000"], "0x10000 has bits outside 0xffff"),
        ("turin", &["tune", "io-alloc", "10"], "write it hexadecimal with 0x, like 0xf"),
        ("skylake", &["tune", "cat", "web", "0x+3"], "write it hexadecimal with 0x, like 0xf"),
        ("skylake", &["tune", "ddio-ways", "4", "--apply", "--state-dir", "/"], "--state-dir \"\""),
        ("skylake", &["restore", "--state-dir", ""], "allowed is a directory for the journal"),
    ] {
        let run = OnMachine::new(machine, &[]).run(arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.err);
        assert!(run.err.contains(expected), "{arguments:?}: {}", run.err);
    }
}

#[test]
fn a_machine_without_the_control_says_which_and_why() {
    for (machine, arguments, expected) in [
        (
            "haswell",
            ["tune", "ddio-ways", "4"].as_slice(),
            "Haswell has no publicly documented register",
        ),
        ("turin", &["tune", "ddio-ways", "4"], "here the control is: SDCI"),
        ("turin", &["tune", "ddio", "off"], "Turin has no publicly documented switch"),
        ("sapphire-rapids", &["tune", "ddio", "off"], "for the whole machine: a firmware setting"),
        ("skylake", &["tune", "ddio", "off", "--device", "01:00.0"], "is not on the list of ports"),
    ] {
        let run = OnMachine::new(machine, &[]).run(arguments);
        assert_eq!(run.code, Some(3), "{arguments:?}: {}", run.err);
        assert!(run.err.contains(expected), "{arguments:?}: {}", run.err);
    }
}

#[test]
fn an_unknown_cpu_model_is_refused_by_name() {
    let machine = OnMachine::new("skylake", &[]);
    let cpuinfo = machine.path().join("proc/cpuinfo");
    let text = fs::read_to_string(&cpuinfo).expect("cpuinfo");
    fs::write(&cpuinfo, text.replace("model\t\t: 85", "model\t\t: 158")).expect("cpuinfo");
    let run = machine.run(&["tune", "ddio-ways", "4", "--apply"]);
    assert_eq!(run.code, Some(3));
    assert!(
        run.err.contains("GenuineIntel family 0x6 model 0x9e stepping 4, is not in the table"),
        "{}",
        run.err
    );
}

#[test]
fn a_second_tool_waits_outside() {
    let machine = OnMachine::new("skylake", &[]);
    let lock = fs::File::create(machine.lock_file()).expect("a lock file");
    rustix::fs::flock(&lock, rustix::fs::FlockOperation::LockExclusive).expect("the lock");
    // The registers are the same, wherever each tool keeps its journal.
    for directory in ["var/lib/skipline-host", "var/mine"] {
        let change = ["tune", "ddio-ways", "4", "--apply", "--state-dir", directory];
        let run = machine.run(&change);
        assert_eq!(run.code, Some(3));
        assert!(run.err.contains("another skipline-host is changing this machine"), "{}", run.err);
    }
    drop(lock);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
}

#[test]
fn a_state_directory_that_cannot_be_made_stops_everything_before_a_write() {
    let machine = OnMachine::new("skylake", &[]);
    fs::write(machine.path().join("var"), "a file\n").expect("a file");
    let before = machine.content();
    let run = machine.run(&["tune", "ddio-ways", "4", "--apply"]);
    assert_eq!(run.code, Some(1));
    assert!(run.err.starts_with("error: nothing was written:"), "{}", run.err);
    assert!(machine.content() == before);
}

#[test]
fn groups_are_not_changed_while_another_program_holds_their_lock() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let mount = fs::File::open(machine.path().join("sys/fs/resctrl")).expect("resctrl");
    let lock = || {
        rustix::fs::flock(&mount, rustix::fs::FlockOperation::LockExclusive).expect("the lock");
    };
    let unlock = || {
        rustix::fs::flock(&mount, rustix::fs::FlockOperation::Unlock).expect("no lock");
    };
    lock();
    let change = ["tune", "cat", "web", "0x3", "--apply"];
    let run = machine.run(&change);
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.err.contains("holds the lock of ROOT/sys/fs/resctrl"), "{}", run.err);
    assert!(machine.content() == before);
    // Registers are no part of it.
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    unlock();
    assert_eq!(machine.run(&change).code, Some(0));
    lock();
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(3), "{}", run.out);
    assert!(run.err.contains("holds the lock of ROOT/sys/fs/resctrl"), "{}", run.err);
    unlock();
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    assert!(machine.content() == before);
    // Whoever holds it keeps no register from being put back, in whichever order they were changed.
    for changes in [[&change[..], WAYS], [WAYS, &change[..]]] {
        for change in changes {
            assert_eq!(machine.run(change).code, Some(0));
        }
        lock();
        let run = machine.run(&["restore"]);
        assert_eq!(run.code, Some(3), "{}{}", run.out, run.err);
        assert!(run.out.contains("MSR 0xc8b of socket 1: put back"), "{}", run.out);
        assert!(!machine.path().join("registers.state").exists(), "a register is not put back");
        unlock();
        assert_eq!(machine.run(&["restore"]).code, Some(0));
        assert!(machine.content() == before);
    }
}

const WAYS: &[&str] = &["tune", "ddio-ways", "4", "--apply"];
