//! Does `observe` tell the truth of every machine, and write nothing?

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use host::Host;
use host::observe::{Observation, ObserveRequest, ObservedValue, ValueOrigin, observe};
use host::tune::DEFAULT_STATE;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::generated::expected::Switch;
use crate::generated::{Spec, cases, spec};

/// Every file and link of a machine with its content.
fn content(directory: &Path, into: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(directory).expect("a directory of the machine") {
        let path = entry.expect("an entry").path();
        if path.is_symlink() {
            let target = fs::read_link(&path).expect("a link").to_string_lossy().into_owned();
            into.insert(path, target.into_bytes());
        } else if path.is_dir() {
            content(&path, into);
        } else {
            let bytes = fs::read(&path).unwrap_or_default();
            into.insert(path, bytes);
        }
    }
}

fn value<'o>(observed: &'o Observation, key: &str) -> Option<&'o ObservedValue> {
    observed.values.iter().find(|value| value.key == key)
}

/// Checks ways, link and platform against what was drawn.
fn check_values(spec: &Spec, observed: &Observation) -> Result<(), TestCaseError> {
    let ports = spec.expected_ports();
    if let Some(ways) = value(observed, "ddio_ways").filter(|it| it.origin == ValueOrigin::Read) {
        let count = ways.value.as_ref().and_then(toml::Value::as_integer);
        let between = |begin: &str, end: &str| {
            let rest = ways.source.split_once(begin)?.1;
            Some(rest.split_once(end).map_or(rest, |(found, _)| found).to_owned())
        };
        match between("root port ", ":") {
            // An address has colons itself.
            Some(_) => {
                let port = ways.source.split_once("root port ").expect("named").1;
                let off = ports
                    .iter()
                    .any(|(bdf, it)| port.starts_with(bdf.as_str()) && it.switch == Switch::Off);
                prop_assert!(off && count == Some(0), "{}", ways.source);
            }
            None => {
                let socket = between("of socket ", ":").expect("a socket").parse().expect("one");
                let mask = spec.io_ways(socket).expect("a register that can be read");
                prop_assert_eq!(count, Some(i64::from(mask.count_ones())), "{}", ways.source);
            }
        }
    }
    if let Some(lanes) = value(observed, "hardware.pcie.lanes") {
        let count = lanes.value.as_ref().and_then(toml::Value::as_integer);
        let of_device = ports.values().any(|port| {
            let is_its = port.devices.iter().any(|bdf| lanes.source.contains(bdf.as_str()));
            is_its && (port.devices.len() > 1 || port.link.map(|it| i64::from(it[1])) == count)
        });
        prop_assert!(of_device, "{lanes:?} of {ports:?}");
    }
    let asks = observed.questions.iter().any(|open| open.key == "platform");
    prop_assert!(asks || value(observed, "platform").is_some());
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(60, 5_000),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(soak::seed(58)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn what_is_observed_of_any_machine_is_what_it_is_and_nothing_is_written(spec in spec()) {
        let directory = spec.expand();
        let mut before = BTreeMap::new();
        content(directory.path(), &mut before);
        let host = Host::from_tree(directory.path()).expect("the machine");
        let request = ObserveRequest { seconds: 1, ..ObserveRequest::default() };
        let observed = observe(&host, DEFAULT_STATE, &request, &mut |_| true).expect("any port");
        let text = observed.scenario();
        let scenario: Result<toml::Table, _> = text.parse();
        prop_assert!(scenario.is_ok(), "{text}");
        for found in &observed.values {
            prop_assert!(!found.source.is_empty(), "{found:?}");
        }
        check_values(&spec, &observed)?;
        let mut after = BTreeMap::new();
        content(directory.path(), &mut after);
        prop_assert!(before == after, "an observation writes nothing");
    }
}
