//! Are the results of `docs/evidence/kept/dsa-figures.json`, from which a page has its table, those of the
//! model as it is? `make docs-tables MEASURE=dsa-figures` makes them anew.

use crate::measurements::{CORES, MODEL, measure};
use dsa_bench::results::{BenchResult, BenchResults};
use serde_json::Value;
use std::path::Path;

/// Results are kept in six digits.
const ROUNDING: f64 = 1e-5;

#[test]
fn kept_figures_are_those_of_the_model() {
    let kept = kept();
    let lines = kept["lines"].as_array().expect("lines");
    assert!(lines.len() > 20, "{}", lines.len());
    for line in lines.iter().filter(|line| is_measured(line)) {
        let options = line["options"].as_str().expect("text");
        let options = options.replace("M,C", &format!("{MODEL},{CORES}"));
        let options = format!("-zF,F {}", options.replace("--on M ", &format!("--on {MODEL} ")));
        let measured = measure(&options).unwrap_or_else(|failure| panic!("{options}: {failure}"));
        check(&options, &measured, line["results"].as_array().expect("results"));
    }
}

fn kept() -> Value {
    let file =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/evidence/kept/dsa-figures.json");
    serde_json::from_str(&std::fs::read_to_string(file).expect("kept results")).expect("JSON")
}

/// A soak takes all lines with throughputs, other runs those of one point.
fn is_measured(line: &Value) -> bool {
    let results = line["results"].as_array().expect("results");
    // A size from which on a device is faster lies between two sizes with throughputs of other lines.
    let has_points = results[0].get("size_bytes").is_some();
    has_points && soak::amount(results.len() == 1, true)
}

fn check(options: &str, measured: &BenchResults, kept: &[Value]) {
    assert_eq!(measured.points.len(), kept.len(), "{options}");
    for (point, kept) in measured.points.iter().zip(kept) {
        assert_eq!(kept["size_bytes"], point.point.size_bytes, "{options}");
        for (name, answer) in ["M", "C"].iter().zip(&point.answers) {
            let same = is_same(answer, &kept[name]);
            assert!(same, "{options}, {} B: {answer:?}, kept {}", kept["size_bytes"], kept[name]);
        }
    }
}

/// Throughput, or the phases or a further number, where a figure shows these.
fn is_same(answer: &BenchResult, kept: &Value) -> bool {
    let near = |one: f64, kept: &Value| {
        kept.as_f64().is_some_and(|kept| (one - kept).abs() <= ROUNDING * kept.abs())
    };
    match kept {
        Value::Object(phases) => {
            phases.iter().all(|(name, kept)| near(answer.phases_ns[name], kept))
        }
        number => {
            near(answer.gbytes_per_s, number)
                || answer.further.values().any(|one| near(*one, number))
        }
    }
}
