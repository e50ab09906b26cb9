//! Who may open a queue's file, and what happens when it is closed?

use crate::{Machine, Noting, PART};
use idxd::{BusNode, Driver, DriverName, Errno, HardwareAccess, IdleHardware, IdxdDevice, Part};
use std::cell::RefCell;

#[test]
fn a_dedicated_queue_is_open_once() {
    let mut machine = Machine::enabled("dedicated");
    let first = machine.0.open(0, 0, 100, &IdleHardware).expect("it is free");
    assert_eq!(machine.0.open(0, 0, 101, &IdleHardware), Err(Errno::EBUSY));
    assert_eq!(machine.0.devices()[0].queues()[0].pasid(), Some(first.pasid()));
    let device = Noting::default();
    machine.0.close(&first, &device);
    assert_eq!(*device.calls.borrow(), ["drain wq0.0"]);
    assert_eq!(machine.0.devices()[0].queues()[0].pasid(), None);
    assert!(machine.0.open(0, 0, 101, &IdleHardware).is_ok());
}

#[test]
fn a_shared_queue_counts_its_clients() {
    let mut machine = Machine::enabled("shared");
    let clients: Vec<_> =
        [100, 101, 100].map(|pid| machine.0.open(0, 0, pid, &IdleHardware).expect("shared")).into();
    assert_eq!(machine.get("wq0.0", "clients"), "3");
    assert_eq!(machine.get("dsa0", "clients"), "3");
    // One address space for each process, one number for each open file.
    assert_eq!(clients[0].pasid(), clients[2].pasid());
    assert_ne!(clients[0].pasid(), clients[1].pasid());
    assert_eq!(clients.iter().map(idxd::Client::file).collect::<Vec<_>>(), [0, 1, 2]);
    let device = Noting::default();
    machine.0.close(&clients[1], &device);
    let drained = format!("drain wq0.0 of {}", clients[1].pasid());
    assert_eq!(*device.calls.borrow(), [drained]);
    // Closed again, it is nothing; its number is free.
    machine.0.close(&clients[1], &device);
    assert_eq!(device.calls.borrow().len(), 1);
    assert_eq!(machine.get("wq0.0", "clients"), "2");
    assert_eq!(machine.0.open(0, 0, 102, &IdleHardware).map(|client| client.file()), Ok(1));
    let left: Vec<_> = machine.0.files(0, 0).map(idxd::Client::pid).collect();
    assert_eq!(left, [100, 100, 102]);
}

#[test]
fn a_queue_without_a_file_cannot_be_opened() {
    let mut machine = Machine::new();
    for queue in [0, 8] {
        assert_eq!(machine.0.open(0, queue, 1, &IdleHardware), Err(Errno::ENXIO));
    }
    assert_eq!(machine.0.open(7, 0, 1, &IdleHardware), Err(Errno::ENXIO));
    let mut machine = Machine::enabled("shared");
    machine.unbind("user", "wq0.0").expect("it is bound");
    assert_eq!(machine.0.open(0, 0, 1, &IdleHardware), Err(Errno::ENXIO));
}

#[test]
fn a_file_outlives_the_queue_that_it_was_opened_on() {
    let mut machine = Machine::enabled("shared");
    let client = machine.0.open(0, 0, 1, &IdleHardware).expect("shared");
    machine.unbind("user", "wq0.0").expect("clients do not hold the driver");
    assert_eq!(machine.get("wq0.0", "clients"), "1");
    let device = Noting::default();
    machine.0.close(&client, &device);
    // The queue was drained when it was unbound.
    assert!(device.calls.borrow().is_empty());
    assert_eq!(machine.get("wq0.0", "clients"), "0");
}

#[test]
fn faults_of_records_count_for_their_address_space() {
    let mut machine = Machine::enabled("shared");
    let [one, other] =
        [100, 101].map(|pid| machine.0.open(0, 0, pid, &IdleHardware).expect("shared"));
    machine.0.note_record_fault(0, 0, one.pasid(), true);
    machine.0.note_record_fault(0, 0, one.pasid(), false);
    let read = |client, attribute| machine.0.read_file_attribute(client, attribute);
    let expected = [("cr_faults", "2\n"), ("cr_fault_failures", "1\n"), ("pid", "100\n")];
    for (attribute, text) in expected {
        assert!(Driver::FILE_ATTRIBUTES.contains(&attribute));
        assert_eq!(read(&one, attribute), Ok(text.to_owned()));
    }
    assert_eq!(read(&other, "cr_faults"), Ok("0\n".to_owned()));
    assert_eq!(read(&other, "colour"), Err(Errno::ENOENT));
}

/// A device that takes on what is published.
#[derive(Default)]
struct Follower(RefCell<Vec<u64>>);

impl HardwareAccess for Follower {
    fn occupancy(&self, _: usize, _: usize) -> u32 {
        0
    }

    fn software_error(&self, _: usize) -> [u64; 4] {
        [0; 4]
    }

    fn drain(&self, _: usize, _: usize) {}

    fn publish(&self, device: usize, state: &IdxdDevice) {
        assert_eq!(device, 0);
        self.0.borrow_mut().push(state.generation());
    }
}

#[test]
fn each_change_is_published_with_a_generation_of_its_own() {
    let driver = &mut Machine::with_queue(Part::new(PART), "dedicated").0;
    let device = Follower::default();
    driver.bind(DriverName::Idxd, "dsa0", &device).expect("all checks hold");
    driver.bind(DriverName::User, "wq0.0", &device).expect("all checks hold");
    let client = driver.open(0, 0, 1, &device).expect("it is free");
    driver.close(&client, &device);
    driver.write(BusNode::Queue(0, 1), "priority", "3", &device).expect("it is off");
    driver.unbind(DriverName::User, "wq0.0", &device).expect("it is bound");
    let published = device.0.borrow().clone();
    assert_eq!(published.len(), 6);
    assert!(published.windows(2).all(|pair| pair[1] == pair[0] + 1), "{published:?}");
    // A refusal is no change.
    assert!(driver.write(BusNode::Queue(0, 1), "priority", "16", &device).is_err());
    assert!(driver.bind(DriverName::User, "wq0.1", &device).is_err());
    assert_eq!(device.0.borrow().len(), 6);
}
