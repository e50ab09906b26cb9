//! Is nothing lost when a second fault happens during a change or a restore?

use std::fs;
use std::process::Stdio;

use crate::on_machine::{OnMachine, STATE};

/// Turin with masks for I/O that differ from the kernel's default.
fn confined() -> OnMachine {
    let machine = OnMachine::new("turin", &[]);
    let info = machine.path().join("sys/fs/resctrl/info/L3");
    fs::write(info.join("io_alloc"), "enabled\n").expect("the switch");
    fs::write(info.join("io_alloc_cbm"), "0=000f;1=00f0;2=0003;3=0003\n").expect("the masks");
    machine
}

#[test]
fn masks_that_switching_off_forgets_come_back() {
    for step in [None, Some("journalled"), Some("written"), Some("recorded")] {
        let machine = confined();
        let before = machine.content();
        let off = ["tune", "io-alloc", "off", "--apply"];
        let run = match step {
            None => machine.run(&off),
            Some(step) => machine.run_and_crash(step, &off),
        };
        assert!(step.is_some() || run.out.contains("0xf is in the journal"), "{}", run.out);
        let restored = machine.run(&["restore"]);
        assert_eq!(restored.code, Some(0), "{}{}", restored.out, restored.err);
        assert!(machine.content() == before, "{step:?}: {}", restored.out);
    }
}

#[test]
fn the_fake_kernel_forgets_masks_so_that_this_can_fail() {
    let machine = confined();
    let info = machine.path().join("sys/fs/resctrl/info/L3");
    assert_eq!(machine.run(&["tune", "io-alloc", "off", "--apply"]).code, Some(0));
    assert_eq!(machine.run(&["tune", "io-alloc", "on", "--apply"]).code, Some(0));
    let masks = fs::read_to_string(info.join("io_alloc_cbm")).expect("masks");
    assert_eq!(masks, "0=ffff;1=ffff;2=ffff;3=ffff\n");
}

#[test]
fn a_register_is_reached_through_another_cpu_when_the_first_is_offline() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    let online = machine.path().join("sys/devices/system/cpu/online");
    let all = fs::read_to_string(&online).expect("CPUs");
    assert!(all.starts_with("0-"), "{all}");
    fs::write(&online, all.replacen("0-", "1-", 1)).expect("CPUs");
    let topology = "sys/devices/system/cpu/cpu0/topology";
    fs::remove_dir_all(machine.path().join(topology)).expect("the topology of CPU 0");
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    let state = machine.path().join("registers.state");
    assert!(!state.exists(), "{}", fs::read_to_string(&state).unwrap_or_default());
}

#[test]
fn a_journal_that_cannot_be_rewritten_stops_no_restore() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    // In the way of the new journal, as a full disk would be.
    let way = machine.path().join(STATE).join("journal.json.new");
    fs::create_dir(&way).expect("a directory");
    let change = machine.run(&["tune", "ddio-ways", "6", "--apply"]);
    assert_eq!(change.code, Some(1));
    assert!(!change.out.contains("reads back"), "{}", change.out);
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(machine.content() == before);
}

#[test]
fn a_closed_pipe_does_not_turn_a_refusal_into_success() {
    let machine = OnMachine::new("skylake", &["writes-refused"]);
    let mut command = machine.command(&["tune", "ddio-ways", "4", "--apply"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it runs");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("it ends").code(), Some(3));
}

#[test]
fn a_dry_run_of_restore_says_what_would_not_be_written() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    assert_eq!(machine.run(&["tune", "ddio-ways", "6", "--apply"]).code, Some(0));
    assert_eq!(
        machine.run(&["tune", "cat", "web", "0x3", "--cache", "0", "--apply"]).code,
        Some(0)
    );
    let schemata = machine.path().join("sys/fs/resctrl/web/schemata");
    let text = fs::read_to_string(&schemata).expect("schemata");
    fs::write(&schemata, text.replace("L3:0=003", "L3:0=00f")).expect("schemata");
    let before = machine.content();
    let run = machine.run(&["restore", "--dry-run"]);
    assert_eq!(run.code, Some(0));
    // Both changes of a register are taken back in one.
    assert_eq!(run.out.matches("would be put back to 0x780").count(), 0, "{}", run.out);
    assert_eq!(run.out.matches("would be put back to 0x600").count(), 2, "{}", run.out);
    assert!(run.out.contains("left alone: another program set it to 0xf"), "{}", run.out);
    assert!(machine.content() == before);
    // The journal is what it was, too.
    assert_eq!(machine.run(&["restore", "--dry-run"]).out, run.out);
}

#[test]
fn what_cannot_be_put_back_can_be_forgotten() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(
        machine.run(&["tune", "cat", "web", "0x3", "--cache", "0", "--apply"]).code,
        Some(0)
    );
    fs::remove_dir_all(machine.path().join("sys/fs/resctrl/web")).expect("the group");
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("it stays in the journal until --forget"), "{}", run.out);
    let run = machine.run(&["restore", "--forget"]);
    assert!(run.out.contains("dropped from the journal"), "{}", run.out);
    assert_eq!(machine.run(&["restore"]).code, Some(0));
}

#[test]
fn after_a_reboot_no_change_is_in_force() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "cat", "web", "0x3", "--apply"]).code, Some(0));
    assert!(machine.run(&["status"]).out.contains("2 changes in force"));
    fs::write(machine.path().join("proc/sys/kernel/random/boot_id"), "another\n").expect("boot id");
    let status = machine.run(&["status"]).out;
    assert!(!status.contains("in force"), "{status}");
}

#[test]
fn a_directory_without_a_journal_is_named() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    let run = machine.run(&["restore", "--state-dir", "/var/lib/skipline-hots"]);
    assert_eq!(run.code, Some(0));
    assert!(run.out.contains("there is no journal in ROOT/var/lib/skipline-hots"), "{}", run.out);
    fs::write(machine.path().join("var/lib/file"), "").expect("a file");
    let run = machine.run(&["restore", "--state-dir", "var/lib/file/below"]);
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("a component of its path is not a directory"), "{}", run.err);
}

#[test]
fn a_dry_run_of_restore_foresees_what_restore_does_to_io_allocation() {
    for changes in [
        [["tune", "io-alloc", "0xf0"], ["tune", "io-alloc", "off"]],
        [["tune", "io-alloc", "on"], ["tune", "io-alloc", "0x3"]],
    ] {
        for machine in [OnMachine::new("turin", &[]), confined()] {
            for change in changes {
                assert_eq!(machine.run(&[&change[..], &["--apply"]].concat()).code, Some(0));
            }
            let json = |arguments: &[&str]| -> serde_json::Value {
                let run = machine.run(&[arguments, &["--format", "json"]].concat());
                assert_eq!(run.code, Some(0), "{}", run.err);
                serde_json::from_str(&run.out).expect("one JSON object")
            };
            let (foreseen, done) = (json(&["restore", "--dry-run"]), json(&["restore"]));
            assert_eq!((&foreseen["dry_run"], &done["dry_run"]), (&true.into(), &false.into()));
            assert_eq!(foreseen["restored"], done["restored"]);
        }
    }
}

#[test]
fn masks_that_another_program_chose_since_are_left_alone() {
    let machine = confined();
    let info = machine.path().join("sys/fs/resctrl/info/L3");
    assert_eq!(machine.run(&["tune", "io-alloc", "off", "--apply"]).code, Some(0));
    fs::write(info.join("io_alloc"), "enabled\n").expect("the switch");
    fs::write(info.join("io_alloc_cbm"), "0=0003;1=0003;2=0003;3=0003\n").expect("the masks");
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.out.contains("another program set it to 0x3; --all puts it back to 0xf"),
        "{}",
        run.out
    );
    let masks = fs::read_to_string(info.join("io_alloc_cbm")).expect("masks");
    assert_eq!(masks, "0=0003;1=0003;2=0003;3=0003\n");
}

#[test]
fn masks_kept_for_a_switch_that_refuses_leave_the_journal() {
    let machine = confined();
    let registers = machine.path().join("registers.toml");
    let described = fs::read_to_string(&registers).expect("registers");
    let refusal = "\n[[control]]\npath = \"sys/fs/resctrl/info/L3/io_alloc\"\nwrite = \"eperm\"\n";
    fs::write(&registers, described + refusal).expect("registers");
    let run = machine.run(&["tune", "io-alloc", "off", "--apply"]);
    assert_eq!(run.code, Some(3));
    assert!(run.out.contains("refused"), "{}", run.out);
    assert!(!machine.path().join(STATE).join("journal.json").exists());
}

#[test]
fn allocation_that_another_program_switched_off_settles_its_masks() {
    let machine = OnMachine::new("turin", &[]);
    assert_eq!(machine.run(&["tune", "io-alloc", "0xf0", "--apply"]).code, Some(0));
    let switch = machine.path().join("sys/fs/resctrl/info/L3/io_alloc");
    fs::write(switch, "disabled\n").expect("the switch");
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(0), "{}", run.out);
    assert!(run.out.contains("io_alloc: is 0x0 already"), "{}", run.out);
}

#[test]
fn a_journal_that_lists_too_much_is_found_to_be_back() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    assert_eq!(machine.run(&["tune", "ddio-ways", "11", "--apply"]).code, Some(0));
    let journal = machine.path().join(STATE).join("journal.json");
    let text = fs::read(&journal).expect("the journal");
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    // As if the journal could not have been rewritten.
    fs::write(&journal, text).expect("the journal");
    assert!(!machine.run(&["status"]).out.contains("in force"));
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(0), "{}", run.out);
}

#[test]
fn a_journal_without_its_boot_is_no_missing_journal() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    fs::remove_file(machine.path().join("proc/sys/kernel/random/boot_id")).expect("boot id");
    let run = machine.run(&["restore"]);
    assert_eq!((run.code, run.out.as_str()), (Some(1), ""));
    assert!(run.err.contains("boot_id"), "{}", run.err);
}

#[test]
fn a_refused_write_names_what_may_forbid_it() {
    let machine = OnMachine::new("skylake", &["lockdown"]);
    let run = machine.run(&["tune", "ddio-ways", "4", "--apply"]);
    assert!(run.out.contains("kernel lockdown (Secure Boot) forbids it"), "{}", run.out);
}

#[test]
fn overlaps_with_io_are_told_for_each_cache_and_before_a_change() {
    let machine = confined();
    let status = machine.run(&["status"]).out;
    for shared in ["0xf shared with I/O", "0xf0 shared with I/O", "0x3 shared with I/O"] {
        assert!(status.contains(shared), "{shared}: {status}");
    }
    let cat = machine.run(&["tune", "cat", "default", "0xf"]);
    assert!(cat.out.contains("0xf of this mask are ways that I/O may use too"), "{}", cat.out);
    let io = machine.run(&["tune", "io-alloc", "0xff"]);
    assert!(io.out.contains("share them with I/O: default"), "{}", io.out);
}

#[test]
fn only_the_owner_of_the_lock_can_hold_it() {
    use std::os::unix::fs::PermissionsExt;
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    for (name, mode) in [("run/skipline-host", 0o700), ("run/skipline-host/lock", 0o600)] {
        let found = fs::metadata(machine.path().join(name)).expect("the lock");
        assert_eq!(found.permissions().mode() & 0o777, mode, "{name}");
    }
}

#[test]
fn a_socket_that_is_gone_is_not_reached_through_another() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--socket", "1", "--apply"]).code, Some(0));
    let cpus = machine.path().join("sys/devices/system/cpu");
    for entry in fs::read_dir(&cpus).expect("CPUs") {
        let package = entry.expect("an entry").path().join("topology/physical_package_id");
        if package.exists() {
            fs::write(package, "0\n").expect("the package");
        }
    }
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("socket 1: no CPU of it is online"), "{}", run.out);
}

#[test]
fn numbers_at_the_end_of_their_range_break_no_screen() {
    let everywhere = u64::MAX.to_string();
    for (file, text) in [
        ("sys/fs/resctrl/schemata", "L3:0=ffffffffffffffff;1=1;4294967295=1\n"),
        ("sys/fs/resctrl/info/L3/cbm_mask", "ffffffffffffffff\n"),
        ("sys/fs/resctrl/mon_data/mon_L3_00/llc_occupancy", everywhere.as_str()),
        ("sys/fs/resctrl/mon_data/mon_L3_01/llc_occupancy", everywhere.as_str()),
    ] {
        let machine = OnMachine::new("skylake", &[]);
        let path = machine.path().join(file);
        fs::write(&path, text).expect(file);
        for arguments in [
            ["status", "--explain"].as_slice(),
            &["monitor", "--windows", "1"],
            &["tune", "cat", "web", "0xffffffffffffffff"],
            &["restore", "--dry-run"],
        ] {
            let run = machine.run(arguments);
            assert!(!run.err.contains("panicked"), "{file} {arguments:?}: {}", run.err);
        }
    }
    let machine = OnMachine::new("skylake", &[]);
    let registers = machine.path().join("registers.toml");
    let described = fs::read_to_string(&registers).expect("registers");
    let most = i64::MAX.to_string();
    let huge: Vec<String> = described
        .lines()
        .map(|line| match line.split_once(" = ") {
            Some((key @ ("write_lines_per_s" | "hit_percent" | "hit_percent_per_way"), _)) => {
                format!("{key} = {most}")
            }
            _ => line.to_owned(),
        })
        .collect();
    fs::write(&registers, huge.join("\n")).expect("registers");
    let run = machine.run(&["monitor", "--windows", "1"]);
    assert!(run.code == Some(0) && !run.err.contains("panicked"), "{}", run.err);
}

#[test]
fn names_steer_no_terminal_on_either_stream() {
    let machine = OnMachine::new("skylake", &[]);
    let group = machine.path().join("sys/fs/resctrl/\u{1b}]0;title\u{7}");
    fs::create_dir(&group).expect("a group");
    for file in ["schemata", "cpus_list"] {
        let web = machine.path().join("sys/fs/resctrl/web").join(file);
        fs::copy(web, group.join(file)).expect("its file");
    }
    let status = machine.run(&["status"]);
    let refused = machine.run(&["tune", "cat", "missing", "0x1"]);
    assert_eq!(refused.code, Some(2), "{}", refused.out);
    for text in [status.out, refused.err] {
        assert!(text.contains("]0;title"), "{text}");
        assert!(!text.contains('\u{1b}') && !text.contains('\u{7}'), "{text:?}");
    }
}
