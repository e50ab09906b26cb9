//! The copy engine under arbitrary submissions: is every descriptor done once, in the order that the arbiter
//! gives, and every byte moved once?

mod bench;
mod order;
mod refusals;

use crate::small_fabric;
use bench::{
    Bench, LIST, PAGE_LINES, PORT, RECORDS, SECONDS, SOURCES, TIMING, WALK, batch, config, copy,
    descriptor, group, no_op, one_queue, queue,
};
use model::device::DeviceKind;
use model::device::dsa::descriptor::{Descriptor, Destination, DsaWork, Operation};
use model::device::dsa::portal::{Completion, Status};
use model::device::dsa::{
    DsaConfig, DsaCounters, DsaTiming, GroupConfig, QueueMode, WorkQueueConfig,
};
use model::root_complex::mmio::Answer;
use proptest::prelude::*;
use units::narrow::usize_from;
use units::{CoreId, LINE_BYTES, LineAddr, Picos};

#[test]
fn a_copy_reads_and_writes_each_line_once_and_tells_its_client() {
    let mut bench = one_queue(1);
    bench.post(0, DsaWork::One(copy(7, 5_000)), Picos(1_000));
    let done = bench.run();
    let [(0, completion)] = done[..] else { panic!("{done:?}") };
    assert_eq!(
        (completion.id, completion.status, completion.completed),
        (7, Status::Success, 5_000)
    );
    let counters = bench.counters();
    assert_eq!((counters.bytes_read, counters.bytes_written), (5_000, 5_000));
    let port = *bench.fabric.root_port(PORT).counters();
    assert_eq!(port.read_hits + port.read_misses, 79);
    // The last line of the data and the completion record are partial.
    assert_eq!(port.write_hits + port.write_misses, 78);
    let all = bench.fabric.counters();
    assert_eq!(all.pcie_partial_write_hits + all.pcie_partial_write_misses, 2);
    let at = completion.phases;
    assert!(at.seen < at.ready && at.ready < at.moved && at.moved < at.recorded, "{at:?}");
    assert_eq!(at.dispatched, Picos(1_000));
}

#[test]
fn cache_control_decides_where_the_destination_is_and_the_record_is_in_the_llc() {
    for destination in [Destination::Cache, Destination::Memory] {
        let mut bench = one_queue(1);
        let (written, record) = (LineAddr(SECONDS), LineAddr(RECORDS));
        bench.fabric.core_read(CoreId(0), written, Picos::ZERO);
        let descriptor = Descriptor { destination, ..copy(0, LINE_BYTES) };
        bench.post(0, DsaWork::One(descriptor), Picos(500_000));
        bench.run();
        let read = |bench: &mut Bench, line| {
            let start = bench.now;
            bench.fabric.core_read(CoreId(1), line, start).done - start
        };
        let (data, status) = (read(&mut bench, written), read(&mut bench, record));
        let beyond_llc = small_fabric::DRAM_IDLE;
        assert_eq!(
            data >= beyond_llc,
            destination == Destination::Memory,
            "{destination:?}: {data:?}"
        );
        assert!(status < beyond_llc, "{status:?}");
    }
}

#[test]
fn a_full_dedicated_queue_loses_descriptors_and_a_shared_one_refuses_them() {
    let shared =
        |threshold| WorkQueueConfig { mode: QueueMode::Shared { threshold }, ..queue(8, 1) };
    // The engine takes one at once; what comes within its interval stays in the queue.
    let burst = |bench: &mut Bench| {
        let mut answers = Vec::new();
        for id in 0..6 {
            bench.post(0, DsaWork::One(no_op(id)), Picos(id));
            bench.dsa.step(0, &mut bench.fabric, &mut bench.portals, Picos(id), Picos(id));
            answers.extend(bench.portals[0].answer.take());
        }
        answers
    };
    let mut bench = Bench::new(config(vec![group(vec![queue(3, 1)], 1)]));
    assert_eq!(burst(&mut bench), []);
    assert_eq!(bench.run().len(), 4);
    assert_eq!(bench.counters().dropped, 2);
    let mut bench = Bench::new(config(vec![group(vec![shared(2)], 1)]));
    let answers = burst(&mut bench);
    let accepted = [Answer::Accepted, Answer::Accepted, Answer::Accepted];
    let expected: Vec<_> = accepted.into_iter().chain([Answer::Retry; 3]).zip(0..).collect();
    let back = |time| Picos(time) + TIMING.portal;
    let expected: Vec<_> = expected.into_iter().map(|(it, time)| (it, back(time))).collect();
    assert_eq!(answers, expected);
    assert_eq!(bench.run().len(), 3);
    assert_eq!(bench.counters().refused, 3);
}

#[test]
fn a_batch_completes_behind_its_members_and_a_fence_behind_the_earlier_ones() {
    let mut bench = one_queue(2);
    let mut members: Vec<_> = (1..=8).map(|id| copy(id, 4_096)).collect();
    members[5].fence = true;
    bench.post(0, batch(0, members), Picos::ZERO);
    let done = bench.run();
    let [(0, completion)] = done[..] else { panic!("{done:?}") };
    assert_eq!((completion.status, completion.completed), (Status::Success, 8));
    let counters = bench.counters();
    assert_eq!((counters.members_completed, counters.list_bytes), (8, 8 * 64));
    // Without the fence, the later members begin while the earlier ones move.
    let with_fence = completion.phases.recorded;
    let mut bench = one_queue(2);
    bench.post(0, batch(0, (1..=8).map(|id| copy(id, 4_096)).collect()), Picos::ZERO);
    let without = bench.run()[0].1.phases.recorded;
    assert!(without < with_fence, "{without:?} {with_fence:?}");
}

#[test]
fn members_take_turns_of_the_front_and_their_batch_takes_none() {
    let mut bench = one_queue(2);
    for id in 0..2 {
        bench.post(0, batch(id, (1..=8).map(no_op).collect()), Picos::ZERO);
    }
    bench.run();
    let interval = TIMING.descriptor_interval;
    assert_eq!(bench.counters().front_busy, Picos(16 * interval.0));
    let first = Picos(1_000);
    let mut bench = one_queue(1);
    for id in 0..2 {
        bench.post(0, DsaWork::One(no_op(id)), first);
    }
    bench.run();
    // The time ahead of a reading has not passed.
    let busy = |at: Picos| bench.dsa.counters_at(at).front_busy;
    let (last, part) = (first + interval, Picos(interval.0 / 4));
    assert_eq!((busy(last), busy(last + part)), (interval, interval + part));
}

#[test]
fn a_fence_behind_a_failed_member_abandons_the_rest() {
    let mut bench = one_queue(1);
    let mut members: Vec<_> = (1..=4).map(|id| copy(id, 4_096)).collect();
    members[1].block_on_fault = false;
    members[2].fence = true;
    bench.take_away(members[1].source.0);
    bench.post(0, batch(0, members), Picos::ZERO);
    let done = bench.run();
    let [(0, completion)] = done[..] else { panic!("{done:?}") };
    assert_eq!((completion.status, completion.completed), (Status::BatchFailed, 2));
    assert_eq!(bench.counters().members_abandoned, 2);
}

#[test]
fn a_drain_completes_behind_all_earlier_descriptors_of_its_queue() {
    let mut bench = one_queue(4);
    for id in 0..5 {
        bench.post(0, DsaWork::One(copy(id, 64 << 10)), Picos::ZERO);
    }
    bench.post(0, DsaWork::One(descriptor(5, Operation::Drain, 0, 0)), Picos::ZERO);
    bench.post(0, DsaWork::One(no_op(6)), Picos::ZERO);
    let order: Vec<u64> = bench.run().iter().map(|(_, completion)| completion.id).collect();
    let place = |id| order.iter().position(|&other| other == id).expect("it completes");
    assert!((0..5).all(|id| place(id) < place(5)), "{order:?}");
    assert!(place(6) < place(5), "nothing waits for a drain: {order:?}");
}

#[test]
fn an_engine_that_waits_for_a_page_does_not_stop_another() {
    let finish = |engines| {
        let mut bench = one_queue(engines);
        bench.take_away(copy(0, 1).source.0);
        for id in 0..6 {
            bench.post(0, DsaWork::One(copy(id, 4_096)), Picos::ZERO);
        }
        let done = bench.run();
        assert_eq!(bench.counters().page_faults, 1);
        done.iter().filter(|(_, it)| it.phases.recorded < TIMING.page_request).count()
    };
    // The first engine has taken every second descriptor by then, or all of them.
    assert_eq!(finish(1), 0);
    assert!(finish(2) >= 3);
}

#[test]
fn without_block_on_fault_a_descriptor_ends_with_the_bytes_before_the_page() {
    let mut bench = one_queue(1);
    let cut = Descriptor { block_on_fault: false, ..copy(0, 3 * 4_096) };
    bench.take_away(cut.second.0 + 2 * PAGE_LINES);
    bench.post(0, DsaWork::One(cut), Picos::ZERO);
    let done = bench.run();
    let [(0, completion)] = done[..] else { panic!("{done:?}") };
    assert_eq!((completion.status, completion.completed), (Status::PageFault, 2 * 4_096));
    assert_eq!(bench.counters().bytes_written, 2 * 4_096);
}

#[test]
fn fewer_read_buffers_move_less() {
    let mut before = Picos::ZERO;
    for buffers in [96, 48, 24, 8, 4] {
        let mut config = config(vec![group(vec![queue(128, 1)], 1)]);
        config.groups[0].read_buffers_allowed = buffers;
        let mut bench = Bench::new(config);
        bench.post(0, DsaWork::One(copy(0, 256 << 10)), Picos::ZERO);
        bench.run();
        assert!(bench.now > before, "{buffers} buffers: {:?} after {before:?}", bench.now);
        before = bench.now;
    }
}

/// An instance with one engine, whose translations take longer than a page of data.
fn slow_translations(pages_ahead: u64) -> Bench {
    let timing = DsaTiming { translation: Picos(2_000_000), ..TIMING };
    let one_queue = config(vec![group(vec![queue(128, 1)], 1)]);
    Bench::new(DsaConfig { pages_ahead, timing, ..one_queue })
}

#[test]
fn translations_ahead_keep_a_long_copy_moving() {
    let span = |pages_ahead| {
        let mut bench = slow_translations(pages_ahead);
        bench.post(0, DsaWork::One(copy(0, 64 << 12)), Picos::ZERO);
        bench.run();
        assert_eq!(bench.counters().translations, 2 * 64 + 1);
        bench.now
    };
    let (none, some) = (span(0), span(4));
    assert!(none.0 > 64 * 2_000_000, "{none:?}");
    assert!(2 * some.0 < none.0, "{some:?} {none:?}");
}

#[test]
fn a_descriptor_that_waits_for_a_translation_does_not_hold_up_others() {
    let span = |copies| {
        let mut bench = slow_translations(0);
        for id in 0..copies {
            let long = descriptor(id, Operation::Move, 32 << 12, id * 32 * PAGE_LINES);
            bench.post(0, DsaWork::One(long), Picos::ZERO);
        }
        bench.run();
        assert_eq!(bench.counters().page_faults, 0);
        bench.now
    };
    let (one, two) = (span(1), span(2));
    assert!(2 * two.0 < 3 * one.0, "{one:?} {two:?}");
}

#[test]
fn an_absent_page_ahead_is_a_fault_when_its_turn_comes() {
    let mut bench = one_queue(1);
    let long = copy(0, 6 << 12);
    bench.take_away(long.source.0 + 4 * PAGE_LINES);
    bench.post(0, DsaWork::One(long), Picos::ZERO);
    let done = bench.run();
    let [(0, completion)] = done[..] else { panic!("{done:?}") };
    assert_eq!((completion.status, completion.completed), (Status::Success, 6 << 12));
    assert_eq!(bench.counters().page_faults, 1);
}

#[test]
fn an_engine_keeps_one_translation_for_each_field() {
    let translations = |places: [u64; 2]| {
        let mut bench = one_queue(1);
        for (id, place) in places.into_iter().enumerate() {
            let descriptor = descriptor(id as u64, Operation::Move, 64, place);
            bench.post(0, DsaWork::One(descriptor), Picos(id as u64 * 10_000_000));
        }
        bench.run();
        bench.counters().translations
    };
    // Source, destination and record once; the second copy uses them again, or has two other pages.
    assert_eq!(translations([0, 1]), 3);
    assert_eq!(translations([0, PAGE_LINES]), 5);
}

#[test]
fn more_engines_take_more_small_descriptors() {
    let span = |engines| {
        let mut bench = one_queue(engines);
        for id in 0..100 {
            bench.post(0, DsaWork::One(descriptor(id, Operation::Move, 64, id)), Picos::ZERO);
        }
        bench.run();
        bench.now
    };
    let (one, four) = (span(1), span(4));
    assert!(one.0 > 3 * four.0 / 2, "{one:?} {four:?}");
}

#[test]
fn batches_take_no_turns_of_their_members() {
    let span = |members: u64| {
        let mut bench = one_queue(1);
        for first in (0..120).step_by(usize_from(members)) {
            let work = match members {
                1 => DsaWork::One(no_op(first)),
                _ => batch(1000 + first, (first..first + members).map(no_op).collect()),
            };
            bench.post(0, work, Picos::ZERO);
        }
        bench.run();
        bench.now
    };
    // The cost of a list is the time until its first member begins, not a turn for each batch.
    let (alone, pairs, fours) = (span(1), span(2), span(4));
    assert!(pairs.0 < alone.0 + 20 * 40_000, "{pairs:?} {alone:?}");
    assert!(fours.0 < alone.0 + 20 * 40_000, "{fours:?} {alone:?}");
}

/// Queues in the order in which the arbiter of the specification would serve them: queues in turn, each at
/// most as often as its priority until every queue with work has had that often.
fn order_of_reference(priorities: &[u32], mut waiting: Vec<u32>) -> Vec<usize> {
    let mut left = priorities.to_vec();
    let mut order = Vec::new();
    let mut turn = 0;
    while waiting.iter().any(|&count| count > 0) {
        if (0..left.len()).all(|queue| waiting[queue] == 0 || left[queue] == 0) {
            left = priorities.to_vec();
        }
        if waiting[turn] > 0 && left[turn] > 0 {
            waiting[turn] -= 1;
            left[turn] -= 1;
            order.push(turn);
        }
        turn = (turn + 1) % left.len();
    }
    order
}

fn any_operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        Just(Operation::NoOp),
        Just(Operation::Move),
        Just(Operation::Fill),
        Just(Operation::Compare),
        Just(Operation::ComparePattern),
        (0u64..20).prop_map(|deltas| Operation::CreateDelta { record_bytes: 10 * deltas }),
        (1u64..20).prop_map(|deltas| Operation::ApplyDelta { record_bytes: 10 * deltas }),
        Just(Operation::Dualcast),
        Just(Operation::Crc),
        Just(Operation::CopyCrc),
        Just(Operation::DifCheck { block_bytes: 512 }),
        Just(Operation::DifInsert { block_bytes: 512 }),
        Just(Operation::DifStrip { block_bytes: 4_096 }),
        Just(Operation::DifUpdate { block_bytes: 512 }),
        Just(Operation::CacheFlush),
        Just(Operation::Drain),
    ]
}

fn any_group() -> impl Strategy<Value = GroupConfig> {
    let mode = prop_oneof![
        Just(QueueMode::Dedicated),
        (1u32..6).prop_map(|threshold| QueueMode::Shared { threshold })
    ];
    let queue = (mode, 1u32..16, 1u32..16)
        .prop_map(|(mode, size, priority)| WorkQueueConfig { mode, ..queue(size, priority) });
    (prop::collection::vec(queue, 1..3), 1u32..3, 8u32..40, 0u32..9, any::<bool>()).prop_map(
        |(queues, engines, read_buffers_allowed, read_buffers_reserved, uses_read_buffer_limit)| {
            GroupConfig {
                queues,
                engines,
                read_buffers_reserved,
                read_buffers_allowed,
                uses_read_buffer_limit,
            }
        },
    )
}

proptest! {
    #[test]
    fn queues_are_served_in_the_order_of_the_specification(
        queues in prop::collection::vec((1u32..16, 0u32..20), 1..6),
    ) {
        let priorities: Vec<u32> = queues.iter().map(|&(priority, _)| priority).collect();
        let waiting: Vec<u32> = queues.iter().map(|&(_, count)| count).collect();
        let configs = priorities.iter().map(|&priority| queue(20, priority)).collect();
        let mut bench = Bench::new(config(vec![group(configs, 1)]));
        // The first descriptor keeps the engine's front busy until all others are there.
        bench.post(0, DsaWork::One(no_op(999)), Picos::ZERO);
        for (portal, &count) in waiting.iter().enumerate() {
            for id in 0..count {
                bench.post(portal, DsaWork::One(no_op(u64::from(id))), Picos(1));
            }
        }
        let mut done = bench.run();
        done.sort_by_key(|(_, completion)| completion.phases.dispatched);
        let served: Vec<usize> = done.iter().map(|&(portal, _)| portal).collect();
        let mut all = waiting;
        all[0] += 1;
        // The descriptor that came first was alone: the round begins with it.
        prop_assert_eq!(served, order_of_reference(&priorities, all));
    }

    #[test]
    fn every_descriptor_is_done_once_and_every_byte_moved_once(
        groups in prop::collection::vec(any_group(), 1..4),
        wishes in prop::collection::vec(
            (0usize..6, any_operation(), 1u64..20_000, 0u64..400_000, any::<(bool, bool, bool)>()),
            1..60,
        ),
        absent in prop::collection::vec(0u64..200, 0..4),
    ) {
        let mut bench = Bench::new(config(groups));
        for page in absent {
            bench.take_away(SOURCES + page * PAGE_LINES);
            bench.take_away(SECONDS + page * PAGE_LINES);
        }
        let portals = bench.portals.len();
        let mut expected = (0, 0);
        let mut time = Picos::ZERO;
        let mut members: Vec<Descriptor> = Vec::new();
        let mut used = vec![false; portals];
        for (id, (portal, operation, bytes, gap, (in_batch, fence, to_memory))) in (0..).zip(wishes)
        {
            let destination = if to_memory { Destination::Memory } else { Destination::Cache };
            let asked = descriptor(id, operation, bytes.next_multiple_of(4_096), id * 400);
            let fence = fence && in_batch;
            let asked = Descriptor { destination, fence, ..asked };
            expected.0 += asked.operands().bytes_read();
            expected.1 += asked.operands().bytes_written();
            if in_batch && operation != Operation::Drain {
                members.push(asked);
                continue;
            }
            // Every queue has room for one descriptor: none is lost or refused.
            let portal = portal % portals;
            if std::mem::replace(&mut used[portal], true) {
                bench.run();
                used = vec![false; portals];
                used[portal] = true;
                time = time.max(bench.now);
            }
            time += Picos(gap);
            bench.post(portal, DsaWork::One(asked), time);
            let next = (portal + 1) % portals;
            if members.len() > 1 && !std::mem::replace(&mut used[next], true) {
                bench.post(next, batch(1_000 + id, std::mem::take(&mut members)), time);
            }
        }
        bench.run();
        let time = time.max(bench.now);
        match members[..] {
            [] => {}
            [only] => bench.post(0, DsaWork::One(only), time),
            _ => bench.post(0, batch(2_000, members), time),
        }
        bench.run();
        let counters = bench.counters();
        prop_assert_eq!(counters.accepted, counters.completed);
        prop_assert_eq!((counters.refused, counters.dropped), (0, 0));
        prop_assert_eq!(counters.members_fetched, counters.members_completed);
        prop_assert_eq!((counters.bytes_read, counters.bytes_written), expected);
    }
}
