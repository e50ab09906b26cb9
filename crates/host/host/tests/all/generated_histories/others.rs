//! Other programs, which write registers and files that the tool writes too.

use std::fs;
use std::path::Path;

use super::held::{
    SWITCH_BIT, SWITCH_BYTES, StoredRegisters, WAYS, mask_name, masks_path, port_file, port_word,
    register_name,
};
use crate::generated::{BoxControl, Spec};

/// A write of another program.
#[derive(Clone, Debug)]
pub enum ForeignWrite {
    /// Bits of a port's register that are not the tool's.
    PortBits { port: usize, bits: u32 },
    /// The switch of a port, turned over.
    Switch { port: usize },
    /// The mask of the ways for I/O.
    Ways { socket: u32, mask: u64 },
    /// Bits of the first box's control that are not the tool's.
    BoxBits { socket: u32, bits: u64 },
    /// The filter of the first box.
    BoxFilter { socket: u32, value: u32 },
    /// The mask of a group.
    Mask { group: usize, cache: usize, mask: u64 },
}

impl ForeignWrite {
    /// Does it; the control whose own bits it changed, if any.
    pub fn happen(&self, root: &Path, spec: &Spec) -> Option<String> {
        match *self {
            Self::PortBits { port, bits } => {
                let kept = |old: u32| (old & SWITCH_BIT) | (bits & !SWITCH_BIT & 0x7fff_ffff);
                write_port(root, spec, port, kept);
                None
            }
            Self::Switch { port } => write_port(root, spec, port, |old| old ^ SWITCH_BIT),
            Self::Ways { socket, mask } => {
                let (socket, mask) = (socket % spec.sockets, mask & spec.field());
                if mask == 0 {
                    return None;
                }
                let registers = StoredRegisters::read(root);
                let beside = registers.get(socket, WAYS, 0) & !spec.field();
                registers.set(socket, WAYS, beside | mask);
                Some(register_name(socket, WAYS))
            }
            Self::BoxBits { socket, bits } => {
                let control = spec.box_controls().into_iter().next()?;
                set_other_bits(root, socket % spec.sockets, control, bits);
                None
            }
            Self::BoxFilter { socket, value } => {
                let address = spec.box_addresses().first()?.filter?;
                let socket = socket % spec.sockets;
                StoredRegisters::read(root).set(socket, address, value.into());
                Some(register_name(socket, address))
            }
            Self::Mask { group, cache, mask } => write_mask(root, spec, group, cache, mask),
        }
    }
}

/// Writes bits of a box's control that are not the tool's.
pub fn set_other_bits(root: &Path, socket: u32, control: BoxControl, bits: u64) {
    let registers = StoredRegisters::read(root);
    let owned = registers.get(socket, control.address, control.at_first) & control.owned;
    registers.set(socket, control.address, owned | (bits & !control.owned));
}

/// Changes perfctrlsts_0, never to all ones.
fn write_port(
    root: &Path,
    spec: &Spec,
    index: usize,
    change: impl FnOnce(u32) -> u32,
) -> Option<String> {
    let index = index % spec.ports.len().max(1);
    let port = spec.ports.get(index).filter(|port| !port.is_dead && !port.is_covered)?;
    let path = port_file(root, spec, index);
    let mut space = fs::read(&path).expect("configuration space");
    let new = change(port_word(&space));
    if new == u32::MAX {
        return None;
    }
    space[SWITCH_BYTES].copy_from_slice(&new.to_le_bytes());
    fs::write(path, space).expect("configuration space");
    Some(port.bdf(index))
}

/// A mask that the kernel would take.
fn write_mask(root: &Path, spec: &Spec, group: usize, cache: usize, mask: u64) -> Option<String> {
    let groups = spec.groups.as_ref()?;
    let (group, mask) = (group % groups.groups.len(), groups.possible(mask & groups.all_ways)?);
    let cache = (cache % groups.groups[group].len()).to_string();
    let path = masks_path(group);
    let text = fs::read_to_string(root.join(&path)).expect("masks");
    let line = text.trim().strip_prefix("L3:").expect("a line of masks");
    let new = line.split(';').map(|part| match part.split_once('=') {
        Some((of, old)) if of == cache => format!("{of}={mask:0width$x}", width = old.len()),
        _ => part.to_owned(),
    });
    let new = new.collect::<Vec<_>>().join(";");
    fs::write(root.join(&path), format!("    L3:{new}\n")).expect("masks");
    Some(mask_name(&path, &cache))
}
