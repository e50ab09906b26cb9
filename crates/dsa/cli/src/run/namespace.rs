//! A view of /sys and /dev with the devices' files, for this process and its children alone.
//!
//! A directory that needs one more entry is covered by an empty file system, into which its former entries
//! are bound. Nothing of the machine changes, and all mounts end with the last process of the run.

use super::devices::RunDevices;
use super::driver_files;
use crate::failure::CommandFailure;
use rustix::mount::{MountFlags, MountPropagationFlags};
use rustix::thread::UnshareFlags;
use std::fmt;
use std::io;
use std::path::Path;

/// The kind of namespace that has the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Namespace {
    /// A mount namespace, for root.
    Mount,
    /// A user namespace with a mount namespace of its own.
    User,
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Mount => "in a mount namespace",
            Self::User => "in a user namespace, without root",
        })
    }
}

/// Enters a mount namespace, if need be in a user namespace, in which the process keeps its user.
///
/// # Errors
/// If the system allows neither.
pub fn enter() -> Result<Namespace, CommandFailure> {
    let (user, group) = (rustix::process::getuid(), rustix::process::getgid());
    // SAFETY of both calls: this process has one thread.
    let namespace = if unshare(UnshareFlags::NEWNS).is_ok() {
        Namespace::Mount
    } else {
        unshare(UnshareFlags::NEWNS | UnshareFlags::NEWUSER)
            .map_err(|error| CommandFailure::failed(format!("the system refuses them: {error}")))?;
        let write = |file: &str, text: String| {
            std::fs::write(file, text)
                .map_err(|error| CommandFailure::failed(format!("{file}: {error}")))
        };
        write("/proc/self/setgroups", "deny".to_owned())?;
        write("/proc/self/uid_map", format!("{0} {0} 1", user.as_raw()))?;
        write("/proc/self/gid_map", format!("{0} {0} 1", group.as_raw()))?;
        Namespace::User
    };
    let all = MountPropagationFlags::REC | MountPropagationFlags::PRIVATE;
    rustix::mount::mount_change("/", all).map_err(|error| {
        CommandFailure::failed(format!("mounts cannot be made private: {error}"))
    })?;
    Ok(namespace)
}

#[allow(unsafe_code)]
fn unshare(flags: UnshareFlags) -> io::Result<()> {
    // SAFETY: neither the file descriptors nor the current directory are unshared, and there is one
    // thread, which knows nothing yet of what it sees of the system.
    unsafe { rustix::thread::unshare_unsafe(flags) }.map_err(Into::into)
}

/// Mounts the devices' files at the paths where programs look for them.
pub fn show(directory: &Path, devices: &RunDevices) -> Result<(), CommandFailure> {
    let files = directory.join("files");
    let bridges: Vec<String> = {
        let driver = devices.driver();
        driver
            .devices()
            .iter()
            .filter(|device| !device.is_gap())
            .map(|it| driver_files::host_bridge(&it.part().pci_address))
            .collect()
    };
    let in_devices: Vec<(String, String)> =
        bridges.iter().map(|bridge| (bridge.clone(), format!("devices/{bridge}"))).collect();
    let one = |name: &str, from: &str| vec![(name.to_owned(), from.to_owned())];
    // Before /dev has the links of the run.
    driver_files::MACHINE_LINKS.get_or_init(links_of_numbers);
    let added = [
        ("/sys/bus", one("dsa", "bus")),
        ("/sys/module", one("idxd", "module")),
        ("/sys/devices", in_devices),
        (
            "/dev",
            vec![("dsa".to_owned(), "dev".to_owned()), ("char".to_owned(), "char".to_owned())],
        ),
    ];
    for (place, entries) in added {
        add(Path::new(place), &files, &entries, &directory.join("was"))
            .map_err(|error| CommandFailure::failed(format!("{place}: {error}")))?;
    }
    // Files that only tools read may be missing: the tools then find the machine alone.
    let _ = show_on_pci_bus(devices, &directory.join("was"));
    let _ = show_module(directory);
    Ok(())
}

/// The links in /dev/char, which have the numbers of devices as names.
fn links_of_numbers() -> Vec<(String, String)> {
    let entries = std::fs::read_dir("/dev/char").into_iter().flatten().flatten();
    let links = entries.filter_map(|entry| {
        let to = std::fs::read_link(entry.path()).ok()?.into_os_string().into_string().ok()?;
        Some((entry.file_name().into_string().ok()?, to))
    });
    links.collect()
}

/// Adds the devices to the PCI bus, where `lspci` and `setpci` look for them.
fn show_on_pci_bus(devices: &RunDevices, was: &Path) -> io::Result<()> {
    let place = Path::new("/sys/bus/pci/devices");
    if place.is_dir() {
        cover(place, was, &[])?;
    } else {
        // The covered /sys/bus takes further directories.
        std::fs::create_dir_all(place)?;
    }
    let driver = devices.driver();
    for device in driver.devices().iter().filter(|device| !device.is_gap()) {
        let address = &device.part().pci_address;
        let bridge = driver_files::host_bridge(address);
        let to = format!("../../../devices/{bridge}/{address}");
        std::os::unix::fs::symlink(to, place.join(address))?;
    }
    Ok(())
}

/// Adds the driver's module to /proc/modules, if this kernel has modules.
fn show_module(directory: &Path) -> io::Result<()> {
    const MODULES: &str = "/proc/modules";
    let text = std::fs::read_to_string(MODULES)?;
    if text.lines().any(|line| line.starts_with("idxd ")) {
        return Ok(());
    }
    let own = directory.join("modules");
    std::fs::write(&own, driver_files::MODULE_LINES.to_owned() + &text)?;
    Ok(rustix::mount::mount_bind(&own, MODULES)?)
}

/// Adds entries to a directory: names, and the directories in `files` that are bound there.
fn add(place: &Path, files: &Path, entries: &[(String, String)], was: &Path) -> io::Result<()> {
    if entries.iter().any(|(name, _)| !place.join(name).is_dir()) {
        cover(place, was, entries)?;
    }
    for (name, from) in entries {
        rustix::mount::mount_bind_recursive(files.join(from), place.join(name))?;
    }
    Ok(())
}

/// Covers a directory with one that has the same entries, and empty directories for further ones.
fn cover(place: &Path, was: &Path, entries: &[(String, String)]) -> io::Result<()> {
    rustix::mount::mount_bind_recursive(place, was)?;
    rustix::mount::mount("tmpfs", place, "tmpfs", MountFlags::NOSUID, c"mode=0755")?;
    for entry in was.read_dir()? {
        let entry = entry?;
        let (from, to) = (entry.path(), place.join(entry.file_name()));
        let kind = entry.file_type()?;
        if kind.is_symlink() {
            std::os::unix::fs::symlink(from.read_link()?, &to)?;
            continue;
        }
        if kind.is_dir() {
            std::fs::create_dir(&to)?;
        } else {
            std::fs::File::create(&to)?;
        }
        rustix::mount::mount_bind_recursive(&from, &to)?;
    }
    for (name, _) in entries {
        std::fs::create_dir_all(place.join(name))?;
    }
    rustix::mount::unmount(was, rustix::mount::UnmountFlags::DETACH)?;
    Ok(())
}
