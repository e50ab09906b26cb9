//! Does everything come back, to the byte, also after a crash?

use std::fs;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use crate::on_machine::{OnMachine, STATE};
use crate::tune::{CHANGES, with};

const STEPS: [&str; 4] = ["journalled", "written", "read-back", "recorded"];

#[test]
fn a_kill_at_any_step_is_restored_to_the_byte() {
    for (name, change) in CHANGES {
        for step in STEPS {
            let machine = OnMachine::new(name, &[]);
            let before = machine.content();
            let killed = machine.run_and_crash(step, &with(change, &["--apply"]));
            assert_eq!(killed.code, None, "killed by a signal: {name} {change:?} {step}");
            let was_written = machine.content() != before;
            assert_eq!(was_written, step != "journalled", "{name} {change:?} {step}");
            let restored = machine.run(&["restore"]);
            assert_eq!(restored.code, Some(0), "{}{}", restored.out, restored.err);
            assert!(machine.content() == before, "{name} {change:?} {step}");
            assert!(!machine.path().join(STATE).join("journal.json").exists());
        }
    }
}

#[test]
fn a_kill_while_restoring_loses_nothing_either() {
    for step in ["written", "read-back", "recorded"] {
        let machine = OnMachine::new("skylake", &[]);
        let before = machine.content();
        assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
        assert_eq!(machine.run(&["tune", "ddio-ways", "8", "--apply"]).code, Some(0));
        assert_eq!(machine.run_and_crash(step, &["restore"]).code, None);
        assert_eq!(machine.run(&["restore"]).code, Some(0));
        assert!(machine.content() == before, "{step}");
    }
}

#[test]
fn what_another_program_changed_since_is_left_alone_unless_all_is_asked() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    assert_eq!(machine.run(&["tune", "cat", "web", "0x3", "--apply"]).code, Some(0));
    let schemata = machine.path().join("sys/fs/resctrl/web/schemata");
    let text = fs::read_to_string(&schemata).expect("schemata");
    fs::write(&schemata, text.replace("L3:0=003", "L3:0=00f")).expect("schemata");
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(1));
    assert!(
        run.out.contains("left alone: another program set it to 0xf; --all puts it back"),
        "{}",
        run.out
    );
    assert_eq!(machine.run(&["restore", "--all"]).code, Some(0));
    assert!(machine.content() == before);
}

#[test]
fn a_reboot_has_reset_the_registers_and_nothing_is_written() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    fs::write(machine.path().join("proc/sys/kernel/random/boot_id"), "another\n").expect("boot id");
    // Firmware of the new boot has set something of its own.
    let registers = machine.path().join("registers.state");
    let text = fs::read_to_string(&registers).expect("registers that were written");
    fs::write(&registers, text.replace("1920", "1792")).expect("registers of the new boot");
    let before = machine.content();
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(0));
    assert!(run.out.contains("the machine was rebooted since"), "{}", run.out);
    assert!(machine.content() == before);
}

#[test]
fn what_became_of_a_write_whose_end_was_not_seen_is_not_lost_with_a_boot() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let change = ["tune", "ddio-ways", "4", "--socket", "0", "--apply"];
    assert_eq!(machine.run_and_crash("written", &change).code, None);
    // Hardware has made 0x7c0 of 0x780, and kexec keeps it.
    let registers = machine.path().join("registers.state");
    let text = fs::read_to_string(&registers).expect("registers that were written");
    fs::write(&registers, text.replace("1920", "1984")).expect("what hardware made of it");
    let boot = machine.path().join("proc/sys/kernel/random/boot_id");
    let id = fs::read(&boot).expect("the boot");
    fs::write(&boot, "another\n").expect("another boot");
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(1), "{}", run.out);
    assert!(run.out.contains("it holds 0x7c0") && run.out.contains("--all"), "{}", run.out);
    assert!(fs::read_to_string(&registers).expect("registers").contains("1984"));
    assert_eq!(machine.run(&["restore", "--all"]).code, Some(0));
    fs::write(&boot, id).expect("the boot");
    assert!(machine.content() == before);
}

#[test]
fn a_boot_that_reset_nothing_loses_nothing() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.run(&["status"]).out;
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    fs::write(machine.path().join("proc/sys/kernel/random/boot_id"), "another\n").expect("boot id");
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    assert_eq!(machine.run(&["status"]).out, before);
}

#[test]
fn where_the_boot_is_unknown_the_journal_stays() {
    let machine = OnMachine::new("skylake", &[]);
    assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
    let boot_id = machine.path().join("proc/sys/kernel/random/boot_id");
    let boot = fs::read(&boot_id).expect("boot id");
    fs::remove_file(&boot_id).expect("boot id");
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("boot_id"), "{}", run.err);
    fs::write(&boot_id, boot).expect("boot id");
    let run = machine.run(&["restore"]);
    assert!(run.out.contains("put back to 0x600"), "{}", run.out);
}

#[test]
fn a_journal_cannot_reach_a_function_that_is_no_root_port() {
    let machine = OnMachine::new("skylake", &[]);
    let change = ["tune", "ddio", "off", "--device", "0000:17:00.0", "--apply"];
    assert_eq!(machine.run(&change).code, Some(0));
    let journal = machine.path().join(STATE).join("journal.json");
    let text = fs::read_to_string(&journal).expect("journal");
    assert!(text.contains("0000:16:00.0"), "{text}");
    // The card that had this number is another one now.
    fs::write(&journal, text.replace("0000:16:00.0", "0000:17:00.0")).expect("journal");
    let before = machine.content();
    let run = machine.run(&["restore", "--all"]);
    assert_eq!(run.code, Some(1));
    assert!(run.out.contains("is not a control of this machine"), "{}", run.out);
    assert!(machine.content() == before);
}

#[test]
fn a_damaged_or_foreign_journal_writes_nothing() {
    let entry = |target: &str| {
        format!(
            r#"{{"entries":[{{"time_unix_s":1,"boot_id":"5d1f0a52-6f0b-4c39-9a3b-3f3c8f0a7f11","command":"x","target":{target},"old":1,"asked":2,"read_back":null}}]}}"#
        )
    };
    for (journal, expected) in [
        ("{\"entries\":[".to_owned(), "is damaged"),
        ("\u{0}\u{1}".to_owned(), "is damaged"),
        (
            entry(r#"{"kind":"msr","socket":0,"cpu":0,"address":420}"#),
            "is not on the list of controls",
        ),
        (
            entry(r#"{"kind":"switch","path":"sys/fs/resctrl/../../../etc/io_alloc"}"#),
            "is not on the list",
        ),
        (
            entry(r#"{"kind":"mask","path":"proc/cpuinfo","resource":"","domain":0}"#),
            "is not on the list",
        ),
    ] {
        let machine = OnMachine::new("skylake", &[]);
        let state = machine.path().join(STATE);
        fs::create_dir_all(&state).expect("a directory");
        fs::write(state.join("journal.json"), journal).expect("a journal");
        let before = machine.content();
        for arguments in [["restore"].as_slice(), &["tune", "ddio-ways", "4", "--apply"]] {
            let run = machine.run(arguments);
            let code = if expected == "is damaged" { 1 } else { 3 };
            assert_eq!(run.code, Some(code), "{}", run.err);
            assert!(run.err.contains(expected), "{}", run.err);
        }
        assert!(machine.content() == before);
    }
}

#[test]
fn a_journal_that_another_user_may_have_written_is_not_believed() {
    type Spoil = fn(&Path);
    let spoil: [(Spoil, &str); 5] = [
        (|state| mode(&state.join("journal.json"), 0o646), "journal.json can be written by others"),
        (|state| mode(state, 0o757), "skipline-host can be written by others (mode 757)"),
        (
            |state| {
                let journal = state.join("journal.json");
                fs::rename(&journal, state.join("other.json")).expect("another name");
                symlink("other.json", journal).expect("a link");
            },
            "journal.json is a link",
        ),
        (
            |state| {
                fs::rename(state, state.with_file_name("other")).expect("another name");
                symlink("other", state).expect("a link");
            },
            "skipline-host is a link",
        ),
        (
            |state| {
                // Only root can give a file away; any user sees what an open mode does.
                let journal = state.join("journal.json");
                if chown(&journal, Some(4321), None).is_err() {
                    mode(&journal, 0o666);
                }
            },
            "journal.json ",
        ),
    ];
    for (spoil, expected) in spoil {
        let machine = OnMachine::new("skylake", &[]);
        assert_eq!(machine.run(&["tune", "ddio-ways", "4", "--apply"]).code, Some(0));
        spoil(&machine.path().join(STATE));
        let before = machine.content();
        for arguments in [["restore"].as_slice(), &["tune", "ddio-ways", "6", "--apply"]] {
            let run = machine.run(arguments);
            assert_eq!(run.code, Some(3), "{expected}: {}", run.out);
            assert!(run.err.contains(expected), "{expected}: {}", run.err);
            assert!(run.err.contains("another user could choose"), "{}", run.err);
        }
        assert!(machine.content() == before, "{expected}");
    }
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("its mode");
}

#[test]
fn masks_of_a_restore_that_died_survive_the_next_change() {
    let machine = OnMachine::new("turin", &[]);
    let info = machine.path().join("sys/fs/resctrl/info/L3");
    fs::write(info.join("io_alloc"), "enabled\n").expect("the switch");
    fs::write(info.join("io_alloc_cbm"), "0=000f;1=000f;2=000f;3=000f\n").expect("the masks");
    let before = machine.content();
    assert_eq!(machine.run(&["tune", "io-alloc", "off", "--apply"]).code, Some(0));
    // Allocation is on again, with all ways; the masks are still to be written.
    assert_eq!(machine.run_and_crash("recorded", &["restore"]).code, None);
    // Shortens the journal.
    assert_eq!(machine.run(&["tune", "cat", "db", "0x3", "--apply"]).code, Some(0));
    let run = machine.run(&["restore"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(machine.content() == before, "{}", run.out);
}

/// A register that takes more than it is given is not another program's doing, however often it is put
/// back.
#[test]
fn what_hardware_adds_is_not_blamed_on_another_program() {
    let machine = OnMachine::new("skylake", &["one-way-more"]);
    machine.run(&["tune", "ddio-ways", "4", "--apply"]);
    for again in [&["restore"][..], &["restore"], &["restore", "--all"], &["restore"]] {
        let run = machine.run(again);
        assert_eq!(run.code, Some(1), "{}", run.err);
        assert!(run.out.contains("wrote 0x600, reads back 0x700"), "{}", run.out);
        assert!(!run.out.contains("another program"), "{}", run.out);
    }
    let machine = OnMachine::new("skylake", &["one-way-more"]);
    let run = machine.run(&["run", "--ddio-ways", "4", "--apply", "--", "true"]);
    assert!(run.err.contains("wrote 0x") && run.err.contains("reads back"), "{}", run.err);
}
