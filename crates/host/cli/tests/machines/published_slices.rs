//! Is a published function taken where it is the machine's, checked against it, and not taken elsewhere?

use serde_json::Value;
use slices::TableFile;
use slices::published::named;

use crate::on_machine::{OnMachine, Run};
use crate::slices::{Mapped, addresses, map};

fn published(name: &str) -> TableFile {
    named(name).expect("is published").file()
}

fn json(run: &Run) -> Value {
    serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("no JSON: {}{}", run.out, run.err))
}

fn check(machine: &Mapped, arguments: &[&str]) -> Run {
    machine.machine.run(&[&["slices", "check"], arguments].concat())
}

#[test]
fn a_published_function_is_written_without_a_question_and_is_the_machine_s() {
    for (name, known) in [("skylake", "skx-18"), ("cascade-lake", "skx-20")] {
        // Not even root is needed.
        let machine = Mapped::new(name, &["not-root"]);
        let run = machine.slices(&["map", "--format", "json"]);
        assert_eq!(run.code, Some(0), "{name}: {}", run.err);
        let report = json(&run);
        assert_eq!(
            (&report["verdict"], &report["published"]),
            (&"published".into(), &known.into())
        );
        assert_eq!(report["questions"], 0);
        let (file, described) = (machine.found(), machine.described());
        assert_eq!(file.table.base, published(known).table.base);
        assert!(file.table.source.contains(known) && file.table.source.contains("BSD-3-Clause"));
        assert!(
            run.out.contains(&file.table.part),
            "the part is the machine's: {}",
            file.table.part
        );
        let found = map(&file);
        assert!(addresses(&file, 10_000).all(|at| found.slice_of(at) == described.slice_of(at)));
    }
    let machine = Mapped::new("skylake", &[]);
    insta::assert_snapshot!(machine.slices(&["map"]).out, @r#"
    Slices of Intel(R) Xeon(R) Gold 6140 CPU @ 2.30GHz, socket 0
      function    skx-18: 18 slices, base sequence of 4096 lines, rearranged by 12 masks
      holds for   all physical addresses below 256 GiB
      source      J. D. McCalpin, TACC TR-2021-03 (BSD-3-Clause)
      table       OUT/slices.toml
    Published: no recovery needed.
    skipline-host slices check compares it with this machine; --recover learns it.
    "#);
}

#[test]
fn where_nothing_fits_the_function_is_learnt_and_the_reason_is_told() {
    // 32 slices: nothing is published.
    let machine = Mapped::new("ice-lake", &[]);
    assert_eq!(json(&machine.slices(&["map", "--format", "json"]))["verdict"], "established");
    let reason = "sub-NUMA clustering changes the function";
    let machine =
        Mapped { machine: OnMachine::new("sub-numa", &[]), ..Mapped::new("haswell", &[]) };
    let report = json(&machine.slices(&["map", "--format", "json"]));
    assert_eq!(report["verdict"], "established", "{report}");
    let note = report["notes"][0].as_str().expect("a note");
    assert!(note.contains("skx-20 is not used") && note.contains(reason), "{note}");
    let run = check(&machine, &[]);
    assert_eq!(run.code, Some(6), "{}", run.out);
    assert!(run.err.contains(reason) && run.err.contains("--table FILE"), "{}", run.err);
}

#[test]
fn a_right_table_agrees_in_all_lines_and_says_so() {
    for failures in [&[][..], &["no-uncore-driver"]] {
        let machine = Mapped::new("skylake", failures);
        let before = machine.machine.content();
        let run = check(&machine, &["--apply"]);
        assert_eq!(run.code, Some(0), "{failures:?}: {}{}", run.out, run.err);
        assert!(run.out.contains("Agrees in 2048 of 2048 lines."), "{}", run.out);
        assert!(machine.machine.content() == before, "{failures:?}: registers are put back");
    }
    let machine = Mapped::new("skylake", &["no-uncore-driver"]);
    let run = check(&machine, &[]);
    // Nothing was compared: what does not agree is not said to.
    assert!(run.code == Some(6) && run.out.contains("Dry run"), "{}", run.out);
}

#[test]
fn a_recovered_table_is_checked_too_and_by_timing_up_to_names() {
    let machine = Mapped::new("haswell", &[]);
    assert_eq!(machine.map(&[]).code, Some(0));
    let run = machine.slices(&["check", "--lines", "512"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("Agrees in 512 of 512 lines."), "{}", run.out);
    let timed = json(&machine.slices(&["check", "--oracle", "timing", "--format", "json"]));
    assert_eq!(timed["comparison"]["agrees"], true, "{timed}");
    assert!(timed["comparison"]["names"].is_array(), "{timed}");
}

#[test]
fn a_wrong_table_differs_with_the_bits_and_ends_with_4() {
    let machine = Mapped::new("skylake", &[]);
    let mut other = published("skx-18");
    other.table.perm_masks[2] ^= 1 << 33;
    machine.follows(&other);
    let report = check(&machine, &["--format", "json"]);
    assert_eq!(report.code, Some(4), "{}", report.err);
    let compared = &json(&report)["comparison"];
    assert_eq!(compared["agrees"], false);
    assert_eq!(compared["differs_by"][0]["address_bits"], serde_json::json!([33]), "{compared}");
    let text = check(&machine, &[]).out;
    assert!(text.contains("with address bit 33 set, 0 % of the others"), "{text}");
    other.table.base.iter_mut().for_each(|slice| *slice = (*slice + 1) % 18);
    other.table.perm_masks[2] ^= 1 << 33;
    machine.follows(&other);
    let run = check(&machine, &[]);
    assert_eq!(run.code, Some(4));
    assert!(run.out.contains("but slices have other names"), "{}", run.out);
}

#[test]
fn a_machine_that_answers_nothing_clear_is_not_judged() {
    let machine = Mapped::new("skylake", &[]);
    machine.noise(0.0, 0.999);
    let run = check(&machine, &["--lines", "64"]);
    assert_eq!(run.code, Some(6), "{}{}", run.out, run.err);
    assert!(
        run.out.contains("Not judged") || run.out.contains("Nothing was compared"),
        "{}",
        run.out
    );
}

#[test]
fn a_published_function_is_checked_by_name() {
    let machine = Mapped::new("cascade-lake", &[]);
    let run = check(&machine, &["--table", "published:skx-20", "--lines", "256"]);
    assert_eq!(run.code, Some(0), "{}{}", run.out, run.err);
    assert!(run.out.contains("published:skx-20"), "{}", run.out);
    let run = check(&machine, &["--table", "published:skx-21"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("there are: skx-14, skx-16"), "{}", run.err);
}

#[test]
fn without_a_table_nothing_is_judged_and_one_of_others_is_bad_input() {
    let machine = Mapped::new("haswell", &[]);
    let run = check(&machine, &[]);
    assert_eq!(run.code, Some(6));
    assert!(run.err.contains("no slice function is published for this CPU"), "{}", run.err);
    std::fs::write(machine.table(), published("skx-18").write()).expect("a file");
    let run = machine.slices(&["check"]);
    assert_eq!(run.code, Some(2));
    assert!(run.err.contains("has 18 slices, a socket of this machine has 8"), "{}", run.err);
}

#[test]
fn a_table_tells_the_number_of_slices_where_the_machine_does_not() {
    let machine = Mapped::new("skylake", &[]);
    machine.edit("proc/cpuinfo", "model\t\t: 85", "model\t\t: 158");
    std::fs::write(machine.table(), published("skx-18").write()).expect("a file");
    let run = machine.slices(&["check", "--lines", "64"]);
    assert!(!run.out.contains("give it with --slices"), "{}{}", run.out, run.err);
    assert!(run.out.contains("18 slices"), "{}{}", run.out, run.err);
}

#[test]
fn processors_and_sockets_that_do_not_belong_together_are_refused() {
    let machine = Mapped::new("skylake", &[]);
    for (arguments, expected) in [
        (&["--cpu", "20", "--socket", "0"][..], "--cpu 20: is in socket 1, not 0"),
        (&["--socket", "7"], "--socket 7: socket not found; this machine has 0-1"),
    ] {
        let run = check(&machine, arguments);
        assert_eq!(run.code, Some(2), "{arguments:?}: {}", run.out);
        assert!(run.err.contains(expected), "{arguments:?}: {}", run.err);
    }
    let run = check(&machine, &["--socket", "1", "--lines", "256", "--format", "json"]);
    let report = json(&run);
    assert_eq!((&report["socket"], &report["cpu"]), (&1.into(), &18.into()), "{report}");
    assert_eq!(report["verdict"], "agrees", "{report}");
}
