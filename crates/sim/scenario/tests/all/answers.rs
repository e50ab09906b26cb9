//! Does the answer of a run name what limits it? `answers.toml` has a scenario for each kind of limit, and its sentence.

use scenario::result::RunResult;
use scenario::{InputError, Job, RecordingRequest, Scenario, builtin};
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fs;
use std::ops::ControlFlow;

const PLATFORM: &str = "skylake-gold-6140";

/// Twelve batches are enough to tell what is busy.
const SHORT: &str = "run.batch_packets = 1024\nrun.min_batches = 10\nrun.max_batches = 12\n";

#[derive(Deserialize)]
struct Table {
    case: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    /// The kind of the busiest resource of the main tenant, or what no resource is.
    limit: String,
    /// Its sentence, `*` for each number.
    answer: String,
    scenario: String,
}

fn cases() -> Vec<Case> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/all/answers.toml");
    let text = fs::read_to_string(path).expect("it is beside this file");
    toml::from_str::<Table>(&text).expect("it is a table of cases").case
}

fn run(text: &str) -> Result<RunResult, InputError> {
    let text = format!("platform = \"{PLATFORM}\"\n{text}");
    let scenario = Scenario::read("the case", &text, &[])?;
    let platform = builtin::platform_with("the case", PLATFORM, &scenario.platform_facts())?;
    let job = Job::new("the case", scenario, platform, PLATFORM, 1)?;
    Ok(job
        .run(RecordingRequest::default(), |_| ControlFlow::Continue(()))
        .expect("it makes progress"))
}

/// Whether a sentence is as its pattern says: the words between its stars are there, in order.
fn says(answer: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = answer.strip_prefix(first) else { return false };
    let ends_with_star = pattern.ends_with('*');
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.is_empty() || ends_with_star
}

/// The kind of the first limit of the main tenant, as results write it.
fn kinds(result: &RunResult) -> Vec<String> {
    let own =
        result.limits.iter().filter(|limit| limit.tenant.as_deref().is_none_or(|of| of == "main"));
    let written = own.map(|limit| serde_json::to_value(limit.kind).expect("a kind is JSON"));
    written.map(|kind| kind.as_str().expect("a kind is a name").to_owned()).collect()
}

/// The kinds that answers must tell of: all but memory, which others wait for.
const KINDS: [&str; 13] = [
    "core",
    "wire-in",
    "wire-out",
    "receive-pipeline",
    "send-pipeline",
    "media-reads",
    "media-writes",
    "link-towards-memory",
    "link-towards-device",
    "write-entries",
    "read-entries",
    "page-walks",
    "socket-link",
];

#[test]
fn each_kind_of_limit_has_its_sentence() {
    let mut wrong = Vec::new();
    let mut seen = BTreeSet::new();
    for Case { limit, answer, scenario } in cases() {
        let (top, tenants) = scenario.split_at(scenario.find("[[").unwrap_or(scenario.len()));
        let result = run(&format!("{top}{SHORT}{tenants}"));
        let result = match result {
            Ok(result) => result,
            Err(refusal) => {
                wrong.push(format!("{limit}: {refusal}"));
                continue;
            }
        };
        let kinds = kinds(&result);
        let told = kinds.iter().find(|kind| **kind == limit || *kind != "wire-in");
        let is_kind = !KINDS.contains(&limit.as_str()) || told == Some(&limit) || kinds[0] == limit;
        if !says(&result.answer, &answer) || !is_kind {
            wrong.push(format!(
                "{limit}: {}\n  instead of {answer}\n  busiest {kinds:?}",
                result.answer
            ));
        }
        seen.insert(limit);
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let missing: Vec<&&str> = KINDS.iter().filter(|kind| !seen.contains(**kind)).collect();
    assert!(missing.is_empty(), "no answer tells of {missing:?}");
}
