//! Is it foretold what devices refuse of a file, and do the steps to the rest lead there from any state?

use crate::{Machine, PART, named};
use dsa::hardware::capabilities::Capabilities;
use idxd::config_file::{ConfigStep, SavedConfig};
use idxd::from_sysfs::Attributes;
use idxd::{BusNode, Driver, DriverName, Errno, IdleHardware, Part};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// A driver whose attributes are read as a program reads them.
struct Shown<'a>(&'a Driver);

impl Attributes for Shown<'_> {
    fn read(&self, node: BusNode, attribute: &str) -> Result<String, Errno> {
        let text = self.0.read(node, attribute, &IdleHardware)?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    fn bound(&self, node: BusNode) -> Result<Option<DriverName>, Errno> {
        Ok(self.0.bound(node))
    }
}

/// Compares line by line, to show the one that differs.
#[track_caller]
fn same(one: &SavedConfig, other: &SavedConfig) {
    let (texts, mut at) = ([one, other].map(SavedConfig::to_json), "");
    for (line, other) in texts[0].lines().zip(texts[1].lines()) {
        at = if line.contains("\"dev\"") { line } else { at };
        assert_eq!(line, other, "{at}");
    }
    assert_eq!(one, other);
}

/// The driver as one sees it.
fn seen(driver: &Driver) -> Driver {
    let numbers: Vec<usize> = driver
        .nodes()
        .filter_map(|node| matches!(node, BusNode::Device(_)).then_some(node.device()))
        .collect();
    Driver::from_sysfs(&numbers, &Shown(driver), false).expect("a driver of ours is understood")
}

/// Carries out steps on a driver, each of which it takes.
fn carry_out(driver: &mut Driver, steps: &[ConfigStep]) {
    for step in steps {
        let done = match step {
            ConfigStep::Unbind { node, driver: from } => {
                driver.unbind(*from, &node.to_string(), &IdleHardware)
            }
            ConfigStep::Bind { node, driver: to } => {
                driver.bind(*to, &node.to_string(), &IdleHardware)
            }
            ConfigStep::Write { node, attribute, from, to } => {
                let now = Shown(driver).read(*node, attribute);
                // The retries of a dedicated queue could not be read before.
                assert!(now.as_ref() == Ok(from) || *attribute == "enqcmds_retries", "{step}");
                driver.write(*node, attribute, to, &IdleHardware)
            }
        };
        assert_eq!(done, Ok(()), "{step}");
        if let ConfigStep::Write { node, attribute, to, .. } = step {
            assert_eq!(Shown(driver).read(*node, attribute).as_ref(), Ok(to), "{step}");
        }
    }
}

struct Random(Xoshiro256PlusPlus);

const NUMBERS: &[&str] =
    &["0", "1", "2", "3", "4", "8", "12", "16", "20", "32", "64", "96", "100", "128", "1024"];
const WORDS: &[(&str, &[&str])] = &[
    ("mode", &["shared", "dedicated"]),
    ("type", &["none", "kernel", "user"]),
    ("driver_name", &["user", "dmaengine", "vfio"]),
    ("name", &["app", " blanks ", "dpdk_0"]),
    ("block_on_fault", &["0", "1"]),
    ("ats_disable", &["0", "1"]),
    ("prs_disable", &["0", "1"]),
    ("use_read_buffer_limit", &["0", "1"]),
    ("group_id", &["-1", "0", "1", "2", "4"]),
    ("priority", &["0", "1", "10", "15", "16"]),
    ("op_config", &["1", "3", "0,00000008", "ffffffff,ffffffff"]),
    ("event_log_size", &["64", "63", "1024", "70000"]),
    ("desc_progress_limit", &["0", "3", "4"]),
    ("max_transfer_size", &["4096", "3000", "2097152", "2147483648", "4294967296", "0"]),
];

impl Random {
    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.0.next_u64() % most as u64).expect("below a usize")
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    fn text(&mut self, attribute: &str) -> &'static str {
        let words = WORDS.iter().find(|(name, _)| *name == attribute);
        self.of(words.map_or(NUMBERS, |(_, words)| words))
    }

    /// A queue of a mode in a group that has an engine, as a file of accel-config has it.
    fn sound(&mut self, driver: &mut Driver, device: usize, queue: usize) {
        let (group, mode) = (self.of(&["0", "1"]), self.of(&["shared", "dedicated"]));
        let settings = [
            ("group_id", group),
            ("mode", mode),
            ("size", self.of(&["4", "8", "16"])),
            ("threshold", self.of(&["1", "4"])),
            ("priority", self.of(&["1", "10"])),
            ("type", "user"),
            ("name", "app"),
            ("driver_name", "user"),
        ];
        for (attribute, text) in settings {
            let _ = driver.write(BusNode::Queue(device, queue), attribute, text, &IdleHardware);
        }
        for (engine, group) in ["0", "1", group].into_iter().enumerate() {
            let _ = driver.write(BusNode::Engine(device, engine), "group_id", group, &IdleHardware);
        }
    }

    /// A driver in some state that programs can bring it to, whole or half configured.
    fn state(&mut self, parts: &[Part]) -> Driver {
        let mut driver = Driver::new(parts.to_vec());
        let nodes: Vec<BusNode> = driver.nodes().collect();
        for _ in 0..self.of(&[0, 1, 3, 8]) {
            let (device, queue) = (self.below(parts.len()), self.below(4));
            self.sound(&mut driver, device, queue);
        }
        for _ in 0..self.of(&[0, 0, 5, 40]) {
            let node = self.of(&nodes);
            let attributes: Vec<_> =
                driver.attributes(node).into_iter().filter(|it| it.writable).collect();
            if !attributes.is_empty() {
                let attribute = self.of(&attributes).name;
                let _ = driver.write(node, attribute, self.text(attribute), &IdleHardware);
            }
        }
        for device in 0..parts.len() {
            if self.below(4) > 0 {
                let _ = driver.bind(DriverName::Idxd, &format!("dsa{device}"), &IdleHardware);
            }
            for queue in 0..4 {
                if self.below(3) > 0 {
                    let _ = driver.bind(
                        DriverName::User,
                        &format!("wq{device}.{queue}"),
                        &IdleHardware,
                    );
                }
            }
        }
        if self.below(20) == 0 {
            driver.halt(0, &IdleHardware);
        }
        driver
    }

    /// A file, in which some values may be others.
    fn file(&mut self, parts: &[Part]) -> SavedConfig {
        let state = self.state(parts);
        let mut text = SavedConfig::from_driver(&state).without_defaults(&state).to_json();
        for _ in 0..self.of(&[0, 0, 0, 1, 1, 2]) {
            let lines: Vec<&str> = text.lines().collect();
            let at = self.below(lines.len());
            // Objects, lists and names of objects stay.
            let setting = lines[at].split_once("\":").filter(|(_, value)| {
                !value.ends_with(['[', '{']) && !lines[at].contains("\"dev\"")
            });
            let Some((key, value)) = setting else { continue };
            let name = key.trim_start_matches([' ', '"']);
            // A queue stands in its group, and a state has two words.
            if ["group_id", "state"].contains(&name) {
                continue;
            }
            let (is_text, comma) = (value.starts_with('"'), value.ends_with(','));
            let new = self.text(name);
            let quote = if is_text { "\"" } else { "" };
            let line = format!("{key}\":{quote}{new}{quote}{}", if comma { "," } else { "" });
            let mut lines: Vec<String> = lines.into_iter().map(str::to_owned).collect();
            lines[at] = line;
            text = lines.join("\n");
        }
        SavedConfig::parse(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }
}

#[test]
fn dsa_25_what_a_file_is_refused_for_is_foretold_and_steps_lead_to_the_rest() {
    let parts = [Part::new(PART), Part::new(Capabilities::VERSION_2)];
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(soak::seed(33)));
    let (mut refused, mut taken, mut steps, mut changed) = (0, 0, 0, 0);
    for _ in 0..soak::amount(600, 3_000) {
        let (before, file) = (random.state(&parts), random.file(&parts));
        let own = seen(&before);
        assert_eq!(SavedConfig::from_driver(&own), SavedConfig::from_driver(&before));
        let answer = file.accepted_by(&own);
        // A fresh driver that gets the file value by value tells whether the file is refused.
        let mut fresh = Driver::new(parts.to_vec());
        let applied = file.apply(&mut fresh, &IdleHardware);
        assert_eq!(applied.is_err(), !answer.refusals.is_empty(), "{applied:?} {answer:?}");
        if applied.is_err() {
            refused += 1;
            continue;
        }
        taken += 1;
        let named = SavedConfig::from_devices(&fresh, &file.devices());
        assert_eq!(named.differences(&answer.configuration), [], "{named:?}");
        same(&answer.configuration, &named);
        for one in &answer.changed {
            let now = Shown(&fresh).read(one.node, &one.attribute);
            assert_eq!(now.as_ref(), Ok(&one.becomes), "{one}");
            changed += 1;
        }
        let plan = answer.configuration.plan(&own);
        assert_eq!(plan.refusals, []);
        let mut after = before.clone();
        carry_out(&mut after, &plan.steps);
        same(&SavedConfig::from_driver(&after), &SavedConfig::from_driver(&plan.after));
        let differences = SavedConfig::from_driver(&after).differences(&answer.configuration);
        assert_eq!(differences, [], "from {:?}", SavedConfig::from_driver(&before));
        // Where there is nothing to change nothing is written.
        assert_eq!(answer.configuration.plan(&after).steps, []);
        steps += plan.steps.len();
    }
    let often = [refused, taken / 3, steps / 10, changed * 20];
    assert!(often.iter().all(|&count| count > 50), "{often:?}");
}

#[test]
fn a_value_of_a_queue_in_use_takes_that_queue_alone_off() {
    let mut machine = Machine::enabled("shared");
    let mut wanted = machine.0.clone();
    wanted.unbind(DriverName::User, "wq0.0", &IdleHardware).expect("it is bound");
    for (attribute, text) in
        [("type", "user"), ("name", "app"), ("priority", "3"), ("threshold", "9")]
    {
        wanted.write(named("wq0.0"), attribute, text, &IdleHardware).expect("it is off");
    }
    wanted.bind(DriverName::User, "wq0.0", &IdleHardware).expect("all checks hold");
    let answer = SavedConfig::from_driver(&wanted).accepted_by(&machine.0);
    assert_eq!(answer.refusals, []);
    let plan = answer.configuration.plan(&machine.0);
    let words: Vec<String> = plan.steps.iter().map(ConfigStep::to_string).collect();
    assert_eq!(
        words,
        [
            "disable wq0.0 (unbind from user)",
            "wq0.0/type: \"none\" -> \"user\"",
            "wq0.0/threshold: \"0\" -> \"9\"",
            "wq0.0/priority: \"0\" -> \"3\"",
            "wq0.0/name: \"\" -> \"app\"",
            "enable wq0.0 (bind to user)",
        ]
    );
    carry_out(&mut machine.0, &plan.steps);
    assert_eq!(machine.get("wq0.0", "threshold"), "9");
    assert_eq!(machine.get("dsa0", "state"), "enabled");
}

#[test]
fn every_refusal_of_a_file_is_told_at_once_with_what_is_allowed() {
    let queue = |number: usize, inside: &str| {
        format!(r#"{{"dev":"wq0.{number}","type":"user","name":"a","mode":"shared",{inside}}}"#)
    };
    let queues = [
        queue(0, r#""size":200,"threshold":4,"priority":1"#),
        queue(1, r#""size":16,"threshold":17,"priority":16"#),
        queue(2, r#""size":16,"priority":1"#),
        queue(3, r#""size":16,"threshold":4"#),
        queue(4, r#""size":16,"threshold":4,"priority":1,"op_config":"1""#),
    ];
    let text = format!(
        r#"[{{"dev":"dsa0","event_log_size":64,"groups":[{{"dev":"group0.0","traffic_class_a":2,
            "grouped_workqueues":[{}],"grouped_engines":[{{"dev":"engine0.0"}},{{"dev":"engine0.7"}}]}}]}},
            {{"dev":"dsa3"}}]"#,
        queues.join(",")
    );
    let file = SavedConfig::parse(&text).expect("a file");
    let answer = file.accepted_by(&Machine::new().0);
    let words: Vec<String> = answer.refusals.iter().map(ToString::to_string).collect();
    let expected = [
        "engine0.7: dev = \"engine0.7\" was refused: ENODEV, no such device; allowed is engine0.0 to engine0.3",
        "dsa3: dev = \"dsa3\" was refused: ENODEV, no such device; allowed is dsa0",
        "dsa0: event_log_size = \"64\" was refused: ENOENT, no such file or directory; allowed is nothing: this part does not have it",
        "group0.0: traffic_class_a = \"2\" was refused: EPERM, operation not permitted; allowed is 1 on versions 1 and 2, unless the module idxd is loaded with tc_override=1",
        "wq0.0: size = \"200\" was refused: EINVAL, invalid argument; allowed is 0 to 128",
        "wq0.1: threshold = \"17\" was refused: EINVAL, invalid argument; allowed is 1 to 16",
        "wq0.1: priority = \"16\" was refused: EINVAL, invalid argument; allowed is 1 to 15",
        "wq0.4: op_config = \"1\" was refused: ENOENT, no such file or directory; allowed is nothing: this part does not have it",
    ];
    assert_eq!(words, expected);
    // With these repaired, what is missing is told too.
    let text = text
        .replace("\"event_log_size\":64,", "")
        .replace("\"traffic_class_a\":2,", "")
        .replace("200", "16")
        .replace("17", "7")
        .replace("\"priority\":16", "\"priority\":15")
        .replace(",\"op_config\":\"1\"", "")
        .replace(",{\"dev\":\"engine0.7\"}", "")
        .replace(",\n            {\"dev\":\"dsa3\"}", "");
    let answer = SavedConfig::parse(&text).expect("a file").accepted_by(&Machine::new().0);
    let words: Vec<String> = answer.refusals.iter().map(ToString::to_string).collect();
    let expected = [
        "wq0.2: threshold = \"0\" was refused: ENXIO, no such device or address; allowed is 1 to 16; cmd_status 0x80060000: a shared queue needs a threshold: write its threshold",
        "wq0.3: priority = \"0\" was refused: ENXIO, no such device or address; allowed is 1 to 15; cmd_status 0x23: the priority of the queue is 0; allowed are 1 to 15",
    ];
    assert_eq!(words, expected);
}

#[test]
fn numbers_that_other_accelerators_have_are_no_devices() {
    let parts = vec![Part::new(PART), Part::gap(), Part::new(PART)];
    let mut driver = Driver::new(parts);
    assert!(!driver.has(named("dsa1")) && driver.has(named("dsa2")));
    assert!(driver.nodes().all(|node| node.device() != 1));
    driver.write(named("wq2.0"), "size", "9", &IdleHardware).expect("it is there");
    assert_eq!(SavedConfig::from_driver(&seen(&driver)), SavedConfig::from_driver(&driver));
    let file = SavedConfig::parse(r#"[{"dev":"dsa1"}]"#).expect("a file");
    let refusals = file.accepted_by(&driver).refusals;
    assert_eq!(
        refusals[0].to_string(),
        "dsa1: dev = \"dsa1\" was refused: ENODEV, no such device; allowed is dsa0, dsa2"
    );
}

#[test]
fn kernels_without_names_of_drivers_go_by_the_type() {
    let old = Part { without: vec!["driver_name", "enqcmds_retries"], ..Part::new(PART) };
    let driver = Driver::new(vec![old]);
    assert_eq!(SavedConfig::from_driver(&seen(&driver)), SavedConfig::from_driver(&driver));
    let mut machine = Machine::with_queue(Part::new(PART), "dedicated");
    machine.bind("idxd", "dsa0").expect("all checks hold");
    machine.bind("user", "wq0.0").expect("all checks hold");
    let file = SavedConfig::from_driver(&machine.0);
    let answer = file.accepted_by(&driver);
    assert_eq!(answer.refusals.iter().map(ToString::to_string).collect::<Vec<_>>(), [""; 0]);
    let plan = answer.configuration.plan(&driver);
    assert_eq!(plan.after.bound(named("wq0.0")), Some(DriverName::User));
    assert!(!plan.steps.iter().any(|step| step.to_string().contains("driver_name")));
}
