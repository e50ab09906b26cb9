//! The driver's files below `/sys/bus/dsa`, of this machine or of a directory that stands in for it.

use crate::bus::{Bus, MachineError};
use idxd::from_sysfs::Attributes;
use idxd::{BusNode, DriverName, Errno, former_name};
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const BUS: &str = "sys/bus/dsa";
const MODULE: &str = "sys/module/idxd";
const BOOT_ID: &str = "proc/sys/kernel/random/boot_id";

/// A [`Bus`] by the files of the driver.
#[derive(Clone, Debug)]
pub struct Sysfs {
    root: PathBuf,
    /// Whether the root is that of this machine. Links may not lead out of a directory that stands in for
    /// one.
    is_real: bool,
}

impl Sysfs {
    /// The files of this machine.
    #[must_use]
    pub fn real() -> Self {
        Self { root: PathBuf::from("/"), is_real: true }
    }

    /// The files below a directory that stands in for the root of a machine.
    ///
    /// # Errors
    /// If it is not a readable directory.
    pub fn at(root: &Path) -> io::Result<Self> {
        let root = root.canonicalize()?;
        root.read_dir()?;
        Ok(Self { root, is_real: false })
    }

    /// The root directory: `/`, or the directory that stands in for it.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    fn path(&self, node: BusNode, attribute: &str) -> PathBuf {
        self.root.join(BUS).join("devices").join(node.to_string()).join(attribute)
    }

    /// The file of an attribute, which on older kernels may have its former name.
    fn file(&self, node: BusNode, attribute: &str) -> PathBuf {
        let path = self.path(node, attribute);
        match former_name(attribute) {
            Some(former) if !path.exists() => {
                let other = self.path(node, former);
                if other.exists() { other } else { path }
            }
            _ => path,
        }
    }

    /// The file of a driver. The oldest kernels have only the compatibility form.
    fn driver_file(&self, driver: DriverName, name: &str) -> PathBuf {
        let drivers = self.root.join(BUS).join("drivers");
        let own = drivers.join(driver.name()).join(name);
        if own.exists() { own } else { drivers.join(DriverName::Dsa.name()).join(name) }
    }

    fn checked(&self, path: &Path) -> io::Result<PathBuf> {
        if self.is_real {
            return Ok(path.to_path_buf());
        }
        let found = path.canonicalize()?;
        if !found.starts_with(&self.root) {
            return Err(io::Error::from_raw_os_error(Errno::EACCES.0));
        }
        Ok(found)
    }

    fn read_line(&self, path: &Path) -> Result<String, Errno> {
        let path = self.checked(path).map_err(|error| errno(&error))?;
        let text = fs::read_to_string(path).map_err(|error| errno(&error))?;
        Ok(text.strip_suffix('\n').unwrap_or(&text).to_owned())
    }

    fn write_line(&self, path: &Path, text: &str) -> Result<(), Errno> {
        let write = || {
            // Files that stand in for the driver's keep what is not written over.
            let mut how = fs::OpenOptions::new();
            let mut file = how.write(true).truncate(!self.is_real).open(self.checked(path)?)?;
            // The driver takes a value in one call or not at all.
            let line = format!("{text}\n");
            let written = file.write(line.as_bytes())?;
            if written == line.len() { Ok(()) } else { Err(io::ErrorKind::WriteZero.into()) }
        };
        write().map_err(|error| errno(&error))
    }

    /// Checks that this process may write the files that configure devices.
    ///
    /// # Errors
    /// If it may not, with a remedy.
    pub fn check_writable(&self) -> Result<(), MachineError> {
        let device =
            self.numbers()?.first().map(|number| self.file(BusNode::Device(*number), "cmd_status"));
        for path in [Some(self.driver_file(DriverName::Idxd, "bind")), device].into_iter().flatten()
        {
            let shown = path.display().to_string();
            // An open alone changes nothing.
            let opened = fs::OpenOptions::new().write(true).open(&path);
            match opened.map_err(|error| errno(&error)) {
                Ok(_) => {}
                Err(Errno::EROFS) => return Err(MachineError::ReadOnly(shown)),
                Err(Errno::EACCES | Errno::EPERM) => return Err(MachineError::NoRight(shown)),
                Err(errno) => return Err(MachineError::Unread(shown, errno)),
            }
        }
        Ok(())
    }
}

fn errno(error: &io::Error) -> Errno {
    Errno(error.raw_os_error().unwrap_or(Errno::EIO.0))
}

impl Attributes for Sysfs {
    fn read(&self, node: BusNode, attribute: &str) -> Result<String, Errno> {
        self.read_line(&self.file(node, attribute))
    }

    fn bound(&self, node: BusNode) -> Result<Option<DriverName>, Errno> {
        match fs::read_link(self.path(node, "driver")) {
            Ok(target) => {
                let name = target.file_name().and_then(|name| name.to_str()).unwrap_or_default();
                name.parse().map(Some)
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(errno(&error)),
        }
    }
}

impl Bus for Sysfs {
    fn numbers(&self) -> Result<Vec<usize>, MachineError> {
        let devices = self.root.join(BUS).join("devices");
        let entries = match devices.read_dir() {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Err(MachineError::NoDriver(self.root.join(BUS).display().to_string()));
            }
            Err(error) => {
                return Err(MachineError::Unread(devices.display().to_string(), errno(&error)));
            }
        };
        let names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let mut numbers: Vec<usize> = names
            .filter_map(|name| match name.parse() {
                Ok(BusNode::Device(number)) => Some(number),
                _ => None,
            })
            .collect();
        numbers.sort_unstable();
        if numbers.is_empty() {
            return Err(MachineError::NoDevice(devices.display().to_string()));
        }
        Ok(numbers)
    }

    fn tc_override(&self) -> bool {
        let path = self.root.join(MODULE).join("parameters/tc_override");
        self.read_line(&path).is_ok_and(|text| text == "Y")
    }

    fn write(&self, node: BusNode, attribute: &str, text: &str) -> Result<(), Errno> {
        self.write_line(&self.file(node, attribute), text)
    }

    fn bind(&self, driver: DriverName, node: BusNode) -> Result<(), Errno> {
        self.write_line(&self.driver_file(driver, "bind"), &node.to_string())
    }

    fn unbind(&self, driver: DriverName, node: BusNode) -> Result<(), Errno> {
        self.write_line(&self.driver_file(driver, "unbind"), &node.to_string())
    }

    fn processes(&self, queue: BusNode) -> Vec<u32> {
        // Each open file has a directory, inside of one that is named after the queue's file.
        let own = self.path(queue, "");
        let names = |path: &Path| -> Vec<PathBuf> {
            let entries = path.read_dir().into_iter().flatten().flatten();
            entries.map(|entry| entry.path()).collect()
        };
        let files = names(&own).into_iter().filter(|path| path.to_string_lossy().contains('!'));
        let pids = files.flat_map(|path| names(&path)).map(|file| file.join("pid"));
        let mut pids: Vec<u32> =
            pids.filter_map(|path| self.read_line(&path).ok()?.parse().ok()).collect();
        pids.sort_unstable();
        pids.dedup();
        pids
    }

    fn shown(&self, node: BusNode, attribute: &str) -> String {
        self.path(node, attribute).display().to_string()
    }

    fn boot(&self) -> Result<String, MachineError> {
        let path = self.root.join(BOOT_ID);
        self.read_line(&path)
            .map_err(|errno| MachineError::Unread(path.display().to_string(), errno))
    }
}
