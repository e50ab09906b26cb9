//! Do changes, crashes and restores in any order lose anything?

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use host::Host;
use host::cpu::PackageId;
use host::tune::{
    ChangeOutcome, ChangeStep, DEFAULT_STATE, IoAllocRequest, RestoreOptions, RestoreOutcome,
    RestoredControl, StateDirectory, TuneApplyError, TunePlan, TunePlanError, TunePlanner, apply,
    ignore_steps, preview, restore,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use tempfile::TempDir;

use crate::machines::{CONFINED, machine};

/// An action of a user or of another program.
#[derive(Clone, Debug)]
enum Action {
    Ways { ways: u32, socket: Option<u32> },
    Switch { on: bool, device: Option<&'static str> },
    Cat { group: &'static str, mask: u64, cache: Option<u32> },
    IoAlloc(IoAllocRequest),
    Restore,
}

/// An action, and the step at which the machine crashes, counted over all of its changes.
type Event = (Action, Option<usize>);

const MACHINES: [&str; 7] =
    ["haswell", "skylake", "cascade-lake", "ice-lake", "sapphire-rapids", "turin", CONFINED];
const DEVICES: [&str; 6] = ["17:00.0", "10001:17:00.0", "b2:00.0", "05:00.0", "82:00.0", "01:00.0"];
const GROUPS: [&str; 5] = ["default", "web", "batch", "cache-a", "db"];

fn action() -> impl Strategy<Value = Action> {
    let device = prop::option::of(prop::sample::select(&DEVICES[..]));
    let group = prop::sample::select(&GROUPS[..]);
    let mask = (0u64..16, 1u32..12).prop_map(|(shift, ways)| ((1 << ways) - 1) << shift);
    let request = prop_oneof![
        Just(IoAllocRequest::On),
        Just(IoAllocRequest::Off),
        mask.clone().prop_map(IoAllocRequest::Mask)
    ];
    prop_oneof![
        3 => (2u32..16, prop::option::of(0u32..2)).prop_map(|(ways, socket)| Action::Ways { ways, socket }),
        3 => (any::<bool>(), device).prop_map(|(on, device)| Action::Switch { on, device }),
        3 => (group, prop_oneof![mask, Just(0x400)], prop::option::of(0u32..4))
            .prop_map(|(group, mask, cache)| Action::Cat { group, mask, cache }),
        3 => request.prop_map(Action::IoAlloc),
        1 => Just(Action::Restore),
    ]
}

fn history() -> impl Strategy<Value = Vec<Event>> {
    prop::collection::vec((action(), prop::option::of(0usize..16)), 1..8)
}

fn plan(planner: &TunePlanner<'_>, action: &Action) -> Option<Result<TunePlan, TunePlanError>> {
    Some(match action {
        Action::Ways { ways, socket } => planner.ddio_ways(*ways, socket.map(PackageId)),
        Action::Switch { on, device } => {
            planner.ddio(*on, device.map(|text| text.parse().expect("a PCI address")))
        }
        Action::Cat { group, mask, cache } => planner.cat(group, *mask, *cache),
        Action::IoAlloc(request) => planner.io_alloc(*request),
        Action::Restore => return None,
    })
}

/// One event, as a run of `skipline-host`: all files of the host are read again, and a crash ends the
/// run.
fn happen(root: &Path, (action, crash): &Event) {
    let host = Host::from_tree(root).expect("the machine");
    let planner = TunePlanner::new(&host).expect("the CPU's model").allow_unmeasured(true);
    let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
    let mut steps = 0;
    let mut watch = |_: ChangeStep| {
        steps += 1;
        if Some(steps - 1) == *crash { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let ended = match plan(&planner, action) {
        Some(Ok(plan)) => apply(&host, &state, &plan, &mut Vec::new(), &mut watch),
        // This machine has no such control, or not such a mask.
        Some(Err(_)) => return,
        None => restore(&host, &state, RestoreOptions::default(), &mut Vec::new(), &mut watch),
    };
    assert!(matches!(ended, Ok(()) | Err(TuneApplyError::Stopped(_))), "{action:?}: {ended:?}");
}

/// Restores everything; the predicted and the actual outcome of each record.
fn restore_all(root: &Path) -> (Vec<RestoreOutcome>, Vec<RestoreOutcome>) {
    let host = Host::from_tree(root).expect("the machine");
    let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
    let journal = state.read().expect("the journal");
    let results =
        |restored: Vec<RestoredControl>| restored.into_iter().map(|one| one.result).collect();
    let foreseen = preview(&host, &journal, false).expect("a preview");
    let mut done = Vec::new();
    restore(&host, &state, RestoreOptions::default(), &mut done, &mut ignore_steps)
        .expect("restored");
    (results(foreseen), results(done))
}

/// Content of the files that changes can reach: registers, configuration space, control files.
fn changeable(root: &Path) -> BTreeMap<PathBuf, Option<Vec<u8>>> {
    let mut files = vec![root.join("registers.state")];
    for folder in ["sys/devices", "sys/fs/resctrl"] {
        collect(&root.join(folder), &mut files);
    }
    files.into_iter().map(|path| (path.clone(), fs::read(path).ok())).collect()
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.map(|entry| entry.expect("an entry").path()) {
        let kept = path.ends_with("config")
            || path.ends_with("schemata")
            || path.ends_with("io_alloc")
            || path.ends_with("io_alloc_cbm");
        if path.is_dir() && !path.is_symlink() && !path.ends_with("cpu") {
            collect(&path, files);
        } else if kept {
            files.push(path);
        }
    }
}

#[test]
fn histories_of_changes_and_crashes_are_taken_back_to_the_byte() {
    let machines: Vec<(TempDir, _)> = MACHINES
        .iter()
        .map(|name| machine(name))
        .map(|directory| {
            let before = changeable(directory.path());
            (directory, before)
        })
        .collect();
    let cases = soak::amount(100, 3_000);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(
        RngAlgorithm::ChaCha,
        &[soak::seed(17); 4].map(u64::to_le_bytes).concat(),
    );
    let mut runner = TestRunner::new_with_rng(config, rng);
    let strategy = (0..MACHINES.len(), history());
    let result = runner.run(&strategy, |(index, history)| {
        let (directory, before) = &machines[index];
        for event in &history {
            happen(directory.path(), event);
        }
        let (foreseen, done) = restore_all(directory.path());
        prop_assert_eq!(foreseen, done, "{}: the preview was wrong", MACHINES[index]);
        prop_assert!(
            &changeable(directory.path()) == before,
            "{} is not as before",
            MACHINES[index]
        );
        let journal = directory.path().join(DEFAULT_STATE).join("journal.json");
        prop_assert!(!journal.exists(), "the journal is not empty");
        Ok(())
    });
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

#[test]
fn the_histories_do_change_machines_and_do_crash() {
    let mut runner = TestRunner::deterministic();
    let (mut changed, mut crashed) = (0, 0);
    let directory = machine("turin");
    let before = changeable(directory.path());
    for _ in 0..40 {
        let history = history().new_tree(&mut runner).expect("a history").current();
        for event in &history {
            happen(directory.path(), event);
        }
        let journal = fs::read_to_string(directory.path().join(DEFAULT_STATE).join("journal.json"));
        crashed += usize::from(journal.is_ok_and(|text| text.contains("\"read_back\": null")));
        changed += usize::from(changeable(directory.path()) != before);
        happen(directory.path(), &(Action::Restore, None));
    }
    assert!(changed >= 10 && crashed >= 3, "{changed} changed, {crashed} crashed");
}

#[test]
fn the_journal_is_on_the_disk_before_the_register_is_written() {
    let directory = machine("skylake");
    let host = Host::from_tree(directory.path()).expect("the machine");
    let planner = TunePlanner::new(&host).expect("the CPU's model");
    let plan = planner.ddio_ways(5, Some(PackageId(1))).expect("a plan");
    let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
    let mut seen = Vec::new();
    let journal = directory.path().join(DEFAULT_STATE).join("journal.json");
    let registers = directory.path().join("registers.state");
    let mut watch = |step| {
        seen.push((step, journal.exists(), registers.exists()));
        ignore_steps(step)
    };
    apply(&host, &state, &plan, &mut Vec::new(), &mut watch).expect("a change");
    let expected = [
        (ChangeStep::Journalled, true, false),
        (ChangeStep::Written, true, true),
        (ChangeStep::ReadBack, true, true),
        (ChangeStep::Recorded, true, true),
    ];
    assert_eq!(seen, expected);
}

#[test]
fn what_was_written_before_an_error_is_told() {
    // From then on something is in the way of the journal, as on a full disk.
    for step in [ChangeStep::ReadBack, ChangeStep::Recorded] {
        let directory = machine("skylake");
        let host = Host::from_tree(directory.path()).expect("the machine");
        let planner = TunePlanner::new(&host).expect("the CPU's model");
        let plan = planner.ddio_ways(5, None).expect("a plan");
        let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
        let in_the_way = directory.path().join(DEFAULT_STATE).join("journal.json.new");
        let mut watch = |reached| {
            if reached == step {
                fs::create_dir(&in_the_way).expect("a directory");
            }
            ignore_steps(reached)
        };
        let mut done = Vec::new();
        let ended = apply(&host, &state, &plan, &mut done, &mut watch);
        assert!(matches!(ended, Err(TuneApplyError::State(_))), "{ended:?}");
        assert_eq!((plan.changes.len(), done.len()), (2, 1), "{step:?}");
        assert_eq!((done[0].asked, &done[0].outcome), (0x7c0, &ChangeOutcome::Set));
        let holds = plan.changes[1].target.read(&host).expect("the second register");
        assert_eq!(Some(holds), plan.changes[1].old, "nothing is written without a journal");
    }
}

#[test]
fn a_control_that_changes_behind_the_journal_is_not_written() {
    let directory = machine("skylake");
    let host = Host::from_tree(directory.path()).expect("the machine");
    let planner = TunePlanner::new(&host).expect("the CPU's model");
    let plan = planner.ddio_ways(5, Some(PackageId(1))).expect("a plan");
    let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
    let registers = directory.path().join("registers.state");
    let mut watch = |step| {
        if step == ChangeStep::Journalled {
            // Another program sets the register meanwhile.
            fs::write(&registers, "{\"socket1.0xc8b\": 1792}").expect("registers");
        }
        ignore_steps(step)
    };
    let ended = apply(&host, &state, &plan, &mut Vec::new(), &mut watch);
    assert!(
        matches!(ended, Err(TuneApplyError::Moved { planned: 0x600, now: 0x700, .. })),
        "{ended:?}"
    );
    assert_eq!(plan.changes[0].target.read(&host), Ok(0x700));
    assert!(state.read().expect("the journal").entries.is_empty());
}
