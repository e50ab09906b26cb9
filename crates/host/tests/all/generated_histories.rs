//! Changes, restores, settings that are held, kills at any step and other programs, in any order, on
//! any machine: is anything but owned bits written, or anything lost?

use std::collections::BTreeMap;
use std::fs;
use std::ops::ControlFlow;
use std::path::Path;

use host::Host;
use host::controls::Target;
use host::cpu::PackageId;
use host::tune::{
    ApplyError, DEFAULT_STATE, IoAllocRequest, Journal, Plan, PlanError, Planner, RestoreOptions,
    StateDirectory, Step, apply, never, restore,
};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use crate::generated::{Answer, OnWrite, Spec, spec};
use crate::watched::{Log, Place, Rules, watched};

/// One control that a user asks for.
#[derive(Clone, Debug)]
enum Setting {
    Ways { ways: u32, socket: Option<u32>, keeps: bool },
    Mask { mask: u64, socket: Option<u32>, keeps: bool },
    Switch { on: bool, port: Option<usize> },
    Cat { group: usize, mask: u64, cache: Option<u32> },
    IoAlloc(IoAllocRequest),
}

#[derive(Clone, Debug)]
enum Action {
    Tune(Setting),
    /// `run` and `tune --for`: put back in the end, whatever happens.
    Held(Setting),
    Restore,
    /// Another program writes bits of a port's register that are not the tool's.
    Foreign {
        port: usize,
        bits: u32,
    },
}

/// An action, and the step at which the tool is killed, counted over all that it does.
type Event = (Action, Option<usize>);

fn setting() -> impl Strategy<Value = Setting> {
    let mask = (0u64..20, 1u32..12).prop_map(|(shift, ways)| ((1 << ways) - 1) << shift);
    let request = prop_oneof![
        Just(IoAllocRequest::On),
        Just(IoAllocRequest::Off),
        mask.clone().prop_map(IoAllocRequest::Mask)
    ];
    let ways = (1u32..21, prop::option::of(0u32..4), any::<bool>());
    let switch = (any::<bool>(), prop::option::of(0usize..6));
    prop_oneof![
        ways.prop_map(|(ways, socket, keeps)| Setting::Ways { ways, socket, keeps }),
        switch.prop_map(|(on, port)| Setting::Switch { on, port }),
        (0u64..1 << 21, prop::option::of(0u32..4), any::<bool>())
            .prop_map(|(mask, socket, keeps)| Setting::Mask { mask, socket, keeps }),
        (0usize..4, mask, prop::option::of(0u32..6))
            .prop_map(|(group, mask, cache)| Setting::Cat { group, mask, cache }),
        request.prop_map(Setting::IoAlloc),
    ]
}

fn event() -> impl Strategy<Value = Event> {
    let action = prop_oneof![
        6 => setting().prop_map(Action::Tune),
        3 => setting().prop_map(Action::Held),
        2 => Just(Action::Restore),
        1 => (0usize..6, any::<u32>()).prop_map(|(port, bits)| Action::Foreign { port, bits }),
    ];
    (action, prop::option::weighted(0.4, 0usize..20))
}

fn plan(planner: &Planner<'_>, spec: &Spec, setting: &Setting) -> Result<Plan, PlanError> {
    match setting {
        Setting::Ways { ways, socket, .. } => planner.ddio_ways(*ways, socket.map(PackageId)),
        Setting::Mask { mask, socket, .. } => planner.ddio_mask(*mask, socket.map(PackageId)),
        Setting::Switch { on, port } => {
            let device = port.and_then(|index| Some(spec.ports.get(index)?.bdf(index)));
            planner.ddio(*on, device.map(|text| text.parse().expect("a PCI address")))
        }
        Setting::Cat { group, mask, cache } => {
            let name = if *group == 0 { "default".to_owned() } else { format!("group{group}") };
            planner.cat(&name, *mask, *cache)
        }
        Setting::IoAlloc(request) => planner.io_alloc(*request),
    }
}

/// One run of the tool: everything is read again, and a kill ends it.
fn happen(root: &Path, spec: &Spec, (action, kill): &Event) -> std::sync::Arc<Log> {
    let (host, log) = watched(Host::at(root).expect("the machine"));
    let mut steps = 0;
    let mut watch = |_: Step| {
        steps += 1;
        if Some(steps - 1) == *kill { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
    let all_of_it = RestoreOptions::default();
    let ended = match action {
        Action::Foreign { port, bits } => {
            foreign(root, spec, *port, *bits);
            Ok(())
        }
        Action::Restore => restore(&host, &state, all_of_it, &mut Vec::new(), &mut watch),
        Action::Tune(setting) | Action::Held(setting) => {
            let is_held = matches!(action, Action::Held(_));
            let pending = !state.read().expect("the journal").entries.is_empty();
            let keeps = matches!(
                setting,
                Setting::Ways { keeps: true, .. } | Setting::Mask { keeps: true, .. }
            );
            let planner = Planner::new(&host).expect("the model").keeping_unknown_bits(keeps);
            let planner = planner.taking_any_mask(keeps);
            match plan(&planner, spec, setting) {
                Ok(plan) if !(is_held && pending) => {
                    let ended = apply(&host, &state, &plan, &mut Vec::new(), &mut watch);
                    match ended {
                        Ok(()) if is_held => {
                            restore(&host, &state, all_of_it, &mut Vec::new(), &mut watch)
                        }
                        ended => ended,
                    }
                }
                // This machine has no such control, or a held setting is refused.
                _ => Ok(()),
            }
        }
    };
    assert!(matches!(ended, Ok(()) | Err(ApplyError::Stopped(_))), "{action:?}: {ended:?}");
    log
}

fn port_file(root: &Path, spec: &Spec, index: usize) -> std::path::PathBuf {
    root.join(format!("sys/bus/pci/devices/{}/config", spec.ports[index].bdf(index)))
}

/// Flips bits of perfctrlsts_0 that the tool does not own; never to all ones.
fn foreign(root: &Path, spec: &Spec, index: usize, bits: u32) {
    if spec.ports.get(index).is_none_or(|port| port.is_dead || port.is_covered) {
        return;
    }
    let path = port_file(root, spec, index);
    let mut space = fs::read(&path).expect("configuration space");
    let old = u32::from_le_bytes(space[0x180..0x184].try_into().expect("four bytes"));
    let new = (old & 0x80) | (bits & !0x80 & 0x7fff_ffff);
    space[0x180..0x184].copy_from_slice(&new.to_le_bytes());
    fs::write(path, space).expect("configuration space");
}

/// What each control holds.
fn held(root: &Path, spec: &Spec) -> BTreeMap<String, String> {
    let mut held = BTreeMap::new();
    let state = fs::read_to_string(root.join("registers.state")).unwrap_or_else(|_| "{}".into());
    let state: BTreeMap<String, u64> = serde_json::from_str(&state).expect("registers");
    for socket in 0..spec.sockets {
        let value = state.get(&format!("socket{socket}.0xc8b")).copied().unwrap_or(0);
        held.insert(format!("socket {socket}"), format!("{value:#x}"));
    }
    for (index, port) in spec.ports.iter().enumerate() {
        let space = fs::read(port_file(root, spec, index)).expect("configuration space");
        // Only the tool's bit: others may write the rest.
        held.insert(port.bdf(index), format!("{:#x}", space[0x180] & 0x80));
    }
    for group in 0..spec.groups.as_ref().map_or(0, |groups| groups.groups.len()) {
        let folder = if group == 0 { String::new() } else { format!("group{group}/") };
        let path = format!("sys/fs/resctrl/{folder}schemata");
        held.insert(path.clone(), fs::read_to_string(root.join(path)).expect("masks"));
    }
    let info = root.join("sys/fs/resctrl/info/L3");
    let switch = fs::read_to_string(info.join("io_alloc")).unwrap_or_default();
    if switch.trim() == "enabled" {
        let masks = fs::read_to_string(info.join("io_alloc_cbm")).expect("masks");
        held.insert("io_alloc masks".into(), masks);
    }
    held.insert("io_alloc".into(), switch);
    held
}

/// Whether the journal still has the control's old value.
fn is_journalled(journal: &Journal, control: &str) -> bool {
    journal.entries.iter().any(|entry| match &entry.target {
        Target::Msr { socket, .. } => control == format!("socket {socket}"),
        Target::Port { function, .. } => control == function.to_string(),
        Target::Mask { path, .. } | Target::Switch { path } => {
            control == path || (control.starts_with("io_alloc") && path.contains("/io_alloc"))
        }
    })
}

/// Bits of ports that are not the tool's, as they are now.
fn foreign_bits(root: &Path, spec: &Spec) -> Vec<u32> {
    let of = |index: usize| {
        let space = fs::read(port_file(root, spec, index)).expect("configuration space");
        let word = u32::from_le_bytes(space[0x180..0x184].try_into().expect("four bytes"));
        // A port that widens sets bit 4 by itself.
        word & !0x80 & !0x10
    };
    (0..spec.ports.len()).map(of).collect()
}

/// Nothing that this machine's part has no control for, and no bits but the tool's.
fn objection(spec: &Spec, log: &Log) -> Option<String> {
    let ways = spec.is_server().then_some(spec.ways);
    let rules = Rules { ways, any_journal: None };
    log.writes().iter().find_map(|write| {
        let part = spec.part();
        let is_there = match &write.to {
            Place::Msr { .. } => part.has_ways && spec.dies == 1,
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
    spec.msr_write == OnWrite::Taken
        && spec.msr_read == Answer::Ok
        // A mask that leaves I/O no way is never written back.
        && spec.masks.iter().all(|(ways, _)| *ways != 0)
        && ports.clone().all(|port| port.write == OnWrite::Taken && port.read == Answer::Ok)
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: soak::amount(100, 10_000),
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(soak::seed(26)),
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_history_on_any_machine_writes_what_is_not_owned_or_loses_a_value(
        spec in spec(),
        history in prop::collection::vec(event(), 1..8),
    ) {
        let directory = spec.expand();
        let root = directory.path();
        let before = held(root, &spec);
        for event in &history {
            let others = foreign_bits(root, &spec);
            let log = happen(root, &spec, event);
            prop_assert_eq!(objection(&spec, &log), None, "{:?}", event);
            if !matches!(event.0, Action::Foreign { .. }) {
                prop_assert_eq!(foreign_bits(root, &spec), others, "{:?}", event);
            }
        }
        let (host, log) = watched(Host::at(root).expect("the machine"));
        let state = StateDirectory::lock(&host.root, DEFAULT_STATE).expect("the lock");
        restore(&host, &state, RestoreOptions::default(), &mut Vec::new(), &mut never)
            .expect("a restore");
        prop_assert_eq!(objection(&spec, &log), None, "the last restore");
        let journal = state.read().expect("the journal");
        for (control, value) in held(root, &spec) {
            let is_back = before.get(&control) == Some(&value);
            prop_assert!(is_back || is_journalled(&journal, &control), "{} is lost", control);
            prop_assert!(is_back || !is_plain(&spec), "{} is not put back: {}", control, value);
        }
        prop_assert!(journal.entries.is_empty() || !is_plain(&spec), "{:?}", journal);
    }
}
