//! Random agents on a small fabric: the invariants of ARCHITECTURE.md hold after every operation.

mod small_fabric;

use model::core::prefetcher::PrefetcherConfig;
use model::fabric::Fabric;
use model::replacement::Replacement;
use model::root_complex::ddio::{Ddio, DmaKind, IoPolicy};
use model::tracer::NoTrace;
use proptest::prelude::*;
use units::{LineAddr, Picos};

#[derive(Clone, Debug)]
enum Step {
    Read(u8, u64),
    Write(u8, u64),
    Prefetch(u8, u64),
    DmaWrite(u64, u64),
    DmaRead(u64, u64),
}

fn step() -> impl Strategy<Value = Step> {
    let (core, line, bytes) = (0u8..2, 0u64..96, 1u64..300);
    prop_oneof![
        (core.clone(), line.clone()).prop_map(|(core, line)| Step::Read(core, line)),
        (core.clone(), line.clone()).prop_map(|(core, line)| Step::Write(core, line)),
        (core, line.clone()).prop_map(|(core, line)| Step::Prefetch(core, line)),
        (line.clone(), bytes.clone()).prop_map(|(line, bytes)| Step::DmaWrite(line, bytes)),
        (line, bytes).prop_map(|(line, bytes)| Step::DmaRead(line, bytes)),
    ]
}

fn ddio() -> impl Strategy<Value = Ddio> {
    (0..=small_fabric::WAYS).prop_map(|count| Ddio::top_ways(count, small_fabric::WAYS))
}

fn replacement() -> impl Strategy<Value = Replacement> {
    prop_oneof![Just(Replacement::Lru), Just(Replacement::Nru), Just(Replacement::Random)]
}

fn apply(fabric: &mut Fabric, step: &Step, now: Picos) {
    match *step {
        Step::Read(core, line) => drop(fabric.core_read(core, LineAddr(line), now)),
        Step::Write(core, line) => drop(fabric.core_write(core, LineAddr(line), now)),
        Step::Prefetch(core, line) => drop(fabric.core_prefetch(core, LineAddr(line), now)),
        Step::DmaWrite(line, bytes) => {
            drop(fabric.dma_write(0, LineAddr(line), bytes, DmaKind::Payload, now))
        }
        Step::DmaRead(line, bytes) => drop(fabric.dma_read(0, LineAddr(line), bytes, now)),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn every_operation_keeps_the_invariants(
        steps in prop::collection::vec(step(), 1..150),
        ddio in ddio(),
        replacement in replacement(),
        adjacent_line: bool,
        stream_lines in 0u32..4,
    ) {
        let mut config = small_fabric::config();
        config.ports[0].policy = IoPolicy::uniform(ddio);
        config.socket.llc.replacement = replacement;
        config.private.prefetcher = PrefetcherConfig { adjacent_line, stream_lines };
        let mut fabric = Fabric::new(&config, NoTrace);
        for (i, step) in steps.iter().enumerate() {
            apply(&mut fabric, step, Picos(i as u64 * 10_000));
            prop_assert_eq!(fabric.check_invariants(), Ok(()), "after {:?}, step {}", step, i);
        }
    }

    #[test]
    fn lines_counted_by_devices_are_the_lines_they_asked_for(
        steps in prop::collection::vec(step(), 1..100),
        ddio in ddio(),
    ) {
        let mut config = small_fabric::config();
        config.ports[0].policy = IoPolicy::uniform(ddio);
        let mut fabric = Fabric::new(&config, NoTrace);
        let (mut full, mut partial, mut read) = (0, 0, 0);
        for step in &steps {
            apply(&mut fabric, step, Picos::ZERO);
            match step {
                Step::DmaWrite(_, bytes) => {
                    full += bytes / 64;
                    partial += u64::from(bytes % 64 != 0);
                }
                Step::DmaRead(_, bytes) => read += bytes.div_ceil(64),
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
