//! Inheritance of facts: which a file gets, how an inherited one is marked, and what is refused.

use facts::{FactsError, Kind, Resolved, resolve};
use std::collections::BTreeMap;
use toml::Value;

/// Cards in memory, by name.
#[derive(Default)]
struct Cards(BTreeMap<String, String>);

impl Cards {
    fn with(mut self, name: &str, text: &str) -> Self {
        self.0.insert(Kind::Nic.path_of(name), text.into());
        self
    }

    fn read(&self, kind: Kind, text: &str) -> Result<Resolved, FactsError> {
        let find = |_: &str, path: &str| {
            let text =
                self.0.get(path).cloned().or_else(|| facts::builtin::file(path).map(String::from));
            text.map(|text| (path.to_string(), text)).ok_or_else(|| "no such file".to_string())
        };
        resolve(kind, "mine.toml", text, &find)
    }

    fn card(&self, text: &str) -> Resolved {
        self.read(Kind::Nic, text).unwrap_or_else(|error| panic!("{error}"))
    }

    fn refusal(&self, text: &str) -> String {
        self.read(Kind::Nic, text).expect_err("must be refused").to_string()
    }
}

fn fact(value: u32, source: &str, confidence: &str) -> String {
    let fitted = if confidence == "fitted" { ", fitted_on = 'a curve'" } else { "" };
    format!("{{ value = {value}, source = '{source}', confidence = '{confidence}'{fitted} }}")
}

fn text<'d>(document: &'d toml::Table, table: &str, key: &str, of: &str) -> Option<&'d str> {
    document[table][key].get(of).and_then(Value::as_str)
}

/// Value, source and confidence of a fact of a card.
fn told<'d>(resolved: &'d Resolved, key: &str) -> (i64, &'d str, &'d str) {
    let fact = |of| text(&resolved.document, "nic", key, of).unwrap_or_default();
    let value = resolved.document["nic"][key]["value"].as_integer().expect("is a number");
    (value, fact("source"), fact("confidence"))
}

fn family() -> Cards {
    let (a, b) = (fact(1, "a manual", "seen"), fact(2, "chosen", "fitted"));
    let old = format!("title = 'Old'\nname = 'the Old'\n[nic]\na = {a}\nb = {b}");
    let c = fact(3, "a guide", "seen");
    let new = format!("title = 'New'\nname = 'the New'\nextends = 'old'\n[nic]\nc = {c}");
    Cards::default().with("old", &old).with("new", &new)
}

#[test]
fn facts_of_another_subject_are_guesses_that_say_of_which_they_are() {
    let heir = family().card("title = 'Heir'\nextends = 'new'");
    assert_eq!(told(&heir, "a"), (1, "assumed as on the Old", "memory"));
    assert_eq!(told(&heir, "b"), (2, "assumed as on the Old, fitted there", "memory"));
    assert_eq!(told(&heir, "c"), (3, "assumed as on the New", "memory"));
    assert_eq!(text(&heir.document, "nic", "b", "fitted_on"), Some("a curve"));
    let origin = |key| text(&heir.document, "nic", key, "origin");
    let (old, new) = (Some("devices/nic/old.toml"), Some("devices/nic/new.toml"));
    assert_eq!((origin("a"), origin("b"), origin("c")), (old, old, new));
    assert_eq!(heir.files, ["mine.toml", new.unwrap(), old.unwrap()]);
}

#[test]
fn facts_of_the_same_subject_stay_what_they_are() {
    let again = family().card("title = 'New, otherwise'\nname = 'the New'\nextends = 'new'");
    assert_eq!(told(&again, "a"), (1, "assumed as on the Old", "memory"));
    assert_eq!(told(&again, "c"), (3, "a guide", "seen"));
    let again = family().card("title = 'Old, otherwise'\nname = 'the Old'\nextends = 'old'");
    assert_eq!(told(&again, "b"), (2, "chosen", "fitted"));
    assert_eq!(text(&again.document, "nic", "b", "fitted_on"), Some("a curve"));
}

#[test]
fn a_fact_of_the_file_itself_stands_before_inherited_ones_and_has_no_origin() {
    let a = fact(7, "measured", "seen");
    let heir = family().card(&format!("title = 'Heir'\nextends = 'new'\n[nic]\na = {a}"));
    assert_eq!(told(&heir, "a"), (7, "measured", "seen"));
    assert_eq!(text(&heir.document, "nic", "a", "origin"), None);
    assert_eq!(heir.document.len(), 2, "title and table: {:?}", heir.document);
}

#[test]
fn a_reason_is_part_of_the_sources_of_what_is_assumed() {
    let heir = family().card("title = 'Heir'\nextends = 'old'\nbecause = 'not published'");
    assert_eq!(told(&heir, "a").1, "assumed as on the Old; not published");
    assert_eq!(told(&heir, "b").1, "assumed as on the Old, fitted there; not published");
}

#[test]
fn facts_of_a_part_are_those_of_what_has_it() {
    let cards = Cards::default().with(
        "parts/link",
        &format!(
            "part = 'A link'\n[nic]\na = {}\nb = {}",
            fact(1, "a standard", "seen"),
            fact(2, "chosen", "fitted"),
        ),
    );
    let heir = cards.card("title = 'Heir'\nextends = 'parts/link'");
    assert_eq!(told(&heir, "a"), (1, "a standard", "seen"));
    assert_eq!(told(&heir, "b"), (2, "chosen", "fitted"));
    assert_eq!(text(&heir.document, "nic", "a", "origin"), Some("devices/parts/link.toml"));
}

#[test]
fn what_a_part_s_fact_was_measured_on_alone_has_it_as_measured() {
    let measured = fact(2, "chosen", "fitted").replace(" }", ", measured_on = 'the Old' }");
    let cards =
        Cards::default().with("parts/link", &format!("part = 'A link'\n[nic]\nb = {measured}"));
    let old = cards.card("title = 'Old'\nname = 'the Old'\nextends = 'parts/link'");
    assert_eq!(told(&old, "b"), (2, "chosen", "fitted"));
    assert_eq!(text(&old.document, "nic", "b", "measured_on"), None);
    let heir = cards.card("title = 'Heir'\nname = 'the Heir'\nextends = 'parts/link'");
    assert_eq!(told(&heir, "b"), (2, "assumed as on the Old, fitted there", "memory"));
}

#[test]
fn the_first_of_several_files_that_has_a_fact_gives_it() {
    let part = format!("part = 'P'\n[nic]\na = {}", fact(9, "a standard", "seen"));
    let cards = family().with("parts/p", &part);
    let heir = cards.card("title = 'Heir'\nextends = ['parts/p', 'old']");
    assert_eq!((told(&heir, "a").0, told(&heir, "b").0), (9, 2));
    let heir = cards.card("title = 'Heir'\nextends = ['old', 'parts/p']");
    assert_eq!(told(&heir, "a").0, 1);
}

#[test]
fn a_table_that_names_files_itself_has_the_facts_of_these_alone() {
    let part = format!("part = 'P'\n[nic]\na = {}", fact(9, "a standard", "seen"));
    let heir = family().with("parts/p", &part);
    let heir = heir.card("title = 'Heir'\nextends = 'old'\n[nic]\nextends = 'parts/p'");
    assert_eq!(told(&heir, "a").0, 9);
    assert!(heir.document["nic"].get("b").is_none());
}

#[test]
fn tables_and_keys_can_be_left_out() {
    let heir = family().card("title = 'Heir'\nextends = 'old'\nwithout = 'nic.b'");
    assert!(heir.document["nic"].get("b").is_none() && heir.document["nic"].get("a").is_some());
    let heir = family().card("title = 'Heir'\nextends = 'old'\nwithout = ['nic']");
    assert!(!heir.document.contains_key("nic"));
}

#[test]
fn a_machine_has_the_facts_of_its_card_and_not_of_other_machines_cards() {
    let machine = "title = 'Machine'\nname = 'M'\nextends = 'skylake-gold-6140'\ncard = 'xl710'";
    let machine = Cards::default().read(Kind::Platform, machine).expect("is sound").document;
    let xl710 = facts::builtin::file("devices/nic/xl710.toml").unwrap();
    let card = Cards::default().card(xl710).document;
    assert_eq!(machine["nic"]["rx_format"]["source"], card["nic"]["rx_format"]["source"]);
    assert!(machine["nic"].get("tx_port_read_bytes").is_none(), "the Gold 6140's card has it");
    let format = text(&machine, "nic", "rx_format", "origin");
    assert_eq!(format, Some("devices/nic/xl710.toml"));
}

#[test]
fn costs_of_software_come_last_and_only_to_machines_that_serve_packets() {
    let cost = fact(31, "counted", "seen");
    let machine = format!("title = 'M'\ncard = 'xl710'\n[software]\npoll_cycles = {cost}");
    let machine = Cards::default().read(Kind::Platform, &machine).expect("is sound").document;
    assert_eq!(machine["software"]["poll_cycles"]["value"].as_integer(), Some(31));
    let other = text(&machine, "software", "private_lines", "origin");
    assert_eq!(other, Some("software/packets/packet-io.toml"));
    let machine = Cards::default().read(Kind::Platform, "title = 'M'").expect("is sound");
    assert_eq!(machine.document.len(), 1, "a title alone: {:?}", machine.document);
}

#[test]
fn facts_that_would_be_inherited_alike_are_found() {
    let a = fact(1, "another manual", "seen");
    let heir = family().card(&format!("title = 'Heir'\nextends = 'old'\n[nic]\na = {a}"));
    let [restated] = &heir.restated[..] else { panic!("{:?}", heir.restated) };
    assert_eq!(restated.key, "nic.a");
    assert_eq!(restated.inherited["source"].as_str(), Some("assumed as on the Old"));
}

#[test]
fn an_unknown_file_is_refused_with_the_nearest_known_one() {
    let told = Cards::default().refusal("title = 'Heir'\nextends = 'conectx-5'");
    let expected = "mine.toml: `extends` = conectx-5: no such file; did you mean `connectx-5`?";
    assert_eq!(told, expected);
    let told = Cards::default().refusal("title = 'Heir'\n[nic]\nextends = 'a-thing-unlike-others'");
    assert!(told.starts_with("mine.toml: `nic.extends` = a-thing"), "{told}");
    assert!(told.contains("known in devices/nic: connectx-4, connectx-4-lx, connectx-5"), "{told}");
}

#[test]
fn a_circle_is_refused_with_the_way_round() {
    let cards = Cards::default()
        .with("a", "title = 'A'\nextends = 'b'")
        .with("b", "title = 'B'\nextends = 'a'");
    let told = cards.refusal("title = 'Heir'\nextends = 'a'");
    let way = "mine.toml -> devices/nic/a.toml -> devices/nic/b.toml -> devices/nic/a.toml";
    let by = "devices/nic/b.toml: `extends` = a: inherits from itself";
    assert_eq!(told, format!("{by}: {way}"));
}

#[test]
fn a_circle_of_ever_new_paths_is_refused_too() {
    let find = |named_in: &str, path: &str| {
        Ok((format!("{named_in}/{path}"), "extends = 'x.toml'".into()))
    };
    let told =
        resolve(Kind::Nic, "mine.toml", "extends = 'x.toml'", &find).unwrap_err().to_string();
    assert!(told.ends_with("more than 16 files deep, perhaps in a circle"), "{told}");
}

#[test]
fn faults_of_inheritance_name_file_key_and_value() {
    let cards = family().with("odd", "title = 'Odd'\ncolour = 'red'");
    let cases = [
        ("extends = 5", "mine.toml: `extends` = 5: a text, or a list of texts"),
        ("extends = ['old', 5]", "mine.toml: `extends` = 5: a text, or a list of texts"),
        ("name = 5", "mine.toml: `name` = 5: a text"),
        ("because = 'so'", "mine.toml: `because` = so: only beside `extends`"),
        ("extends = 'old'\nwithout = 'nic.z'", "mine.toml: `without` = nic.z: a table, or"),
        (
            "[pcie]\nextends = 'old'",
            "`pcie.extends` = old: devices/nic/old.toml has no table `pcie`",
        ),
        ("extends = 'odd'", "devices/nic/odd.toml: `colour` = \"red\": unknown key"),
        ("[nic]\na = { value = 1, origin = 'here' }", "`nic.a.origin` = \"here\": unknown key"),
        ("title = ", "mine.toml: not valid TOML"),
    ];
    for (text, expected) in cases {
        let told = cards.refusal(text);
        assert!(told.contains(expected), "{told}");
    }
}
