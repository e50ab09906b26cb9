//! Masks of ways for I/O: which are taken, and what is said of the others?

use crate::on_machine::OnMachine;

fn tune<'a>(mask: &'a str, rest: &[&'a str]) -> Vec<&'a str> {
    [&["tune", "ddio-mask", mask, "--socket", "0"], rest].concat()
}

#[test]
fn a_run_that_ends_at_the_top_way_is_written_and_put_back() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    let run = machine.run(&tune("0x700", &["--apply"]));
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("set, reads back 0x700"), "{}", run.out);
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    assert!(machine.content() == before);
}

#[test]
fn a_shape_that_was_never_tried_is_refused_unless_it_is_asked_for() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    for (mask, suggested) in [("0x3", "like 0x600"), ("0x505", "like 0x780")] {
        let run = machine.run(&tune(mask, &["--apply"]));
        assert_eq!(run.code, Some(2), "{}", run.out);
        let tried =
            "only one run of ways that ends at the top way was tried (ddio-bench and IAT wrote";
        assert!(run.err.contains(tried) && run.err.contains(suggested), "{}", run.err);
        assert!(run.err.contains("--untried-mask"), "{}", run.err);
    }
    assert!(machine.content() == before);
    // The default ways of this machine stay, whatever is asked: the read-back tells.
    let run = machine.run(&tune("0x3", &["--apply", "--untried-mask"]));
    assert_eq!(run.code, Some(4), "{}{}", run.out, run.err);
    assert!(run.out.contains("no public source has tried a mask of this shape"), "{}", run.out);
    assert!(run.out.contains("widened: asked 0x3, reads back 0x603"), "{}", run.out);
    assert_eq!(machine.run(&["restore"]).code, Some(0));
    assert!(machine.content() == before);
}

#[test]
fn a_mask_without_ways_or_beside_them_is_bad_input_whatever_is_asked_for() {
    let machine = OnMachine::new("skylake", &[]);
    let before = machine.content();
    for mask in ["0x0", "0x800", "0xfff"] {
        let run = machine.run(&tune(mask, &["--apply", "--untried-mask"]));
        assert_eq!(run.code, Some(2), "{}", run.out);
        assert!(run.err.contains("within 0x7ff, the ways of socket 0"), "{}", run.err);
    }
    assert!(machine.content() == before);
    let run = OnMachine::new("haswell", &[]).run(&["tune", "ddio-mask", "0x3"]);
    assert_eq!(run.code, Some(3), "{}", run.err);
}

#[test]
fn a_mask_is_held_while_a_command_runs() {
    let machine = OnMachine::new("cascade-lake", &[]);
    let before = machine.content();
    let state = machine.path().join("registers.state");
    let show = format!("cat {}", state.display());
    let held = ["run", "--ddio-mask", "0x7e0", "--apply", "--", "sh", "-c", &show];
    let run = machine.run(&held);
    assert_eq!(run.code, Some(0), "{}", run.err);
    assert_eq!(run.out.matches("2016").count(), 2, "{}", run.out);
    assert!(machine.content() == before);
    for wrong in [["--ddio-mask", "0x7e0", "--ddio-ways", "4"], ["--ddio", "off", "--socket", "0"]]
    {
        let run = machine.run(&[&["run"], &wrong[..], &["--", "true"]].concat());
        assert_eq!(run.code, Some(2), "{}", run.out);
    }
}
