//! Programs that have handlers, masks and stacks of their own for the signals that portals raise.

use crate::runs::Place;

const QUEUE: &str = "wq0.1";
const ILLEGAL_INSTRUCTION: i32 = 128 + 4;
const ABORT: i32 = 128 + 6;
const BUS_ERROR: i32 = 128 + 7;
const SEGMENTATION_FAULT: i32 = 128 + 11;

#[track_caller]
fn client(words: &[&str], code: i32) -> String {
    Place::new().client(&["--quiet"], words).with(code)
}

#[test]
fn handlers_get_the_faults_of_the_program_and_may_submit() {
    client(&["own-handlers", QUEUE], 0);
}

#[test]
fn a_handler_of_one_argument_is_called() {
    client(&["one-argument", QUEUE], 0);
}

#[test]
fn a_handler_for_once_is_called_once() {
    assert_eq!(client(&["reset-hand", QUEUE], SEGMENTATION_FAULT), "repaired\n");
}

#[test]
fn a_handler_has_its_alternate_stack() {
    client(&["alternate-stack", QUEUE], 0);
}

#[test]
fn an_alternate_stack_that_is_too_small_is_as_good_as_a_larger_one() {
    for bytes in ["2048", "4096", "8191"] {
        client(&["small-stack", QUEUE, bytes], 0);
    }
}

#[test]
fn handlers_that_submit_may_interrupt_submissions() {
    client(&["interrupted-submissions", QUEUE], 0);
}

#[test]
fn signals_to_the_process_are_not_for_engines() {
    client(&["own-signals", QUEUE], 0);
}

#[test]
fn the_handler_of_a_jump_to_no_code_sees_where_it_went() {
    client(&["wild-jump", QUEUE], 7);
}

#[test]
fn a_handler_that_strict_posix_has_installed_is_called_once() {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/strict.c");
    // A program that asks for one standard only gets another function for `signal`.
    place.compile(&["-O1", "-std=c99", "-D_POSIX_C_SOURCE=200809L", source, "-o", "strict"]);
    let outside = crate::runs::ended(&mut std::process::Command::new(place.path().join("strict")));
    assert_eq!(outside.with(0), "caught\n");
    assert_eq!(place.run(&[], &["./strict", "/dev/dsa/wq0.1"]).with(0), "caught\nsubmitted\n");
}

#[test]
fn handlers_may_jump_out_of_faults_again_and_again() {
    let place = Place::new();
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/programs/jumps.c");
    place.compile(&["-O1", source, "-o", "jumps"]);
    let outside = crate::runs::ended(&mut std::process::Command::new(place.path().join("jumps")));
    assert_eq!(outside.with(0), "12\n12\n");
    assert_eq!(place.run(&[], &["./jumps"]).with(0), "12\n12\n");
}

#[test]
fn signals_that_are_sent_reach_the_handler() {
    client(&["sent", QUEUE], 0);
}

#[test]
fn threads_that_block_the_signals_submit() {
    client(&["masks", QUEUE], 0);
}

#[test]
fn threads_begin_with_the_mask_of_their_creator() {
    client(&["inherited-mask", QUEUE], 0);
}

#[test]
fn engines_do_not_share_the_cpu_of_a_pinned_thread() {
    client(&["pinned", QUEUE], 0);
}

#[test]
fn a_fault_of_a_thread_that_blocks_it_ends_the_program() {
    client(&["masked-fault", QUEUE], SEGMENTATION_FAULT);
}

#[test]
fn faults_without_a_handler_end_the_program_as_ever() {
    for (fault, code) in [
        ("segv", SEGMENTATION_FAULT),
        ("bus", BUS_ERROR),
        ("ill", ILLEGAL_INSTRUCTION),
        ("abrt", ABORT),
        ("sent", SEGMENTATION_FAULT),
    ] {
        client(&["fault", QUEUE, fault], code);
    }
}

#[test]
fn forked_children_open_queues_of_their_own() {
    client(&["forks", QUEUE], 0);
}

#[test]
fn forked_children_do_not_have_the_portal_of_their_parent() {
    client(&["forked-portal", QUEUE], 0);
}

#[test]
fn a_program_that_becomes_another_one_gives_it_devices() {
    let words = ["executes", QUEUE, "executes", QUEUE, "shared", QUEUE];
    assert_eq!(client(&words, 0), "crc 0xe3069283\n");
}

#[test]
fn programs_that_ask_the_cpu_see_the_instructions() {
    let flags = std::fs::read_to_string("/proc/cpuinfo").expect("is Linux");
    let has = |name: &str| flags.split_whitespace().any(|flag| flag == name);
    let outside =
        crate::runs::ended(std::process::Command::new(crate::runs::client()).arg("cpuid"));
    let outside = outside.with(0);
    let inside = client(&["cpuid"], 0);
    let (own, others) = inside.split_once('\n').expect("has lines");
    // All else is as the CPU says.
    assert_eq!(Some(others), outside.split_once('\n').map(|(_, others)| others));
    let own: Vec<bool> = own.split(' ').skip(1).step_by(2).map(|bit| bit == "1").collect();
    let wanted = if has("cpuid_fault") {
        [true; 3]
    } else {
        // Nothing can answer for such a CPU, and nothing pretends to.
        [has("waitpkg"), has("movdir64b"), has("enqcmd")]
    };
    assert_eq!(own, wanted);
}
