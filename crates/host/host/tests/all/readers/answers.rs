//! Plans, changes and restores on a machine whose registers, configuration space and control files
//! answer as the bytes say: nothing outside of owned bits is written, and nothing that the journal on
//! the disk does not name.

use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use host::Host;
use host::control_files::ControlFiles;
use host::cpu::{CpuId, PackageId};
use host::error::{FileError, Problem};
use host::pci_address::Bdf;
use host::pci_config::PciConfig;
use host::registers::Registers;
use host::status::{HostStatus, explain};
use host::tune::{
    ChangeStep, DEFAULT_STATE, IoAllocRequest, Journal, RestoreOptions, StateDirectory, TunePlan,
    TunePlanError, TunePlanner, apply, preview, restore,
};

use super::input::Input;
use super::machine::{FileContents, MachineCache};
use crate::watched::{Rules, watched};

/// Files that changes can reach.
const CHANGED: [&str; 9] = [
    "registers.state",
    "sys/bus/pci/devices/0000:16:00.0/config",
    "sys/bus/pci/devices/0000:ae:00.0/config",
    "sys/bus/pci/devices/10001:16:00.0/config",
    "sys/fs/resctrl/schemata",
    "sys/fs/resctrl/batch/schemata",
    "sys/fs/resctrl/info/L3/io_alloc",
    "sys/fs/resctrl/info/L3/io_alloc_cbm",
    "var/lib/skipline-host/journal.json",
];

const MACHINES: [(&str, u32); 2] = [("cascade-lake", 11), ("turin", 16)];
static KEPT: MachineCache = MachineCache::new();

/// The rest of the bytes, shared by all that answers.
#[derive(Clone)]
struct Script(Arc<Mutex<(Vec<u8>, usize)>>);

impl Script {
    fn with<R>(&self, read: impl FnOnce(&mut Input<'_>) -> R) -> R {
        let mut script = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (bytes, at) = &mut *script;
        let mut input = Input(&bytes[*at..]);
        let result = read(&mut input);
        *at = bytes.len() - input.0.len();
        result
    }

    /// The value that a read gives, if not the machine's own.
    fn read(&self, path: &str) -> Option<Result<u64, FileError>> {
        self.with(|input| match input.byte() % 16 {
            12 => Some(Ok(input.word())),
            13 => Some(Ok(u64::MAX)),
            14 => Some(Err(error(input, path))),
            _ => None,
        })
    }

    /// The value after a write: as written, another value, or unchanged.
    fn write(&self, path: &str, value: u64) -> Result<Option<u64>, FileError> {
        self.with(|input| match input.byte() % 8 {
            5 => Ok(None),
            6 => Ok(Some(input.word())),
            7 => Err(error(input, path)),
            _ => Ok(Some(value)),
        })
    }
}

fn error(input: &mut Input<'_>, path: &str) -> FileError {
    let problem = match input.byte() % 5 {
        0 => Problem::Missing,
        1 => Problem::NotPermitted,
        2 => Problem::Refused,
        3 => Problem::ShortRead { got: 1, wanted: 8 },
        _ => Problem::Invalid,
    };
    FileError { path: path.to_owned(), problem }
}

struct ScriptedBackend<T: ?Sized> {
    inner: Box<T>,
    script: Script,
}

impl Registers for ScriptedBackend<dyn Registers + Send + Sync> {
    fn read(&self, cpu: CpuId, address: u32) -> Result<u64, FileError> {
        self.script.read("msr").unwrap_or_else(|| self.inner.read(cpu, address))
    }

    fn write(&self, cpu: CpuId, address: u32, value: u64) -> Result<(), FileError> {
        let taken = self.script.write("msr", value)?;
        taken.map_or(Ok(()), |value| self.inner.write(cpu, address, value))
    }

    fn detect(&self, cpu: CpuId) -> Result<(), FileError> {
        self.inner.detect(cpu)
    }
}

impl PciConfig for ScriptedBackend<dyn PciConfig + Send + Sync> {
    fn read(&self, function: Bdf, offset: u16) -> Result<u32, FileError> {
        match self.script.read("config") {
            #[expect(clippy::cast_possible_truncation, reason = "any 32 bits of it")]
            Some(answer) => answer.map(|value| value as u32),
            None => self.inner.read(function, offset),
        }
    }

    fn write(&self, function: Bdf, offset: u16, value: u32) -> Result<(), FileError> {
        #[expect(clippy::cast_possible_truncation, reason = "any 32 bits of it")]
        let taken = self.script.write("config", value.into())?.map(|value| value as u32);
        taken.map_or(Ok(()), |value| self.inner.write(function, offset, value))
    }
}

impl ControlFiles for ScriptedBackend<dyn ControlFiles + Send + Sync> {
    fn read(&self, path: &str) -> Result<String, FileError> {
        let replaced = self.script.with(|input| match input.byte() % 16 {
            13 => {
                let length = usize::from(input.byte());
                Some(Ok(String::from_utf8_lossy(input.take(length)).into_owned()))
            }
            14 => Some(Err(error(input, path))),
            _ => None,
        });
        replaced.unwrap_or_else(|| self.inner.read(path))
    }

    fn write(&self, path: &str, command: &str) -> Result<(), FileError> {
        let taken = self.script.write(path, 0)?;
        taken.map_or(Ok(()), |_| self.inner.write(path, command))
    }
}

fn scripted(host: Host, script: &Script) -> Host {
    let Host { root, registers, config, control, counters, rings, interfaces, memory } = host;
    Host {
        registers: Box::new(ScriptedBackend { inner: registers, script: script.clone() }),
        config: Box::new(ScriptedBackend { inner: config, script: script.clone() }),
        control: Box::new(ScriptedBackend { inner: control, script: script.clone() }),
        root,
        counters,
        rings,
        interfaces,
        memory,
    }
}

pub fn read(bytes: &[u8]) {
    let mut input = Input(bytes);
    let (name, ways) = input.one_of(&MACHINES);
    let actions: Vec<[u8; 4]> =
        (0..1 + input.byte() % 4).map(|_| [(); 4].map(|()| input.byte())).collect();
    let script = Script(Arc::new(Mutex::new((input.0.to_vec(), 0))));
    KEPT.with(name, |machine| {
        let before = FileContents::read(machine.root(), &CHANGED);
        let described = Host::from_tree(machine.root()).expect("the machine");
        let (host, log) = watched(scripted(described, &script));
        let _ = explain(&HostStatus::read(&host, DEFAULT_STATE));
        for action in actions {
            act(&host, action);
        }
        let rules = Rules { ways: Some(ways), boxes_of: None, any_journal: false };
        for write in log.writes() {
            assert_eq!(rules.objection(&write), None);
        }
        before.put_back();
    });
}

fn act(host: &Host, [kind, detail, more, crash]: [u8; 4]) {
    let Ok(planner) = TunePlanner::new(host) else { return };
    let planner = planner.allow_unmeasured(true);
    let planner = planner.keep_unknown_bits(more & 0x80 != 0).allow_any_mask(more & 0x40 != 0);
    let Ok(state) = StateDirectory::lock(&host.root, DEFAULT_STATE) else { return };
    let mut steps_left = crash;
    let mut watch = |_: ChangeStep| {
        steps_left = steps_left.wrapping_sub(1);
        if steps_left == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    match plan(&planner, kind, detail, more) {
        Some(Ok(plan)) => drop(apply(host, &state, &plan, &mut Vec::new(), &mut watch)),
        Some(Err(error)) => drop(error.to_string()),
        None => {
            let options = RestoreOptions { all: more & 1 == 1, forget: more & 2 == 2 };
            let journal = Journal::peek(&host.root, DEFAULT_STATE).expect("what the tool wrote");
            let _ = preview(host, &journal, options.all);
            drop(restore(host, &state, options, &mut Vec::new(), &mut watch));
        }
    }
}

fn plan(
    planner: &TunePlanner<'_>,
    kind: u8,
    detail: u8,
    more: u8,
) -> Option<Result<TunePlan, TunePlanError>> {
    let socket = (more & 1 == 1).then_some(PackageId(u32::from(more >> 1 & 1)));
    let mask = (1u64 << (detail & 0xf)) - 1;
    Some(match kind % 7 {
        5 => planner.ddio_mask(mask << (more >> 2 & 7), socket),
        0 => planner.ddio_ways(u32::from(detail % 20), socket),
        1 => planner.ddio(detail & 1 == 1, None),
        2 => planner.cat("default", mask << (more >> 2 & 7), None),
        3 => planner.io_alloc(match detail % 3 {
            0 => IoAllocRequest::On,
            1 => IoAllocRequest::Off,
            _ => IoAllocRequest::Mask(u64::from(more)),
        }),
        4 => planner.ddio(detail & 1 == 1, "0000:17:00.0".parse().ok()),
        _ => return None,
    })
}
