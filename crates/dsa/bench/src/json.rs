//! Results as JSON.

use crate::results::{BenchResult, BenchResults, PointResults};
use crate::target::BenchTarget;
use serde_json::{Value, json};

/// The text of `--json`: the command line, the targets, and for each point the result of each target.
#[must_use]
pub fn text(measured: &BenchResults, words: &[String]) -> String {
    let points: Vec<Value> =
        measured.points.iter().map(|point| self::point(point, &measured.targets)).collect();
    let document = json!({
        "command": words,
        "version": env!("CARGO_PKG_VERSION"),
        "targets": measured.targets.iter().map(|target| json!({
            "name": target.to_string(),
            "basis": target.basis(),
        })).collect::<Vec<_>>(),
        "points": points,
    });
    format!("{document:#}\n")
}

fn point(answers: &PointResults, targets: &[BenchTarget]) -> Value {
    let point = &answers.point;
    let each = targets.iter().zip(&answers.answers);
    let each: serde_json::Map<String, Value> =
        each.map(|(target, it)| (target.to_string(), answer(it))).collect();
    json!({
        "size_bytes": point.size_bytes,
        "batch": point.batch,
        "depth": point.depth,
        "threads": point.threads,
        "engines": point.engines,
        "instances": point.instances,
        "queues": point.queues,
        "queue_entries": point.queue_entries,
        "answers": each,
    })
}

fn answer(answer: &BenchResult) -> Value {
    json!({
        "gbytes_per_s": answer.gbytes_per_s,
        "kops_per_s": answer.kops_per_s,
        "cpu_percent": answer.cpu_percent,
        "latency_p50_ns": answer.latency_p50_ns,
        "latency_p99_ns": answer.latency_p99_ns,
        "phases_ns": answer.phases_ns,
        "further": answer.further,
        "operations": answer.operations,
        "fitted_parameters": answer.fitted,
    })
}

/// Parses the first result of the first point of [`text`]; `None`: the text is not one of these. For the
/// process below `skipline-dsa run`, which measures one point on one target.
#[must_use]
pub fn first_result(text: &str) -> Option<BenchResult> {
    let document: Value = serde_json::from_str(text).ok()?;
    let answer = document["points"].get(0)?["answers"].as_object()?.values().next()?;
    let numbers = |key: &str| -> std::collections::BTreeMap<String, f64> {
        let all = answer[key].as_object().into_iter().flatten();
        all.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect()
    };
    Some(BenchResult {
        gbytes_per_s: answer["gbytes_per_s"].as_f64()?,
        kops_per_s: answer["kops_per_s"].as_f64()?,
        cpu_percent: answer["cpu_percent"].as_f64()?,
        latency_p50_ns: answer["latency_p50_ns"].as_f64(),
        latency_p99_ns: answer["latency_p99_ns"].as_f64(),
        phases_ns: numbers("phases_ns"),
        further: numbers("further"),
        operations: answer["operations"].as_u64()?,
        fitted: std::collections::BTreeMap::new(),
    })
}

#[cfg(test)]
mod tests {
    use super::first_result;
    use crate::point::BenchPoint;
    use crate::results::{BenchResult, BenchResults, PointResults};
    use crate::target::BenchTarget;

    #[test]
    fn what_is_written_is_read() {
        let answer = BenchResult {
            gbytes_per_s: 1.5,
            kops_per_s: 7.0,
            cpu_percent: 33.0,
            latency_p50_ns: Some(800.0),
            phases_ns: [("wait".to_owned(), 500.0)].into(),
            operations: 320,
            ..BenchResult::default()
        };
        let point = BenchPoint {
            size_bytes: 64,
            batch: 1,
            depth: None,
            threads: 1,
            engines: None,
            instances: 1,
            queues: 1,
            queue_entries: None,
        };
        let points = vec![PointResults { point, answers: vec![answer.clone()] }];
        let measured = BenchResults { targets: vec![BenchTarget::Device], points };
        assert_eq!(first_result(&super::text(&measured, &[])), Some(answer));
        assert_eq!(first_result("{}"), None);
    }
}
