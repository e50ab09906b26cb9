//! `[hardware]`: facts of the platform and of devices beside it, replaced by a scenario.

use address_map::AddressMap;
use scenario::platform::Platform;
use scenario::{InputError, NamedDevices, Scenario, builtin};
use units::LineAddr;
use units::narrow::fit;

const SKYLAKE: &str = "platform = \"skylake-gold-6140\"\n";
/// A platform whose own card has 10 Gbit/s.
const BLOG: &str = "platform = \"cascade-lake-blog\"\n";

fn read(
    text: &str,
    overrides: &[(&str, &str)],
) -> Result<(Platform, Vec<NamedDevices>), InputError> {
    let owned: Vec<(String, String)> =
        overrides.iter().map(|(key, value)| (key.to_string(), value.to_string())).collect();
    let scenario = Scenario::read("a.toml", text, &owned)?;
    let name = &scenario.platform_name();
    let platform = builtin::platform_with("a.toml", name, &scenario.platform_facts())?;
    let named = scenario.named_devices("a.toml")?;
    Ok((platform, named))
}

fn refusal(text: &str, overrides: &[(&str, &str)]) -> String {
    read(text, overrides).expect_err("must be refused").to_string()
}

/// The rate at which the card of each tenant sends, and the lanes and rate of its link.
fn cards(text: &str, overrides: &[(&str, &str)]) -> Vec<(f64, u32, f64)> {
    let (platform, named) = read(text, overrides).unwrap_or_else(|error| panic!("{error}"));
    let card = |named: &NamedDevices| {
        let slot = platform.pcie.as_ref();
        let (nic, link) = match &named.nic {
            Some(device) => (&device.nic, device.link_in(platform.slot_rate())),
            None => (platform.nic.as_ref().expect("has a NIC"), slot.expect("has one").clone()),
        };
        let rate = nic.tx_rate_gbps.as_ref().unwrap_or(&nic.line_rate_gbps);
        (rate.value, link.lanes.value, link.gtransfers_per_s.value)
    };
    named.iter().map(card).collect()
}

#[test]
fn facts_of_the_platform_can_be_replaced() {
    let (platform, _) = read(SKYLAKE, &[("hardware.llc.sets_per_slice", "512")]).expect("is valid");
    let llc = platform.llc;
    assert_eq!(llc.sets_per_slice.value, 512);
    assert!(llc.sets_per_slice.source.contains("[hardware]"));
    assert_eq!(llc.ways.value, 11);
}

#[test]
fn a_published_slice_function_is_chosen_by_its_name_and_may_rank_its_sets() {
    let slices = ("hardware.llc.slice_function", "skx-18");
    let sets = ("hardware.llc.set_function", "ranked");
    let map = |overrides: &[(&str, &str)]| {
        let (platform, _) = read(SKYLAKE, overrides).unwrap_or_else(|error| panic!("{error}"));
        scenario::address_map(&platform)
    };
    let plain = ("hardware.llc.set_function", "plain");
    let (plain, ranked) = (map(&[slices, plain]), map(&[slices, sets]));
    let published = slices::published::named("skx-18").expect("is published").sequence();
    let lines_at_least = |map: &AddressMap, least: u32| {
        let mut lines = vec![0u32; map.total_sets() as usize];
        (0..1 << 15).for_each(|line| lines[map.set_of(LineAddr(line)).0 as usize] += 1);
        lines.into_iter().filter(|&lines| lines >= least).count()
    };
    for line in (0..1u64 << 30).step_by(999_983).map(LineAddr) {
        assert_eq!(plain.slice_of(line).0, fit::<u16, u32>(published.slice(line)));
        assert_eq!(ranked.slice_of(line), plain.slice_of(line));
    }
    // A huge page puts several lines into some sets of the plain index, and into none of ranked ones.
    assert!(lines_at_least(&plain, 2) > 1000);
    assert_eq!(lines_at_least(&ranked, 2), 0);
}

#[test]
fn a_slice_function_is_refused_where_it_does_not_fit_and_the_message_says_what_would() {
    let with = |function, sets| {
        refusal(
            SKYLAKE,
            &[("hardware.llc.slice_function", function), ("hardware.llc.set_function", sets)],
        )
    };
    let unknown = with("skx-19", "plain");
    assert!(unknown.contains("skx-19") && unknown.contains("xor, table"), "{unknown}");
    assert!(unknown.contains("skx-18, skx-20") && unknown.contains("spr-60"), "{unknown}");
    let wrong = with("skx-26", "plain");
    assert!(wrong.contains("llc.slices") && wrong.contains("26"), "{wrong}");
    let even = with("balanced", "ranked");
    assert!(even.contains("llc.set_function") && even.contains("plain"), "{even}");
}

#[test]
fn facts_of_a_card_are_those_of_every_card_also_of_one_that_a_tenant_names() {
    let slow = ("hardware.nic.tx_rate_gbps", "5");
    assert_eq!(cards(SKYLAKE, &[slow]), [(5.0, 16, 8.0)]);
    let text = format!("{SKYLAKE}nic = \"xl710\"\n[[tenant]]\nname = \"b\"\nnic = \"connectx-6\"");
    assert_eq!(cards(&text, &[slow]), [(5.0, 8, 8.0), (5.0, 16, 8.0)]);
    let (_, named) = read(&text, &[slow]).expect("is valid");
    let rate = named[0].nic.as_ref().expect("is named").nic.tx_rate_gbps.as_ref();
    assert!(rate.expect("is stated").source.contains("[hardware]"));
}

#[test]
fn a_faster_link_is_one_of_slot_and_card() {
    let text = format!("{SKYLAKE}nic = \"connectx-6\"");
    let (lanes, rate) = (("hardware.pcie.lanes", "4"), ("hardware.pcie.gtransfers_per_s", "16"));
    let [(_, lanes, rate)] = cards(&text, &[lanes, rate])[..] else { panic!("one tenant") };
    assert_eq!((lanes, rate), (4, 16.0));
}

#[test]
fn an_unused_card_does_not_say_what_is_allowed() {
    let text = format!("{BLOG}nic = \"connectx-5\"");
    let rate = ("hardware.nic.tx_rate_gbps", "50");
    assert_eq!(cards(&text, &[rate])[0].0, 50.0);
    let beside = format!("{text}\n[[tenant]]\nname = \"b\"\nnic = \"solarflare-10g\"");
    let message = refusal(&beside, &[rate]);
    assert!(message.contains("solarflare-10g.toml, replaced by the scenario"), "{message}");
}

#[test]
fn facts_of_ssds_can_be_replaced_where_there_are_some() {
    let text = format!("{SKYLAKE}application = \"block-io\"\nssd = \"xg5\"");
    let units = ("hardware.ssd.units", "7");
    let (_, named) = read(&text, &[units]).expect("is valid");
    assert_eq!(named[0].ssd.as_ref().map(|device| device.ssd.units.value), Some(7));
    let message = refusal(SKYLAKE, &[units]);
    assert!(
        message.contains("`hardware.ssd.units`: no SSD is used: name one with `ssd`"),
        "{message}"
    );
}

#[test]
fn what_is_wrong_with_a_replaced_fact_is_said_of_the_scenario() {
    let named = format!("{SKYLAKE}nic = \"xl710\"");
    for text in [SKYLAKE, &named] {
        for (key, value, said) in [
            ("hardware.nic.tx_rate_gbs", "5", "did you mean `tx_rate_gbps`?"),
            (
                "hardware.nic.tx_rate_gbps",
                "fast",
                "`hardware.nic.tx_rate_gbps`: \"fast\" is a text",
            ),
            ("hardware.nic.tx_rate_gbps", "0", "`hardware.nic.tx_rate_gbps` = 0: allowed: 0.1 to"),
            ("hardware.nic", "5", "write the key of one of them"),
            ("hardware.nic.line_rate_gbps.value", "5", "write `hardware.nic.line_rate_gbps`"),
            ("hardware.nic.line_rate_gbps.source", "me", "write `hardware.nic.line_rate_gbps`"),
            ("hardware.nik.tx_rate_gbps", "5", "no table `nik`; did you mean `nic`?"),
        ] {
            let message = refusal(text, &[(key, value)]);
            assert!(message.contains(said), "{key}: {message}");
            assert!(message.contains(".toml, replaced by the scenario: "), "{message}");
            assert!(message.contains("hardware.ni"), "{message}");
        }
    }
}

#[test]
fn a_key_of_a_device_is_refused_with_the_place_where_it_belongs() {
    let named = format!("{SKYLAKE}nic = \"xl710\"\nssd = \"xg5\"\n[[tenant]]\nname = \"b\"");
    for (text, key) in [
        (SKYLAKE, "nic.tx_rate_gbps"),
        (&named, "nic.tx_rate_gbps"),
        (&named, "tenant.0.nic.tx_rate_gbps"),
        (&named, "ssd.units"),
    ] {
        let message = refusal(text, &[(key, "5")]);
        let belongs = key.trim_start_matches("tenant.0.");
        assert!(message.starts_with(&format!("--set: `{key}`: ")), "{message}");
        assert!(message.contains(&format!("write `hardware.{belongs}`")), "{message}");
    }
    for table in ["[nic]", "[[tenant]]\nname = \"b\"\n[tenant.nic]"] {
        let message = refusal(&format!("{SKYLAKE}{table}\ntx_rate_gbps = 5"), &[]);
        assert!(message.contains("a.toml"), "{message}");
        assert!(message.contains("write `hardware.nic.tx_rate_gbps`"), "{message}");
    }
    let as_value = refusal(SKYLAKE, &[("nic", "{ tx_rate_gbps = 5 }")]);
    assert!(as_value.contains("write `hardware.nic.tx_rate_gbps`"), "{as_value}");
    let of_platform = refusal(SKYLAKE, &[("llc.sets_per_slice", "512")]);
    assert!(of_platform.contains("hardware.llc"), "{of_platform}");
    assert!(read(SKYLAKE, &[("hardware.nic.tx_rate_gbps", "5")]).is_ok());
}

#[test]
fn rival_facts_of_a_cache_are_refused_where_they_have_no_meaning() {
    let together = ("hardware.software.pages", "together");
    let start = "hardware.software.memory_start_bytes";
    let haswell = "platform = \"haswell-e5-2667v3\"\n";
    let moved = ("hardware.llc.inclusive_move", "device-write");
    for (text, overrides, said) in [
        (SKYLAKE, [(start, "4096")].as_slice(), "only with software.pages = \"together\""),
        (SKYLAKE, &[together, (start, "100")], "a multiple of 4096"),
        (SKYLAKE, &[together, (start, "1073741824")], "allowed: 0 to 1073737728"),
        (haswell, &[moved], "only where llc.inclusion is non-inclusive"),
    ] {
        let message = refusal(text, overrides);
        assert!(message.contains(said), "{overrides:?}: {message}");
    }
    assert!(read(SKYLAKE, &[together, (start, "1073737728"), moved]).is_ok());
}
