//! A machine in memory: the driver as a state machine, which outlives the tool that changes it.

use dsa::hardware::capabilities::Capabilities;
use dsa_config::bus::{Bus, MachineError};
use dsa_config::journal::{JournalLocation, LockedJournal};
use dsa_config::steps::Point;
use idxd::config_file::SavedConfig;
use idxd::from_sysfs::Attributes;
use idxd::{BusNode, Client, Driver, DriverName, Errno, IdleHardware, Part};
use std::cell::{Cell, RefCell};
use std::ops::ControlFlow;
use tempfile::TempDir;

/// Fault that the machine injects into a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// It is refused with EIO.
    Refused,
    /// It is taken and changes nothing.
    Ignored,
}

pub struct Memory {
    pub driver: RefCell<Driver>,
    pub numbers: Vec<usize>,
    pub boot: RefCell<String>,
    /// The write that meets trouble, counted from here.
    pub trouble: Cell<Option<(usize, Trouble)>>,
    pub writes: Cell<usize>,
    place: TempDir,
}

impl Memory {
    pub fn new() -> Self {
        Self::with(vec![
            Part::new(Capabilities::VERSION_1),
            Part::gap(),
            Part::new(Capabilities::VERSION_2),
        ])
    }

    pub fn with(parts: Vec<Part>) -> Self {
        let driver = Driver::new(parts);
        let devices = driver.nodes().filter(|node| matches!(node, BusNode::Device(_)));
        let numbers = devices.map(BusNode::device).collect();
        Self {
            driver: RefCell::new(driver),
            numbers,
            boot: RefCell::new("a boot".to_owned()),
            trouble: Cell::new(None),
            writes: Cell::new(0),
            place: TempDir::new().expect("can be created"),
        }
    }

    /// With the configuration of each device that a run of the software device begins with.
    pub fn configured() -> Self {
        let machine = Self::with(vec![Part::new(Capabilities::VERSION_1); 2]);
        let parts = [Capabilities::VERSION_1; 2];
        let default = SavedConfig::default_for(&parts);
        default.apply(&mut machine.driver.borrow_mut(), &IdleHardware).expect("the parts have it");
        machine
    }

    pub fn place(&self) -> JournalLocation {
        JournalLocation::for_machine(self.place.path(), None)
    }

    pub fn state(&self) -> LockedJournal {
        self.place().lock(false).expect("nothing else has the lock")
    }

    pub fn configuration(&self) -> SavedConfig {
        SavedConfig::from_driver(&self.driver.borrow())
    }

    /// Finds that it has a configuration; names of drivers that it had not stay, as nothing takes them.
    #[track_caller]
    pub fn has(&self, wanted: &SavedConfig) {
        assert_eq!(self.configuration().differences(wanted), []);
    }

    /// The configuration that a file leads to.
    pub fn wanted(&self, file: &SavedConfig) -> SavedConfig {
        let taken = file.accepted_by(&self.driver.borrow());
        assert_eq!(taken.refusals, []);
        taken.configuration
    }

    pub fn open(&self, device: usize, queue: usize) -> Client {
        self.driver.borrow_mut().open(device, queue, 77, &IdleHardware).expect("it is enabled")
    }

    pub fn close(&self, client: &Client) {
        self.driver.borrow_mut().close(client, &IdleHardware);
    }

    fn written(&self) -> Option<Trouble> {
        let number = self.writes.get();
        self.writes.set(number + 1);
        self.trouble.get().filter(|(at, _)| *at == number).map(|(_, trouble)| trouble)
    }

    fn meets(&self, write: impl FnOnce(&mut Driver) -> Result<(), Errno>) -> Result<(), Errno> {
        match self.written() {
            None => write(&mut self.driver.borrow_mut()),
            Some(Trouble::Refused) => Err(Errno::EIO),
            Some(Trouble::Ignored) => Ok(()),
        }
    }
}

impl Attributes for Memory {
    fn read(&self, node: BusNode, attribute: &str) -> Result<String, Errno> {
        let text = self.driver.borrow().read(node, attribute, &IdleHardware)?;
        Ok(text.trim_end_matches('\n').to_owned())
    }

    fn bound(&self, node: BusNode) -> Result<Option<DriverName>, Errno> {
        Ok(self.driver.borrow().bound(node))
    }
}

impl Bus for Memory {
    fn numbers(&self) -> Result<Vec<usize>, MachineError> {
        Ok(self.numbers.clone())
    }

    fn tc_override(&self) -> bool {
        false
    }

    fn write(&self, node: BusNode, attribute: &str, text: &str) -> Result<(), Errno> {
        if attribute == "cmd_status" {
            return self.driver.borrow_mut().write(node, attribute, text, &IdleHardware);
        }
        self.meets(|driver| driver.write(node, attribute, text, &IdleHardware))
    }

    fn bind(&self, name: DriverName, node: BusNode) -> Result<(), Errno> {
        self.meets(|driver| driver.bind(name, &node.to_string(), &IdleHardware))
    }

    fn unbind(&self, name: DriverName, node: BusNode) -> Result<(), Errno> {
        self.meets(|driver| driver.unbind(name, &node.to_string(), &IdleHardware))
    }

    fn processes(&self, queue: BusNode) -> Vec<u32> {
        let BusNode::Queue(device, queue) = queue else { return Vec::new() };
        self.driver.borrow().files(device, queue).map(Client::pid).collect()
    }

    fn shown(&self, node: BusNode, attribute: &str) -> String {
        format!("{node}/{attribute}")
    }

    fn boot(&self) -> Result<String, MachineError> {
        Ok(self.boot.borrow().clone())
    }
}

/// Goes on at every point.
pub fn never(_: Point) -> ControlFlow<()> {
    ControlFlow::Continue(())
}

/// Dies at the point of a number, as by a kill.
pub fn dies_at(number: usize) -> impl FnMut(Point) -> ControlFlow<()> {
    let mut left = number;
    move |_| match left {
        0 => ControlFlow::Break(()),
        _ => {
            left -= 1;
            ControlFlow::Continue(())
        }
    }
}

/// A file of one device with a shared queue, by threshold and size.
pub fn shared_queue(device: usize, size: u32, threshold: u32) -> SavedConfig {
    let text = format!(
        r#"[{{"dev":"dsa{device}","groups":[{{"dev":"group{device}.0","grouped_workqueues":[
            {{"dev":"wq{device}.3","mode":"shared","size":{size},"threshold":{threshold},
              "priority":5,"type":"user","name":"tested"}}],
            "grouped_engines":[{{"dev":"engine{device}.1"}}]}}]}}]"#
    );
    SavedConfig::parse(&text).expect("a file")
}
