//! A change that is measured from both sides: what is written in which order, and what a kill leaves.

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

use host::Host;
use host::monitor::Monitor;
use host::tune::{
    AppliedChange, ChangeOutcome, ChangeStep, DEFAULT_STATE, IoAllocRequest, MeasuredChange,
    RestoreOptions, StateDirectory, TuneApplyError, TunePlan, TunePlanner, Verdict, apply_measured,
    ignore_steps, restore, verdict,
};

use crate::machines::{CONFINED, machine};
use crate::watched::{Rules, watched};

const WINDOW: Duration = Duration::from_millis(100);

fn plan(planner: &TunePlanner<'_>, machine: &str) -> TunePlan {
    let plan = match machine {
        CONFINED => planner.io_alloc(IoAllocRequest::Off),
        "turin" => planner.io_alloc(IoAllocRequest::Mask(0x3)),
        "haswell" => planner.ddio(false, None),
        _ => planner.ddio_ways(6, None),
    };
    plan.expect("a plan")
}

/// Applies and measures; `kill` is the step at which the tool dies.
fn measured(
    host: &Host,
    machine: &str,
    kill: Option<usize>,
    applied: &mut Vec<AppliedChange>,
) -> Result<MeasuredChange, TuneApplyError> {
    let planner = TunePlanner::new(host).expect("the CPU's model").allow_unmeasured(true);
    let monitor = Monitor::prepare(host, planner.generation(), planner.sockets());
    let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
    let mut steps = 0;
    let mut watch = |_: ChangeStep| {
        steps += 1;
        if Some(steps - 1) == kill { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let plan = plan(&planner, machine);
    apply_measured(host, &state, &plan, (&monitor, WINDOW), applied, &mut watch)
}

fn put_back(host: &Host) {
    let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
    restore(host, &state, RestoreOptions::default(), &mut Vec::new(), &mut ignore_steps)
        .expect("a restore");
    assert!(state.read().expect("the journal").entries.is_empty());
}

/// Registers, switches of ports, and files of resctrl.
fn held(root: &Path) -> BTreeMap<String, Vec<u8>> {
    let ports = ["0000:00:02.0", "0000:00:03.0", "0000:80:02.0"];
    let mut paths: Vec<String> =
        ports.iter().map(|port| format!("sys/bus/pci/devices/{port}/config")).collect();
    paths.push("registers.state".into());
    paths.extend(["io_alloc", "io_alloc_cbm"].map(|name| format!("sys/fs/resctrl/info/L3/{name}")));
    paths
        .into_iter()
        .map(|path| (path.clone(), fs::read(root.join(path)).unwrap_or_default()))
        .collect()
}

#[test]
fn the_old_value_is_measured_twice_and_the_new_one_stays() {
    let directory = machine("skylake");
    let (host, log) = watched(Host::from_tree(directory.path()).expect("the machine"));
    let mut applied = Vec::new();
    let around = measured(&host, "skylake", None, &mut applied).expect("measured");
    let values: Vec<u64> = log.writes().iter().map(|write| write.value).collect();
    assert_eq!(values, [0x7e0, 0x7e0, 0x600, 0x600, 0x7e0, 0x7e0]);
    for write in log.writes() {
        assert_eq!(
            Rules { ways: Some(11), boxes_of: None, any_journal: false }.objection(&write),
            None
        );
    }
    assert!(applied.iter().all(|one| one.outcome == ChangeOutcome::Set && one.old == 0x600));
    let [before, after] = [around.before, around.after].map(|rates| rates.expect("rates"));
    let back = around.back.expect("the old value").expect("rates");
    assert_eq!(before, back);
    assert!(matches!(verdict(&before, &after, &back), Verdict::Effective { .. }));
    put_back(&host);
    assert!(!directory.path().join("registers.state").exists());
}

#[test]
fn a_kill_at_any_step_loses_nothing() {
    for name in ["haswell", "turin", CONFINED] {
        let directory = machine(name);
        let before = held(directory.path());
        let mut ended = false;
        // Each step in a soak; else as many as show where it dies.
        for kill in (0..120).step_by(soak::amount(5, 1)) {
            let host = Host::from_tree(directory.path()).expect("the machine");
            ended = measured(&host, name, Some(kill), &mut Vec::new()).is_ok();
            put_back(&host);
            let after = held(directory.path());
            let is_off = name == "turin";
            for (path, content) in &before {
                // The kernel gives I/O all ways when allocation is switched off, as it is at first.
                let is_forgotten = is_off && path.ends_with("io_alloc_cbm");
                assert!(
                    is_forgotten || after[path] == *content,
                    "{name}: {path} after step {kill}"
                );
            }
            if ended {
                assert!(kill >= 12, "{name}: {kill} steps are no change from both sides");
                break;
            }
        }
        assert!(ended, "{name}: it never ends");
    }
}

#[test]
fn a_register_that_begins_without_a_way_for_io_is_not_changed() {
    let directory = machine("skylake");
    let registers = directory.path().join("registers.state");
    fs::write(registers, "{\"socket1.0xc8b\": 0}").expect("registers");
    let (host, log) = watched(Host::from_tree(directory.path()).expect("the machine"));
    let planner = TunePlanner::new(&host).expect("the CPU's model").allow_unmeasured(true);
    let why = planner.ddio_ways(6, None).expect_err("a refusal").to_string();
    assert!(why.contains("socket 1 holds 0x0, which leaves I/O no way"), "{why}");
    assert!(log.writes().is_empty());
}

#[test]
fn bits_that_hardware_sets_meanwhile_are_kept_through_all_three_writes() {
    let directory = machine("skylake");
    // A port that sets bit 4 whenever it is written.
    let registers = directory.path().join("registers.toml");
    let text = fs::read_to_string(&registers).expect("registers");
    let port = "function = \"0000:16:00.0\"\n";
    assert!(text.contains(port), "{text}");
    fs::write(&registers, text.replacen(port, &format!("{port}sticky = 16\n"), 1))
        .expect("registers");
    let (host, log) = watched(Host::from_tree(directory.path()).expect("the machine"));
    let planner = TunePlanner::new(&host).expect("the CPU's model");
    let plan = planner.ddio(false, Some("17:00.0".parse().expect("an address"))).expect("a plan");
    let monitor = Monitor::prepare(&host, planner.generation(), planner.sockets());
    let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
    let mut applied = Vec::new();
    apply_measured(&host, &state, &plan, (&monitor, WINDOW), &mut applied, &mut ignore_steps)
        .expect("measured");
    let rules = Rules { ways: Some(11), boxes_of: None, any_journal: false };
    let objections: Vec<_> =
        log.writes().iter().filter_map(|write| rules.objection(write)).collect();
    assert_eq!((log.writes().len(), objections), (3, Vec::new()));
}
