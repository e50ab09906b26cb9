//! The two ways to simulate a machine give the same counts, and the standard traces give the known
//! ones.

use super::*;
use crate::facts::platform::{InclusionName, ReplacementName, SetFunctionName};
use model::replacement::Replacement;
use proptest::prelude::*;
use recordings::trace::TraceFault;
use std::io::{Read, Write};
use std::os::fd::AsRawFd;
use units::{Reference, ReferenceKind};

const REFERENCE: &str = "three-level-lru";

/// Sets and ways of L1D, L2 and LLC slices.
type Shapes = [(u32, u32); 3];

fn machine(shapes: Shapes, slices: u32, hashed: bool, policies: [Replacement; 3]) -> Platform {
    let mut platform = by_name::platform("a test", REFERENCE).expect("it is built in");
    for (level, number) in [(&mut platform.l1d, 0), (&mut platform.l2, 1)] {
        level.sets.value = shapes[number].0;
        level.ways.value = shapes[number].1;
        level.replacement.value = ReplacementName(policies[number]);
    }
    let llc = &mut platform.llc;
    llc.sets_per_slice.value = shapes[2].0;
    llc.ways.value = shapes[2].1;
    llc.slices.value = slices;
    llc.replacement.value = ReplacementName(policies[2]);
    if hashed {
        llc.set_function.value = SetFunctionName::Hashed;
    }
    platform
}

fn machines() -> impl Strategy<Value = Platform> {
    let shape = || ((0_u32..6).prop_map(|bits| 1 << bits), 1_u32..=32);
    let policy = || prop::sample::select(vec![Replacement::Lru, Replacement::Fifo]);
    let shapes = (shape(), shape(), shape()).prop_map(|(l1, l2, llc)| [l1, l2, llc]);
    let policies = (policy(), policy(), policy()).prop_map(|(l1, l2, llc)| [l1, l2, llc]);
    (shapes, 1_u32..4, any::<bool>(), policies)
        .prop_map(|(shapes, slices, hashed, policies)| machine(shapes, slices, hashed, policies))
}

/// Loads alone, or references of every kind, some of which cross line borders.
fn batch() -> impl Strategy<Value = Batch> {
    let kinds =
        [ReferenceKind::Load, ReferenceKind::Store, ReferenceKind::Modify, ReferenceKind::Fetch];
    let one = (0_u64..64 * 600, 0_u32..200, 0_usize..4, any::<bool>());
    let reference = one.prop_map(move |(near, bytes, kind, far)| Reference {
        address: if far { near | 0x7FFF_0000_0000 } else { near / 5 },
        bytes,
        kind: kinds[kind],
    });
    let line = (0_u64..600).prop_map(|line| if line % 3 == 0 { line | 1 << 40 } else { line / 7 });
    prop_oneof![
        prop::collection::vec(reference, 1..400).prop_map(Batch::References),
        prop::collection::vec(line, 1..400).prop_map(Batch::Loads),
    ]
}

fn fabric_config(platform: &Platform) -> FabricConfig {
    let topology = platform.topology("a test").expect("is valid");
    Hardware::without_devices(platform, &topology, 1, 1).fabric()
}

/// With time, without it, and without it on two threads.
fn courses(platform: &Platform) -> [Course; 3] {
    let config = fabric_config(platform);
    let levels = IndependentLevels::from_config(&config).expect("its levels are independent");
    let fabric = Fabric::new(&config, NoTrace);
    [
        Course::Timed(Box::new(Replay::new(fabric, None))),
        Course::Untimed(Box::new(UntimedReplay::new(levels.clone(), false))),
        Course::Untimed(Box::new(UntimedReplay::new(levels, true))),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_trace_counts_the_same_with_and_without_time(
        platform in machines(),
        batches in prop::collection::vec(batch(), 1..5),
    ) {
        let tallies = courses(&platform).map(|mut course| {
            for batch in &batches {
                course.batch(batch).expect("there is room for two regions");
            }
            course.finish().tally
        });
        prop_assert_eq!(tallies[0], tallies[1]);
        prop_assert_eq!(tallies[0], tallies[2]);
    }
}

#[test]
fn machines_whose_levels_act_on_each_other_are_replayed_in_the_fabric() {
    let reference = || by_name::platform("a test", REFERENCE).expect("it is built in");
    let is_independent =
        |platform: &Platform| IndependentLevels::from_config(&fabric_config(platform)).is_some();
    assert!(is_independent(&reference()));
    let mut random = reference();
    random.l2.replacement.value = ReplacementName(Replacement::Random);
    let mut inclusive = reference();
    inclusive.llc.inclusion.value = InclusionName::Inclusive;
    let mut prefetching = reference();
    prefetching.cpu.stream_prefetch_lines.value = 2;
    let mut fetching = reference();
    fetching.l1i = Some(fetching.l1d.clone());
    let skylake = by_name::platform("a test", "skylake-gold-6140").expect("it is built in");
    for other in [random, inclusive, prefetching, fetching, skylake] {
        assert!(!is_independent(&other));
    }
}

/// Hits of L1, L2 and LLC, and lines from memory.
fn hits(name: &str) -> [u64; 4] {
    let job = TraceJob::of_standard(name, REFERENCE, TraceWanted::default(), 1);
    let result = job.expect("all of it is built in").run(|_| ControlFlow::Continue(()));
    let result = result.expect("the run is not stopped");
    assert_eq!(result.line_ops, 10_000_000);
    let [l1, l2, llc] = [0, 1, 2].map(|level: usize| result.levels[level].hits);
    [l1, l2, llc, result.memory_lines_read]
}

#[test]
fn the_standard_traces_hit_as_often_as_is_known() {
    assert_eq!(hits("4mib-sequential"), [0, 0, 9_934_464, 65_536]);
    assert_eq!(hits("4mib-random"), [77_824, 2_420_876, 7_435_764, 65_536]);
    assert_eq!(hits("64mib-sequential"), [0, 0, 0, 10_000_000]);
    assert_eq!(hits("64mib-random"), [4_829, 151_485, 3_203_042, 6_640_644]);
}

#[test]
fn a_name_that_is_no_standard_trace_is_refused_with_those_that_are() {
    let job = TraceJob::of_standard("8mib", REFERENCE, TraceWanted::default(), 1);
    let message = job.err().expect("there is no such trace").to_string();
    for expected in ["--standard", "8mib", "64mib-random"] {
        assert!(message.contains(expected), "{message}");
    }
}

/// Returns the batches of a closure: loads, and then an error if there is one.
struct Told<F>(F);

impl<F: FnMut() -> (Vec<u64>, Option<TraceFault>) + Send> Batches for Told<F> {
    fn next_batch(&mut self, into: &mut Batch) -> Result<bool, TraceError> {
        let (loads, fault) = (self.0)();
        let goes_on = !loads.is_empty();
        into.for_loads().extend(loads);
        fault.map_or(Ok(goes_on), |fault| Err(TraceError { path: "a test".into(), fault }))
    }

    fn fraction(&self) -> Option<f64> {
        None
    }

    fn format(&self) -> &'static str {
        "test"
    }
}

fn replay<F: FnMut() -> (Vec<u64>, Option<TraceFault>) + Send + 'static>(
    opens: impl FnOnce() -> F + Send + 'static,
    watch: impl FnMut(TraceProgress) -> ControlFlow<()>,
) -> Result<TraceResult, TraceRunError> {
    let opens = move |_| -> Result<Box<dyn Batches>, TraceError> { Ok(Box::new(Told(opens()))) };
    let platform = by_name::platform("a test", REFERENCE).expect("it is built in");
    let replayed = Replayed::new(platform, REFERENCE, "a test", TraceWanted::default(), 1);
    let replayed = replayed.expect("is valid");
    TraceJob { replayed, source: Source::ToRead(Box::new(opens)) }.run(watch)
}

#[test]
fn a_trace_that_says_nothing_can_be_stopped() {
    // The senders live as long as this test: the trace waits for them.
    let (_says_nothing, listens) = std::sync::mpsc::channel();
    let in_between = || move || (listens.recv().unwrap_or_default(), None);
    let ran = replay(in_between, |_| ControlFlow::Break(()));
    assert!(matches!(ran, Err(TraceRunError::Stopped(_))));
    let (_says_nothing, listens) = std::sync::mpsc::channel::<()>();
    let from_the_start = move || {
        let _ = listens.recv();
        || (Vec::new(), None)
    };
    let ran = replay(from_the_start, |_| ControlFlow::Break(()));
    assert!(matches!(ran, Err(TraceRunError::Stopped(_))));
}

#[test]
fn a_replay_that_was_stopped_leaves_the_rest_of_a_pipe_to_others() {
    let (mut reads, mut writes) = std::io::pipe().expect("the host has pipes");
    let path = format!("/proc/self/fd/{}", reads.as_raw_fd());
    let wanted = TraceWanted::default();
    let job =
        TraceJob::of_file(&path, REFERENCE, Some("raw64"), wanted, 1).expect("it is built in");
    writes.write_all(&[0; 800]).expect("there is room");
    let ran = job.run(|_| ControlFlow::Break(()));
    assert!(matches!(ran, Err(TraceRunError::Stopped(_))));
    writes.write_all(b"for others").expect("there is room");
    drop(writes);
    let mut left_over = Vec::new();
    reads.read_to_end(&mut left_over).expect("can be read");
    assert!(left_over.ends_with(b"for others"), "{} bytes", left_over.len());
}

#[test]
fn what_precedes_a_fault_is_replayed_before_it_is_told() {
    let fault = || TraceFault::TruncatedRecord {
        offset: 800,
        present: 3,
        needed: 8,
        format: TraceFormat::Raw64,
    };
    let told = |loads: Vec<u64>| {
        let ran =
            replay(move || move || (loads.clone(), Some(fault())), |_| ControlFlow::Continue(()));
        ran.err().map_or_else(String::new, |error| error.to_string())
    };
    assert!(told(vec![0, 64]).contains("truncated"));
    let too_many = (0..300).map(|gib| gib << 30).collect();
    assert!(told(too_many).contains("different GiB"));
}

#[test]
#[should_panic(expected = "a fault of the program")]
fn a_reader_that_panics_is_no_end_of_the_trace() {
    let told = || || panic!("a fault of the program");
    let _ = replay(told, |_| ControlFlow::Continue(()));
}
