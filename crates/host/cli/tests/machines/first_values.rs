//! A register that begins without a way for I/O: is it left alone, since nothing could put it back?

use std::fs;

use crate::on_machine::OnMachine;

/// Skylake whose register of ways begins with a value, and takes any.
fn beginning_with(value: u64) -> OnMachine {
    let machine = OnMachine::new("skylake", &[]);
    let path = machine.path().join("registers.toml");
    let mut registers: toml::Table =
        fs::read_to_string(&path).expect("registers").parse().expect("a description");
    let list = registers["msr"]["register"].as_array_mut().expect("registers");
    let of_ways = |it: &&mut toml::Value| it["address"].as_integer() == Some(0xc8b);
    let ways = list.iter_mut().find(of_ways).and_then(toml::Value::as_table_mut);
    let ways = ways.expect("the register of ways");
    ways.insert("value".into(), i64::try_from(value).expect("63 bits").into());
    ways.insert("writable".into(), i64::MAX.into());
    ways.insert("sticky".into(), 0.into());
    fs::write(path, registers.to_string()).expect("registers");
    machine
}

#[test]
fn a_change_that_a_restore_would_not_undo_is_refused_in_the_dry_run() {
    // Without bits, and with bits beside its eleven ways.
    for value in [0, 1 << 24, 0xff_f000] {
        let machine = beginning_with(value);
        let before = machine.content();
        for arguments in [
            &["tune", "ddio-ways", "4"][..],
            &["tune", "ddio-ways", "4", "--apply"],
            &["tune", "ddio-ways", "4", "--keep-unknown-bits", "--apply"],
            &["tune", "ddio-mask", "0x700", "--keep-unknown-bits", "--apply"],
            &["tune", "ddio-mask", "0x1", "--untried-mask", "--keep-unknown-bits", "--apply"],
            &["tune", "ddio-ways", "4", "--keep-unknown-bits", "--apply", "--for", "1ms"],
            &["tune", "ddio-ways", "4", "--apply", "--verify", "--window", "1"],
            &["run", "--ddio-ways", "4", "--keep-unknown-bits", "--apply", "--", "true"],
            &["steer", "--windows", "1", "--apply"],
        ] {
            let run = machine.run(arguments);
            assert_eq!(run.code, Some(3), "{arguments:?}: {}{}", run.out, run.err);
            assert!(run.err.contains("leaves I/O no way of the LLC"), "{arguments:?}: {}", run.err);
        }
        assert!(machine.content() == before, "{value:#x}");
        assert!(!machine.path().join("var").exists(), "nothing is journalled");
    }
}

#[test]
fn any_other_first_value_is_put_back_as_it_was() {
    for value in [0x1, 0x400, 0x601, 0x7ff, 1 << 24 | 0x600] {
        let machine = beginning_with(value);
        let before = machine.content();
        let tune = ["tune", "ddio-ways", "4", "--keep-unknown-bits", "--apply"];
        let run = machine.run(&tune);
        assert_eq!(run.code, Some(0), "{value:#x}: {}{}", run.out, run.err);
        let run = machine.run(&["restore"]);
        assert_eq!(run.code, Some(0), "{value:#x}: {}{}", run.out, run.err);
        assert!(machine.content() == before, "{value:#x}");
    }
}
