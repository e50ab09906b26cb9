//! The driver as a state machine: one program, one module per question.

#![cfg(all(target_arch = "x86_64", target_os = "linux"))]

mod binding;
mod files;
mod formats;
mod histories;
mod plans;
mod refusals;
mod saved;

use dsa::hardware::capabilities::Capabilities;
use idxd::{BusNode, Driver, DriverName, Errno, HardwareAccess, IdleHardware, Part};
use std::cell::RefCell;

const PART: Capabilities = Capabilities::VERSION_1;

/// A driver, and short forms of what tests do to it.
struct Machine(Driver);

impl Machine {
    fn of(part: Part) -> Self {
        Self(Driver::new(vec![part]))
    }

    fn new() -> Self {
        Self::of(Part::new(PART))
    }

    /// With a queue `wq0.0` of a mode, its group and an engine, all off.
    fn with_queue(part: Part, mode: &str) -> Self {
        let mut machine = Self::of(part);
        let settings = [
            ("engine0.0", "group_id", "0"),
            ("wq0.0", "group_id", "0"),
            ("wq0.0", "mode", mode),
            ("wq0.0", "size", "16"),
            ("wq0.0", "priority", "10"),
            ("wq0.0", "type", "user"),
            ("wq0.0", "name", "app"),
            ("wq0.0", "driver_name", "user"),
        ];
        for (node, attribute, text) in settings {
            machine.set(node, attribute, text);
        }
        if mode == "shared" {
            machine.set("wq0.0", "threshold", "14");
        }
        machine
    }

    /// The same, all on.
    fn enabled(mode: &str) -> Self {
        let mut machine = Self::with_queue(Part::new(PART), mode);
        machine.bind("idxd", "dsa0").expect("all checks hold");
        machine.bind("user", "wq0.0").expect("all checks hold");
        machine
    }

    fn write(&mut self, node: &str, attribute: &str, text: &str) -> Result<(), Errno> {
        self.0.write(named(node), attribute, &format!("{text}\n"), &IdleHardware)
    }

    fn set(&mut self, node: &str, attribute: &str, text: &str) {
        let done = self.write(node, attribute, text);
        assert_eq!(done, Ok(()), "{node}/{attribute} = {text}");
    }

    fn read(&self, node: &str, attribute: &str) -> Result<String, Errno> {
        self.0.read(named(node), attribute, &IdleHardware)
    }

    /// The text without its newline, of which there is one.
    fn get(&self, node: &str, attribute: &str) -> String {
        let text = self.read(node, attribute).unwrap_or_else(|e| panic!("{node}/{attribute}: {e}"));
        text.strip_suffix('\n').expect("a value ends in a newline").to_owned()
    }

    fn bind(&mut self, driver: &str, name: &str) -> Result<(), Errno> {
        self.0.bind(driver.parse().expect("a driver"), name, &IdleHardware)
    }

    fn unbind(&mut self, driver: &str, name: &str) -> Result<(), Errno> {
        self.0.unbind(driver.parse().expect("a driver"), name, &IdleHardware)
    }

    fn status(&self) -> u32 {
        self.0.devices()[0].command_status().0
    }

    fn names(&self, node: &str) -> Vec<&'static str> {
        self.0.attributes(named(node)).iter().map(|attribute| attribute.name).collect()
    }
}

fn named(node: &str) -> BusNode {
    node.parse().expect("the name of a node")
}

/// A device that remembers what it was asked.
#[derive(Default)]
struct Noting {
    calls: RefCell<Vec<String>>,
}

impl HardwareAccess for Noting {
    fn occupancy(&self, device: usize, queue: usize) -> u32 {
        u32::try_from(10 * device + queue).expect("small")
    }

    fn software_error(&self, _: usize) -> [u64; 4] {
        [0x1111_2222_3333_4444, 5, 6, 0x7777_0000_0000_8888]
    }

    fn drain(&self, device: usize, queue: usize) {
        self.calls.borrow_mut().push(format!("drain wq{device}.{queue}"));
    }

    fn drain_pasid(&self, device: usize, queue: usize, pasid: u32) {
        self.calls.borrow_mut().push(format!("drain wq{device}.{queue} of {pasid}"));
    }
}

#[test]
fn drivers_have_the_names_of_their_directories() {
    for driver in DriverName::ALL {
        assert_eq!(driver.to_string().parse(), Ok(driver));
    }
    assert_eq!("vfio".parse::<DriverName>(), Err(Errno::ENODEV));
}
