//! Verdict on a change by the hit rates before, with and after it, once the outcome of the writes is known.

use host::cpu::PackageId;
use host::tune::{
    AppliedChange, ChangeOutcome, HitRateResult, HitRates, MeasuredChange, Verdict, verdict,
};
use serde::Serialize;

/// Hit rates of device writes for each socket around the change, and the verdict.
#[derive(Serialize)]
pub struct Verification {
    pub windows_ms: u64,
    pub before: Vec<HitRates>,
    /// Hit rates with the new values.
    pub after: Vec<HitRates>,
    /// Hit rates with the old values again.
    pub back: Vec<HitRates>,
    #[serde(flatten)]
    pub verdict: Verdict,
}

/// Judges the change by the hit rates of the `touched` sockets, whose controls were written; by those of
/// all sockets if it is not known which these are. With the reason `uncounted` hit rates say nothing: a
/// written control is at a socket that is not counted.
pub fn verify_effect(
    around: MeasuredChange,
    (applied, uncounted): (&[AppliedChange], Option<String>),
    touched: Option<&[PackageId]>,
    windows_ms: u64,
) -> Verification {
    let is_refused = |one: &AppliedChange| matches!(one.outcome, ChangeOutcome::Refused { .. });
    let unchanged = applied.iter().all(|one| !one.outcome.was_written());
    let keep_touched = |measured: HitRateResult| {
        measured.map(|mut rates| {
            rates.retain(|rate| touched.is_none_or(|touched| touched.contains(&rate.socket)));
            rates
        })
    };
    let (back, not_back) = match around.back {
        Ok(measured) => (keep_touched(measured), None),
        Err(reason) => (Ok(Vec::new()), Some(reason)),
    };
    let (before, after, back, error) =
        match (keep_touched(around.before), keep_touched(around.after), back) {
            (Ok(before), Ok(after), Ok(back)) => (before, after, back, not_back),
            (Err(error), ..) | (_, Err(error), _) | (.., Err(error)) => {
                (Vec::new(), Vec::new(), Vec::new(), Some(error.to_string()))
            }
        };
    let verdict = match not_set_reason(applied).or(uncounted) {
        _ if applied.iter().any(is_refused) => Verdict::Refused,
        _ if unchanged => Verdict::NotJudged {
            reason: "nothing was changed: every control had its value already".into(),
        },
        Some(reason) => Verdict::NotJudged { reason },
        None if before.is_empty() && error.is_none() => Verdict::NotJudged {
            reason: "this machine has no events for hits of device writes".into(),
        },
        None => match error {
            Some(reason) => Verdict::NotJudged { reason },
            None => verdict(&before, &after, &back),
        },
    };
    Verification { windows_ms, before, after, back, verdict }
}

/// The reason why hit rates say nothing about the value that was asked for: a control does not contain it.
fn not_set_reason(applied: &[AppliedChange]) -> Option<String> {
    applied.iter().find_map(|one| match &one.outcome {
        ChangeOutcome::Ignored => Some(format!("{}: the value did not change", one.place)),
        ChangeOutcome::NotReadBack { reason } => {
            Some(format!("{}: its present value is not known: {reason}", one.place))
        }
        _ => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use host::controls::ControlTarget;
    use host::cpu::CpuId;

    fn verdict_after(outcome: ChangeOutcome) -> Verdict {
        let rates = |mean_percent| {
            Ok(vec![HitRates {
                socket: PackageId(0),
                writes: 1 << 20,
                mean_percent,
                sd_points: 0.1,
            }])
        };
        let target = ControlTarget::Msr { socket: PackageId(0), cpu: CpuId(0), address: 0xc8b };
        let place = target.to_string();
        let applied = [AppliedChange { target, place, old: 0x600, asked: 0x780, outcome }];
        let around =
            MeasuredChange { before: rates(10.0), after: rates(90.0), back: Ok(rates(10.0)) };
        verify_effect(around, (&applied, None), None, 200).verdict
    }

    #[test]
    fn a_control_that_does_not_hold_the_value_is_not_judged_whatever_hit_rates_do() {
        assert_eq!(verdict_after(ChangeOutcome::Set), Verdict::Effective { change_points: 80.0 });
        let unread = ChangeOutcome::NotReadBack { reason: "input/output error".into() };
        for (outcome, expected) in [
            (ChangeOutcome::Ignored, "MSR 0xc8b of socket 0: the value did not change"),
            (unread, "MSR 0xc8b of socket 0: its present value is not known: input/output error"),
        ] {
            let reason = expected.to_owned();
            assert_eq!(verdict_after(outcome), Verdict::NotJudged { reason });
        }
    }
}
