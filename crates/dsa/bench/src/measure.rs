//! All points on all targets.

use crate::failure::Failure;
use crate::model;
use crate::options::BenchOptions;
use crate::point::BenchPoint;
use crate::progress::ProgressDisplay;
use crate::results::{BenchResult, BenchResults, PointResults};
use crate::target::BenchTarget;
use crate::target_limits::check_target;
use crate::{real, software};
use std::path::Path;

/// Measures all points on all targets, one after the other, so that no measurement disturbs another.
/// `command` is the path of `skipline-dsa`.
///
/// # Errors
/// If an option is refused, or a target does not work.
pub fn measure_all(options: &BenchOptions, command: &Path) -> Result<BenchResults, Failure> {
    let points = options.points()?;
    let mut targets: Vec<BenchTarget> = Vec::new();
    for target in &options.on {
        let target = if options.by_cpu { target.clone().by_cpu() } else { target.clone() };
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    for (point, target) in points.iter().flat_map(|point| targets.iter().map(move |it| (point, it)))
    {
        check_target(options, point, target)?;
    }
    let mut progress = ProgressDisplay::new(points.len() * targets.len(), options.out.quiet);
    let mut measured = Vec::new();
    for point in points {
        let mut answers = Vec::new();
        for target in &targets {
            let what = format!("{target}, {}", point.conditions());
            let answer = measure_point(options, &point, target, command, &mut |share| {
                progress.update(&what, share);
            });
            progress.finish_step(&what);
            answers.push(answer?);
        }
        measured.push(PointResults { point, answers });
    }
    Ok(BenchResults { targets, points: measured })
}

/// Measures one point on one target. `command` is the path of `skipline-dsa`; `watch` is called with the
/// share of the measurement that is done, 0 to 1.
///
/// # Errors
/// If an option is refused, or the target does not work.
pub fn measure_point(
    options: &BenchOptions,
    point: &BenchPoint,
    target: &BenchTarget,
    command: &Path,
    watch: &mut dyn FnMut(f64),
) -> Result<BenchResult, Failure> {
    match target {
        BenchTarget::Model(platform) => model::measure(options, point, platform, false, watch),
        BenchTarget::ModelCpu(platform) => model::measure(options, point, platform, true, watch),
        BenchTarget::Device => real::measure(options, point, false, watch),
        BenchTarget::Cpu => real::measure(options, point, true, watch),
        BenchTarget::Software => software::measure(options, point, command),
    }
}
