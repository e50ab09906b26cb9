//! Plans and results for people.

use host::tune::{
    AppliedChange, ChangeOutcome, HitRates, OmittedControl, PlannedChange, TunePlan, Verdict,
};

use super::Verification;
use crate::output::{Paint, wrapped};

const WIDTH: usize = 100;

/// Each control of the plan with its old and new value, and the warnings.
pub fn plan(plan: &TunePlan, paint: Paint) -> String {
    let mut text = paint.heading(&plan.command) + "\n";
    for change in &plan.changes {
        text += &self::change(change);
    }
    text + &warnings(plan, paint)
}

/// The warnings of a plan, as notes.
pub fn warnings(plan: &TunePlan, paint: Paint) -> String {
    let mut text = String::new();
    for warning in &plan.warnings {
        for (index, line) in wrapped(warning, WIDTH - 8).into_iter().enumerate() {
            let label = if index == 0 { "note: " } else { "      " };
            text += &format!("  {}\n", paint.warning(format!("{label}{line}")));
        }
    }
    text
}

fn change(change: &PlannedChange) -> String {
    let old = change.old.map_or("?".to_owned(), |old| format!("{old:#x}"));
    if change.only_kept {
        return format!(
            "  {}\n    kept   {old:<10} {}: forgotten when switched off, so the journal keeps it\n",
            change.place, change.old_means
        );
    }
    if change.old == Some(change.asked) {
        return format!("  {}\n    stays  {old:<10} {}\n", change.place, change.old_means);
    }
    format!(
        "  {}\n    now    {old:<10} {}\n    new    {:<10} {}\n",
        change.place,
        change.old_means,
        format!("{:#x}", change.asked),
        change.new_means
    )
}

/// The last line of a dry run: how many values `--apply` would write.
pub fn dry_run(plan: &TunePlan, paint: Paint) -> String {
    let writes = plan.changes.iter().filter(|change| change.old != Some(change.asked)).count();
    match writes {
        0 => "Nothing to write: every control has its value already.\n".to_owned(),
        1 => {
            format!("{}\n", paint.good("Dry run: nothing was written. --apply writes this value."))
        }
        n => format!(
            "{}\n",
            paint.good(format!("Dry run: nothing was written. --apply writes these {n} values."))
        ),
    }
}

/// The outcome of each change, one line each.
pub fn outcomes(applied: &[AppliedChange], paint: Paint) -> String {
    let mut text = String::new();
    for one in applied {
        let result = match &one.outcome {
            ChangeOutcome::Kept => paint.good(format!("{:#x} is in the journal", one.old)),
            ChangeOutcome::AlreadySo => paint.good("had this value already"),
            ChangeOutcome::Set => paint.good(format!("set, reads back {:#x}", one.asked)),
            ChangeOutcome::Ignored => paint.warning(format!(
                "ignored: the write was taken, and it still reads {:#x}",
                one.old
            )),
            ChangeOutcome::Widened { holds } => {
                paint.warning(format!("widened: asked {:#x}, reads back {holds:#x}", one.asked))
            }
            ChangeOutcome::Different { holds } => {
                paint.warning(format!("different: asked {:#x}, reads back {holds:#x}", one.asked))
            }
            ChangeOutcome::NotReadBack { reason } => {
                paint.warning(format!("written, and cannot be read back: {reason}"))
            }
            ChangeOutcome::Refused { reason } => paint.warning(format!("refused: {reason}")),
        };
        text += &format!("  {}: {result}\n", one.place);
    }
    text
}

/// The outcome of each change, the controls that were left out, and, if the changes stay, the command that
/// puts them back.
pub(super) fn applied(
    (applied, left_out): (&[AppliedChange], &[OmittedControl]),
    stay: bool,
    paint: Paint,
) -> String {
    let mut text = outcomes(applied, paint);
    for one in left_out {
        text +=
            &format!("  {}: {}\n", one.place, paint.warning(format!("left out: {}", one.reason)));
    }
    let changed = applied.iter().any(|one| {
        one.outcome.was_written()
            && !matches!(one.outcome, ChangeOutcome::Ignored | ChangeOutcome::Refused { .. })
    });
    if changed && stay {
        text += &format!("{}\n", paint.quiet("`skipline-host restore` puts the old values back."));
    }
    text
}

pub(super) fn verification(verification: &Verification, paint: Paint) -> String {
    let mut text = String::new();
    for before in &verification.before {
        let rate =
            |rates: &HitRates| format!("{:.1} ± {:.1} %", rates.mean_percent, rates.sd_points);
        let socket_rate = |all: &[HitRates]| {
            let same = all.iter().find(|rates| rates.socket == before.socket);
            same.map_or("not measured".to_owned(), rate)
        };
        text += &format!(
            "  hit rate of device writes on socket {} (5 windows of {} ms each)\n    {} before, {} with it, \
             {} with the old value again\n",
            before.socket,
            verification.windows_ms,
            rate(before),
            socket_rate(&verification.after),
            socket_rate(&verification.back),
        );
    }
    text + &match &verification.verdict {
        Verdict::Effective { change_points } => {
            let points = points(*change_points);
            paint.good(format!("effective: the hit rate changed by {points} pp")) + "\n"
        }
        Verdict::NoEffectObserved { change_points } => {
            let points = points(*change_points);
            let line = format!(
                "accepted, no effect observed: the hit rate changed by {points} pp, within noise"
            );
            let how = "To check by other means: compare DRAM writes in `skipline-host monitor` under the same load.";
            format!("{}\n{}\n", paint.warning(line), paint.quiet(how))
        }
        Verdict::Refused => paint.warning("refused") + "\n",
        Verdict::NotJudged { reason } => paint.warning(format!("not judged: {reason}")) + "\n",
    }
}

/// A change with its sign; a change that rounds to zero has no sign.
fn points(change: f64) -> String {
    let text = format!("{change:+.1}");
    if ["-0.0", "+0.0"].contains(&text.as_str()) { "0.0".to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::points;

    #[test]
    fn a_change_of_nothing_has_no_sign() {
        for (change, expected) in
            [(-0.04, "0.0"), (0.0, "0.0"), (-0.0, "0.0"), (0.06, "+0.1"), (-3.0, "-3.0")]
        {
            assert_eq!(points(change), expected);
        }
    }
}
