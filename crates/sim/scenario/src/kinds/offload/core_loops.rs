//! Costs of a core's loops on a platform, by how it stores.

use super::keys::KernelName;
use crate::facts::platform::CoreKernelFacts;
use units::{Cycles, Picos};
use workload::driver::core_mover::{CoreLoops, CoreMoverConfig, Stores};

/// Stand-in loop of operations without data, which no core does.
pub(super) const NO_LOOP: CoreMoverConfig =
    CoreMoverConfig { call: Cycles(0.0), line: Cycles(0.0), stores: Stores::Cached };

/// The loops of a core for all operations, with their costs from `facts`.
pub(in crate::kinds) fn core_loops(kernel: KernelName, facts: &CoreKernelFacts) -> CoreLoops {
    let string = (Cycles(facts.rep_movsb_start_cycles.value), Cycles(facts.rep_movsb_cycles.value));
    CoreLoops {
        call: Cycles(facts.call_cycles.value),
        copy: Cycles(facts.copy_cycles.value),
        fill: Cycles(facts.fill_cycles.value),
        compare: Cycles(facts.compare_cycles.value),
        compare_pattern: Cycles(facts.compare_pattern_cycles.value),
        delta: Cycles(facts.delta_cycles.value),
        crc: Cycles(facts.crc_cycles.value),
        dif: Cycles(facts.dif_cycles.value),
        flush: Cycles(facts.flush_cycles.value),
        stores: match kernel {
            KernelName::Cached | KernelName::RepMovsb => Stores::Cached,
            KernelName::NonTemporal => {
                Stores::NonTemporal { longer: Picos::from_ns(facts.around_ns.value) }
            }
        },
        string: (kernel == KernelName::RepMovsb).then_some(string),
    }
}
