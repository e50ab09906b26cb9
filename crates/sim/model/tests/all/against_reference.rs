//! Random agents on the fabric and on a slow reference in lockstep: after every operation both have
//! served, counted and kept the same lines.

use crate::reference::agents::{Done, Features, Shape, Step, apply, cases, shape, step};
use crate::reference::core_side::Want;
use crate::reference::kinds::{Kind, Tally};
use crate::reference::{Observer, Reference};
use crate::small_fabric;
use model::fabric::{Fabric, FabricConfig};
use model::tracer::{Found, LineOperation};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;
use std::ops::RangeInclusive;
use units::Picos;

const PLAIN_PORTS: Features = Features { any_policy: false, buffers: false };
const WITH_BUFFERS: Features = Features { any_policy: false, buffers: true };

/// Lets the reference do a step; returns whether it is covered, since the model leaves some steps out.
fn follow(reference: &mut Reference, shape: &Shape, step: &Step) -> bool {
    reference.begin_step();
    let wants = |reference: &mut Reference, core, at, want| {
        let (core, line) = (usize::from(shape.core_number(core)), shape.line(at));
        let write = want == Want::Store;
        let left_out = matches!(want, Want::Store | Want::Fetch)
            && reference.is_self_modifying(core, line, write);
        if left_out {
            return false;
        }
        match want {
            Want::Fetch => reference.fetch_instructions(core, line),
            _ => reference.access(core, line, want),
        };
        true
    };
    match *step {
        Step::Load(core, at) => return wants(reference, core, at, Want::Load),
        Step::Store(core, at) => return wants(reference, core, at, Want::Store),
        Step::Prefetch(core, at) => return wants(reference, core, at, Want::Prefetch),
        Step::Fetch(core, at) => {
            return shape.l1i.is_some() && wants(reference, core, at, Want::Fetch);
        }
        Step::Flush(at) => reference.flush(shape.line(at)),
        Step::DmaWrite(port, at, bytes, kind) => {
            let reader = usize::from(shape.reader(at));
            reference.dma_write(shape.port_number(port), reader, shape.line(at), bytes, kind);
        }
        Step::DmaRead(port, at, bytes) => {
            reference.dma_read(shape.port_number(port), shape.line(at), bytes);
        }
        Step::StartClock => reference.start_clock(),
        Step::Policy(port, payload, descriptors) => {
            let port = shape.port_number(port);
            if shape.may_change(port) {
                let mut policy = reference.io_policy(port);
                policy.payload = payload.policy(shape.llc.2);
                policy.descriptors = descriptors.policy(shape.llc.2);
                reference.set_io_policy(port, policy);
            }
        }
    }
    true
}

/// How long a core may wait for a line found at this level: exactly that long on the chip, at least
/// that long beyond it.
fn latency(config: &FabricConfig, found: Found) -> RangeInclusive<Picos> {
    let path = &config.core_path;
    let at_least = |least| least..=Picos::NEVER;
    // Rounding to picoseconds, four times.
    let over_upi = Picos(small_fabric::upi(2).round_trip_extra.0 - 4);
    match found {
        Found::L1 => path.l1..=path.l1,
        Found::L2 => path.l2..=path.l2,
        Found::LlcHit(_) | Found::Upgraded => path.llc.mean()..=path.llc.mean(),
        Found::OtherCore(_) | Found::RootComplexBuffer => path.other_core..=path.other_core,
        Found::OtherSocket(_) => at_least(path.other_socket),
        Found::Dram => at_least(small_fabric::DRAM_IDLE),
        Found::RemoteDram => at_least(small_fabric::DRAM_IDLE + over_upi),
        Found::Cxl => at_least(small_fabric::card().read_latency),
        Found::LlcAllocated(_) | Found::MovedToLlc(_) | Found::Nowhere => {
            panic!("a core is not served by {found:?}")
        }
    }
}

/// Does all steps on both; tallies the kinds of events.
fn lockstep(shape: &Shape, steps: &[Step], tally: &mut Tally) -> Result<(), TestCaseError> {
    let config = shape.config();
    tally.tracked_ways = shape.inclusion.tracked_ways(shape.llc.2);
    let observer = Observer { seen: Vec::new(), tally: std::mem::take(tally) };
    let mut fabric = Fabric::new(&config, observer);
    let mut reference = Reference::new(&config);
    for (i, step) in steps.iter().enumerate() {
        let at = format!("step {i}, {step:?}");
        if !follow(&mut reference, shape, step) {
            continue;
        }
        prop_assert_eq!(reference.check_content(), Ok(()), "the rules fail: {}", at);
        fabric.tracer.seen.clear();
        let now = Picos(i as u64 * 10_000);
        if let Done::Core(served) = apply(&mut fabric, shape, step, now) {
            let (took, expected) = (served.done - now, latency(&config, served.found));
            prop_assert!(expected.contains(&took), "{at}: {:?} took {took:?}", served.found);
        }
        let same = reference.compare(&fabric);
        prop_assert_eq!(same, Ok(()), "{}", at);
        prop_assert_eq!(fabric.check_invariants(), Ok(()), "{}", at);
    }
    *tally = fabric.tracer.tally;
    Ok(())
}

proptest! {
    #![proptest_config(cases(150, 1_500))]
    #[test]
    fn the_fabric_does_what_the_reference_does(
        shape in shape(PLAIN_PORTS),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        lockstep(&shape, &steps, &mut Tally::default())?;
    }

    #[test]
    fn the_fabric_does_what_the_reference_does_with_root_complex_buffers(
        shape in shape(WITH_BUFFERS),
        steps in prop::collection::vec(step(), 1..200),
    ) {
        lockstep(&shape, &steps, &mut Tally::default())?;
    }
}

/// Kinds of events that never occur are not compared either.
#[test]
fn the_random_agents_make_everything_happen() {
    use Kind::{
        Allocated, Buffer, CxlMemory, Memory, Nowhere, OtherCore, OtherSocket, OtherWay, Private,
        RemoteMemory, TrackedWay, Upgraded,
    };
    const TIMES: u64 = 20;
    let mut runner = TestRunner::deterministic();
    let case = (shape(WITH_BUFFERS), prop::collection::vec(step(), 200));
    let mut tally = Tally::default();
    for _ in 0..400 {
        let (shape, steps) = case.new_tree(&mut runner).expect("there are cases").current();
        lockstep(&shape, &steps, &mut tally).expect("both do the same");
    }
    let cores =
        [LineOperation::Load, LineOperation::Store, LineOperation::Prefetch, LineOperation::Fetch];
    let cached = [TrackedWay, OtherWay, OtherCore, OtherSocket];
    let memory = [Memory, RemoteMemory, CxlMemory];
    tally.expect(&cores, &cached, TIMES);
    tally.expect(&cores, &memory, TIMES);
    tally.expect(&cores, &[Private], TIMES);
    tally.expect(&[LineOperation::Store], &[Upgraded, Buffer], TIMES);
    let devices =
        [LineOperation::DmaWriteFull, LineOperation::DmaWritePartial, LineOperation::DmaRead];
    tally.expect(&devices, &cached[..2], TIMES);
    tally.expect(&devices, &memory, TIMES);
    tally.expect(&devices, &[Buffer, OtherCore, OtherSocket], TIMES);
    // Placement policies push into L2.
    tally.expect(&devices[..2], &[Allocated, Private], TIMES);
    tally.expect(
        &[LineOperation::L2Victim],
        &[Allocated, TrackedWay, OtherWay, OtherCore, Nowhere],
        TIMES,
    );
    tally.expect(&[LineOperation::LlcFill], &[Allocated], TIMES);
    tally.expect(&[LineOperation::IoWriteBack], &[Allocated, Memory, RemoteMemory], TIMES);
    let evictions = [LineOperation::LlcEviction, LineOperation::DirectoryEviction];
    tally.expect(&evictions, &[Memory, Nowhere], TIMES);
    tally.expect(&[LineOperation::DirectoryEviction], &[OtherWay], TIMES);
}
