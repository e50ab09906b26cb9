//! What do binding and unbinding check, enable and reset?

use crate::{Machine, Noting, PART, named};
use dsa::hardware::capabilities::{Capabilities, wqcap};
use idxd::{CommandStatus as Status, DeviceState, Driver, DriverName, Errno, Part};

type Change = fn(&mut Machine);

/// A machine with one fault is refused with the number and the code; without, it is enabled.
fn refused(part: Part, mode: &str, name: &str, change: Change, errno: Errno, status: Status) {
    let mut machine = Machine::with_queue(part, mode);
    let driver = if name == "dsa0" { "idxd" } else { "user" };
    if name != "dsa0" {
        machine.bind("idxd", "dsa0").expect("the device itself has no fault");
    }
    change(&mut machine);
    let before = machine.0.bound(named(name));
    assert_eq!(machine.bind(driver, name), Err(errno), "{status}");
    assert_eq!(machine.status(), status.0, "{status}");
    assert_eq!(machine.0.bound(named(name)), before);
    // Any text clears it.
    machine.set("dsa0", "cmd_status", "1");
    assert_eq!(machine.get("dsa0", "cmd_status"), "0");
}

#[test]
fn a_device_is_enabled_when_nothing_is_missing() {
    let mut machine = Machine::with_queue(Part::new(PART), "shared");
    assert_eq!(machine.bind("idxd", "dsa0"), Ok(()));
    assert_eq!(machine.get("dsa0", "state"), "enabled");
    assert_eq!(machine.0.bound(named("dsa0")), Some(DriverName::Idxd));
    assert_eq!(machine.bind("idxd", "dsa0"), Err(Errno::EBUSY));
    assert_eq!(machine.bind("user", "wq0.0"), Ok(()));
    assert_eq!(machine.get("wq0.0", "state"), "enabled");
    assert_eq!(machine.get("wq0.0", "cdev_minor"), "0");
    assert_eq!(machine.bind("user", "wq0.0"), Err(Errno::EBUSY));
}

#[test]
fn faults_of_a_device_have_their_codes() {
    let part = || Part::new(PART);
    let no_sharing = || Part { user_pasid: false, ..part() };
    let rows: [(Part, Change, Status); 9] = [
        (part(), |m| m.set("wq0.0", "group_id", "-1"), Status::DRIVER_NOTHING),
        (no_sharing(), |_| (), Status::DRIVER_NO_SHARED),
        (part(), |m| m.set("engine0.1", "group_id", "1"), Status::HALF_A_GROUP),
        (part(), |m| m.set("wq0.3", "group_id", "3"), Status::HALF_A_GROUP),
        // Group 1 may take all 96, of which group 0 has reserved one.
        (part(), reserve_of_another, Status::READ_BUFFERS),
        (part(), allow_for_fewer_engines, Status::READ_BUFFERS),
        (part(), reserve_more_than_allowed, Status::READ_BUFFERS),
        (part(), limit_below_engines, Status::READ_BUFFERS),
        // Only engines are missing: that has no code, and leaves what was there.
        (part(), |m| m.set("engine0.0", "group_id", "-1"), Status::SUCCESS),
    ];
    for (part, change, status) in rows {
        refused(part, "shared", "dsa0", change, Errno::ENXIO, status);
    }
    let dedicated = Machine::with_queue(no_sharing(), "dedicated").bind("idxd", "dsa0");
    assert_eq!(dedicated, Ok(()));
}

fn reserve_of_another(machine: &mut Machine) {
    machine.set("wq0.1", "group_id", "1");
    machine.set("engine0.1", "group_id", "1");
    machine.set("group0.0", "read_buffers_reserved", "1");
}

fn allow_for_fewer_engines(machine: &mut Machine) {
    machine.set("group0.0", "read_buffers_allowed", "4");
    machine.set("engine0.1", "group_id", "0");
}

fn reserve_more_than_allowed(machine: &mut Machine) {
    machine.set("group0.0", "read_buffers_allowed", "4");
    machine.set("group0.0", "read_buffers_reserved", "5");
}

fn limit_below_engines(machine: &mut Machine) {
    machine.set("dsa0", "read_buffer_limit", "3");
    machine.set("group0.0", "use_read_buffer_limit", "1");
}

#[test]
fn faults_of_a_queue_have_their_codes() {
    let part = || Part::new(PART);
    let without = |feature: u64| {
        Part::new(Capabilities { queue_features: PART.queue_features & !feature, ..PART })
    };
    let small = Part::new(Capabilities { gen_cap: 0x8000_0001 | 20 << 16 | 5 << 21, ..PART });
    let few = Part::new(Capabilities { gen_cap: 0x8000_0001 | 21 << 16 | 4 << 21, ..PART });
    let rows: [(Part, &str, Change, Errno, Status); 11] = [
        (
            part(),
            "shared",
            |m| m.set("wq0.0", "driver_name", "dmaengine"),
            Errno::ENODEV,
            Status::DRIVER_NO_DRIVER_NAME,
        ),
        (
            Part { user_pasid: false, ..part() },
            "dedicated",
            |_| (),
            Errno::EOPNOTSUPP,
            Status::DRIVER_NO_IOMMU,
        ),
        (part(), "shared", leave_group, Errno::ENXIO, Status::DRIVER_NO_GROUP),
        (part(), "shared", lose_name, Errno::ENXIO, Status::DRIVER_NO_NAME),
        (part(), "shared", lose_threshold, Errno::ENXIO, Status::DRIVER_NO_THRESHOLD),
        (part(), "dedicated", lose_priority, Errno::ENXIO, Status::QUEUE_PRIORITY),
        (without(wqcap::SHARED), "shared", |_| (), Errno::ENXIO, Status::QUEUE_MODE),
        (without(wqcap::DEDICATED), "dedicated", |_| (), Errno::ENXIO, Status::QUEUE_MODE),
        // Defaults of the driver that exceed a small part: 2 MiB and 32.
        (small, "dedicated", |_| (), Errno::ENXIO, Status::QUEUE_TRANSFER),
        (few, "dedicated", |_| (), Errno::ENXIO, Status::QUEUE_BATCH),
        // The first fault that is looked for gives the code.
        (part(), "shared", lose_all, Errno::ENXIO, Status::DRIVER_NO_GROUP),
    ];
    for (part, mode, change, errno, status) in rows {
        refused(part, mode, "wq0.0", change, errno, status);
    }
}

fn leave_group(machine: &mut Machine) {
    machine.set("wq0.0", "group_id", "-1");
}

fn lose_name(machine: &mut Machine) {
    machine.set("wq0.0", "type", "none");
}

fn lose_threshold(machine: &mut Machine) {
    machine.set("wq0.0", "mode", "dedicated");
    machine.set("wq0.0", "mode", "shared");
}

fn lose_priority(machine: &mut Machine) {
    machine.set("wq0.0", "priority", "0");
}

fn lose_all(machine: &mut Machine) {
    lose_threshold(machine);
    lose_name(machine);
    lose_priority(machine);
    leave_group(machine);
}

#[test]
fn a_queue_of_a_disabled_device_leaves_cmd_status_alone() {
    let mut machine = Machine::with_queue(Part::new(PART), "dedicated");
    assert_eq!(machine.bind("user", "wq0.0"), Err(Errno::ENXIO));
    assert_eq!(machine.status(), 0);
}

#[test]
fn a_queue_without_size_gets_16_if_they_are_left() {
    for (others, outcome, size) in [(112, Ok(()), "16"), (113, Err(Errno::ENXIO), "0")] {
        let mut machine = Machine::with_queue(Part::new(PART), "dedicated");
        machine.set("wq0.0", "size", "0");
        machine.set("wq0.1", "size", &others.to_string());
        machine.bind("idxd", "dsa0").expect("sizes are not looked at one by one");
        assert_eq!(machine.bind("user", "wq0.0"), outcome);
        assert_eq!(machine.get("wq0.0", "size"), size);
        let status = if outcome.is_ok() { Status::SUCCESS } else { Status::QUEUE_SIZE };
        assert_eq!(machine.status(), status.0);
    }
}

#[test]
fn names_that_a_driver_is_not_for_are_no_devices() {
    let mut machine = Machine::with_queue(Part::new(PART), "dedicated");
    let pairs = [
        ("user", "dsa0"),
        ("idxd", "wq0.0"),
        ("idxd", "dsa1"),
        ("idxd", "group0.0"),
        ("user", "engine0.0"),
        ("user", "wq0.9"),
        ("dsa", "group0.0"),
        // It has no type.
        ("dsa", "wq0.1"),
        ("idxd", ""),
    ];
    for (driver, name) in pairs {
        assert_eq!(machine.bind(driver, name), Err(Errno::ENODEV), "{driver} {name}");
        assert_eq!(machine.unbind(driver, name), Err(Errno::ENODEV), "{driver} {name}");
    }
}

#[test]
fn the_compatibility_form_chooses_by_type() {
    for (kind, driver) in [("user", DriverName::User), ("kernel", DriverName::Dmaengine)] {
        let mut machine = Machine::with_queue(Part::new(PART), "dedicated");
        machine.set("wq0.0", "type", kind);
        machine.set("wq0.0", "name", "app");
        machine.set("wq0.0", "driver_name", driver.name());
        assert_eq!(machine.bind("dsa", "dsa0\n"), Ok(()));
        assert_eq!(machine.bind("dsa", "wq0.0\n"), Ok(()));
        assert_eq!(machine.0.bound(named("wq0.0")), Some(driver));
        assert_eq!(machine.bind("dsa", "wq0.0"), Err(Errno::ENODEV));
        // Only a user's queue has a file.
        let has_file = machine.0.cdev_minor(0, 0).is_some();
        assert_eq!(has_file, driver == DriverName::User);
        assert_eq!(machine.unbind("idxd", "wq0.0"), Err(Errno::ENODEV));
        assert_eq!(machine.unbind("dsa", "wq0.0"), Ok(()));
    }
}

#[test]
fn an_unbound_queue_keeps_size_group_and_driver_name() {
    let mut machine = Machine::with_queue(Part::new(PART), "dedicated");
    for (attribute, text) in
        [("block_on_fault", "1"), ("ats_disable", "1"), ("max_batch_size", "1024")]
    {
        machine.set("wq0.0", attribute, text);
    }
    machine.set("wq0.0", "max_transfer_size", "4096");
    machine.bind("idxd", "dsa0").expect("all checks hold");
    machine.bind("user", "wq0.0").expect("all checks hold");
    let device = Noting::default();
    machine.0.unbind(DriverName::User, "wq0.0", &device).expect("it is bound");
    assert_eq!(*device.calls.borrow(), ["drain wq0.0"]);
    let expected = [
        ("state", "disabled"),
        ("size", "16"),
        ("group_id", "0"),
        ("driver_name", "user"),
        ("mode", "shared"),
        ("type", "none"),
        ("name", ""),
        ("threshold", "0"),
        ("priority", "0"),
        ("block_on_fault", "0"),
        ("ats_disable", "0"),
        ("max_transfer_size", "2097152"),
        ("max_batch_size", "32"),
    ];
    for (attribute, text) in expected {
        assert_eq!(machine.get("wq0.0", attribute), text, "{attribute}");
    }
    assert_eq!(machine.read("wq0.0", "cdev_minor"), Err(Errno::ENXIO));
    assert_eq!(machine.unbind("user", "wq0.0"), Err(Errno::ENODEV));
}

#[test]
fn an_unbound_device_has_no_configuration_left() {
    let mut machine = Machine::with_queue(Part::new(PART), "shared");
    machine.set("dsa0", "read_buffer_limit", "8");
    machine.set("group0.0", "read_buffers_reserved", "8");
    machine.bind("idxd", "dsa0").expect("all checks hold");
    machine.bind("user", "wq0.0").expect("all checks hold");
    let device = Noting::default();
    machine.0.unbind(DriverName::Idxd, "dsa0", &device).expect("it is bound");
    assert_eq!(*device.calls.borrow(), ["drain wq0.0"]);
    assert_eq!(machine.0.bound(named("wq0.0")), None);
    let fresh = Machine::new();
    for node in fresh.0.nodes() {
        for attribute in fresh.0.attributes(node) {
            if (node, attribute.name) == (named("wq0.0"), "driver_name") {
                continue;
            }
            let (now, at_first) = (
                machine.read(&node.to_string(), attribute.name),
                fresh.read(&node.to_string(), attribute.name),
            );
            assert_eq!(now, at_first, "{node}/{}", attribute.name);
        }
    }
}

#[test]
fn a_halted_device_is_bound_until_it_is_unbound() {
    let mut machine = Machine::enabled("shared");
    machine.0.halt(0, &Noting::default());
    assert_eq!(machine.get("dsa0", "state"), "halted");
    assert_eq!(machine.get("wq0.0", "state"), "disabled");
    assert_eq!(machine.0.bound(named("wq0.0")), Some(DriverName::User));
    assert_eq!(machine.bind("idxd", "dsa0"), Err(Errno::EBUSY));
    assert_eq!(machine.unbind("idxd", "dsa0"), Ok(()));
    assert_eq!(machine.0.devices()[0].state(), DeviceState::Disabled);
    assert_eq!(machine.0.bound(named("wq0.0")), None);
}

#[test]
fn devices_do_not_share_configuration_but_minor_numbers() {
    let parts = vec![Part::new(PART); 2];
    let mut driver = Driver::new(parts);
    let saved = idxd::config_file::SavedConfig::default_for(&[PART; 2]);
    saved.apply(&mut driver, &Noting::default()).expect("the part has it");
    let minors: Vec<_> = [(0, 0), (0, 1), (1, 0), (1, 1)]
        .into_iter()
        .map(|(device, queue)| driver.cdev_minor(device, queue))
        .collect();
    assert_eq!(minors, [Some(0), Some(1), Some(2), Some(3)]);
    driver.unbind(DriverName::User, "wq0.1", &Noting::default()).expect("it is bound");
    assert_eq!(driver.cdev_minor(0, 1), None);
    assert_eq!(driver.cdev_minor(1, 1), Some(3));
}
