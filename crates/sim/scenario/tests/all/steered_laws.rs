//! Laws of controllers and of loads that change, tried in scenarios at random: what a controller may
//! set, when it must not show, and what a load offers.

use crate::laws::{cases, stays_within_bounds};
use crate::random_scenarios::{Sketch, any_scenario, forwarder, measured};
use proptest::prelude::*;
use proptest::sample::select;
use scenario::result::RunResult;

/// Why a scenario may have no controller, in the words of the refusal.
const REASONS: [&str; 2] =
    ["needs a platform without [root_complex_buffer]", "tenants have different ddio_ways"];

/// A short run of a fixed length, with DDIO on.
fn short(sketch: &Sketch, ways: u32) -> Sketch {
    let on = if sketch.number(0, "ddio_ways") == Some(0.0) {
        sketch.with_of(0, "ddio_ways", ways)
    } else {
        sketch.clone()
    };
    on.with("run.batch_packets", 512).with("run.min_batches", 10).with("run.max_batches", 10)
}

fn steered(sketch: &Sketch, kind: &str, bounds: (u32, u32), period_us: f64) -> Sketch {
    sketch
        .with("controller.kind", format!("\"{kind}\""))
        .with("controller.period_us", format!("{period_us:.1}"))
        .with("controller.min_ways", bounds.0)
        .with("controller.max_ways", bounds.1)
}

/// The result; nothing where the machine or the application has no ways that a controller may set.
fn answer(sketch: &Sketch) -> Option<RunResult> {
    match sketch.run(1) {
        Ok(result) => Some(result),
        Err(refusal) => {
            let told = refusal.to_string();
            assert!(REASONS.iter().any(|reason| told.contains(reason)), "{told}: {sketch:?}");
            None
        }
    }
}

fn number(result: &RunResult, name: &str) -> f64 {
    measured(result, name).map_or(f64::NAN, |(value, _)| value)
}

fn load(shares: &[f64]) -> String {
    let texts: Vec<String> = shares.iter().map(|share| format!("{share:.3}")).collect();
    format!("[{}]", texts.join(", "))
}

proptest! {
    #![proptest_config(cases(2, 6))]

    #[test]
    fn ways_stay_between_where_they_are_and_the_bounds(
        sketch in any_scenario(), kind in select(vec!["threshold", "iat"]),
        least in 1..5_u32, more in 0..5_u32, period_us in 1.0..50.0_f64,
    ) {
        let sketch = short(&sketch, 2);
        let bounds = (least, least + more);
        if let Some(result) = answer(&steered(&sketch, kind, bounds, period_us)) {
            stays_within_bounds(&sketch, &result)?;
            let start = sketch.number(0, "ddio_ways").unwrap_or(2.0);
            let (low, high) = (start.min(f64::from(bounds.0)), start.max(f64::from(bounds.1)));
            let ways = number(&result, "ddio_ways");
            prop_assert!(ways.is_nan() || (low..=high).contains(&ways), "{ways} of {low} to {high}");
        }
    }

    #[test]
    fn a_controller_that_may_not_move_changes_nothing(
        sketch in forwarder(1), ways in 1..6_u32, period_us in 1.0..50.0_f64,
    ) {
        let still = short(&sketch, ways).with_of(0, "ddio_ways", ways);
        let held = steered(&still, "threshold", (ways, ways), period_us);
        if let (Some(without), Some(with)) = (answer(&still), answer(&held)) {
            for name in ["throughput_gbps", "pcie_write_hit_rate", "dram_write_gbytes_per_s"] {
                let (without, with) = (number(&without, name), number(&with, name));
                let same = without.to_bits() == with.to_bits();
                prop_assert!(same, "{name}: {without} without, {with} with a controller");
            }
        }
    }

    #[test]
    fn a_load_offers_the_mean_of_its_shares(
        sketch in forwarder(0),
        shares in prop::collection::vec(prop_oneof![Just(0.0), 0.05..=1.0_f64], 1..6),
        step_us in 0.5..3.0_f64,
    ) {
        prop_assume!(shares.iter().any(|&share| share > 0.0));
        let whole = short(&sketch, 2).with("run.batch_packets", 4096);
        let varying = whole
            .with_of(0, "traffic.load", load(&shares))
            .with_of(0, "traffic.load_step_us", format!("{step_us:.2}"));
        if let (Some(whole), Some(varying)) = (answer(&whole), answer(&varying)) {
            let (whole, varying) = (number(&whole, "offered_gbps"), number(&varying, "offered_gbps"));
            let mean = shares.iter().sum::<f64>() / shares.len() as f64;
            let share = varying / whole;
            prop_assert!((share - mean).abs() <= 0.05 * mean + 0.02, "{share}, not {mean}");
        }
    }

    #[test]
    fn a_load_of_all_of_it_is_no_other_load(sketch in forwarder(1), steps in 1..4_usize) {
        let whole = short(&sketch, 2);
        let same = whole.with_of(0, "traffic.load", load(&vec![1.0; steps]));
        if let (Some(one), Some(other)) = (answer(&whole), answer(&same)) {
            for name in ["throughput_gbps", "offered_gbps", "pcie_write_hit_rate"] {
                let (one, other) = (number(&one, name), number(&other, name));
                let near = (one - other).abs() <= 1e-9 * one.abs() || one.is_nan() && other.is_nan();
                prop_assert!(near, "{name}: {one}, with a load {other}");
            }
        }
    }
}
