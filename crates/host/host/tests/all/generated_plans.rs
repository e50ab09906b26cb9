//! Do plans and restores go by the same rules on every machine, and does a plan name what it cannot reach?

use std::collections::BTreeSet;

use host::Host;
use host::controls::ControlTarget;
use host::tune::{
    DEFAULT_STATE, RestoreOptions, StateDirectory, TunePlan, TunePlanner, apply, ignore_steps,
    restore,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::generated::{Answer, OnWrite, Spec, cases, spec_with_controls};

/// Whether a change of the ways of all sockets is possible, by the rules of the manuals.
fn has_usable_ways(spec: &Spec) -> bool {
    let is_possible = |socket: u32| spec.masks[socket as usize].0 != 0;
    spec.is_server()
        && spec.part().has_ways
        && spec.dies == 1
        && spec.describes_one_llc()
        && (spec.msr_driver, spec.msr_read) == (Answer::Ok, Answer::Ok)
        && spec.reachable().into_iter().all(is_possible)
}

/// Sockets and CPUs whose registers a plan names.
fn named(plan: &TunePlan) -> BTreeSet<(u32, u32)> {
    let of = |target: &ControlTarget| match target {
        ControlTarget::Msr { socket, cpu, .. } => Some((socket.0, cpu.0)),
        _ => None,
    };
    plan.changes.iter().filter_map(|change| of(&change.target)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(150, 3_000),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(soak::seed(52)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn a_plan_names_each_socket_that_it_reaches_and_tells_of_the_others(spec in spec_with_controls()) {
        let directory = spec.expand();
        let host = Host::from_tree(directory.path()).expect("the machine");
        let planner = TunePlanner::new(&host).expect("the sockets").keep_unknown_bits(true);
        let bounds = planner.ways_bounds(None);
        prop_assert!(bounds.is_err() || !spec.hides_sockets(), "{:?}", bounds);
        let plan = match planner.ddio_ways(spec.ways, None) {
            Ok(plan) => plan,
            Err(error) => {
                prop_assert!(!has_usable_ways(&spec), "{}", error);
                return Ok(());
            }
        };
        prop_assert!(has_usable_ways(&spec), "{:?}", plan);
        let sockets: Vec<u32> = named(&plan).into_iter().map(|(socket, _)| socket).collect();
        prop_assert_eq!(&sockets, &spec.reachable());
        for (socket, cpu) in named(&plan) {
            prop_assert!(spec.cpus(socket).contains(&cpu), "CPU {} of socket {}", cpu, socket);
        }
        prop_assert_eq!(!plan.left_out.is_empty(), spec.hides_sockets(), "{:?}", plan.left_out);
    }

    #[test]
    fn what_a_plan_changes_a_restore_puts_back(spec in spec_with_controls()) {
        let directory = spec.expand();
        let host = Host::from_tree(directory.path()).expect("the machine");
        let planner = TunePlanner::new(&host).expect("the sockets").keep_unknown_bits(true);
        let Ok(plan) = planner.ddio_ways(spec.ways, None) else { return Ok(()) };
        let is_plain = spec.msr_write == OnWrite::Taken;
        let old = |target: &ControlTarget| target.read(&host).expect("a value");
        let before: Vec<u64> = plan.changes.iter().map(|change| old(&change.target)).collect();
        let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
        let applied = apply(&host, &state, &plan, &mut Vec::new(), &mut ignore_steps);
        prop_assert!(applied.is_ok(), "{:?}", applied);
        let mut done = Vec::new();
        restore(&host, &state, RestoreOptions::default(), &mut done, &mut ignore_steps)
            .expect("a restore");
        if is_plain {
            let after: Vec<u64> = plan.changes.iter().map(|change| old(&change.target)).collect();
            prop_assert_eq!(before, after, "{:?}", done);
            prop_assert!(done.iter().all(|one| one.result.is_settled()), "{:?}", done);
        }
    }
}
