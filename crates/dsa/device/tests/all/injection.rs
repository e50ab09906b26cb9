//! Do descriptors meet the trouble that a plan says, as the contract has it?

use crate::arena::{Arena, PAGE};
use crate::queues::PART;
use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::engine::SoftwareEngine;
use dsa::hardware::{Opcode, status};
use dsa::inject::{InjectionPlan, Injector};
use dsa::record::Record;

pub fn plan(text: &str) -> InjectionPlan {
    InjectionPlan::parse(text).expect("the plan of a test")
}

/// The records of so many copies of five pages, executed in order under a plan or without one, and the
/// bytes of the last copy.
fn records_of_copies(plan: Option<&InjectionPlan>, copies: u64) -> (Vec<[u8; 32]>, Vec<u8>) {
    // SAFETY: the copies are between buffers of this function.
    let (engine, limits) = (unsafe { SoftwareEngine::new(PART) }, QueueLimits::of(&PART));
    let mut arena = Arena::new(16);
    let bytes: Vec<u8> = (0..5 * PAGE).map(|at| (at * 7 + at / 256) as u8).collect();
    arena.write(PAGE / 2, &bytes);
    let injector = plan.map(Injector::new);
    let mut records = Vec::new();
    for number in 0..copies {
        arena.write(8 * PAGE, &[0; 6 * PAGE]);
        let mut record = Record::default();
        let copy = Descriptor::of(Opcode::Move)
            .with_first(arena.base + PAGE as u64 / 2)
            .with_second(arena.base + 8 * PAGE as u64 + 100)
            .with_size(5 * PAGE as u32)
            .recording((&raw mut record) as u64);
        match &injector {
            None => engine.execute(&copy, &limits),
            Some(own) => engine.execute_injected(own, (0, number), (&copy, &limits), &mut |_| {}),
        };
        let mut told = record;
        // The arena of each call is elsewhere.
        if told.fault_address() != 0 {
            told = told.with_u64(8, told.fault_address() - arena.base);
        }
        records.push(told.0);
        let page = |page: usize| arena.page(8 + page);
        let copied: Vec<u8> = (0..6).flat_map(page).collect();
        let done = match record.status() & !status::FAULT_ON_WRITE {
            status::SUCCESS => bytes.len(),
            _ => record.completed() as usize,
        };
        assert_eq!(copied[100..100 + done], bytes[..done], "what is said to be done is");
        assert!(copied[100 + done..].iter().all(|byte| *byte == 0), "and nothing else");
        if number + 1 == copies {
            return (records, copied);
        }
    }
    (records, Vec::new())
}

fn status_of(record: &[u8; 32]) -> u8 {
    record[0] & !status::FAULT_ON_WRITE
}

fn count(records: &[[u8; 32]], code: u8) -> usize {
    records.iter().filter(|record| status_of(record) == code).count()
}

#[test]
fn a_rate_of_zero_is_no_injection() {
    let nothing = plan(
        "seed = 5\npage_faults.rate = 0\nhardware_errors.read_rate = 0.0\nqueue_full.rate = 0\n\
         lost_interrupts.rate = 0\n[delays]\nrate = 0\nnanoseconds = 1\n[reordering]\nrate = 0\n\
         behind = 3",
    );
    assert_eq!(records_of_copies(Some(&nothing), 200), records_of_copies(None, 200));
}

#[test]
fn a_page_fault_is_a_partial_completion_at_a_page() {
    let (records, _) = records_of_copies(Some(&plan("seed = 1\npage_faults.rate = 1")), 300);
    assert_eq!(count(&records, status::PAGE_FAULT), 300, "a rate of 1 is all");
    let completed: std::collections::BTreeSet<u32> = records
        .iter()
        .map(|record| {
            let (completed, address) =
                (Record(*record).completed(), Record(*record).fault_address());
            let is_write = record[0] & status::FAULT_ON_WRITE != 0;
            let (start, first) = if is_write { (8 * PAGE + 100, 8) } else { (PAGE / 2, 0) };
            let at = (start + completed as usize) / PAGE * PAGE;
            assert_eq!(address as usize, at, "the page behind what is done");
            assert!(at >= first * PAGE);
            completed
        })
        .collect();
    // Source and destination each span six pages: the first byte, or the first of a further page.
    assert!(completed.len() > 8, "any page of either: {completed:?}");
}

#[test]
fn a_seed_decides_all() {
    let text = "page_faults.rate = 0.3\nhardware_errors.write_rate = 0.2";
    let of = |seed: u32| records_of_copies(Some(&plan(&format!("seed = {seed}\n{text}"))), 400);
    let first = of(1);
    assert_eq!(first, of(1));
    assert_ne!(first.0, of(2).0);
    let faults = count(&first.0, status::PAGE_FAULT);
    let errors = count(&first.0, status::HARDWARE_WRITE);
    // 0.3 of those that do not fail otherwise, and 0.2; six standard deviations are 10 %.
    assert!((50..150).contains(&faults) && (40..120).contains(&errors), "{faults}, {errors}");
}

#[test]
fn hardware_errors_leave_memory_as_it_is() {
    for (key, code) in [("read", 0x20), ("write", 0x21), ("translation", 0x22)] {
        let text = format!("seed = 1\nhardware_errors.{key}_rate = 1");
        let (records, copied) = records_of_copies(Some(&plan(&text)), 20);
        assert_eq!(count(&records, code), 20, "{key}");
        assert!(copied.iter().all(|byte| *byte == 0));
    }
    // A fill reads nothing, and a no-op does nothing that can fail.
    let injector = Injector::new(&plan("seed = 1\nhardware_errors.read_rate = 1"));
    // SAFETY: the descriptors write to `target` and their record.
    let (engine, limits) = (unsafe { SoftwareEngine::new(PART) }, QueueLimits::of(&PART));
    let mut target = 0_u64;
    let fill = Descriptor::of(Opcode::Fill).with_second((&raw mut target) as u64).with_size(8);
    for own in [fill, Descriptor::of(Opcode::NoOp)] {
        let mut record = Record::default();
        let own = own.recording((&raw mut record) as u64);
        engine.execute_injected(&injector, (0, 0), (&own, &limits), &mut |_| {});
        assert_eq!(record.status(), status::SUCCESS);
    }
}

/// Statuses of the members of some batches, and of the batches.
fn statuses_of_batches(text: &str) -> (Vec<u8>, Vec<u8>) {
    const MEMBERS: usize = 16;
    let injector = Injector::new(&plan(text));
    // SAFETY: what is copied, and the records, are of this function.
    let (engine, limits) = (unsafe { SoftwareEngine::new(PART) }, QueueLimits::of(&PART));
    let (source, mut target) = ([7_u8; 8], [0_u8; 8]);
    let (mut of_members, mut of_batches) = (Vec::new(), Vec::new());
    for number in 0..50 {
        let mut records = [Record::default(); MEMBERS];
        let list: Vec<Descriptor> = records
            .iter_mut()
            .map(|record| {
                let copy = Descriptor::of(Opcode::Move).with_first((&raw const source) as u64);
                let copy = copy.with_second((&raw mut target) as u64).with_size(8);
                copy.recording((&raw mut *record) as u64)
            })
            .collect();
        let mut record = Record::default();
        let batch = Descriptor::of(Opcode::Batch).with_first(list.as_ptr() as u64);
        let batch = batch.with_size(MEMBERS as u32).recording((&raw mut record) as u64);
        engine.execute_injected(&injector, (0, number), (&batch, &limits), &mut |_| {});
        of_members.extend(records.iter().map(Record::status));
        of_batches.push(record.status());
    }
    (of_members, of_batches)
}

#[test]
fn members_of_a_batch_meet_trouble_as_others_do() {
    let text = "seed = 3\nhardware_errors.write_rate = 0.05";
    let (of_members, of_batches) = statuses_of_batches(text);
    assert_eq!((of_members.clone(), of_batches.clone()), statuses_of_batches(text), "as before");
    let failed = |statuses: &[u8], code| statuses.iter().filter(|own| **own == code).count();
    // 40 of 800 are expected; six standard deviations are 37.
    let members = failed(&of_members, status::HARDWARE_WRITE);
    assert!((4..77).contains(&members), "{members}");
    assert_eq!(members + failed(&of_members, status::SUCCESS), of_members.len());
    for (batch, members) in of_batches.iter().zip(of_members.chunks(16)) {
        let expected = match members.iter().all(|own| *own == status::SUCCESS) {
            true => status::SUCCESS,
            false => status::BATCH_MEMBER_FAILED,
        };
        assert_eq!(*batch, expected);
    }
}

#[test]
fn a_descriptor_that_is_refused_has_no_other_trouble() {
    let injector = Injector::new(&plan("seed = 1\nhardware_errors.read_rate = 1"));
    // SAFETY: what is refused touches its record only.
    let (engine, limits) = (unsafe { SoftwareEngine::new(PART) }, QueueLimits::of(&PART));
    let mut record = Record::default();
    let empty = Descriptor::of(Opcode::Crc).recording((&raw mut record) as u64);
    engine.execute_injected(&injector, (0, 0), (&empty, &limits), &mut |_| {});
    assert_eq!(record.status(), status::BAD_SIZE);
}

#[test]
fn a_plan_that_is_none_says_what_is_allowed() {
    let rate = "a number from 0 to 1";
    for (text, told) in [
        ("", "seed is missing; allowed is an integer from 0 to 2^63 - 1".to_owned()),
        ("seed = -1", "seed = -1 is not possible; allowed is an integer from 0 to 2^63 - 1".into()),
        (
            "seed = 1\nqueue_full.rate = 1.5",
            format!("queue_full.rate = 1.5 is not possible; allowed is {rate}"),
        ),
        (
            "seed = 1\npage_faults.rate = \"all\"",
            format!("page_faults.rate = \"all\" is not possible; allowed is {rate}"),
        ),
        (
            "seed = 1\npage_fault.rate = 1",
            "page_fault is not a key of a plan; allowed are seed, page_faults, queue_full, \
             hardware_errors, delays, reordering, reset, lost_interrupts"
                .into(),
        ),
        (
            "seed = 1\ndelays.rate = 1",
            "delays.nanoseconds is missing; allowed is an integer from 1 to 10^9".into(),
        ),
        (
            "seed = 1\nhardware_errors.rate = 1",
            "hardware_errors.rate is not a key of a plan; allowed are read_rate, write_rate, \
             translation_rate"
                .into(),
        ),
        (
            "seed = 1\npage_faults.ranges = [{ from = 2, to = 1 }]",
            "page_faults.ranges = [{ from = 2, to = 1 }] is not possible; allowed is a list of \
             { from = ADDRESS, to = ADDRESS }, from below to"
                .into(),
        ),
        ("seed = 1\nreset = 3", "reset = 3 is not possible; allowed is a section".into()),
    ] {
        let error = InjectionPlan::parse(text).expect_err(text);
        assert_eq!(error.to_string(), told);
    }
    assert!(
        InjectionPlan::parse("seed = ")
            .is_err_and(|error| error.to_string().contains("not valid TOML"))
    );
}
