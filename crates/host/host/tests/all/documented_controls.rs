//! Does the table of docs/reference/host.md say what the code does, part by part?

use std::fs;
use std::path::Path;

use host::Host;
use host::controls::BoxUnit;
use host::cpu::{Generation, Generations, Proof, SourceKind};
use host::slices::SliceMachine;
use host::tune::{TunePlanError, TunePlanner};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/reference/host.md");
const HEAD: &str = "| part | family / models / steppings | `tune ddio-ways`, `ddio-mask` | masks | `tune ddio` | counters of slices |\n\
     | --- | --- | --- | --- | --- | --- |\n";
/// Text of the table for controls that the tool refuses.
const EMPTY: &str = "refused";

fn cell(proof: Proof, known_by: SourceKind, source: &str) -> String {
    let effect = match proof {
        Proof::Effective => "effective",
        Proof::NoEffect => "taken, without effect",
        Proof::ExpectedNoEffect => "taken, no effect expected",
        Proof::Unknown => "effect not known",
    };
    let known = match known_by {
        SourceKind::Manual => "manual",
        SourceKind::Measurement => "measured",
        SourceKind::Reports => "reported",
        SourceKind::Inference => "inferred",
    };
    format!("{effect}; {known}: {source}")
}

fn ways(part: &Generation) -> Option<String> {
    let register = part.ways_register.as_ref()?;
    Some(cell(register.proof, register.known_by, &register.source))
}

fn masks(part: &Generation) -> Option<String> {
    let register = part.ways_register.as_ref()?;
    Some(format!("{}: {}", register.masks.description(), register.masks_source))
}

fn switch(part: &Generation) -> Option<String> {
    let switch = part.port_switch.as_ref()?;
    let asked = if switch.proof == Proof::Effective { "" } else { "only with --unmeasured: " };
    Some(asked.to_owned() + &cell(switch.proof, switch.known_by, &switch.source))
}

/// The registers that `slices map --apply` and `slices check --apply` write without event sources.
fn boxes(part: &Generation) -> Option<String> {
    let unit = BoxUnit::for_events(part.events.as_deref()?)?;
    let known = if unit.confidence == "seen" { "manual or kernel" } else { "recalled" };
    let most = unit.registers.boxes();
    let cell = format!("{most} boxes; {known}: {}", unit.source);
    unit.has_registers_of(&part.name).then_some(cell)
}

fn row(part: &Generation) -> String {
    let range = |[first, last]: [u32; 2]| match (first, last) {
        (0, u32::MAX) => "all".to_owned(),
        (first, last) if first == last => format!("{first:#x}"),
        (first, last) => format!("{first:#x} to {last:#x}"),
    };
    let numbers =
        format!("{:#x} / {} / {}", part.family, range(part.models), range(part.steppings));
    let cells = [ways(part), masks(part), switch(part), boxes(part)];
    let [ways, masks, switch, boxes] = cells.map(|cell| cell.unwrap_or(EMPTY.into()));
    format!("| {} | {numbers} | {ways} | {masks} | {switch} | {boxes} |\n", part.name)
}

#[test]
fn the_table_of_parts_and_controls_is_that_of_the_code() {
    let expected: String = Generations::built_in().all().iter().map(row).collect();
    let page = fs::read_to_string(PAGE).expect("the page");
    let (_, table) = page.split_once(HEAD).unwrap_or_else(|| panic!("no table: {HEAD}{expected}"));
    let rows: String = table
        .lines()
        .take_while(|line| line.starts_with('|'))
        .map(|row| row.to_owned() + "\n")
        .collect();
    assert!(rows == expected, "docs/reference/host.md should have:\n{HEAD}{expected}");
}

/// Gives a function of the machine the number of one of the part's uncore, by which servers are known.
fn show_uncore_of(part: &Generation, machine: &Path) {
    let Some(device) = part.uncore_devices.first() else { return };
    let number = machine.join("sys/bus/pci/devices/0000:00:05.0/device");
    fs::write(number, format!("{device:#06x}\n")).expect("a function of the uncore");
}

#[test]
fn what_the_table_leaves_empty_is_refused_on_that_part() {
    let mut refused = 0;
    for part in Generations::built_in().all() {
        let folder = tempfile::tempdir().expect("a temporary directory");
        fake_machines::expand("skylake", &["no-uncore-driver"], folder.path()).expect("a machine");
        let cpuinfo = folder.path().join("proc/cpuinfo");
        let text = fs::read_to_string(&cpuinfo).expect("cpuinfo");
        let brand = part.brands.first().map_or("a server", String::as_str);
        let text = text
            .replace("GenuineIntel", &part.vendor)
            .replace("cpu family\t: 6", &format!("cpu family\t: {}", part.family))
            .replace("model\t\t: 85", &format!("model\t\t: {}", part.models[0]))
            .replace("stepping\t: 4", &format!("stepping\t: {}", part.steppings[0]))
            .replace("Xeon(R) Gold", brand);
        fs::write(&cpuinfo, text).expect("cpuinfo");
        show_uncore_of(part, folder.path());
        let host = Host::from_tree(folder.path()).expect("the machine");
        let planner = TunePlanner::new(&host).expect("the CPU's model");
        assert_eq!(planner.generation().map(|found| &found.name), Some(&part.name));
        let plans = [
            (ways(part), planner.ddio_ways(4, None)),
            (masks(part), planner.ddio_mask(0x700, None)),
            (switch(part), planner.ddio(false, None)),
        ];
        if let Some(switch) = &part.port_switch {
            // Ports of Skylake are on no other part's list, which comes after this refusal.
            let reason = planner.ddio(false, None).err().map(|error| error.to_string());
            let needs_word = reason.is_some_and(|reason| reason.contains("--unmeasured"));
            assert_eq!(needs_word, switch.proof != Proof::Effective, "{}", part.name);
        }
        for (cell, plan) in plans {
            if cell.is_none() {
                let Err(TunePlanError::NoControl(reason)) = plan else {
                    panic!("{}: {plan:?}", part.name)
                };
                // Not for another reason, as that the machine looks like another part's.
                assert!(reason.contains("no publicly documented"), "{}: {reason}", part.name);
                refused += 1;
            }
        }
        if boxes(part).is_none() {
            let machine = SliceMachine::read(&host, None, None).expect("a socket");
            let reason =
                machine.counting_method(&host, Some(8)).err().expect("a refusal").to_string();
            let is_unknown =
                reason.contains("no public source") || reason.contains("AMD publishes");
            assert!(is_unknown, "{}: {reason}", part.name);
            refused += 1;
        }
    }
    assert!(refused >= 18, "{refused}");
}
