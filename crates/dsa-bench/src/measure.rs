//! All points on all targets.

use crate::answer::{Answer, Answers, Measured};
use crate::failure::Failure;
use crate::model;
use crate::options::Options;
use crate::point::Point;
use crate::progress::Progress;
use crate::target::Target;
use crate::{real, software};
use std::path::Path;

/// Measures all points on all targets, `command` being the path of `skipline-dsa`: one after the other, so that none disturbs another.
///
/// # Errors
/// If an option is refused, or a target does not work.
pub fn all(options: &Options, command: &Path) -> Result<Measured, Failure> {
    let points = options.points()?;
    let mut targets: Vec<Target> = Vec::new();
    for target in &options.on {
        let target = if options.by_cpu { target.clone().by_cpu() } else { target.clone() };
        if !targets.contains(&target) {
            targets.push(target);
        }
    }
    let mut progress = Progress::new(points.len() * targets.len(), options.out.quiet);
    let mut measured = Vec::new();
    for point in points {
        let mut answers = Vec::new();
        for target in &targets {
            let what = format!("{target}, {}", point.conditions());
            let answer =
                ask(options, &point, target, command, &mut |share| progress.part(&what, share));
            progress.done(&what);
            answers.push(answer?);
        }
        measured.push(Answers { point, answers });
    }
    Ok(Measured { targets, points: measured })
}

/// Asks one target for one point. `command` is the path of `skipline-dsa`.
///
/// # Errors
/// If an option is refused, or the target does not work.
pub fn ask(
    options: &Options,
    point: &Point,
    target: &Target,
    command: &Path,
    watch: &mut dyn FnMut(f64),
) -> Result<Answer, Failure> {
    match target {
        Target::Model(platform) => model::ask(options, point, platform, false, watch),
        Target::ModelCpu(platform) => model::ask(options, point, platform, true, watch),
        Target::Device => real::ask(options, point, false, watch),
        Target::Cpu => real::ask(options, point, true, watch),
        Target::Software => software::ask(options, point, command),
    }
}
