//! The answer to a bind, from what attributes read.

use crate::named;
use idxd::{BusNode, Driver, DriverName, Errno, IdleHardware, IdxdQueue};

/// Expected result of a bind: the first row that applies, in the order of the contract.
pub fn of_bind(driver: &Driver, number: usize, to: DriverName) -> Option<(Errno, Option<u32>)> {
    let device = &driver.devices()[0];
    let queue = &device.queues()[number];
    let read = |attribute: &str| driver.read(BusNode::Queue(0, number), attribute, &IdleHardware);
    let text = |attribute: &str| read(attribute).expect("it has a value").trim_end().to_owned();
    let bound = driver.bound(BusNode::Queue(0, number)).is_some();
    let state = driver.read(named("dsa0"), "state", &IdleHardware).expect("a state");
    let others: u16 = device.queues().iter().map(IdxdQueue::size).sum::<u16>() - queue.size();
    let no_entries = text("size") == "0" && (text("type") == "none" || others + 16 > 128);
    let rows = [
        (bound, Errno::EBUSY, None),
        (state != "enabled\n", Errno::ENXIO, None),
        (text("driver_name") != to.name(), Errno::ENODEV, Some(0x8020_0000)),
        (text("group_id") == "-1", Errno::ENXIO, Some(0x8003_0000)),
        (text("name").is_empty(), Errno::ENXIO, Some(0x8004_0000)),
        (text("mode") == "shared" && text("threshold") == "0", Errno::ENXIO, Some(0x8006_0000)),
        (no_entries, Errno::ENXIO, Some(0x22)),
        (text("priority") == "0", Errno::ENXIO, Some(0x23)),
    ];
    rows.into_iter().find(|row| row.0).map(|(_, errno, status)| (errno, status))
}
