//! Is a recorded measurement calibrated correctly?
//!
//! The recording is of a virtual machine on an AMD EPYC (Zen 4), whose last-level cache other virtual
//! machines used at the same time.

use facts::Kind;
use host::calibrate::{Measurement, SizeRole, platform};

const MEASURED: &str = include_str!("calibrate/epyc.measured.json");
const PLATFORM: &str = include_str!("calibrate/epyc.toml");

fn recorded() -> Measurement {
    Measurement::read("epyc.measured.json", MEASURED).unwrap()
}

/// The facts of a platform with those of the platform that it extends.
fn inherited(text: &str) -> toml::Table {
    let resolved = facts::resolve(Kind::Platform, "host.toml", text, &facts::builtin::find);
    resolved.unwrap().document
}

fn value(platform: &toml::Table, section: &str, key: &str) -> toml::Value {
    platform[section][key]["value"].clone()
}

#[test]
fn the_platform_of_a_recorded_measurement_is_as_recorded() {
    // If a change of the fit was wanted: skipline-host calibrate --from epyc.measured.json
    // --out epyc.toml in crates/host/host/tests/all/calibrate.
    assert_eq!(platform(&recorded()).unwrap().toml, PLATFORM);
}

#[test]
fn every_number_has_value_source_and_confidence_and_fitted_ones_say_on_what() {
    let platform: toml::Table = PLATFORM.parse().unwrap();
    for (section, facts) in platform.iter().filter(|(_, entry)| entry.is_table()) {
        for (key, fact) in facts.as_table().unwrap() {
            let text = |name: &str| fact.get(name).and_then(toml::Value::as_str);
            assert!(fact.get("value").is_some(), "{section}.{key}");
            assert!(!text("source").unwrap().is_empty(), "{section}.{key}");
            let fitted = text("confidence") == Some("fitted");
            assert_eq!(fitted, text("fitted_on").is_some(), "{section}.{key}");
        }
    }
}

#[test]
fn what_was_not_measured_is_assumed_from_the_named_platform() {
    let platform = inherited(PLATFORM);
    let assumed = &platform["l2"]["replacement"];
    let source = "assumed as on the Sapphire Rapids 56-core server; not measured on this host";
    assert_eq!(platform["dram"]["tcl_ns"]["source"].as_str(), Some(source));
    assert_eq!(assumed["confidence"].as_str(), Some("memory"));
    for table in ["nic", "iio", "dram", "software", "applications"] {
        assert!(platform.contains_key(table), "{table}");
    }
    for table in ["mesh", "upi", "cxl", "directory"] {
        assert!(!platform.contains_key(table), "{table} is not known of this host");
    }
}

#[test]
fn only_sizes_that_fit_choose_parameters() {
    let mut disturbed = recorded();
    for chase in disturbed.chase.iter_mut().filter(|chase| chase.role == SizeRole::Kept) {
        chase.latency_ns.iter_mut().for_each(|ns| *ns *= 7.0);
    }
    assert_eq!(platform(&disturbed).unwrap().toml, PLATFORM);
    for chase in disturbed.chase.iter_mut().filter(|chase| chase.role == SizeRole::Fit) {
        chase.latency_ns.iter_mut().for_each(|ns| *ns *= 1.5);
    }
    assert_ne!(platform(&disturbed).unwrap().toml, PLATFORM);
}

#[test]
fn caches_that_cpuid_reports_are_taken_where_the_curve_agrees_only() {
    let platform_of = |measurement: &Measurement| -> toml::Table {
        platform(measurement).unwrap().toml.parse().unwrap()
    };
    let honest = platform_of(&recorded());
    assert_eq!(value(&honest, "l1d", "sets").as_integer(), Some(64));
    assert_eq!(value(&honest, "l2", "sets").as_integer(), Some(2048));
    let llc = |key: &str| value(&honest, "llc", key).as_integer().unwrap();
    let bytes = llc("slices") * llc("sets_per_slice") * llc("ways") * 64;
    assert!(bytes < 16 << 20, "CPUID reports 32 MiB; the curve shows {bytes} bytes");
    let mut lying = recorded();
    let l2 = lying.processor.caches.iter_mut().find(|cache| cache.level == 2).unwrap();
    (l2.size_bytes, l2.sets) = (8 << 20, Some(16_384));
    let found = platform_of(&lying);
    let sets = value(&found, "l2", "sets").as_integer().unwrap();
    assert!((1024..=2048).contains(&sets), "{sets}");
    let source = found["l2"]["sets"]["source"].as_str().unwrap();
    assert!(source.ends_with("CPUID's 8.000 MiB differs"), "{source}");
}

#[test]
fn a_host_of_any_maker_gets_a_platform() {
    let makers = [("GenuineIntel", 6, 85), ("GenuineIntel", 6, 63), ("GenuineIntel", 6, 143)];
    for (vendor, family, model) in makers.into_iter().chain([("AuthenticAMD", 23, 49), ("", 0, 0)])
    {
        let mut measurement = recorded();
        measurement.processor.vendor = vendor.into();
        (measurement.processor.family, measurement.processor.model) = (family, model);
        let made = platform(&measurement).unwrap();
        let table = inherited(&made.toml);
        let inclusion = value(&table, "llc", "inclusion");
        assert_eq!(
            table["llc"].get("inclusive_ways").is_some(),
            inclusion.as_str() == Some("non-inclusive")
        );
        assert_eq!(made.curve, platform(&recorded()).unwrap().curve);
    }
}

/// The answer is known: the kernels ran on the simulated Gold 6140, whose cores fetch neighbouring lines.
#[test]
fn the_caches_of_a_simulated_server_are_found_again() {
    let text = include_str!("../../../../../tests/host/machines/skylake/measured.json");
    let found = platform(&Measurement::read("measured.json", text).unwrap()).unwrap();
    assert!(found.neighbours_fill_half);
    let platform = inherited(&found.toml);
    let number = |section: &str, key: &str| value(&platform, section, key).as_integer().unwrap();
    assert_eq!(value(&platform, "cpu", "adjacent_line_prefetch").as_bool(), Some(true));
    assert_eq!((number("l1d", "sets"), number("l1d", "ways")), (64, 8));
    assert_eq!((number("l2", "sets"), number("l2", "ways")), (1024, 16));
    assert_eq!(number("llc", "ways"), 11);
    let sets = number("llc", "slices") * number("llc", "sets_per_slice");
    assert!((33_000..=41_000).contains(&sets), "{sets} sets, of 36864");
    let near = |section: &str, key: &str, truth: f64| {
        let found = value(&platform, section, key).as_float().unwrap();
        assert!((found / truth - 1.0).abs() < 0.1, "{section}.{key}: {found}, not {truth}");
    };
    near("l2", "latency_cycles", 14.0);
    near("llc", "latency_uncore_cycles", 33.0);
}

#[test]
fn a_cache_that_is_found_as_reported_is_not_doubled() {
    let found = platform(&recorded()).unwrap();
    assert!(!found.neighbours_fill_half);
    // Nor where much less is found than half of what is reported.
    let mut less = recorded();
    less.processor.caches[1].size_bytes *= 4;
    assert!(!platform(&less).unwrap().neighbours_fill_half);
}
