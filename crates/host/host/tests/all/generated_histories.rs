//! Changes, restores, settings that are held, counters that are set, kills at any step and other
//! programs, in any order, on any machine: is anything but owned bits written, or anything lost?

#[path = "generated_histories/actions.rs"]
mod actions;
#[path = "generated_histories/held.rs"]
mod held;
#[path = "generated_histories/others.rs"]
mod others;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use host::Host;
use host::cpu::PackageId;
use host::monitor::Monitor;
use host::slices::{CountingMethod, ProgramError, ProgrammedBoxes, SliceMachine};
use host::tune::{
    ChangeRecord, ChangeStep, DEFAULT_STATE, Journal, RestoreOptions, StateDirectory, StateError,
    TuneApplyError, TunePlan, TunePlanError, TunePlanner, apply, apply_measured, ignore_steps,
    restore,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::generated::{Answer, HeldLock, OnWrite, Spec, cases, spec_with_controls};
use crate::watched::{Log, Place, Rules, watched};
use actions::{Action, Event, Setting, event};
use held::{
    WAYS, has_been_given, held, is_as_the_tool_left_it, is_journalled, is_of, is_unread,
    masks_path, other_bits, port_file,
};
use others::set_other_bits;

const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

fn plan(
    planner: &TunePlanner<'_>,
    spec: &Spec,
    setting: &Setting,
) -> Result<TunePlan, TunePlanError> {
    match setting {
        Setting::Ways { ways, socket, .. } => planner.ddio_ways(*ways, socket.map(PackageId)),
        Setting::Mask { mask, socket, .. } => {
            planner.ddio_mask(mask.value(spec.ways), socket.map(PackageId))
        }
        Setting::Switch { on, port } => {
            let port = port.filter(|_| !spec.ports.is_empty()).map(|port| port % spec.ports.len());
            let device = port.map(|index| spec.ports[index].bdf(index));
            planner.ddio(*on, device.map(|text| text.parse().expect("a PCI address")))
        }
        Setting::Cat { group, mask, cache } => {
            // One group more than there are.
            let groups = 1 + spec.groups.as_ref().map_or(0, |groups| groups.groups.len());
            let group = group % groups;
            let name = if group == 0 { "default".to_owned() } else { format!("group{group}") };
            planner.cat(&name, mask.value(spec.ways), *cache)
        }
        Setting::IoAlloc(request) => planner.io_alloc(request.request(spec.ways)),
    }
}

type Ended = Result<(), TuneApplyError>;

/// Way in which a change is carried out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Execution {
    Kept,
    Held,
    Measured,
}

/// A change. Where the machine has no such control, or a held one is refused, nothing.
fn tune(
    (host, state): (&Host, &StateDirectory<'_>),
    spec: &Spec,
    (setting, way): (&Setting, Execution),
    watch: &mut dyn FnMut(ChangeStep) -> ControlFlow<()>,
) -> Ended {
    let pending = !state.read().expect("the journal").entries.is_empty();
    let keeps =
        matches!(setting, Setting::Ways { keeps: true, .. } | Setting::Mask { keeps: true, .. });
    let planner = TunePlanner::new(host).expect("the model").keep_unknown_bits(keeps);
    let planner = planner.allow_any_mask(keeps).allow_unmeasured(true);
    let Ok(plan) = plan(&planner, spec, setting) else { return Ok(()) };
    match way {
        Execution::Kept => apply(host, state, &plan, &mut Vec::new(), watch),
        Execution::Held if pending => Ok(()),
        Execution::Held => {
            apply(host, state, &plan, &mut Vec::new(), watch)?;
            restore(host, state, RestoreOptions::default(), &mut Vec::new(), watch)
        }
        Execution::Measured => {
            let monitor = Monitor::prepare(host, planner.generation(), planner.sockets());
            let window = Duration::from_millis(1);
            apply_measured(host, state, &plan, (&monitor, window), &mut Vec::new(), watch).map(drop)
        }
    }
}

/// A boot: the kernel's files are as at first, and without kexec the registers too.
fn boot(root: &Path, spec: &Spec, is_kexec: bool) {
    let fresh = spec.expand();
    let mut paths = vec!["sys/fs/resctrl/info/L3/io_alloc", "sys/fs/resctrl/info/L3/io_alloc_cbm"];
    let groups = spec.groups.as_ref().map_or(0, |groups| groups.groups.len());
    let masks: Vec<String> = (0..groups).map(masks_path).collect();
    paths.extend(masks.iter().map(String::as_str));
    let ports: Vec<PathBuf> =
        (0..spec.ports.len()).map(|index| port_file(fresh.path(), spec, index)).collect();
    let of_hardware = ports.iter().map(|path| path.strip_prefix(fresh.path()).expect("below it"));
    let mut paths: Vec<&Path> = paths.into_iter().map(Path::new).collect();
    if !is_kexec {
        paths.extend(of_hardware);
        paths.push(Path::new("registers.state"));
    }
    for path in paths.into_iter().filter(|path| fresh.path().join(path).exists()) {
        fs::copy(fresh.path().join(path), root.join(path)).expect("as at first");
    }
    let id = root.join(BOOT_ID);
    let before = fs::read_to_string(&id).expect("the boot");
    fs::write(id, format!("{}+\n", before.trim())).expect("another boot");
}

/// Boxes count look-ups through registers, where they can, while `meanwhile` happens.
fn count(
    host: &Host,
    state: StateDirectory<'_>,
    spec: &Spec,
    socket: u32,
    (watch, meanwhile): (&mut dyn FnMut(ChangeStep) -> ControlFlow<()>, &mut dyn FnMut()),
) -> Ended {
    let Ok(machine) = SliceMachine::read(host, None, Some(PackageId(socket))) else {
        return Ok(());
    };
    let boxes = spec.boxes.as_ref().map(|boxes| boxes.count);
    let Ok(CountingMethod::Registers(plan)) = machine.counting_method(host, boxes) else {
        return Ok(());
    };
    let ended = ProgrammedBoxes::program(host, state, &plan, watch).and_then(|programmed| {
        meanwhile();
        programmed.restore()
    });
    match ended {
        Err(ProgramError::Apply(error)) => Err(error),
        Ok(())
        | Err(
            ProgramError::NotAsAsked { .. } | ProgramError::Leftover | ProgramError::NotPutBack(_),
        ) => Ok(()),
        Err(other) => panic!("{other}"),
    }
}

/// Effects of one event.
struct EventEffects {
    /// Writes of the tool.
    log: Arc<Log>,
    /// The control that another program set.
    set_by_other: Option<String>,
    /// Other bits as another program left them while look-ups were counted.
    other_bits: Option<Vec<u64>>,
}

/// One run of the tool: everything is read again, and a kill ends it.
fn happen(root: &Path, spec: &Spec, (action, kill, is_locked): &Event) -> EventEffects {
    let _lock = is_locked.then(|| HeldLock::take(root));
    let (host, log) = watched(Host::from_tree(root).expect("the machine"));
    let mut happened = EventEffects { log, set_by_other: None, other_bits: None };
    let mut steps = 0;
    let mut watch = |_: ChangeStep| {
        steps += 1;
        if Some(steps - 1) == *kill { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
    let all_of_it = RestoreOptions::default();
    let ended = match action {
        Action::ForeignWrite(foreign) => {
            happened.set_by_other = foreign.happen(root, spec);
            Ok(())
        }
        Action::Restore => restore(&host, &state, all_of_it, &mut Vec::new(), &mut watch),
        Action::Boot { is_kexec } => {
            boot(root, spec, *is_kexec);
            Ok(())
        }
        Action::Tune(setting) => {
            tune((&host, &state), spec, (setting, Execution::Kept), &mut watch)
        }
        Action::Held(setting) => {
            tune((&host, &state), spec, (setting, Execution::Held), &mut watch)
        }
        Action::Measured(setting) => {
            tune((&host, &state), spec, (setting, Execution::Measured), &mut watch)
        }
        Action::Count { socket, meanwhile } => {
            let socket = socket % spec.sockets;
            let mut meanwhile = || {
                if let (Some(bits), Some(&control)) = (meanwhile, spec.box_controls().first()) {
                    set_other_bits(root, socket, control, *bits);
                    happened.other_bits = Some(other_bits(root, spec));
                }
            };
            count(&host, state, spec, socket, (&mut watch, &mut meanwhile))
        }
    };
    let is_refused = matches!(
        ended,
        Err(TuneApplyError::State(StateError::ResctrlLocked { .. })) if *is_locked
    );
    let is_ended = matches!(ended, Ok(()) | Err(TuneApplyError::Stopped(_)));
    assert!(is_ended || is_refused, "{action:?}: {ended:?}");
    happened
}

/// Nothing that this machine's part has no control for, and no bits but the tool's.
fn objection(spec: &Spec, log: &Log) -> Option<String> {
    let ways = spec.is_server().then_some(spec.ways);
    let rules = Rules { ways, boxes_of: spec.counts_by_registers(), any_journal: false };
    let reachable: Vec<u64> = spec.reachable().into_iter().map(u64::from).collect();
    log.writes().iter().find_map(|write| {
        let part = spec.part();
        let is_there = match &write.to {
            Place::Msr { socket, .. } if !reachable.contains(socket) => false,
            Place::Msr { address: WAYS, .. } => {
                part.has_ways && spec.dies == 1 && spec.describes_one_llc()
            }
            Place::Msr { .. } => spec.counts_by_registers().is_some(),
            Place::Port { function, .. } => spec.ports.iter().enumerate().any(|(index, port)| {
                let is_it = port.bdf(index) == function.to_string();
                is_it && port.is_listed(part) && !port.is_covered && !port.is_dead
            }),
            Place::Control { .. } => spec.groups.is_some(),
        };
        let missing = (!is_there).then(|| format!("no such control: {write:x?}"));
        missing.or_else(|| rules.objection(write))
    })
}

/// Whether every register takes what it is given.
fn is_plain(spec: &Spec) -> bool {
    let ports = spec.ports.iter();
    let boxes = spec.boxes.as_ref();
    spec.msr_write == OnWrite::Taken
        && spec.msr_read == Answer::Ok
        && boxes.is_none_or(|boxes| boxes.write == OnWrite::Taken && boxes.read == Answer::Ok)
        && ports.clone().all(|port| port.write == OnWrite::Taken && port.read == Answer::Ok)
}

/// Values that controls must have in the end, and values that other programs have set since.
#[derive(Default)]
struct Expected {
    /// The last value of each control that is not the tool's, as of when the journal had none of it.
    before: BTreeMap<String, String>,
    /// Values that other programs set while the journal had an older value: both cannot be restored, and
    /// the record may stay.
    contested: BTreeMap<String, BTreeSet<String>>,
    /// Set by another program and not by the tool since.
    theirs: BTreeMap<String, String>,
}

impl Expected {
    fn set_by_other(&mut self, control: String, now: &BTreeMap<String, String>, journal: &Journal) {
        let value = now[&control].clone();
        if is_journalled(journal, &control) {
            self.contested.entry(control.clone()).or_default().insert(value.clone());
        } else {
            self.contested.remove(&control);
            self.before.insert(control.clone(), value.clone());
        }
        self.theirs.insert(control, value);
    }

    /// Takes the values of controls that a boot has reset for those to be kept.
    fn boot(&mut self, now: &BTreeMap<String, String>, journal: &Journal, is_kexec: bool) {
        let is_reset = |control: &str| !is_kexec || is_kernel_file(control);
        let (mut before, mut contested) = (self.before.clone(), self.contested.clone());
        self.before.retain(|control, _| !is_reset(control));
        self.contested.retain(|control, _| !is_reset(control));
        self.theirs.retain(|control, _| !is_reset(control));
        for (control, value) in now.iter().filter(|(control, _)| is_reset(control)) {
            self.before.insert(control.clone(), value.clone());
            // One that a boot sets to what the tool had set looks like one that it left alone.
            if !is_kernel_file(control) && has_been_given(journal, control, value) {
                let mut old = contested.remove(control).unwrap_or_default();
                old.extend(before.remove(control));
                old.remove(value);
                if !old.is_empty() {
                    self.contested.insert(control.clone(), old);
                }
            }
        }
    }

    /// Whether a control has a value that is not the tool's.
    fn is_back(&self, control: &str, value: &String) -> bool {
        let of_others = self.contested.get(control);
        self.before.get(control) == Some(value) || of_others.is_some_and(|set| set.contains(value))
    }

    /// No lock of another user keeps a register from being put back.
    fn check_registers(
        &self,
        spec: &Spec,
        now: &BTreeMap<String, String>,
    ) -> Result<(), TestCaseError> {
        for (control, value) in now.iter().filter(|(control, _)| !is_kernel_file(control)) {
            let is_free = !is_plain(spec) || self.contested.contains_key(control);
            prop_assert!(self.is_back(control, value) || is_free, "{} is not put back", control);
        }
        Ok(())
    }

    /// A restore leaves what another program has set; a change that a user asks for does not.
    fn check(
        &mut self,
        action: &Action,
        now: &BTreeMap<String, String>,
        journal_before: &Journal,
    ) -> Result<(), TestCaseError> {
        for (control, value) in &self.theirs {
            let may_be_own = is_unread(journal_before, control)
                || is_as_the_tool_left_it(journal_before, control, value);
            if matches!(action, Action::Restore) && !may_be_own {
                prop_assert_eq!(now.get(control), Some(value), "{} of another program", control);
            }
        }
        self.theirs.retain(|control, value| now.get(control) == Some(value));
        Ok(())
    }
}

/// Whether a control is a file of the kernel, not a register.
fn is_kernel_file(control: &str) -> bool {
    control.starts_with("io_alloc") || control.starts_with("sys/fs/resctrl")
}

fn peek(host: &Host) -> Journal {
    Journal::peek(&host.root, DEFAULT_STATE).unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: cases(100, 600),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(soak::seed(26)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_history_on_any_machine_writes_what_is_not_owned_or_loses_a_value(
        spec in spec_with_controls(),
        history in prop::collection::vec(event(), 1..12),
    ) {
        let directory = spec.expand();
        let root = directory.path();
        let mut expected = Expected { before: held(root, &spec), ..Expected::default() };
        for event in &history {
            let (others, journal) = (other_bits(root, &spec), peek(&Host::from_tree(root).expect("it")));
            let happened = happen(root, &spec, event);
            prop_assert_eq!(objection(&spec, &happened.log), None, "{:?}", event);
            let now = held(root, &spec);
            if let Action::Boot { is_kexec } = event.0 {
                expected.boot(&now, &journal, is_kexec);
                continue;
            }
            if let Action::ForeignWrite(_) = event.0 {
                if let Some(control) = happened.set_by_other {
                    expected.set_by_other(control, &now, &journal);
                }
                continue;
            }
            let others = happened.other_bits.unwrap_or(others);
            prop_assert_eq!(other_bits(root, &spec), others, "{:?}", event);
            expected.check(&event.0, &now, &journal)?;
            if let (Action::Restore, None, true) = event {
                expected.check_registers(&spec, &now)?;
            }
        }
        let (host, log) = watched(Host::from_tree(root).expect("the machine"));
        let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
        let journal = peek(&host);
        restore(&host, &state, RestoreOptions::default(), &mut Vec::new(), &mut ignore_steps)
            .expect("a restore");
        expected.check(&Action::Restore, &held(root, &spec), &journal)?;
        prop_assert_eq!(objection(&spec, &log), None, "the last restore");
        let journal = state.read().expect("the journal");
        for (control, value) in held(root, &spec) {
            let is_back = expected.is_back(&control, &value);
            let is_free = !is_plain(&spec) || expected.contested.contains_key(&control);
            prop_assert!(is_back || is_journalled(&journal, &control), "{} is lost", control);
            prop_assert!(is_back || is_free, "{} is not put back: {}", control, value);
        }
        let boot = fs::read_to_string(root.join(BOOT_ID)).expect("the boot");
        // After a write of which the tool saw no end a boot may have set what the control holds, or not.
        let is_unknown = |entry: &ChangeRecord| entry.read_back.is_none() && entry.boot_id != boot.trim();
        for entry in journal.entries.iter().filter(|entry| is_plain(&spec) && !is_unknown(entry)) {
            let waits = |later: &ChangeRecord| is_unknown(later) && later.target.is_same(&entry.target);
            let is_kept = expected.contested.keys().any(|control| is_of(&entry.target, control))
                || journal.entries.iter().any(waits);
            prop_assert!(is_kept, "{:?} is not done", entry);
        }
    }
}
