//! What the controls of a drawn machine hold, past all that may refuse a read, and what the journal has.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use host::controls::ControlTarget;
use host::tune::{ChangeRecord, Journal};

use crate::generated::Spec;

/// The mask of the ways that I/O allocates in.
pub const WAYS: u32 = 0xc8b;
/// The bit of a port's register that the tool owns, and one that a port sets that widens what it takes.
pub const SWITCH_BIT: u32 = 1 << 7;
const WIDENED_BIT: u32 = 1 << 4;

/// Registers as the described machine keeps them.
pub struct StoredRegisters {
    path: PathBuf,
    values: BTreeMap<String, u64>,
}

impl StoredRegisters {
    pub fn read(root: &Path) -> Self {
        let path = root.join("registers.state");
        let text = fs::read_to_string(&path).unwrap_or_else(|_| "{}".into());
        Self { path, values: serde_json::from_str(&text).expect("registers") }
    }

    /// The value, or the one of a machine that was not touched.
    pub fn get(&self, socket: u32, address: u32, at_first: u64) -> u64 {
        self.values.get(&Self::key(socket, address)).copied().unwrap_or(at_first)
    }

    pub fn set(mut self, socket: u32, address: u32, value: u64) {
        self.values.insert(Self::key(socket, address), value);
        fs::write(self.path, serde_json::to_string(&self.values).expect("values"))
            .expect("written");
    }

    fn key(socket: u32, address: u32) -> String {
        format!("socket{socket}.{address:#x}")
    }
}

/// Where the word of a port's switch is in its configuration space.
pub const SWITCH_BYTES: std::ops::Range<usize> = 0x180..0x184;

pub fn port_file(root: &Path, spec: &Spec, index: usize) -> PathBuf {
    root.join(format!("sys/bus/pci/devices/{}/config", spec.ports[index].bdf(index)))
}

pub fn port_word(space: &[u8]) -> u32 {
    u32::from_le_bytes(space[SWITCH_BYTES].try_into().expect("four bytes"))
}

pub fn masks_path(group: usize) -> String {
    let folder = if group == 0 { String::new() } else { format!("group{group}/") };
    format!("sys/fs/resctrl/{folder}schemata")
}

/// Names of controls.
pub fn register_name(socket: u32, address: u32) -> String {
    format!("socket {socket} register {address:#x}")
}

pub fn mask_name(path: &str, cache: &str) -> String {
    format!("{path} cache {cache}")
}

/// Value of each control, in the bits that the tool owns.
pub fn held(root: &Path, spec: &Spec) -> BTreeMap<String, String> {
    let mut held = BTreeMap::new();
    let registers = StoredRegisters::read(root);
    for socket in 0..spec.sockets {
        let value = registers.get(socket, WAYS, 0);
        held.insert(register_name(socket, WAYS), format!("{value:#x}"));
        for control in spec.box_controls() {
            let value = registers.get(socket, control.address, control.at_first) & control.owned;
            held.insert(register_name(socket, control.address), format!("{value:#x}"));
        }
    }
    for (index, port) in spec.ports.iter().enumerate() {
        let space = fs::read(port_file(root, spec, index)).expect("configuration space");
        held.insert(port.bdf(index), format!("{:#x}", port_word(&space) & SWITCH_BIT));
    }
    for group in 0..spec.groups.as_ref().map_or(0, |groups| groups.groups.len()) {
        let path = masks_path(group);
        let text = fs::read_to_string(root.join(&path)).expect("masks");
        let line = text.lines().find_map(|line| line.trim().strip_prefix("L3:"));
        for part in line.expect("a line of masks").split(';') {
            let (cache, mask) = part.split_once('=').expect("a cache and its mask");
            held.insert(mask_name(&path, cache), mask.to_owned());
        }
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

/// Whether a target of the journal is the control.
pub fn is_of(target: &ControlTarget, control: &str) -> bool {
    match target {
        ControlTarget::Msr { socket, address, .. } => control == register_name(socket.0, *address),
        ControlTarget::Port { function, .. } => control == function.to_string(),
        ControlTarget::Mask { path, .. } if control.starts_with("io_alloc") => {
            path.contains("/io_alloc")
        }
        ControlTarget::Mask { path, domain, .. } => control == mask_name(path, &domain.to_string()),
        ControlTarget::Switch { path } => {
            control.starts_with("io_alloc") && path.contains("/io_alloc")
        }
    }
}

/// Whether the journal still has the control's old value.
pub fn is_journalled(journal: &Journal, control: &str) -> bool {
    journal.entries.iter().any(|entry| is_of(&entry.target, control))
}

/// Whether the tool was killed between a write and the reading of it: what the control holds then may be
/// the tool's own.
pub fn is_unread(journal: &Journal, control: &str) -> bool {
    let of = |entry: &&ChangeRecord| is_of(&entry.target, control);
    journal.entries.iter().filter(of).any(|entry| entry.read_back.is_none())
}

/// Whether a control has the value that the tool gave it last: who wrote it then cannot be told.
pub fn is_as_the_tool_left_it(journal: &Journal, control: &str, value: &str) -> bool {
    let last = journal.entries.iter().rfind(|entry| is_of(&entry.target, control));
    last.is_some_and(|last| leaves(last, value))
}

/// Whether any change that the journal has left a control with the value.
pub fn has_been_given(journal: &Journal, control: &str, value: &str) -> bool {
    let of_control = journal.entries.iter().filter(|entry| is_of(&entry.target, control));
    of_control.into_iter().any(|entry| leaves(entry, value))
}

fn leaves(entry: &ChangeRecord, value: &str) -> bool {
    let value = u64::from_str_radix(value.trim_start_matches("0x"), 16);
    value.is_ok_and(|value| (value ^ entry.read_back.unwrap_or(entry.asked)) & entry.owned == 0)
}

/// Bits beside those of the tool, of ports and of the controls of boxes, as they are now.
pub fn other_bits(root: &Path, spec: &Spec) -> Vec<u64> {
    let of_port = |index: usize| {
        let space = fs::read(port_file(root, spec, index)).expect("configuration space");
        u64::from(port_word(&space) & !SWITCH_BIT & !WIDENED_BIT)
    };
    let registers = StoredRegisters::read(root);
    let mut bits: Vec<u64> = (0..spec.ports.len()).map(of_port).collect();
    for socket in 0..spec.sockets {
        let of_box = |control: crate::generated::BoxControl| {
            registers.get(socket, control.address, control.at_first) & !control.owned
        };
        bits.extend(spec.box_controls().into_iter().map(of_box));
    }
    bits
}
