//! Queues and arbiter against a slow reference: who is served when, who is refused, and what is left of all
//! that was submitted.

use super::*;

/// A queue as the reference sees it: entries from which it refuses or loses descriptors, its priority, and
/// what waits in it.
struct SlowQueue {
    limit: u32,
    priority: u32,
    credit: u32,
    waiting: u32,
}

/// One engine whose descriptors take no time but its front's interval. Served queues in order with their
/// times, and how many descriptors found no room.
fn served_by_reference(
    mut queues: Vec<SlowQueue>,
    arrivals: &[(Picos, usize)],
) -> (Vec<(Picos, usize)>, u64) {
    let (mut served, mut without_room) = (Vec::new(), 0);
    let (mut free, mut turn, mut next) = (Picos::ZERO, 0, 0);
    loop {
        let has_work = queues.iter().any(|queue| queue.waiting > 0);
        let dispatch = if has_work { free } else { Picos::NEVER };
        let arrival = arrivals.get(next).map_or(Picos::NEVER, |&(time, _)| time);
        if dispatch == Picos::NEVER && arrival == Picos::NEVER {
            return (served, without_room);
        }
        let mut now = dispatch;
        if arrival <= dispatch {
            let queue = &mut queues[arrivals[next].1];
            next += 1;
            if queue.waiting < queue.limit {
                queue.waiting += 1;
            } else {
                without_room += 1;
            }
            if arrival < free {
                continue;
            }
            now = arrival;
        }
        if queues.iter().all(|queue| queue.waiting == 0) {
            continue;
        }
        if queues.iter().all(|queue| queue.waiting == 0 || queue.credit == 0) {
            queues.iter_mut().for_each(|queue| queue.credit = queue.priority);
        }
        while queues[turn].waiting == 0 || queues[turn].credit == 0 {
            turn = (turn + 1) % queues.len();
        }
        queues[turn].waiting -= 1;
        queues[turn].credit -= 1;
        served.push((now, turn));
        turn = (turn + 1) % queues.len();
        free = now + TIMING.descriptor_interval;
    }
}

fn any_queue() -> impl Strategy<Value = WorkQueueConfig> {
    (any::<bool>(), 1u32..8, 1u32..12, 1u32..16).prop_map(
        |(is_shared, threshold, size, priority)| {
            let mode = match is_shared {
                true => QueueMode::Shared { threshold },
                false => QueueMode::Dedicated,
            };
            WorkQueueConfig { mode, ..queue(size, priority) }
        },
    )
}

/// A request of a client: portal, operation, bytes, gap before it, block on fault.
type Wish = (usize, u8, u64, u64, bool);

fn operation_of(number: u8) -> Operation {
    match number {
        0 => Operation::Move,
        1 => Operation::Fill,
        2 => Operation::Compare,
        _ => Operation::Crc,
    }
}

proptest! {
    #[test]
    fn queues_that_fill_over_time_are_served_and_refuse_as_the_reference_does(
        queues in prop::collection::vec(any_queue(), 1..6),
        arrivals in prop::collection::vec((0usize..6, 0u64..90_000), 1..80),
    ) {
        let slow = |queue: &WorkQueueConfig| {
            let limit = match queue.mode {
                QueueMode::Dedicated => queue.size,
                QueueMode::Shared { threshold } => threshold.min(queue.size),
            };
            SlowQueue { limit, priority: queue.priority, credit: queue.priority, waiting: 0 }
        };
        let slow: Vec<SlowQueue> = queues.iter().map(slow).collect();
        let number = queues.len();
        let config = config(vec![group(queues, 1)]);
        let mut bench = Bench::new(DsaConfig { descriptors_per_engine: 1_000, ..config });
        let mut time = Picos::ZERO;
        let mut in_order = Vec::new();
        for (id, (portal, gap)) in (0..).zip(arrivals) {
            time += Picos(gap);
            bench.post(portal % number, DsaWork::One(no_op(id)), time);
            in_order.push((time, portal % number));
        }
        // Of stores that the device sees at the same time, those of the lower portal are first.
        in_order.sort();
        let mut done = bench.run();
        done.sort_by_key(|(_, completion)| completion.phases.dispatched);
        let served: Vec<(Picos, usize)> =
            done.iter().map(|&(portal, it)| (it.phases.dispatched, portal)).collect();
        let counters = bench.counters();
        let expected = served_by_reference(slow, &in_order);
        prop_assert_eq!((served, counters.refused + counters.dropped), expected);
    }

    #[test]
    fn what_is_submitted_is_completed_refused_or_lost_and_its_bytes_are_those_of_the_records(
        groups in prop::collection::vec(any_group(), 1..4),
        limit in prop::option::of(8u32..60),
        wishes in prop::collection::vec(
            (0usize..6, 0u8..4, 1u64..20_000, 0u64..200_000, any::<bool>()), 1..60,
        ),
        absent in prop::collection::vec(0u64..60, 0..6),
    ) {
        let config = config(groups);
        let mut bench = Bench::new(DsaConfig { read_buffer_limit: limit, ..config });
        for page in absent {
            bench.take_away(SOURCES + page * PAGE_LINES);
            bench.take_away(SECONDS + page * PAGE_LINES);
        }
        let portals = bench.portals.len();
        let mut asked: Vec<Descriptor> = Vec::new();
        let mut time = Picos::ZERO;
        for (id, wish) in (0..).zip(wishes) {
            let (portal, number, bytes, gap, block_on_fault): Wish = wish;
            time += Picos(gap);
            let it = descriptor(id, operation_of(number), bytes, id * 400);
            asked.push(Descriptor { block_on_fault, ..it });
            bench.post(portal % portals, DsaWork::One(asked[asked.len() - 1]), time);
        }
        let done = bench.run();
        let counters = bench.counters();
        let without_room = counters.refused + counters.dropped;
        prop_assert_eq!(asked.len() as u64, counters.accepted + without_room);
        prop_assert_eq!(counters.accepted, counters.completed);
        let mut ids: Vec<u64> = done.iter().map(|(_, completion)| completion.id).collect();
        ids.sort_unstable();
        ids.dedup();
        prop_assert_eq!(ids.len() as u64, counters.completed, "each completes once");
        let (mut read, mut written) = (0, 0);
        for (_, completion) in &done {
            let own = &asked[completion.id as usize];
            let bytes = match completion.status {
                Status::Success => own.bytes,
                _ => completion.completed,
            };
            prop_assert!(bytes == own.bytes || !own.block_on_fault);
            let part = Descriptor { bytes, ..*own }.operands();
            read += part.bytes_read();
            written += part.bytes_written();
        }
        prop_assert_eq!((counters.bytes_read, counters.bytes_written), (read, written));
    }
}
