//! Refusals and waits of an instance: sizes, numbers of members, absent pages of lists and records,
//! thresholds, limits of read buffers.

use super::*;

/// The completion of the only descriptor, and the counters.
fn only(bench: &mut Bench, work: DsaWork) -> (Completion, DsaCounters) {
    bench.post(0, work, Picos(1));
    let done = bench.run();
    let [(0, completion)] = done[..] else { panic!("{done:?}") };
    (completion, bench.counters())
}

#[test]
fn a_batch_of_one_member_or_of_too_many_is_refused_without_a_look_at_its_list() {
    let most = queue(1, 1).max_batch as usize;
    for members in [1, most + 1] {
        let members = vec![no_op(1); members];
        let (completion, counters) = only(&mut one_queue(1), batch(0, members));
        assert_eq!((completion.status, completion.completed), (Status::Invalid, 0));
        assert_eq!((counters.list_bytes, counters.members_fetched, counters.invalid), (0, 0, 1));
        let at = completion.phases;
        // Nothing but the dispatch, the translation of its record, and the record itself.
        let least = TIMING.dispatch + TIMING.translation + WALK;
        let iio = small_fabric::config().socket.iio;
        let most = least + iio.llc_write + small_fabric::DRAM_IDLE + Picos(100_000);
        assert!((least..most).contains(&(at.recorded - at.dispatched)), "{at:?}");
    }
    let (completion, _) = only(&mut one_queue(1), batch(0, vec![no_op(1); most]));
    assert_eq!((completion.status, completion.completed), (Status::Success, most as u64));
}

#[test]
fn a_transfer_longer_than_the_queue_allows_is_refused_alone_and_fails_its_batch() {
    let long = copy(1, queue(1, 1).max_transfer_bytes + 1);
    let (completion, counters) =
        only(&mut one_queue(1), DsaWork::One(Descriptor { id: 0, ..long }));
    assert_eq!(completion.status, Status::Invalid);
    assert_eq!((counters.bytes_read, counters.bytes_written, counters.invalid), (0, 0, 1));
    let members = vec![copy(1, 64), long, copy(3, 64)];
    let (completion, counters) = only(&mut one_queue(1), batch(0, members));
    // Without a fence, the members behind it run.
    assert_eq!((completion.status, completion.completed), (Status::BatchFailed, 3));
    assert_eq!((counters.bytes_written, counters.invalid), (128, 1));
}

#[test]
fn an_absent_page_of_a_list_or_record_blocks_whatever_the_flag_says() {
    let plain = |id| Descriptor { block_on_fault: false, ..copy(id, 4_096) };
    let drain = Descriptor { block_on_fault: false, ..descriptor(0, Operation::Drain, 0, 0) };
    let list = batch(0, vec![plain(1), plain(2)]);
    let cases = [
        (LIST.0, list.clone()),
        (RECORDS, list),
        (RECORDS, DsaWork::One(plain(0))),
        (RECORDS, DsaWork::One(drain)),
    ];
    for (absent, work) in cases {
        let mut bench = one_queue(1);
        bench.take_away(absent);
        let (completion, counters) = only(&mut bench, work.clone());
        assert_eq!(completion.status, Status::Success, "{work:?}");
        assert_eq!(counters.page_faults, 1, "{work:?}");
        let took = completion.phases.recorded - completion.phases.seen;
        assert!(took > TIMING.page_request, "{work:?}: {took:?}");
        assert!(took < TIMING.page_request + Picos(5_000_000), "{work:?}: {took:?}");
    }
}

#[test]
fn an_absent_record_holds_up_the_later_descriptors_of_its_engine() {
    let mut bench = one_queue(1);
    bench.take_away(RECORDS);
    bench.post(0, DsaWork::One(no_op(0)), Picos(1));
    // Its record lies in another page.
    let later = Descriptor { record: LineAddr(RECORDS + PAGE_LINES), ..no_op(1) };
    bench.post(0, DsaWork::One(later), Picos(2_000_000));
    let done = bench.run();
    let later = done.iter().find(|(_, it)| it.id == 1).expect("it completes").1;
    assert!(later.phases.dispatched >= TIMING.page_request, "{:?}", later.phases);
}

#[test]
fn a_threshold_that_changes_while_the_queue_is_enabled_refuses_from_then_on() {
    let change = Picos(1_000_000_000);
    let shared = WorkQueueConfig {
        mode: QueueMode::Shared { threshold: 8 },
        thresholds: vec![(change, 2)],
        ..queue(8, 1)
    };
    let mut bench = Bench::new(config(vec![group(vec![shared], 1)]));
    let mut refused = Vec::new();
    for start in [Picos(1), change] {
        let before = bench.counters().refused;
        // The engine takes the first at once; the others wait, as far as they are accepted.
        for id in 0..6 {
            bench.post(0, DsaWork::One(no_op(id)), start);
        }
        bench.run();
        refused.push(bench.counters().refused - before);
    }
    assert_eq!(refused, [0, 3]);
}

#[test]
fn groups_that_share_a_limit_of_read_buffers_have_no_more_than_that_together() {
    let span = |limit: Option<u32>, shares: [bool; 2]| {
        let group =
            |shares| GroupConfig { uses_read_buffer_limit: shares, ..group(vec![queue(8, 1)], 1) };
        let config = config(shares.map(group).to_vec());
        let mut bench = Bench::new(DsaConfig { read_buffer_limit: limit, ..config });
        for portal in 0..2 {
            bench.post(portal, DsaWork::One(copy(portal as u64 * 8, 128 << 10)), Picos(1));
        }
        bench.run();
        bench.now
    };
    let free = span(None, [true, true]);
    assert_eq!(span(Some(16), [false, false]), free, "no group has the bit");
    let limited = span(Some(16), [true, true]);
    let tight = span(Some(8), [true, true]);
    assert!(free < limited && limited < tight, "{free:?} {limited:?} {tight:?}");
}
