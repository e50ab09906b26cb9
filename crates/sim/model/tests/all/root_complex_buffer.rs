//! The root-complex buffer case by case (claims gem5-01, gem5-02, gem5-16, gem5-17), and against a
//! reference that keeps its lines in a plain list.

use model::attribution::AgentId;
use model::root_complex::buffer::{
    Acquire, BufferConfig, BufferCounters, BufferState, BufferedLine, Placement, RootComplexBuffer,
    WriteBack,
};
use proptest::prelude::*;
use units::{LineAddr, Picos, WayMask};

const LINE: LineAddr = LineAddr(40);
const NIC: AgentId = AgentId(8);
const SSD: AgentId = AgentId(9);
const NOW: Picos = Picos(1_000_000);
const OWNERSHIP: Acquire = Acquire::Exclusive { with_data: false };
const OWNERSHIP_AND_DATA: Acquire = Acquire::Exclusive { with_data: true };
const DDIO_OFF: Placement = Placement::MemorySide { evict_on_dma_read: true };
const DDIO_OFF_ON_NEWER_PARTS: Placement = Placement::MemorySide { evict_on_dma_read: false };

fn config(placement: Placement) -> BufferConfig {
    BufferConfig { entries: 4, mshrs: 2, placement, as_published_code: false }
}

fn buffer(placement: Placement) -> RootComplexBuffer {
    RootComplexBuffer::new(config(placement)).expect("it has entries")
}

/// Acquisitions of the NIC's reads, full and partial writes, one after the other.
fn trace(buffer: &mut RootComplexBuffer, accesses: &str) -> Vec<Acquire> {
    let access = |access| match access {
        'r' => buffer.read(LINE, NIC, NOW).acquire,
        'w' => buffer.write(LINE, NIC, true, NOW).acquire,
        'p' => buffer.write(LINE, NIC, false, NOW).acquire,
        other => panic!("no such access: {other}"),
    };
    accesses.chars().map(access).collect()
}

#[test]
fn a_read_hit_is_served_from_the_buffer() {
    let mut buffer = buffer(Placement::LlcSide);
    assert_eq!(trace(&mut buffer, "rr"), [Acquire::Shared, Acquire::None]);
    assert_eq!(buffer.read(LINE, SSD, NOW).acquire, Acquire::None);
    assert_eq!(trace(&mut buffer, "wr"), [OWNERSHIP, Acquire::None]);
    let expected =
        BufferCounters { hits: 3, shared_acquired: 1, exclusive_acquired: 1, write_backs: 0 };
    assert_eq!(buffer.counters(), expected);
}

#[test]
fn with_ddio_a_read_miss_takes_a_shared_copy() {
    let mut buffer = buffer(Placement::LlcSide);
    assert_eq!(trace(&mut buffer, "r"), [Acquire::Shared]);
    assert_eq!(buffer.state(LINE), Some(BufferState::Shared));
}

#[test]
fn without_ddio_a_read_miss_takes_the_line_away_from_the_caches() {
    let mut buffer = buffer(DDIO_OFF);
    assert_eq!(trace(&mut buffer, "r"), [OWNERSHIP_AND_DATA]);
    assert_eq!(buffer.state(LINE), Some(BufferState::Exclusive));
    // A cache's modified content then has no other copy: it must not be lost.
    buffer.fill(LINE, NOW, NOW, true);
    assert_eq!(buffer.state(LINE), Some(BufferState::Modified));
}

#[test]
fn a_write_to_a_line_that_only_the_buffer_holds_needs_no_bus_action() {
    let mut buffer = buffer(DDIO_OFF);
    trace(&mut buffer, "r");
    assert_eq!(trace(&mut buffer, "wwp"), [Acquire::None; 3]);
    assert_eq!(buffer.state(LINE), Some(BufferState::Modified));
}

#[test]
fn a_full_write_to_a_shared_or_absent_line_invalidates_and_reads_nothing() {
    for placement in [Placement::LlcSide, DDIO_OFF, Placement::SeparateIoCache] {
        assert_eq!(trace(&mut buffer(placement), "w"), [OWNERSHIP], "{placement:?}");
    }
    assert_eq!(trace(&mut buffer(Placement::LlcSide), "rw"), [Acquire::Shared, OWNERSHIP]);
}

#[test]
fn a_partial_write_first_reads_the_line_for_ownership() {
    assert_eq!(trace(&mut buffer(DDIO_OFF), "p"), [OWNERSHIP_AND_DATA]);
    let mut buffer = buffer(Placement::LlcSide);
    assert_eq!(trace(&mut buffer, "rpp"), [Acquire::Shared, OWNERSHIP_AND_DATA, Acquire::None]);
}

#[test]
fn a_modified_victim_goes_to_the_ways_of_the_device_that_wrote_it_last() {
    let mut buffer = buffer(Placement::LlcSide);
    buffer.write(LINE, NIC, true, NOW);
    buffer.write(LINE, SSD, false, NOW);
    for i in 1..4 {
        assert_eq!(buffer.read(LINE.step(i), NIC, NOW).victim, None);
    }
    let victim = buffer.read(LINE.step(4), NIC, NOW).victim;
    assert_eq!(victim, Some(BufferedLine { line: LINE, device: SSD, modified: true }));
    assert_eq!(buffer.config().write_back(SSD), WriteBack::Llc { ways_of: Some(SSD) });
    // The next victim was only read.
    let victim = buffer.read(LINE.step(5), NIC, NOW).victim;
    assert_eq!(victim, Some(BufferedLine { line: LINE.step(1), device: NIC, modified: false }));
    assert_eq!(buffer.counters().write_backs, 1);
}

#[test]
fn on_the_memory_side_modified_lines_go_to_memory() {
    for placement in [DDIO_OFF, DDIO_OFF_ON_NEWER_PARTS, Placement::SeparateIoCache] {
        assert_eq!(config(placement).write_back(NIC), WriteBack::Memory, "{placement:?}");
    }
}

#[test]
fn a_separate_io_cache_is_neither_ddio_nor_its_absence() {
    let seen = |placement| {
        let acquired = trace(&mut buffer(placement), "r")[0];
        (acquired, config(placement).write_back(NIC))
    };
    let separate = seen(Placement::SeparateIoCache);
    assert_eq!(separate, (Acquire::Shared, WriteBack::Memory));
    assert_ne!(separate, seen(Placement::LlcSide));
    assert_ne!(separate, seen(DDIO_OFF));
}

#[test]
fn a_read_by_a_core_leaves_a_shared_copy_and_hands_over_what_was_modified() {
    let mut buffer = buffer(Placement::LlcSide);
    trace(&mut buffer, "w");
    let held = |modified| Some(BufferedLine { line: LINE, device: NIC, modified });
    assert_eq!(buffer.snoop_read(LINE), held(true));
    assert_eq!(buffer.snoop_read(LINE), held(false));
    assert_eq!(buffer.counters().write_backs, 1);
    // The device still reads from the buffer, but must acquire the line again before it writes.
    assert_eq!(trace(&mut buffer, "rw"), [Acquire::None, OWNERSHIP]);
    assert_eq!(buffer.snoop_read(LINE.step(1)), None);
}

#[test]
fn a_write_by_a_core_takes_the_line_out_of_the_buffer() {
    let mut buffer = buffer(Placement::LlcSide);
    trace(&mut buffer, "w");
    let modified = Some(BufferedLine { line: LINE, device: NIC, modified: true });
    assert_eq!(buffer.snoop_invalidate(LINE), modified);
    assert_eq!(buffer.snoop_invalidate(LINE), None);
    assert_eq!(buffer.state(LINE), None);
    // The core has the content now: nothing was written back.
    assert_eq!(buffer.counters().write_backs, 0);
}

#[test]
fn with_ddio_ownership_marks_the_freed_block_and_nothing_else_does() {
    let on = config(Placement::LlcSide);
    let marks = |config: BufferConfig| {
        [Acquire::None, Acquire::Shared, OWNERSHIP, OWNERSHIP_AND_DATA]
            .map(|acquire| config.marks_freed(acquire))
    };
    assert_eq!(marks(on), [false, false, true, true]);
    assert_eq!(marks(config(DDIO_OFF)), [false; 4]);
    assert_eq!(marks(BufferConfig { as_published_code: true, ..on }), [false, false, true, false]);
}

#[test]
fn the_published_code_departs_from_the_paper_where_the_switch_says() {
    let paper = config(Placement::LlcSide);
    let code = BufferConfig { as_published_code: true, ..paper };
    assert!(paper.refill_clears_mark() && !code.refill_clears_mark());
    assert_eq!(code.write_back(NIC), WriteBack::Llc { ways_of: None });
    assert_eq!(paper.ddio_ways(4, 16), WayMask(0xF000));
    assert_eq!(code.ddio_ways(4, 16), WayMask(0b100));
    assert_eq!(code.ddio_ways(0x1_0003, 16), WayMask(0b11));
}

#[test]
fn without_entries_there_is_no_buffer() {
    let none = BufferConfig { entries: 0, ..config(Placement::LlcSide) };
    assert!(RootComplexBuffer::new(none).is_none());
}

#[test]
fn a_second_access_to_a_line_on_its_way_waits_for_the_first() {
    let mut buffer = buffer(Placement::LlcSide);
    buffer.read(LINE, NIC, NOW);
    let filled = buffer.fill(LINE, NOW, NOW + Picos(90_000), false);
    assert_eq!(filled, NOW + Picos(90_000));
    let second = buffer.read(LINE, NIC, NOW + Picos(10_000));
    assert_eq!((second.acquire, second.ready), (Acquire::None, filled));
    let later = filled + Picos(5);
    assert_eq!(buffer.write(LINE, NIC, true, later).ready, later);
    buffer.forget();
    assert_eq!(buffer.read(LINE, NIC, Picos::ZERO).ready, Picos::ZERO);
}

#[test]
fn fills_wait_for_mshrs_only_when_all_are_taken() {
    let mut buffer = buffer(Placement::LlcSide);
    let hold = Picos(90_000);
    let mut fill = |i| {
        buffer.read(LINE.step(i), NIC, NOW);
        buffer.fill(LINE.step(i), NOW, NOW + hold, false)
    };
    assert_eq!((fill(0), fill(1)), (NOW + hold, NOW + hold));
    assert!(fill(2) > NOW + hold);
    // Two at a time: a thousand of them end at 500 holding times, within one.
    let last = (3..1_000).map(fill).max().expect("there are some");
    assert!((last - NOW).0.abs_diff(500 * hold.0) < hold.0, "{last:?}");
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Read(u64, u8),
    Write(u64, u8, bool),
    SnoopRead(u64),
    SnoopInvalidate(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let (line, device) = (0u64..12, 8u8..11);
    prop_oneof![
        (line.clone(), device.clone()).prop_map(|(line, device)| Step::Read(line, device)),
        (line.clone(), device, any::<bool>())
            .prop_map(|(line, dev, full)| Step::Write(line, dev, full)),
        line.clone().prop_map(Step::SnoopRead),
        line.prop_map(Step::SnoopInvalidate),
    ]
}

fn placement() -> impl Strategy<Value = Placement> {
    let all = [Placement::LlcSide, DDIO_OFF, DDIO_OFF_ON_NEWER_PARTS, Placement::SeparateIoCache];
    prop::sample::select(all.to_vec())
}

/// A line of the reference: address, state, device. The list is in order of use, oldest first.
type Listed = (u64, BufferState, u8);

fn held((line, state, device): Listed) -> BufferedLine {
    let modified = state == BufferState::Modified;
    BufferedLine { line: LineAddr(line), device: AgentId(device), modified }
}

/// The rules once more, over a list.
fn access(
    list: &mut Vec<Listed>,
    entries: usize,
    reads: BufferState,
    step: Step,
) -> (Acquire, Option<BufferedLine>) {
    let (line, device, write) = match step {
        Step::Read(line, device) => (line, device, None),
        Step::Write(line, device, full) => (line, device, Some(full)),
        Step::SnoopRead(_) | Step::SnoopInvalidate(_) => unreachable!("not an access"),
    };
    let was = list.iter().position(|entry| entry.0 == line).map(|at| list.remove(at));
    let full = was.is_none() && list.len() == entries;
    let victim = full.then(|| held(list.remove(0)));
    let (acquire, entry) = match (write, was) {
        (None, Some(was)) => (Acquire::None, was),
        (None, None) if reads == BufferState::Shared => (Acquire::Shared, (line, reads, device)),
        (None, None) => (OWNERSHIP_AND_DATA, (line, reads, device)),
        (Some(_), Some((_, BufferState::Exclusive | BufferState::Modified, _))) => {
            (Acquire::None, (line, BufferState::Modified, device))
        }
        (Some(full), _) => {
            (Acquire::Exclusive { with_data: !full }, (line, BufferState::Modified, device))
        }
    };
    list.push(entry);
    (acquire, victim)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(soak::amount(500, 10_000)))]
    #[test]
    fn the_buffer_does_what_a_plain_list_of_states_does(
        entries in 1u32..9,
        placement in placement(),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        let config = BufferConfig { entries, ..config(placement) };
        let mut buffer = RootComplexBuffer::new(config).expect("it has entries");
        let reads = if placement == DDIO_OFF { BufferState::Exclusive } else { BufferState::Shared };
        let mut list: Vec<Listed> = Vec::new();
        for step in steps {
            match step {
                Step::Read(line, device) => {
                    let done = buffer.read(LineAddr(line), AgentId(device), NOW);
                    let expected = access(&mut list, entries as usize, reads, step);
                    prop_assert_eq!((done.acquire, done.victim), expected);
                }
                Step::Write(line, device, full) => {
                    let done = buffer.write(LineAddr(line), AgentId(device), full, NOW);
                    let expected = access(&mut list, entries as usize, reads, step);
                    prop_assert_eq!((done.acquire, done.victim), expected);
                }
                Step::SnoopRead(line) => {
                    let entry = list.iter_mut().find(|entry| entry.0 == line);
                    let expected = entry.map(|entry| {
                        let before = held(*entry);
                        entry.1 = BufferState::Shared;
                        before
                    });
                    prop_assert_eq!(buffer.snoop_read(LineAddr(line)), expected);
                }
                Step::SnoopInvalidate(line) => {
                    let at = list.iter().position(|entry| entry.0 == line);
                    let expected = at.map(|at| held(list.remove(at)));
                    prop_assert_eq!(buffer.snoop_invalidate(LineAddr(line)), expected);
                }
            }
            for line in 0..12 {
                let expected = list.iter().find(|entry| entry.0 == line).map(|entry| entry.1);
                prop_assert_eq!(buffer.state(LineAddr(line)), expected);
            }
        }
    }
}
