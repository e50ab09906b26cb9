//! Status of a machine, in one structure: how I/O data reaches its cache.

mod backends;
mod caches;
mod explain;
mod ports;
mod sockets;

use serde::Serialize;

use crate::controls::check_server;
use crate::cpu::{CpuModel, Generation, Generations, sockets as read_sockets};
use crate::error::{FileError, Problem};
use crate::kernel_rules::KernelRules;
use crate::machine::Host;
use crate::offline::OfflineCpus;
use crate::pci::Tree;
use crate::tune::{
    DEFAULT_STATE, Journal, RestoreOutcome, RestoredControl, other_journal_directories, preview,
};
use crate::unavailable::Unavailable;

pub use backends::Backend;
pub use caches::{CacheStatus, GroupStatus};
pub use explain::{Explanation, explain};
pub use ports::{DdioState, DeviceStatus, PortStatus};
pub use sockets::{HugePageCounts, IoWays, SocketStatus};

/// Status of a machine: everything that could be read, and the items that could not.
#[derive(Clone, Debug, Serialize)]
pub struct HostStatus {
    /// CPU model; `None` if it cannot be read.
    pub cpu: Option<CpuModel>,
    /// CPU generation; `None` if it is not in the table.
    pub generation: Option<Generation>,
    /// The kernel's lockdown mode: `none`, `integrity` or `confidentiality`; `None` if not reported.
    pub lockdown: Option<String>,
    /// Mode of the IOMMU, for messages; `None` if it cannot be read.
    pub iommu: Option<String>,
    /// Backends of the machine's controls, with the result of a trial.
    pub backends: Vec<Backend>,
    /// Sockets, with the ports and devices of each.
    pub sockets: Vec<SocketStatus>,
    /// Offline CPUs, and sockets that cannot be reached.
    pub offline: OfflineCpus,
    /// Ports and devices of a socket that cannot be reached, or whose socket the firmware does not name.
    pub elsewhere: Vec<PortStatus>,
    /// Cache allocation groups (resctrl); `None` if they cannot be read.
    pub caches: Option<CacheStatus>,
    /// Number of journalled changes that are in force: not restored, and not reset by a reboot.
    pub changes_pending: usize,
    /// Items that could not be read, with reason and remedy.
    pub unread: Vec<Unavailable>,
}

impl HostStatus {
    /// Reads the machine. `state` is the directory of the journal. Items that cannot be read are listed
    /// in [`HostStatus::unread`]; they are never an error.
    #[must_use]
    pub fn read(host: &Host, state: &str) -> Self {
        let mut notes = Notes::default();
        let cpu = notes.take("the CPU's model", CpuModel::read(&host.root));
        let generation = cpu.as_ref().and_then(|cpu| Generations::built_in().find(cpu).cloned());
        let is_server = note_unknown(host, cpu.as_ref(), generation.as_ref(), &mut notes);
        // Registers of another CPU may have the same numbers and another meaning.
        let controls = generation.as_ref().filter(|_| is_server);
        let plain = notes.take("sockets", read_sockets(&host.root)).unwrap_or_default();
        sockets::note_llc_mismatch(&plain, controls, &mut notes);
        let caches = caches::read(host, &mut notes);
        let mut sockets: Vec<SocketStatus> = plain
            .iter()
            .map(|socket| sockets::read(host, socket, generation.as_ref(), controls, &mut notes))
            .collect();
        let tree = notes.take("PCI devices", Tree::read(&host.root)).unwrap_or_default();
        for (bdf, error) in tree.unreadable() {
            notes.add(Unavailable::from_error(format!("PCI function {bdf}"), error));
        }
        let offline = OfflineCpus::read(&host.root, &plain, &tree);
        for socket in &offline.sockets {
            notes.add(socket.hides("registers, counters and LLC"));
        }
        let mut elsewhere = Vec::new();
        for port in ports::read(host, &tree, controls, &mut notes) {
            let socket = offline.socket_of_device(&host.root, port.node, &plain);
            match socket.and_then(|id| sockets.iter_mut().find(|socket| socket.id == id)) {
                Some(socket) => socket.ports.push(port),
                None => elsewhere.push(port),
            }
        }
        let backends = backends::detect(host, &tree, &plain, generation.as_ref(), &mut notes);
        let changes_pending = changes_pending(host, state, &mut notes);
        Self {
            cpu,
            generation,
            lockdown: KernelRules::read(&host.root).lockdown,
            iommu: iommu(host),
            backends,
            sockets,
            offline,
            elsewhere,
            caches,
            changes_pending,
            unread: notes.into_list(),
        }
    }

    /// Iterates over the ports of every socket, and those without a known socket.
    pub fn ports(&self) -> impl Iterator<Item = &PortStatus> {
        self.sockets.iter().flat_map(|socket| &socket.ports).chain(&self.elsewhere)
    }
}

/// Number of changes in force: in the journal in `state` and, if that is the default one, in all others.
fn changes_pending(host: &Host, state: &str, notes: &mut Notes) -> usize {
    let elsewhere = match state {
        DEFAULT_STATE => other_journal_directories(&host.root),
        _ => Ok(Vec::new()),
    };
    let mut directories = vec![state.to_owned()];
    match elsewhere {
        Ok(others) => directories.extend(others),
        Err(error) => {
            notes.add(Unavailable::without_remedy("the list of journals", error.to_string()));
        }
    }
    let mut pending = 0;
    for directory in directories {
        match Journal::peek(&host.root, &directory) {
            Ok(journal) => pending += count_in_force(host, &journal),
            Err(error) => {
                notes.add(Unavailable::without_remedy("the journal of changes", error.to_string()));
            }
        }
    }
    pending
}

/// Number of changes that a restore would undo; all of them if that is not known.
fn count_in_force(host: &Host, journal: &Journal) -> usize {
    let reset = |one: &RestoredControl| {
        matches!(
            one.result,
            RestoreOutcome::Rebooted | RestoreOutcome::WasBack { .. } | RestoreOutcome::SwitchedOff
        )
    };
    match preview(host, journal, false) {
        Ok(previewed) => previewed.iter().filter(|one| !reset(one)).count(),
        Err(_) => journal.entries.len(),
    }
}

/// Notes on items that could not be read, one for each kind of reason.
#[derive(Default)]
pub(crate) struct Notes(Vec<UnavailableNote>);

/// Items that cannot be read, with the same problem and remedy.
struct UnavailableNote {
    whats: Vec<String>,
    /// The problem without the file, if a remedy helps against all problems of its kind.
    problem: Option<String>,
    unread: Unavailable,
}

/// Greatest number of items that a note names; the rest is counted.
const MOST_NAMED: usize = 4;

impl Notes {
    pub(crate) fn add(&mut self, unread: Unavailable) {
        self.add_kind(unread, None);
    }

    fn add_kind(&mut self, unread: Unavailable, problem: Option<String>) {
        let same = |known: &&mut UnavailableNote| {
            known.unread.remedy == unread.remedy
                && (known.unread.reason == unread.reason
                    || (problem.is_some() && known.problem == problem))
        };
        match self.0.iter_mut().find(same) {
            Some(known) if known.whats.contains(&unread.what) => {}
            Some(known) => known.whats.push(unread.what),
            None => {
                self.0.push(UnavailableNote { whats: vec![unread.what.clone()], problem, unread });
            }
        }
    }

    /// The value of a result; for an error adds a note, and returns `None`.
    pub(crate) fn take<T>(&mut self, what: &str, read: Result<T, FileError>) -> Option<T> {
        match read {
            Ok(value) => Some(value),
            Err(error) => {
                let unread = Unavailable::from_error(what, &error);
                let kind = unread.remedy.is_some().then(|| error.problem.to_string());
                self.add_kind(unread, kind);
                None
            }
        }
    }

    pub(crate) fn into_list(self) -> Vec<Unavailable> {
        let whole = |note: UnavailableNote| {
            let named = note.whats.len().min(MOST_NAMED);
            let mut what = note.whats[..named].join(", ");
            if note.whats.len() > named {
                what += &format!(" and {} more", note.whats.len() - named);
            }
            Unavailable { what, ..note.unread }
        };
        self.0.into_iter().map(whole).collect()
    }
}

/// Adds notes on missing knowledge about this CPU, and returns whether it is a server of a known
/// generation.
fn note_unknown(
    host: &Host,
    cpu: Option<&CpuModel>,
    generation: Option<&Generation>,
    notes: &mut Notes,
) -> bool {
    let Some(cpu) = cpu else { return false };
    let model = format!("{} family {:#x} model {:#x}", cpu.vendor, cpu.family, cpu.model);
    if generation.is_none() {
        notes.add(Unavailable::without_remedy(
            "how I/O reaches the cache",
            format!("{model} is not in the table of generations"),
        ));
    }
    let is_server = generation.map(|generation| {
        note_missing_controls(generation, notes);
        check_server(host, cpu, generation)
    });
    if let (Some(Err(reason)), false) = (&is_server, cpu.virtual_machine) {
        notes.add(Unavailable::without_remedy("ways of I/O and DDIO switches", reason.clone()));
    }
    if cpu.virtual_machine {
        notes.add(Unavailable::new(
            "the hardware's own controls",
            "this is a virtual machine: the hypervisor decides which registers, PCI ports and event counters exist",
            "run it on the host itself",
        ));
    }
    is_server.is_some_and(|checked| checked.is_ok())
}

/// Adds notes on controls that are not publicly documented for this generation.
fn note_missing_controls(generation: &Generation, notes: &mut Notes) {
    let name = &generation.name;
    if generation.ways_register.is_none() {
        let reason = format!("{name} has no publicly documented register for them");
        notes.add(Unavailable::without_remedy("ways of I/O", reason));
    }
    if generation.port_switch.is_none() {
        let place = generation.describe_missing_port_switch();
        let reason = format!("root ports of {name} have no publicly documented one{place}");
        notes.add(Unavailable::new(
            "DDIO switch of root ports",
            reason,
            format!("for the whole machine: {}", generation.describe_firmware_switch()),
        ));
    }
}

/// Describes whether the IOMMU translates addresses of devices, from the types of its groups.
fn iommu(host: &Host) -> Option<String> {
    let units = match host.root.list("sys/class/iommu") {
        Ok(units) => units,
        Err(error) if error.problem == Problem::Missing => Vec::new(),
        Err(_) => return None,
    };
    if units.is_empty() {
        return Some("off: devices use physical addresses".into());
    }
    let groups = host.root.list("sys/kernel/iommu_groups").unwrap_or_default();
    let mut kinds: Vec<String> = groups
        .iter()
        .filter_map(|group| {
            host.root.read_line(&format!("sys/kernel/iommu_groups/{group}/type")).ok()
        })
        .collect();
    kinds.sort_unstable();
    kinds.dedup();
    let words = |kind: &str| match kind {
        "identity" => "pass-through (devices use physical addresses)".to_owned(),
        "DMA" => "translated, strict invalidation".to_owned(),
        "DMA-FQ" => "translated, lazy invalidation".to_owned(),
        other => other.to_owned(),
    };
    let kinds: Vec<String> = kinds.iter().map(|kind| words(kind)).collect();
    let mode = if kinds.is_empty() { "no groups".to_owned() } else { kinds.join("; ") };
    Some(format!("on ({}): {mode}", units.join(", ")))
}
