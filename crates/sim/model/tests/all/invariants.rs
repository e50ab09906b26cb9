//! Random agents on random small machines: the invariants of ARCHITECTURE.md hold after every
//! operation, under all policies.

use crate::reference::agents::{Features, Place, Shape, Step, apply, cases, shape, step};
use address_map::{SetFunction, SliceFunction};
use model::fabric::Fabric;
use model::root_complex::ddio::DmaKind;
use model::tracer::{Event, NoTrace, Tracer};
use proptest::prelude::*;
use units::{Id, LineAddr, Picos, RootPortId, SetIndex, SocketId};

/// Records every line, and so forces the lines to be served in order.
#[derive(Clone, Debug)]
struct Watching;

impl Tracer for Watching {
    const WATCHING: bool = true;
    fn record(&mut self, _: Event) {}
    fn packet_arrives(&mut self, _: LineAddr, _: u64) {}
    fn packet_leaves(&mut self, _: LineAddr) {}
}

/// The observable state of a machine: counters, lines with their ways and states, times.
fn visible<T: Tracer>(fabric: &Fabric<T>, shape: &Shape) -> String {
    let sets = shape.llc.0 * shape.llc.1;
    let sockets = (0..shape.cores.len()).map(|socket| {
        let llc = fabric.llc(SocketId::at(socket));
        let lines = (0..sets).map(|set| llc.lines_in(SetIndex(set)).collect::<Vec<_>>());
        (lines.collect::<Vec<_>>(), format!("{:?}", fabric.iio(SocketId::at(socket))))
    });
    let ports = (0..shape.ports.len()).map(|port| {
        let port = fabric.root_port(RootPortId::at(port));
        (*port.counters(), port.attachment().link().expect("a link"))
    });
    format!(
        "{:?} {:?} {:?} {:?} {:?}",
        fabric.counters(),
        fabric.evictions(),
        fabric.memory().lines_moved(),
        sockets.collect::<Vec<_>>(),
        ports.collect::<Vec<_>>()
    )
}

const PLAIN_PORTS: Features = Features { any_policy: true, buffers: false };
const WITH_BUFFERS: Features = Features { any_policy: true, buffers: true };

fn keeps_the_invariants(shape: &Shape, steps: &[Step]) -> Result<(), TestCaseError> {
    let mut fabric = Fabric::new(&shape.config(), NoTrace);
    for (i, step) in steps.iter().enumerate() {
        apply(&mut fabric, shape, step, Picos(i as u64 * 10_000));
        prop_assert_eq!(fabric.check_invariants(), Ok(()), "after {:?}, step {}", step, i);
    }
    Ok(())
}

/// Machines with enough sets for long bursts, whose lines may share one or not, under all policies:
/// some bursts may be served out of order, others not.
fn with_bursts() -> impl Strategy<Value = Shape> {
    let names =
        ["lru", "fifo", "tree-plru", "nru", "random", "srrip2", "brrip2", "qlru_h11_m1_r0_u0"];
    let policy = prop::sample::select(names.to_vec());
    let slices = prop::sample::select(vec![SliceFunction::Mixing, SliceFunction::Rotating]);
    (shape(PLAIN_PORTS), 0u32..9, policy, slices, any::<bool>()).prop_map(
        |(mut shape, sets_power, policy, slices, hashed)| {
            shape.llc.1 = 1 << sets_power;
            shape.replacement = policy.parse().expect("it is the name of a policy");
            shape.slice_function = slices;
            shape.set_function = if hashed { SetFunction::Hashed } else { SetFunction::Plain };
            shape
        },
    )
}

/// Steps, and requests of up to three bursts.
fn step_or_burst() -> impl Strategy<Value = Step> {
    let bytes = prop_oneof![1u64..1500, 1u64..4096, 4000u64..9000];
    let kind = prop_oneof![2 => Just(DmaKind::Payload), 1 => Just(DmaKind::Descriptor)];
    let place = (0u8..4, 0u64..400).prop_map(|(node, line)| Place { node, line });
    let burst = (0u8..3, place, bytes, kind, any::<bool>());
    prop_oneof![
        2 => step(),
        1 => burst.prop_map(|(port, at, bytes, kind, writes)| match writes {
            true => Step::DmaWrite(port, at, bytes, kind),
            false => Step::DmaRead(port, at, bytes),
        }),
    ]
}

proptest! {
    #![proptest_config(cases(200, 8_000))]
    #[test]
    fn every_operation_keeps_the_invariants(
        shape in shape(PLAIN_PORTS),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        keeps_the_invariants(&shape, &steps)?;
    }

    #[test]
    fn a_watched_machine_does_the_same(
        shape in with_bursts(),
        steps in prop::collection::vec(step_or_burst(), 1..150),
    ) {
        let mut plain = Fabric::new(&shape.config(), NoTrace);
        let mut watched = Fabric::new(&shape.config(), Watching);
        for (i, step) in steps.iter().enumerate() {
            let now = Picos(i as u64 * 10_000);
            let done = apply(&mut plain, &shape, step, now);
            prop_assert_eq!(done, apply(&mut watched, &shape, step, now));
        }
        prop_assert_eq!(visible(&plain, &shape), visible(&watched, &shape));
    }

    #[test]
    fn every_operation_keeps_the_invariants_with_root_complex_buffers(
        shape in shape(WITH_BUFFERS),
        steps in prop::collection::vec(step(), 1..150),
    ) {
        keeps_the_invariants(&shape, &steps)?;
    }

    #[test]
    fn lines_counted_by_devices_are_the_lines_they_asked_for(
        shape in shape(WITH_BUFFERS),
        steps in prop::collection::vec(step(), 1..100),
    ) {
        let mut fabric = Fabric::new(&shape.config(), NoTrace);
        let (mut full, mut partial, mut read) = (0, 0, 0);
        for step in &steps {
            apply(&mut fabric, &shape, step, Picos::ZERO);
            match step {
                Step::DmaWrite(_, _, bytes, _) => {
                    full += bytes / 64;
                    partial += u64::from(bytes % 64 != 0);
                }
                Step::DmaRead(_, _, bytes) => read += bytes.div_ceil(64),
                Step::StartClock => (full, partial, read) = (0, 0, 0),
                _ => {}
            }
        }
        let counters = fabric.counters();
        prop_assert_eq!(counters.pcie_write_hits + counters.pcie_write_misses, full);
        prop_assert_eq!(
            counters.pcie_partial_write_hits + counters.pcie_partial_write_misses,
            partial
        );
        prop_assert_eq!(counters.pcie_read_hits + counters.pcie_read_misses, read);
    }
}
