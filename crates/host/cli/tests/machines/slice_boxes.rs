//! Are registers of boxes set only with --apply, shown before, and put back whatever happens?

use std::fs;
use std::io::Read;
use std::process::{Child, Stdio};

use rustix::process::{Pid, Signal, kill_process};

use crate::on_machine::STATE;
use crate::slices::{INTEL, Mapped, addresses, map};

/// Starts asking, through registers; with this noise it goes on for hours.
fn start(machine: &Mapped) -> Child {
    let table = machine.table().display().to_string();
    let arguments = [
        "slices",
        "map",
        "--recover",
        "--apply",
        "--budget",
        "10000000000",
        "--out",
        table.as_str(),
    ];
    let mut command = machine.machine.command(&arguments);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn();
    let child = child.expect("the binary runs");
    // The boxes are set as soon as the last one's event select is.
    while !fs::read_to_string(machine.machine.path().join("registers.state"))
        .is_ok_and(|state| state.contains("0xf11"))
    {
        std::thread::yield_now();
    }
    child
}

#[test]
fn without_the_kernel_s_boxes_a_dry_run_shows_their_registers_and_asks_nothing() {
    for name in INTEL {
        let machine = Mapped::new(name, &["no-uncore-driver"]);
        let before = machine.machine.content();
        let run = machine.map(&[]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.err);
        assert!(machine.machine.content() == before, "{name}");
        assert!(!machine.table().exists() && !machine.machine.path().join("var").exists());
        if name == "ice-lake" {
            insta::assert_snapshot!("map_dry_run_ice-lake", run.out);
        }
    }
}

#[test]
fn registers_count_as_well_as_the_kernel_and_are_put_back() {
    for name in INTEL {
        let machine = Mapped::new(name, &["no-uncore-driver"]);
        let before = machine.machine.content();
        let run = machine.map(&["--apply"]);
        assert_eq!(run.code, Some(0), "{name}: {}{}", run.out, run.err);
        let (file, described) = (machine.found(), machine.described());
        let found = map(&file);
        assert!(addresses(&file, 100_000).all(|at| found.slice_of(at) == described.slice_of(at)));
        assert!(machine.machine.content() == before, "{name}");
        assert!(!machine.machine.path().join(STATE).join("journal.json").exists(), "{name}");
    }
}

#[test]
fn a_signal_leaves_no_table_and_puts_the_boxes_back() {
    for signal in [Signal::INT, Signal::QUIT, Signal::TERM, Signal::HUP] {
        let machine = Mapped::new("skylake", &["no-uncore-driver"]);
        machine.noise(0.0, 0.999);
        let before = machine.machine.content();
        let mut child = start(&machine);
        let pid = Pid::from_raw(child.id().cast_signed()).expect("a process");
        kill_process(pid, signal).expect("a signal");
        let status = child.wait().expect("its end");
        let mut err = String::new();
        child.stderr.take().expect("standard error").read_to_string(&mut err).expect("text");
        assert_eq!(status.code(), Some(130), "{signal:?}: {err}");
        assert!(err.contains("interrupted after") && err.contains("no table was written"), "{err}");
        assert!(!machine.table().exists());
        assert!(machine.machine.content() == before);
        let restored = machine.machine.run(&["restore"]);
        assert!(restored.out.starts_with("Nothing to put back"), "{}", restored.out);
    }
}

#[test]
fn a_kill_while_asking_is_put_back_by_restore() {
    let machine = Mapped::new("skylake", &["no-uncore-driver"]);
    machine.noise(0.0, 0.999);
    let mut child = start(&machine);
    child.kill().expect("a signal");
    child.wait().expect("its end");
    assert!(machine.machine.path().join("registers.state").exists());
    let again = machine.map(&["--apply"]);
    assert_eq!(again.code, Some(3));
    assert!(again.err.contains("skipline-host restore"), "{}", again.err);
    let restored = machine.machine.run(&["restore"]);
    assert_eq!(restored.code, Some(0), "{}{}", restored.out, restored.err);
    assert!(!machine.machine.path().join("registers.state").exists(), "{}", restored.out);
}

#[test]
fn a_kill_at_any_step_of_setting_the_boxes_is_restored_to_the_byte() {
    for step in ["journalled", "written", "read-back", "recorded"] {
        let machine = Mapped::new("ice-lake", &["no-uncore-driver"]);
        let before = machine.machine.content();
        let killed =
            machine.machine.run_and_crash(step, &["slices", "map", "--recover", "--apply"]);
        assert_eq!(killed.code, None, "killed by a signal: {step}");
        let again = machine.map(&["--apply"]);
        assert_eq!(again.code, Some(3), "{step}");
        let expected = "an earlier run of this tool was killed";
        assert!(again.err.contains(expected), "{step}: {}", again.err);
        assert_eq!(machine.machine.run(&["restore"]).code, Some(0), "{step}");
        assert!(machine.machine.content() == before, "{step}");
    }
}

#[test]
fn boxes_that_do_not_take_their_values_are_told_and_put_back() {
    for (failure, code, expected) in [
        (
            "writes-ignored",
            4,
            "does not take the value 0x10000: the write is taken, and it still reads 0x10100",
        ),
        ("writes-refused", 3, "does not take the value 0x10000: ROOT/dev/cpu/0/msr: the hardware"),
        ("lockdown", 3, "does not take the value 0x10000: ROOT/dev/cpu/0/msr: not permitted"),
    ] {
        let machine = Mapped::new("skylake", &["no-uncore-driver", failure]);
        let before = machine.machine.content();
        let run = machine.map(&["--apply"]);
        assert_eq!(run.code, Some(code), "{failure}");
        assert!(run.err.contains(expected), "{failure}: {}", run.err);
        assert!(machine.machine.content() == before, "{failure}");
        let restored = machine.machine.run(&["restore"]);
        assert!(restored.out.starts_with("Nothing to put back"), "{failure}: {}", restored.out);
    }
}

#[test]
fn a_counter_that_counts_for_another_program_is_left_alone() {
    let machine = Mapped::new("skylake", &["no-uncore-driver"]);
    machine.edit("registers.toml", "65792, 0, 59", "65792, 4194356, 59");
    let before = machine.machine.content();
    let run = machine.map(&["--apply"]);
    assert_eq!(run.code, Some(3));
    let expected = "box 0 counts for another program (event select 0xe01 = 0x400034)";
    assert!(run.err.contains(expected), "{}", run.err);
    assert!(machine.machine.content() == before);
}

#[test]
fn a_box_of_which_another_counter_counts_is_left_alone() {
    for select in ["0xe02", "0xe03", "0xe04"] {
        let machine = Mapped::new("skylake", &["no-uncore-driver"]);
        let state = format!("{{\"socket0.{select}\": 4194356}}");
        std::fs::write(machine.machine.path().join("registers.state"), state).expect("registers");
        let before = machine.machine.content();
        let run = machine.map(&["--apply"]);
        assert_eq!(run.code, Some(3), "{select}: {}", run.out);
        let expected = format!(
            "a counter of box 0 counts for another program (event select {select} = 0x400034)"
        );
        assert!(run.err.contains(&expected), "{}", run.err);
        assert!(machine.machine.content() == before, "{select}");
    }
}

#[test]
fn bits_that_no_source_describes_are_refused_before_the_first_write() {
    // A restore would refuse to put them back.
    for (register, value) in [("0xe01", 1u64 << 40), ("0xe05", 1 << 33)] {
        let machine = Mapped::new("skylake", &["no-uncore-driver"]);
        let state = format!("{{\"socket0.{register}\": {value}}}");
        std::fs::write(machine.machine.path().join("registers.state"), state).expect("registers");
        let before = machine.machine.content();
        let run = machine.map(&["--apply"]);
        assert_eq!(run.code, Some(3), "{register}: {}{}", run.out, run.err);
        assert!(run.err.contains(&format!("its bits {value:#x} mean")), "{}", run.err);
        assert!(machine.machine.content() == before, "{register}");
    }
}

#[test]
fn a_number_of_boxes_that_is_not_known_is_told_with_its_reason() {
    let size = "sys/devices/system/cpu/cpu0/cache/index3/size";
    for (kib, arguments, expected) in [
        (
            "61441K",
            [].as_slice(),
            "cache of 61441 KiB is not a multiple of 1920 KiB, a slice; say it",
        ),
        ("307200K", &[], "cache of 307200 KiB makes 160 slices of 1920 KiB, and registers of 60"),
        ("61440K", &["--slices", "61"], "--slices 61: registers of 1 to 60 uncore_cha are known"),
    ] {
        let machine = Mapped::new("sapphire-rapids", &["no-uncore-driver"]);
        machine.edit(size, "61440K", kib);
        let run = machine.map(arguments);
        assert_eq!(run.code, Some(2), "{}{}", run.out, run.err);
        assert!(run.err.contains(expected), "{}", run.err);
    }
}

#[test]
fn emerald_rapids_is_counted_by_the_kernel_only() {
    let emerald = |failures: &[&str]| {
        let machine = Mapped::new("sapphire-rapids", failures);
        machine.edit("proc/cpuinfo", "model\t\t: 143", "model\t\t: 207");
        machine
    };
    let run = emerald(&[]).map(&[]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    for failures in [["no-uncore-driver"].as_slice(), &["no-uncore-driver", "msr-module-absent"]] {
        let machine = emerald(failures);
        let before = machine.machine.content();
        let run = machine.map(&["--slices", "32", "--apply"]);
        assert_eq!(run.code, Some(3), "{}{}", run.out, run.err);
        let expected = "no public source gives the register addresses of Emerald Rapids's slices";
        assert!(run.err.contains(expected), "{}", run.err);
        assert!(run.err.contains("remedy: modprobe intel_uncore"), "{}", run.err);
        assert!(machine.machine.content() == before && !machine.table().exists());
    }
}

#[test]
fn registers_that_a_hypervisor_or_another_part_answers_for_are_not_written() {
    for (words, others, expected) in [
        ("flags\t\t: fpu", "flags\t\t: hypervisor fpu", "this is a virtual machine"),
        ("Xeon(R) Gold 6140 CPU", "Xeon(R) W-2155 CPU", "but not their brand"),
    ] {
        let machine = Mapped::new("skylake", &["no-uncore-driver"]);
        machine.edit("proc/cpuinfo", words, others);
        let before = machine.machine.content();
        let run = machine.map(&["--oracle", "counters", "--apply"]);
        assert_eq!(run.code, Some(3), "{}", run.out);
        assert!(run.err.contains(expected), "{}", run.err);
        assert!(machine.machine.content() == before);
        // The kernel's own boxes are not refused: it knows the part.
        let machine = Mapped::new("skylake", &[]);
        machine.edit("proc/cpuinfo", words, others);
        let run = machine.map(&["--oracle", "counters"]);
        assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    }
}
