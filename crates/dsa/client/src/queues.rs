//! The work queues of a system, read from sysfs [dsa contract: the kernel driver's attributes].

use crate::error::Error;
use crate::queue_state::QueueStateFiles;
use dsa::hardware::Opcode;
use std::fs;
use std::path::{Path, PathBuf};

/// Directory of devices and queues in the sysfs of Linux.
pub const SYSFS: &str = "/sys/bus/dsa/devices";
/// Directory of the files of queues on Linux.
pub const DEVICES: &str = "/dev/dsa";

/// How a queue is shared between processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SharingMode {
    /// One process submits by posted writes (MOVDIR64B), and counts its descriptors under way.
    Dedicated,
    /// Any process submits by ENQCMD, which reports whether the queue had room.
    Shared,
}

/// A work queue that is enabled for user programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserQueue {
    /// Name of the queue, such as `wq0.1`.
    pub name: String,
    /// Name of the device, such as `dsa0`.
    pub device: String,
    /// Name that the administrator has given to the queue.
    pub label: String,
    /// Whether the queue is dedicated or shared.
    pub mode: SharingMode,
    /// Number of descriptors that the queue has room for.
    pub entries: u32,
    /// Most bytes that a descriptor may transfer.
    pub most_transfer_bytes: u64,
    /// Largest batch, in descriptors; 0 and 1 if it takes no batches.
    pub most_batch: u32,
    /// NUMA node of the device; `None` if the system does not report it.
    pub node: Option<u32>,
    /// Operations that it takes: bit n is set for opcode n.
    pub operations: u64,
    /// Version of the device: 0x100 for DSA 1.0.
    pub version: u64,
    /// General capabilities of the device (GENCAP).
    pub gen_cap: u64,
    /// Directory of the queue in sysfs.
    pub directory: PathBuf,
    /// Directory of the device in sysfs.
    pub device_directory: PathBuf,
}

impl UserQueue {
    /// Whether the queue takes an operation.
    #[must_use]
    pub fn takes(&self, opcode: Opcode) -> bool {
        self.operations & opcode.bit() != 0
    }

    /// Reads from sysfs whether the queue and its device are enabled now.
    #[must_use]
    pub fn is_enabled(&self) -> bool {
        self.state_files().are_enabled()
    }

    /// The files with the states of the queue and of its device.
    #[must_use]
    pub fn state_files(&self) -> QueueStateFiles {
        QueueStateFiles::new(&self.directory, &self.device_directory)
    }
}

/// Finds the queues that are enabled for user programs, in the order of device and number; none on a system
/// without the driver.
///
/// # Errors
/// [`Error::Attribute`] if an attribute of an enabled queue cannot be read, or is not a number.
pub fn find(sysfs: &Path) -> Result<Vec<UserQueue>, Error> {
    let Ok(entries) = fs::read_dir(sysfs) else { return Ok(Vec::new()) };
    let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let mut names: Vec<(u32, u32)> = names.filter_map(|name| numbers(&name)).collect();
    names.sort_unstable();
    let mut found = Vec::new();
    for (device, queue) in names {
        found.extend(read(sysfs, device, queue)?);
    }
    Ok(found)
}

/// The numbers in `wqN.M`.
fn numbers(name: &str) -> Option<(u32, u32)> {
    let (device, queue) = name.strip_prefix("wq")?.split_once('.')?;
    Some((device.parse().ok()?, queue.parse().ok()?))
}

fn read(sysfs: &Path, device: u32, queue: u32) -> Result<Option<UserQueue>, Error> {
    let name = format!("wq{device}.{queue}");
    let (directory, device_name) = (sysfs.join(&name), format!("dsa{device}"));
    let device_directory = sysfs.join(&device_name);
    let is_for_users = text(&directory, "type").is_ok_and(|kind| kind == "user");
    if !is_for_users || !is_enabled(&directory) || !is_enabled(&device_directory) {
        return Ok(None);
    }
    let mode = match text(&directory, "mode")?.as_str() {
        "dedicated" => SharingMode::Dedicated,
        _ => SharingMode::Shared,
    };
    let node: i64 = number(&device_directory, "numa_node").unwrap_or(-1);
    let supported = words(&device_directory, "op_cap").unwrap_or(ALL_OPERATIONS);
    let allowed = words(&directory, "op_config").unwrap_or(!0);
    Ok(Some(UserQueue {
        label: text(&directory, "name").unwrap_or_default(),
        mode,
        entries: number(&directory, "size")?,
        most_transfer_bytes: number(&directory, "max_transfer_size")?,
        most_batch: number(&directory, "max_batch_size")?,
        node: u32::try_from(node).ok(),
        // Kernels hide the batch operation of some devices from op_cap, though they have it.
        operations: supported & allowed | Opcode::Batch.bit(),
        version: hexadecimal(&device_directory, "version").unwrap_or(VERSION_1),
        gen_cap: hexadecimal(&device_directory, "gen_cap")?,
        device: device_name,
        name,
        directory,
        device_directory,
    }))
}

/// The version of a device whose driver does not report it.
pub(crate) const VERSION_1: u64 = 0x100;

/// Operations of Sapphire Rapids, for kernels that do not report `op_cap` [idxd-config issue 8].
const ALL_OPERATIONS: u64 = dsa::hardware::capabilities::Capabilities::VERSION_1.op_cap;

fn is_enabled(directory: &Path) -> bool {
    text(directory, "state").is_ok_and(|state| state == "enabled")
}

fn text(directory: &Path, attribute: &str) -> Result<String, Error> {
    let path = directory.join(attribute);
    match fs::read_to_string(&path) {
        Ok(text) => Ok(text.trim_end().to_owned()),
        Err(error) => Err(Error::Attribute { path, why: error.to_string() }),
    }
}

fn number<N: std::str::FromStr>(directory: &Path, attribute: &str) -> Result<N, Error> {
    let text = text(directory, attribute)?;
    text.parse().map_err(|_| not_a_number(directory, attribute, &text))
}

fn hexadecimal(directory: &Path, attribute: &str) -> Result<u64, Error> {
    let text = text(directory, attribute)?;
    let digits = text.strip_prefix("0x").unwrap_or(&text);
    u64::from_str_radix(digits, 16).map_err(|_| not_a_number(directory, attribute, &text))
}

/// The last two of eight words of 32 bits, of which the most significant comes first.
fn words(directory: &Path, attribute: &str) -> Option<u64> {
    let text = text(directory, attribute).ok()?;
    let mut words = text.rsplit(',').map(|word| u64::from_str_radix(word, 16).ok());
    let low = words.next()??;
    Some(low | words.next().flatten().unwrap_or(0) << 32)
}

fn not_a_number(directory: &Path, attribute: &str, text: &str) -> Error {
    Error::Attribute { path: directory.join(attribute), why: format!("{text:?} is not a number") }
}
