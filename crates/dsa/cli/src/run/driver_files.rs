//! The files of the driver, by path.
//!
//! `bus` is /sys/bus/dsa, `devices` the entries that are added to /sys/devices, `module` /sys/module/idxd and
//! `dev` /dev/dsa.

use super::pci_config;
use idxd::{BusNode, CDEV_MAJOR, Driver, DriverName, Errno, HardwareAccess};
use std::str::FromStr;
use std::sync::OnceLock;
use std::time::{Duration, SystemTime};

/// The entry at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TreeEntry {
    /// A directory, with the names of its entries.
    Directory(Vec<String>),
    /// A symbolic link, with its target.
    Link(String),
    /// An attribute that can be read, or written, or both.
    Attribute(FileAttribute),
    /// The file of a queue: numbers of device and queue.
    Queue(usize, usize),
}

/// A file of sysfs with a line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileAttribute {
    /// An attribute of a node, by name; true: it can be written.
    Node(BusNode, String, bool),
    /// The file that binds (true) a node to a driver, or unbinds (false) it: for writing only.
    Bind(DriverName, bool),
    /// A text that never changes.
    Fixed(String),
    /// An attribute of an open file: device, queue, number of the file, name.
    File(usize, usize, usize, String),
    /// The PCI configuration space of a device, which is no text.
    PciConfig(usize),
}

/// The time of the last change of a queue's file ([`dsa_run::QUEUE_FILE_MODE`]).
pub fn queue_file_time(driver: &Driver, device: usize, queue: usize) -> SystemTime {
    let minor = driver.cdev_minor(device, queue);
    let seconds = minor.map_or(0, |minor| rustix::fs::makedev(CDEV_MAJOR, minor));
    SystemTime::UNIX_EPOCH + Duration::from_secs(seconds)
}

/// Files of the module beside its parameters, for `lsmod`.
const MODULE: [(&str, &str); 3] =
    [("coresize", "159744\n"), ("refcnt", "0\n"), ("initstate", "live\n")];

/// Lines of the module and of its bus in /proc/modules.
pub const MODULE_LINES: &str = "idxd 159744 0 - Live 0x0000000000000000\n\
                                idxd_bus 20480 1 idxd, Live 0x0000000000000000\n";

/// Links that /dev/char of the machine has.
pub static MACHINE_LINKS: OnceLock<Vec<(String, String)>> = OnceLock::new();

/// Parameters of the module: shared virtual memory is on, traffic classes cannot be set.
const PARAMETERS: [(&str, &str); 2] = [("sva", "Y\n"), ("tc_override", "N\n")];

fn directory<N: Into<String>>(names: impl IntoIterator<Item = N>) -> TreeEntry {
    TreeEntry::Directory(names.into_iter().map(Into::into).collect())
}

/// Name of the directory of a device's host bridge, such as `pci0000:6a`.
pub fn host_bridge(pci_address: &str) -> String {
    format!("pci{}", &pci_address[..7])
}

fn pci_address(driver: &Driver, device: usize) -> &str {
    &driver.devices()[device].part().pci_address
}

/// The path of a node below /sys/devices.
fn device_path(driver: &Driver, node: BusNode) -> String {
    let device = BusNode::Device(node.device());
    let address = pci_address(driver, node.device());
    let parent = format!("{}/{address}/{device}", host_bridge(address));
    if node == device { parent } else { format!("{parent}/{node}") }
}

fn node(driver: &Driver, name: &str) -> Option<BusNode> {
    BusNode::from_str(name).ok().filter(|node| driver.has(*node))
}

/// Whether a node is a queue that has a file.
fn has_file(driver: &Driver, node: BusNode) -> bool {
    matches!(node, BusNode::Queue(device, queue) if driver.cdev_minor(device, queue).is_some())
}

/// The entry at a path, given by its names; `None`: there is no such file.
pub fn entry_at(driver: &Driver, path: &[&str]) -> Option<TreeEntry> {
    match path {
        [] => Some(directory(["bus", "devices", "module", "dev", "char"])),
        ["char", rest @ ..] => numbered_links(driver, rest),
        ["bus", rest @ ..] => bus(driver, rest),
        ["devices", rest @ ..] => devices(driver, rest),
        ["module"] => {
            let files = MODULE.map(|(name, _)| name);
            Some(directory(["parameters", "holders"].into_iter().chain(files)))
        }
        ["module", "holders"] => Some(directory([""; 0])),
        ["module", name] if MODULE.iter().any(|(own, _)| own == name) => {
            let (_, text) = MODULE.into_iter().find(|(own, _)| own == name)?;
            Some(TreeEntry::Attribute(FileAttribute::Fixed(text.to_owned())))
        }
        ["module", "parameters"] => Some(directory(PARAMETERS.map(|(name, _)| name))),
        ["module", "parameters", name] => {
            let (_, text) = PARAMETERS.into_iter().find(|(own, _)| own == name)?;
            Some(TreeEntry::Attribute(FileAttribute::Fixed(text.to_owned())))
        }
        ["dev"] => Some(directory(
            driver.nodes().filter(|node| has_file(driver, *node)).map(|node| node.to_string()),
        )),
        ["dev", name] => match node(driver, name)? {
            own @ BusNode::Queue(device, queue) if has_file(driver, own) => {
                Some(TreeEntry::Queue(device, queue))
            }
            _ => None,
        },
        _ => None,
    }
}

/// /dev/char: the links of the machine, and those of the queues' files, by major and minor number.
fn numbered_links(driver: &Driver, path: &[&str]) -> Option<TreeEntry> {
    let machine = MACHINE_LINKS.get().map_or(&[][..], Vec::as_slice).iter();
    let queues = driver.nodes().filter_map(|node| match node {
        BusNode::Queue(device, queue) => {
            let minor = driver.cdev_minor(device, queue)?;
            Some((format!("{CDEV_MAJOR}:{minor}"), format!("../dsa/{node}")))
        }
        _ => None,
    });
    let mut all = machine.cloned().chain(queues);
    match path {
        [] => Some(directory(all.map(|(name, _)| name))),
        [name] => all.find(|(own, _)| own == name).map(|(_, to)| TreeEntry::Link(to)),
        _ => None,
    }
}

fn bus(driver: &Driver, path: &[&str]) -> Option<TreeEntry> {
    match path {
        [] => Some(directory(["devices", "drivers"])),
        ["devices"] => Some(directory(driver.nodes().map(|node| node.to_string()))),
        ["devices", name] => {
            let path = device_path(driver, node(driver, name)?);
            Some(TreeEntry::Link(format!("../../../devices/{path}")))
        }
        ["drivers"] => Some(directory(DriverName::ALL.map(DriverName::name))),
        ["drivers", name] => {
            let own = driver_named(name)?;
            let files = ["bind", "unbind"].map(str::to_owned);
            let bound = driver.nodes().filter(|node| driver.bound(*node) == Some(own));
            Some(directory(files.into_iter().chain(bound.map(|node| node.to_string()))))
        }
        ["drivers", name, "bind"] => {
            Some(TreeEntry::Attribute(FileAttribute::Bind(driver_named(name)?, true)))
        }
        ["drivers", name, "unbind"] => {
            Some(TreeEntry::Attribute(FileAttribute::Bind(driver_named(name)?, false)))
        }
        ["drivers", name, bound] => {
            let node = node(driver, bound)?;
            let path = device_path(driver, node);
            (driver.bound(node) == Some(driver_named(name)?))
                .then(|| TreeEntry::Link(format!("../../../../devices/{path}")))
        }
        _ => None,
    }
}

fn driver_named(name: &str) -> Option<DriverName> {
    DriverName::ALL.into_iter().find(|driver| driver.name() == name)
}

fn devices(driver: &Driver, path: &[&str]) -> Option<TreeEntry> {
    let is_there = |device: &usize| !driver.devices()[*device].is_gap();
    let numbers = || (0..driver.devices().len()).filter(is_there);
    let all = || numbers().map(|device| (device, pci_address(driver, device)));
    let [bridge, path @ ..] = path else {
        return Some(directory(all().map(|(_, address)| host_bridge(address))));
    };
    let (device, address) = all().find(|(_, address)| host_bridge(address) == *bridge)?;
    match path {
        [] => Some(directory([address])),
        [own, rest @ ..]
            if *own == address && !matches!(rest, [name, ..] if name.starts_with("dsa")) =>
        {
            pci_files(driver, device, rest)
        }
        [own, name, rest @ ..] if *own == address => {
            let parent = node(driver, name).filter(|node| *node == BusNode::Device(device))?;
            entry_below(driver, parent, rest)
        }
        _ => None,
    }
}

/// The files of a PCI device.
fn pci_files(driver: &Driver, device: usize, path: &[&str]) -> Option<TreeEntry> {
    let texts = pci_config::text_files(driver.devices()[device].part().numa_node);
    match path {
        [] => {
            let own = [BusNode::Device(device).to_string(), "config".to_owned()];
            let links = ["subsystem", "driver"].map(str::to_owned);
            let texts = texts.into_iter().map(|(name, _)| name.to_owned());
            Some(directory(own.into_iter().chain(links).chain(texts)))
        }
        ["config"] => Some(TreeEntry::Attribute(FileAttribute::PciConfig(device))),
        ["subsystem"] => Some(TreeEntry::Link("../../../bus/pci".to_owned())),
        ["driver"] => Some(TreeEntry::Link("../../../bus/pci/drivers/idxd".to_owned())),
        [name] => {
            let (_, text) = texts.into_iter().find(|(own, _)| own == name)?;
            Some(TreeEntry::Attribute(FileAttribute::Fixed(text)))
        }
        _ => None,
    }
}

/// The entry at a path below the directory of a node.
fn entry_below(driver: &Driver, own: BusNode, path: &[&str]) -> Option<TreeEntry> {
    let is_device = matches!(own, BusNode::Device(_));
    let up = if is_device { "../../../.." } else { "../../../../.." };
    match path {
        [] => {
            let attributes = driver.attributes(own).into_iter().map(|it| it.name.to_owned());
            let mut names: Vec<String> = attributes.collect();
            names.push("subsystem".to_owned());
            names.extend(driver.bound(own).map(|_| "driver".to_owned()));
            if is_device {
                let children =
                    driver.nodes().filter(|it| *it != own && it.device() == own.device());
                names.extend(children.map(|node| node.to_string()));
            }
            names.extend(files_directory(driver, own));
            Some(TreeEntry::Directory(names))
        }
        ["subsystem"] => Some(TreeEntry::Link(format!("{up}/bus/dsa"))),
        ["driver"] => {
            let bound = driver.bound(own)?.name();
            Some(TreeEntry::Link(format!("{up}/bus/dsa/drivers/{bound}")))
        }
        [name, rest @ ..] if is_device && node(driver, name).is_some_and(|it| it != own) => {
            let child = node(driver, name).filter(|it| it.device() == own.device())?;
            entry_below(driver, child, rest)
        }
        [name, rest @ ..] if files_directory(driver, own).as_deref() == Some(name) => {
            let BusNode::Queue(device, queue) = own else { return None };
            open_files(driver, (device, queue), rest)
        }
        [name] => {
            let found = driver.attributes(own).into_iter().find(|it| it.name == *name)?;
            let attribute = FileAttribute::Node(own, found.name.to_owned(), found.writable);
            Some(TreeEntry::Attribute(attribute))
        }
        _ => None,
    }
}

/// Name of the directory of a queue's open files.
fn files_directory(driver: &Driver, own: BusNode) -> Option<String> {
    has_file(driver, own).then(|| format!("dsa!{own}"))
}

fn open_files(
    driver: &Driver,
    (device, queue): (usize, usize),
    path: &[&str],
) -> Option<TreeEntry> {
    let numbers = || driver.files(device, queue).map(|client| client.file());
    match path {
        [] => Some(directory(numbers().map(|number| format!("file{number}")))),
        [name, rest @ ..] => {
            let number = name.strip_prefix("file")?.parse::<usize>().ok()?;
            numbers().find(|own| *own == number)?;
            match rest {
                [] => Some(directory(Driver::FILE_ATTRIBUTES)),
                [name] if Driver::FILE_ATTRIBUTES.contains(name) => Some(TreeEntry::Attribute(
                    FileAttribute::File(device, queue, number, (*name).to_owned()),
                )),
                _ => None,
            }
        }
    }
}

impl FileAttribute {
    /// The permissions of the file in sysfs.
    pub fn mode(&self) -> u16 {
        match self {
            Self::Node(_, _, true) | Self::PciConfig(_) => 0o644,
            Self::Bind(..) => 0o200,
            Self::Node(..) | Self::Fixed(_) | Self::File(..) => 0o444,
        }
    }

    /// Reads the text.
    ///
    /// # Errors
    /// As the driver has them.
    pub fn read(&self, driver: &Driver, hardware: &dyn HardwareAccess) -> Result<String, Errno> {
        match self {
            Self::Node(node, name, _) => driver.read(*node, name, hardware),
            Self::Bind(..) | Self::PciConfig(_) => Err(Errno(libc::EIO)),
            Self::Fixed(text) => Ok(text.clone()),
            Self::File(device, queue, number, name) => {
                let client = driver.files(*device, *queue).find(|it| it.file() == *number);
                driver.read_file_attribute(client.ok_or(Errno(libc::ENODEV))?, name)
            }
        }
    }

    /// The queues that have to drain before this text is written.
    pub fn drains(&self, text: &str, driver: &Driver) -> Vec<(usize, usize)> {
        match self {
            Self::Bind(name, false) => driver.drained_by_unbind(*name, text),
            _ => Vec::new(),
        }
    }

    /// Writes a text: changes the attribute, or binds or unbinds a node.
    ///
    /// # Errors
    /// As the driver has them.
    pub fn write(
        &self,
        text: &str,
        driver: &mut Driver,
        hardware: &dyn HardwareAccess,
    ) -> Result<(), Errno> {
        match self {
            Self::Node(node, name, _) => driver.write(*node, name, text, hardware),
            Self::Bind(name, true) => driver.bind(*name, text, hardware),
            Self::Bind(name, false) => driver.unbind(*name, text, hardware),
            Self::Fixed(_) | Self::File(..) | Self::PciConfig(_) => Err(Errno(libc::EIO)),
        }
    }
}
