//! Every described machine under every failure: is what it says and does within the rules?

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::Host;
use host::doctor::examine;
use host::monitor::{Monitor, MonitorSample};
use host::status::{HostStatus, explain};
use host::tune::{
    DEFAULT_STATE, IoAllocRequest, RestoreOptions, StateDirectory, TunePlan, TunePlanError,
    TunePlanner, apply, ignore_steps, restore,
};

use crate::machines::expanded;
use crate::watched::{Rules, watched};

/// Ways of the last-level cache (nothing where registers must not be touched), and whether a plan is
/// possible without failures: ways, switch of ports, mask of the default group, allocation for I/O.
const MACHINES: [(&str, Option<u32>, [bool; 4]); 19] = [
    ("broadwell", Some(20), [false, true, false, false]),
    ("cascade-lake", Some(11), [true, true, true, false]),
    ("cascade-lake-ap", Some(11), [false, true, true, false]),
    ("clear-on-read", Some(11), [false, true, true, false]),
    ("clusters", Some(16), [false, false, true, true]),
    ("cooper-lake", None, [false, false, true, false]),
    ("emerald-rapids", Some(15), [true, false, true, false]),
    ("granite-rapids", None, [false, false, true, false]),
    ("haswell", Some(20), [false, true, false, false]),
    ("ice-lake", Some(12), [true, false, true, false]),
    ("milan", None, [false, false, true, false]),
    ("offline-socket", Some(11), [true, true, true, false]),
    ("sapphire-rapids", Some(15), [true, false, true, false]),
    ("skylake", Some(11), [true, true, true, false]),
    ("storage", Some(11), [true, true, true, false]),
    ("sub-numa", Some(11), [true, true, true, false]),
    ("turin", Some(16), [false, false, true, true]),
    ("virtual", None, [false, false, true, false]),
    ("workstation", None, [false, false, true, false]),
];

fn plans(planner: &TunePlanner<'_>, most_ways: u32) -> [Result<TunePlan, TunePlanError>; 4] {
    [
        planner.ddio_ways(most_ways, None),
        planner.ddio(false, None),
        planner.cat("default", 0x3, None),
        planner.io_alloc(IoAllocRequest::Mask(0x3)),
    ]
}

/// Every file of registers, configuration space and control.
fn changeable(root: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.join("sys/bus/pci/devices"), root.join("sys/fs/resctrl")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if path.is_dir() && !["driver", "net", "nvme", "mon_data"].contains(&name.as_str()) {
                folders.push(path);
            } else if ["config", "schemata", "io_alloc", "io_alloc_cbm"].contains(&name.as_str()) {
                found.insert(path.clone(), fs::read(path).expect("a file"));
            }
        }
    }
    let state = root.join("registers.state");
    found.insert(state.clone(), fs::read(state).unwrap_or_default());
    found
}

/// Plans, writes and restores; whether each plan was possible.
fn tried(machine: &str, root: &Path, ways: Option<u32>) -> [bool; 4] {
    let (host, log) = watched(Host::from_tree(root).expect("the machine"));
    let status = HostStatus::read(&host, DEFAULT_STATE);
    assert!(!explain(&status).is_empty(), "{machine}");
    serde_json::to_string(&status).expect("any status is JSON");
    let _ = examine(&host, DEFAULT_STATE);
    let clears = machine == "clear-on-read";
    if clears {
        // The reports above have cleared registers by reading them: restore the description.
        fs::remove_file(root.join("registers.state")).ok();
    }
    let before = changeable(root);
    let planner = TunePlanner::new(&host).expect("the CPU's model").allow_unmeasured(true);
    let mut possible = [false; 4];
    for (index, plan) in plans(&planner, ways.unwrap_or(11)).into_iter().enumerate() {
        let Ok(plan) = plan else { continue };
        possible[index] = true;
        let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
        let (mut applied, mut restored) = (Vec::new(), Vec::new());
        let ended = apply(&host, &state, &plan, &mut applied, &mut ignore_steps);
        assert!(ended.is_ok() || clears, "{machine}: {}: {ended:?}", plan.command);
        restore(&host, &state, RestoreOptions::default(), &mut restored, &mut ignore_steps)
            .expect("a restore");
        let left = restored.iter().filter(|one| !one.result.is_settled()).count();
        let is_as_before = changeable(root) == before;
        assert!(is_as_before || left > 0 || clears, "{machine}: {}: lost", plan.command);
        assert_eq!(state.read().expect("the journal").entries.len(), left, "{machine}");
    }
    for write in log.writes() {
        assert_eq!(
            Rules { ways, boxes_of: None, any_journal: false }.objection(&write),
            None,
            "{machine}"
        );
    }
    possible
}

#[test]
fn every_machine_plans_what_its_part_has_and_nothing_else() {
    let mut listed = fake_machines::machines().expect("the library");
    listed.extend(fake_machines::variants().expect("the library"));
    listed.sort();
    assert_eq!(listed, MACHINES.map(|(name, ..)| name));
    for (machine, ways, expected) in MACHINES {
        let directory = expanded(machine, &[]);
        assert_eq!(tried(machine, directory.path(), ways), expected, "{machine}");
    }
}

/// All reports about a machine and all plans on it, after a change that is in the journal.
fn told(root: &Path, ways: Option<u32>) -> String {
    let host = Host::from_tree(root).expect("the machine");
    let status = HostStatus::read(&host, DEFAULT_STATE);
    let planner = TunePlanner::new(&host).map(|planner| planner.allow_unmeasured(true));
    let plans = planner.as_ref().map(|planner| plans(planner, ways.unwrap_or(11)));
    let monitor = planner.as_ref().ok().map(|planner| {
        let monitor = Monitor::prepare(&host, planner.generation(), planner.sockets());
        let sample = monitor.sample(&host, Duration::from_millis(1));
        // Values that differ between any two windows are not compared.
        format!(
            "{:?}",
            sample.map(|sample| MonitorSample { time_unix_s: 0.0, window_ms: 0.0, ..sample })
        )
    });
    // Writes: more ways, fewer again, and a mask.
    let mut applied = Vec::new();
    type Asked = fn(&TunePlanner<'_>) -> Result<TunePlan, TunePlanError>;
    let asked: [Asked; 3] = [
        |planner| planner.ddio_ways(4, None),
        |planner| planner.ddio_ways(2, None),
        |planner| planner.cat("default", 0x3, None),
    ];
    for ask in asked {
        let Ok(Ok(plan)) = TunePlanner::new(&host).map(|planner| ask(&planner)) else { continue };
        let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
        let mut of_plan = Vec::new();
        let ended = apply(&host, &state, &plan, &mut of_plan, &mut ignore_steps);
        applied.push(format!("{of_plan:?} {ended:?}"));
    }
    format!("{status:?} {:?} {plans:?} {monitor:?} {applied:?}", examine(&host, DEFAULT_STATE))
}

#[test]
fn each_failure_changes_what_is_told_on_some_machine() {
    for failure in fake_machines::failures().expect("the library") {
        // Another boot shows in what a restore does:
        // `a_reboot_has_reset_the_registers_and_nothing_is_written`.
        if failure == "rebooted" {
            continue;
        }
        let machines = [("skylake", Some(11)), ("sapphire-rapids", Some(15)), ("turin", Some(16))];
        let shows = machines.into_iter().any(|(machine, ways)| {
            let [plain, failed] = [expanded(machine, &[]), expanded(machine, &[&failure])];
            let same_place =
                |text: String, root: &Path| text.replace(&root.display().to_string(), "ROOT");
            same_place(told(plain.path(), ways), plain.path())
                != same_place(told(failed.path(), ways), failed.path())
        });
        assert!(shows, "{failure} changes nothing");
    }
}

#[test]
fn no_failure_makes_a_machine_lose_a_value_or_write_what_is_not_owned() {
    let failures = fake_machines::failures().expect("the library");
    assert!(MACHINES.len() >= 12 && failures.len() >= 15, "{failures:?}");
    for (number, (machine, ways, without)) in MACHINES.into_iter().enumerate() {
        for (index, failure) in failures.iter().enumerate() {
            // All of them in a soak; else each machine and each failure several times.
            if soak::amount((number + index) % 4 != 0, false) {
                continue;
            }
            let directory = expanded(machine, &[failure]);
            let possible = tried(machine, directory.path(), ways);
            for (possible, without) in possible.into_iter().zip(without) {
                assert!(without || !possible, "{machine}: {failure} adds a control");
            }
        }
    }
}
