//! The files of the driver: what is at a path.
//!
//! `bus` is /sys/bus/dsa, `devices` what is added to /sys/devices, `module` /sys/module/idxd and `dev`
//! /dev/dsa.

use idxd::{Driver, DriverName, Errno, Hardware, Node};
use std::str::FromStr;

/// What a path leads to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// A directory, with the names in it.
    Directory(Vec<String>),
    /// A symbolic link.
    Link(String),
    /// An attribute that can be read, or written, or both.
    Attribute(Attribute),
    /// The file of a queue.
    Queue(usize, usize),
}

/// A file with a line of text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// Of a node; true: it can be written.
    Node(Node, String, bool),
    /// Binds a name to a driver, or unbinds it: for writing only.
    Bind(DriverName, bool),
    /// Always the same.
    Fixed(String),
    /// Of an open file: the number of the file, and the name.
    File(usize, usize, usize, String),
}

/// Parameters of the module: shared virtual memory is on, traffic classes cannot be set.
const PARAMETERS: [(&str, &str); 2] = [("sva", "Y\n"), ("tc_override", "N\n")];

fn directory<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Entry {
    Entry::Directory(names.into_iter().map(Into::into).collect())
}

/// Name of the directory of a host bridge, which its bus numbers.
pub fn host_bridge(pci_address: &str) -> String {
    format!("pci{}", &pci_address[..7])
}

fn pci_address(driver: &Driver, device: usize) -> &str {
    &driver.devices()[device].part().pci_address
}

/// Where a node is, below /sys/devices.
fn place(driver: &Driver, node: Node) -> String {
    let device = Node::Device(node.device());
    let address = pci_address(driver, node.device());
    let parent = format!("{}/{address}/{device}", host_bridge(address));
    if node == device { parent } else { format!("{parent}/{node}") }
}

fn node(driver: &Driver, name: &str) -> Option<Node> {
    Node::from_str(name).ok().filter(|node| driver.has(*node))
}

/// Whether a node is a queue that has a file.
fn has_file(driver: &Driver, node: Node) -> bool {
    matches!(node, Node::Queue(device, queue) if driver.cdev_minor(device, queue).is_some())
}

/// What is at a path.
pub fn at(driver: &Driver, path: &[&str]) -> Option<Entry> {
    match path {
        [] => Some(directory(["bus", "devices", "module", "dev"])),
        ["bus", rest @ ..] => bus(driver, rest),
        ["devices", rest @ ..] => devices(driver, rest),
        ["module"] => Some(directory(["parameters"])),
        ["module", "parameters"] => Some(directory(PARAMETERS.map(|(name, _)| name))),
        ["module", "parameters", name] => {
            let (_, text) = PARAMETERS.into_iter().find(|(own, _)| own == name)?;
            Some(Entry::Attribute(Attribute::Fixed(text.to_owned())))
        }
        ["dev"] => Some(directory(
            driver.nodes().filter(|node| has_file(driver, *node)).map(|node| node.to_string()),
        )),
        ["dev", name] => match node(driver, name)? {
            own @ Node::Queue(device, queue) if has_file(driver, own) => {
                Some(Entry::Queue(device, queue))
            }
            _ => None,
        },
        _ => None,
    }
}

fn bus(driver: &Driver, path: &[&str]) -> Option<Entry> {
    match path {
        [] => Some(directory(["devices", "drivers"])),
        ["devices"] => Some(directory(driver.nodes().map(|node| node.to_string()))),
        ["devices", name] => {
            let place = place(driver, node(driver, name)?);
            Some(Entry::Link(format!("../../../devices/{place}")))
        }
        ["drivers"] => Some(directory(DriverName::ALL.map(DriverName::name))),
        ["drivers", name] => {
            let own = driver_named(name)?;
            let files = ["bind", "unbind"].map(str::to_owned);
            let bound = driver.nodes().filter(|node| driver.bound(*node) == Some(own));
            Some(directory(files.into_iter().chain(bound.map(|node| node.to_string()))))
        }
        ["drivers", name, "bind"] => {
            Some(Entry::Attribute(Attribute::Bind(driver_named(name)?, true)))
        }
        ["drivers", name, "unbind"] => {
            Some(Entry::Attribute(Attribute::Bind(driver_named(name)?, false)))
        }
        ["drivers", name, bound] => {
            let node = node(driver, bound)?;
            let place = place(driver, node);
            (driver.bound(node) == Some(driver_named(name)?))
                .then(|| Entry::Link(format!("../../../../devices/{place}")))
        }
        _ => None,
    }
}

fn driver_named(name: &str) -> Option<DriverName> {
    DriverName::ALL.into_iter().find(|driver| driver.name() == name)
}

fn devices(driver: &Driver, path: &[&str]) -> Option<Entry> {
    let all = || (0..driver.devices().len()).map(|device| (device, pci_address(driver, device)));
    let [bridge, path @ ..] = path else {
        return Some(directory(all().map(|(_, address)| host_bridge(address))));
    };
    let (device, address) = all().find(|(_, address)| host_bridge(address) == *bridge)?;
    match path {
        [] => Some(directory([address])),
        [own] if *own == address => {
            Some(directory([Node::Device(device).to_string(), "numa_node".to_owned()]))
        }
        [own, "numa_node"] if *own == address => {
            let text = format!("{}\n", driver.devices()[device].part().numa_node);
            Some(Entry::Attribute(Attribute::Fixed(text)))
        }
        [own, name, rest @ ..] if *own == address => {
            let parent = node(driver, name).filter(|node| *node == Node::Device(device))?;
            inside(driver, parent, rest)
        }
        _ => None,
    }
}

/// What is in the directory of a node.
fn inside(driver: &Driver, own: Node, path: &[&str]) -> Option<Entry> {
    let is_device = matches!(own, Node::Device(_));
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
            Some(Entry::Directory(names))
        }
        ["subsystem"] => Some(Entry::Link(format!("{up}/bus/dsa"))),
        ["driver"] => {
            let bound = driver.bound(own)?.name();
            Some(Entry::Link(format!("{up}/bus/dsa/drivers/{bound}")))
        }
        [name, rest @ ..] if is_device && node(driver, name).is_some_and(|it| it != own) => {
            let child = node(driver, name).filter(|it| it.device() == own.device())?;
            inside(driver, child, rest)
        }
        [name, rest @ ..] if files_directory(driver, own).as_deref() == Some(name) => {
            let Node::Queue(device, queue) = own else { return None };
            open_files(driver, (device, queue), rest)
        }
        [name] => {
            let found = driver.attributes(own).into_iter().find(|it| it.name == *name)?;
            let attribute = Attribute::Node(own, found.name.to_owned(), found.writable);
            Some(Entry::Attribute(attribute))
        }
        _ => None,
    }
}

/// Name of the directory of a queue's open files.
fn files_directory(driver: &Driver, own: Node) -> Option<String> {
    has_file(driver, own).then(|| format!("dsa!{own}"))
}

fn open_files(driver: &Driver, (device, queue): (usize, usize), path: &[&str]) -> Option<Entry> {
    let numbers = || driver.files(device, queue).map(|client| client.file());
    match path {
        [] => Some(directory(numbers().map(|number| format!("file{number}")))),
        [name, rest @ ..] => {
            let number = name.strip_prefix("file")?.parse::<usize>().ok()?;
            numbers().find(|own| *own == number)?;
            match rest {
                [] => Some(directory(Driver::FILE_ATTRIBUTES)),
                [name] if Driver::FILE_ATTRIBUTES.contains(name) => Some(Entry::Attribute(
                    Attribute::File(device, queue, number, (*name).to_owned()),
                )),
                _ => None,
            }
        }
    }
}

impl Attribute {
    /// Permissions, as sysfs gives them.
    pub fn mode(&self) -> u16 {
        match self {
            Self::Node(_, _, true) => 0o644,
            Self::Bind(..) => 0o200,
            Self::Node(..) | Self::Fixed(_) | Self::File(..) => 0o444,
        }
    }

    /// Its text.
    pub fn read(&self, driver: &Driver, hardware: &dyn Hardware) -> Result<String, Errno> {
        match self {
            Self::Node(node, name, _) => driver.read(*node, name, hardware),
            Self::Bind(..) => Err(Errno(libc::EIO)),
            Self::Fixed(text) => Ok(text.clone()),
            Self::File(device, queue, number, name) => {
                let client = driver.files(*device, *queue).find(|it| it.file() == *number);
                driver.read_file_attribute(client.ok_or(Errno(libc::ENODEV))?, name)
            }
        }
    }

    /// Queues that have to drain before a write to it.
    pub fn drains(&self, text: &str, driver: &Driver) -> Vec<(usize, usize)> {
        match self {
            Self::Bind(name, false) => driver.drained_by_unbind(*name, text),
            _ => Vec::new(),
        }
    }

    /// What a write to it does.
    pub fn write(
        &self,
        text: &str,
        driver: &mut Driver,
        hardware: &dyn Hardware,
    ) -> Result<(), Errno> {
        match self {
            Self::Node(node, name, _) => driver.write(*node, name, text, hardware),
            Self::Bind(name, true) => driver.bind(*name, text, hardware),
            Self::Bind(name, false) => driver.unbind(*name, text, hardware),
            Self::Fixed(_) | Self::File(..) => Err(Errno(libc::EIO)),
        }
    }
}
