//! Does a scenario take from its testbed what it does not state, and nothing that would not act?

use scenario::{Scenario, Testbed, builtin, job};
use serde_json::Value;
use serde_json::json;

fn read(text: &str, set: &[(&str, &str)]) -> Scenario {
    let set: Vec<_> = set.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    Scenario::read("a.toml", text, &set).unwrap_or_else(|error| panic!("{error}"))
}

fn refusal(text: &str) -> String {
    Scenario::read("a.toml", text, &[]).map(drop).expect_err("is refused").to_string()
}

/// The value of a key in the scenario as results record it.
fn key(scenario: &Scenario, pointer: &str) -> Value {
    let recorded = serde_json::to_value(scenario).expect("is JSON");
    recorded.pointer(pointer).expect("it has the key").clone()
}

fn taken(scenario: &Scenario) -> Vec<&str> {
    let testbed = scenario.testbed.as_ref().expect("it names one");
    testbed.settings.iter().map(|setting| setting.key.as_str()).collect()
}

const FORWARDER: &str = "testbed = 'atc20-skylake'\napplication = 'l2-forward'\n";

#[test]
fn what_a_scenario_does_not_state_is_its_testbed_s() {
    let scenario = read(FORWARDER, &[]);
    assert_eq!(scenario.platform_name(), "skylake-gold-6140");
    assert_eq!(key(&scenario, "/traffic/turn_packets"), 32);
    assert!(taken(&scenario).contains(&"traffic.turn_packets"));
}

#[test]
fn what_a_scenario_or_a_command_states_wins() {
    let own = format!("{FORWARDER}pool_cache = 9\n[traffic]\nturn_packets = 7\n");
    let scenario = read(&own, &[("traffic.train_packets", "64"), ("platform", "ice-lake-40")]);
    let keys = ["/pool_cache", "/traffic/turn_packets", "/traffic/train_packets"];
    assert_eq!(keys.map(|name| key(&scenario, name)), [9, 7, 64]);
    assert_eq!(scenario.platform_name(), "ice-lake-40");
    for key in ["pool_cache", "traffic.turn_packets", "traffic.train_packets"] {
        assert!(!taken(&scenario).contains(&key), "{key}");
    }
    // A testbed may be changed from outside as well.
    let moved = read(FORWARDER, &[("testbed", "atc20-haswell")]);
    assert_eq!(moved.platform_name(), "haswell-e5-2699v3");
}

#[test]
fn what_would_not_act_is_left_out_and_what_acts_for_a_neighbour_is_not() {
    let kernel = "testbed = 'atc20-skylake'\napplication = 'memory-kernel'\n\
                  memory_kernel.working_set_bytes = 65536\n";
    let place = ["hardware.software.memory_start_bytes", "hardware.software.pages"];
    let taken_by_kernel = [place.as_slice(), &["initial_content", "page_size"]].concat();
    assert_eq!(taken(&read(kernel, &[])), taken_by_kernel);
    let beside = format!("{kernel}[[tenant]]\nname = 'b'\napplication = 'l2-forward'\n");
    assert!(taken(&read(&beside, &[])).contains(&"traffic.turn_packets"));
    // Stated in the scenario itself, the same key is refused.
    let stated = format!("{kernel}pool_cache = 256\n");
    let scenario = builtin::platform("a.toml", "skylake-gold-6140").and_then(|platform| {
        let read = Scenario::read("a.toml", &stated, &[])?;
        scenario::Job::new("a.toml", read, platform, "the platform", 1).map(drop)
    });
    let refused = scenario.expect_err("is refused").to_string();
    assert!(refused.contains("pool_cache") && refused.contains("no effect"), "{refused}");
    // Random packets come in no trains.
    let random = read(FORWARDER, &[("traffic.pattern", "random")]);
    assert!(!taken(&random).contains(&"traffic.turn_packets"));
}

#[test]
fn the_place_of_a_testbed_s_memory_goes_with_its_pages() {
    let place = "hardware.software.memory_start_bytes";
    assert!(taken(&read(FORWARDER, &[])).contains(&place));
    let others = [
        ("page_size", "2M"),
        ("hardware.software.pages", "scattered"),
        ("platform", "sapphire-rapids-56"),
    ];
    for other in others {
        assert!(!taken(&read(FORWARDER, &[other])).contains(&place), "{other:?}");
    }
    for same in [("page_size", "1G"), ("platform", "skylake-gold-6140")] {
        assert!(taken(&read(FORWARDER, &[same])).contains(&place), "{same:?}");
    }
    let elsewhere = read(FORWARDER, &[(place, "4096")]);
    assert!(taken(&elsewhere).contains(&"hardware.software.pages"));
}

#[test]
fn a_result_lists_what_the_testbed_gave_and_what_of_it_was_fitted() {
    let set = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let short = [
        set("run.batch_packets", "300"),
        set("run.min_batches", "10"),
        set("run.max_batches", "10"),
        set("rx_descriptors", "256"),
    ];
    let job = job("experiments/ddio-bench/l2fwd.toml", &short, 1).expect("it is valid");
    let files = scenario::input_files("experiments/ddio-bench/l2fwd.toml", &job);
    assert!(files.contains(&"testbeds/atc20-skylake.toml".to_owned()), "{files:?}");
    let go_on = |_| std::ops::ControlFlow::Continue(());
    let result = job.run(scenario::RecordingRequest::default(), go_on).expect("it runs");
    let testbed = result.testbed.expect("the scenario names one");
    assert_eq!(
        (testbed.name.as_str(), testbed.measurements),
        ("atc20-skylake", vec!["ddio-bench".into()])
    );
    let place = "hardware.software.memory_start_bytes";
    let fitted = result.fitted_parameters.iter().find(|it| it.key == place);
    let fitted = fitted.expect("it was fitted");
    assert_eq!(fitted.value, json!(22_478_848));
    assert!(fitted.fitted_on.starts_with("ddio-bench"), "{}", fitted.fitted_on);
}

#[test]
fn every_built_in_testbed_is_valid() {
    let names = builtin::testbed_names();
    assert!(names.len() > 5, "{names:?}");
    for name in names {
        let testbed = builtin::testbed("a.toml", &name).unwrap_or_else(|error| panic!("{error}"));
        builtin::platform("a.toml", &testbed.platform).unwrap_or_else(|error| panic!("{error}"));
        assert!(!testbed.measurements.is_empty(), "{name}");
    }
}

#[test]
fn a_wrong_testbed_is_refused_by_file_and_key() {
    let refused = refusal("testbed = 'atc20-skylak'\n");
    assert!(refused.contains("did you mean `atc20-skylake`"), "{refused}");
    let refused = refusal("testbed = 3\n");
    assert!(refused.starts_with("a.toml: `testbed`: expected a name"), "{refused}");
    let read = |settings: &str| {
        let text = format!("title = 't'\nplatform = 'ice-lake-40'\n[settings]\n{settings}\n");
        Testbed::read("t.toml", "t.toml", &text).map(drop).expect_err("is refused").to_string()
    };
    let seen = "source = 's', confidence = 'seen'";
    for (settings, wanted) in [
        ("page_size = '2M'", "`settings.page_size`: expected { value"),
        ("page_size = { value = '2M', source = 's' }", "missing field `confidence`"),
        ("page_size = { value = '2M', source = 's', confidence = 'fitted' }", "`fitted_on` says"),
        (&format!("page_siz = {{ value = '2M', {seen} }}"), "t.toml: unknown key `page_siz`"),
        (&format!("page_size = {{ value = '3M', {seen} }}"), "t.toml: `page_size`"),
        (&format!("tenant = {{ value = 1, {seen} }}"), "the scenario's own"),
    ] {
        let refused = read(settings);
        assert!(refused.contains(wanted), "{settings}: {refused}");
    }
}
