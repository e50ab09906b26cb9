//! Does any history of writes, bindings and open files leave a state that no driver may be in?

mod expected;

use crate::PART;
use dsa::hardware::capabilities::Capabilities;
use idxd::{
    BusNode, Client, DeviceState, Driver, DriverName, Errno, IdleHardware, IdxdQueue, Part,
    QueueType, WorkQueueMode,
};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::collections::BTreeSet;

const TEXTS: &[&str] = &[
    "0",
    "1",
    "2",
    "3",
    "-1",
    "8",
    "14",
    "16",
    "64",
    "96",
    "128",
    "1025",
    "4096",
    "x",
    "",
    "user",
    "kernel",
    "none",
    "shared",
    "dedicated",
    "dmaengine",
    "on",
    "app",
];

struct History {
    random: Xoshiro256PlusPlus,
    driver: Driver,
    clients: Vec<Client>,
    tally: Tally,
}

/// How often a history did what it is about: without it, no test of anything.
#[derive(Default, Debug)]
struct Tally {
    writes: u32,
    refused_writes: u32,
    devices: u32,
    queues: u32,
    refused_queues: BTreeSet<u32>,
    unbound: u32,
    opened: u32,
}

impl History {
    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.random.next_u64() % most as u64).expect("below a usize")
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        let index = self.below(choices.len());
        choices[index]
    }

    fn node(&mut self) -> BusNode {
        let nodes: Vec<_> = self.driver.nodes().collect();
        self.of(&nodes)
    }

    fn step(&mut self) {
        match self.below(16) {
            0..7 => self.write_something(),
            7..9 => self.configure(),
            9..13 => self.bind(),
            13 => self.unbind(),
            14 => self.open_or_close(),
            _ if self.below(20) == 0 => self.driver.halt(0, &IdleHardware),
            _ => self.bind(),
        }
    }

    /// A refused write changes nothing.
    fn write_something(&mut self) {
        let node = self.node();
        let attributes = self.driver.attributes(node);
        let attribute = self.of(&attributes);
        let text = self.of(TEXTS);
        let before = format!("{:?}", self.driver);
        match self.driver.write(node, attribute.name, text, &IdleHardware) {
            Ok(()) => {
                assert!(attribute.writable);
                self.tally.writes += 1;
            }
            Err(_) => {
                assert_eq!(before, format!("{:?}", self.driver), "{node}/{}", attribute.name);
                self.tally.refused_writes += 1;
            }
        }
    }

    /// Writes all or most settings that a queue needs. The state may refuse each write.
    fn configure(&mut self) {
        let (queue, group) = (self.below(4), self.below(2));
        let mode = self.of(&["shared", "dedicated"]);
        let skipped = self.below(12);
        let group = group.to_string();
        let settings = [
            ("group_id", group.as_str()),
            ("mode", mode),
            ("size", "16"),
            ("priority", "4"),
            ("threshold", "12"),
            ("type", "user"),
            ("name", "app"),
            ("driver_name", "user"),
        ];
        for (index, (attribute, text)) in settings.into_iter().enumerate() {
            if index != skipped {
                let _ = self.driver.write(BusNode::Queue(0, queue), attribute, text, &IdleHardware);
            }
        }
        // Engines are moved in any state, so that groups of queues are seldom without.
        for engine in 0..4 {
            let group = if engine == 0 { "1" } else { group.as_str() };
            let moved =
                self.driver.write(BusNode::Engine(0, engine), "group_id", group, &IdleHardware);
            assert_eq!(moved, Ok(()));
        }
        for queue in 4..8 {
            let _ = self.driver.write(BusNode::Queue(0, queue), "group_id", "-1", &IdleHardware);
        }
    }

    fn bind(&mut self) {
        let device = self.driver.devices()[0].state() == DeviceState::Disabled;
        if device || self.below(4) == 0 {
            let status = self.driver.devices()[0].command_status();
            match self.driver.bind(DriverName::Idxd, "dsa0", &IdleHardware) {
                Ok(()) => self.tally.devices += 1,
                Err(Errno::EBUSY) => {
                    assert_eq!(self.driver.devices()[0].command_status(), status);
                }
                Err(errno) => assert_eq!(errno, Errno::ENXIO),
            }
            return;
        }
        let (number, driver) = (self.below(4), self.of(&[DriverName::User, DriverName::Dmaengine]));
        let expected = expected::of_bind(&self.driver, number, driver);
        let before = self.driver.devices()[0].command_status().0;
        let done = self.driver.bind(driver, &format!("wq0.{number}"), &IdleHardware);
        let after = self.driver.devices()[0].command_status().0;
        match expected {
            Some((errno, status)) => {
                assert_eq!((done, after), (Err(errno), status.unwrap_or(before)));
                self.tally.refused_queues.insert(after);
            }
            None => {
                assert_eq!((done, after), (Ok(()), 0));
                self.tally.queues += 1;
            }
        }
    }

    /// Checks that a disabled queue has its initial settings, except those that a disable keeps.
    fn unbind(&mut self) {
        if self.below(12) == 0 {
            if self.driver.unbind(DriverName::Idxd, "dsa0", &IdleHardware).is_ok() {
                let fresh = Driver::new(vec![self.driver.devices()[0].part().clone()]);
                let (own, new) = (&self.driver.devices()[0], &fresh.devices()[0]);
                assert_eq!((own.groups(), own.engines()), (new.groups(), new.engines()));
                assert_eq!(own.state(), DeviceState::Disabled);
            }
            return;
        }
        let number = self.below(4);
        let queue = &self.driver.devices()[0].queues()[number];
        let (size, group, name) = (queue.size(), queue.group(), queue.driver_name().to_owned());
        if self.driver.unbind(DriverName::Dsa, &format!("wq0.{number}"), &IdleHardware).is_ok() {
            let queue = &self.driver.devices()[0].queues()[number];
            let kept = (queue.size(), queue.group(), queue.driver_name());
            assert_eq!(kept, (size, group, name.as_str()));
            assert_eq!(
                (queue.mode(), queue.kind(), queue.name()),
                (WorkQueueMode::Shared, QueueType::None, "")
            );
            assert_eq!((queue.threshold(), queue.priority()), (0, 0));
            assert_eq!((queue.most_transfer_bytes(), queue.most_batch()), (2 << 20, 32));
            assert!(!queue.is_enabled() && !queue.block_on_fault() && !queue.ats_disable());
            self.tally.unbound += 1;
        }
    }

    fn open_or_close(&mut self) {
        if !self.clients.is_empty() && self.below(2) == 0 {
            let index = self.below(self.clients.len());
            self.driver.close(&self.clients.swap_remove(index), &IdleHardware);
            return;
        }
        let (queue, pid) = (self.below(4), 100 + u32::try_from(self.below(3)).expect("small"));
        let own = &self.driver.devices()[0].queues()[queue];
        let busy = own.mode() == WorkQueueMode::Dedicated && self.driver.clients(0, queue) > 0;
        let expected = match own.cdev_minor() {
            None => Some(Errno::ENXIO),
            Some(_) => busy.then_some(Errno::EBUSY),
        };
        match self.driver.open(0, queue, pid, &IdleHardware) {
            Ok(client) => {
                assert_eq!(expected, None);
                self.clients.push(client);
                self.tally.opened += 1;
            }
            Err(errno) => assert_eq!(Some(errno), expected),
        }
    }

    fn check(&self) {
        let device = &self.driver.devices()[0];
        let can = device.capabilities();
        let entries: u32 = device.queues().iter().map(|queue| u32::from(queue.size())).sum();
        assert!(entries <= u32::from(can.queue_entries));
        let reserved = device.groups().iter().map(|group| group.read_buffers_reserved());
        assert!(reserved.sum::<u16>() <= can.read_buffers);
        for (number, queue) in device.queues().iter().enumerate() {
            self.check_queue(number, queue);
        }
        let enabled = device.state() == DeviceState::Enabled;
        let running = device.queues().iter().any(IdxdQueue::is_enabled);
        assert!(enabled || !running, "a queue runs on a device that does not");
        let minors: Vec<_> = device.queues().iter().filter_map(IdxdQueue::cdev_minor).collect();
        assert_eq!(minors.iter().collect::<BTreeSet<_>>().len(), minors.len());
        let files: BTreeSet<_> = self.clients.iter().map(Client::file).collect();
        assert_eq!(files.len(), self.clients.len());
        for one in &self.clients {
            for other in &self.clients {
                assert_eq!(one.pid() == other.pid(), one.pasid() == other.pasid());
            }
        }
    }

    fn check_queue(&self, number: usize, queue: &IdxdQueue) {
        let clients = self.clients.iter().filter(|client| client.queue() == number);
        assert_eq!(self.driver.clients(0, number), clients.count());
        if let Some(group) = queue.group() {
            let members = self.driver.read(BusNode::Group(0, group), "work_queues", &IdleHardware);
            let name = format!("wq0.{number}");
            assert!(members.expect("a list").split_whitespace().any(|member| member == name));
        }
        let bound = self.driver.bound(BusNode::Queue(0, number));
        assert_eq!(queue.cdev_minor().is_some(), bound == Some(DriverName::User));
        if !queue.is_enabled() {
            return;
        }
        assert!(!queue.name().is_empty() && queue.kind() != QueueType::None);
        assert!(queue.group().is_some() && queue.size() > 0 && queue.priority() > 0);
        assert!(queue.mode() == WorkQueueMode::Dedicated || queue.threshold() > 0);
        assert_eq!(bound.map(DriverName::name), Some(queue.driver_name()));
    }
}

#[test]
fn no_history_breaks_what_always_holds() {
    for (number, part) in [PART, Capabilities::VERSION_2].into_iter().enumerate() {
        let seed = soak::seed(21) + number as u64;
        let mut history = History {
            random: Xoshiro256PlusPlus::seed_from_u64(seed),
            driver: Driver::new(vec![Part::new(part)]),
            clients: Vec::new(),
            tally: Tally::default(),
        };
        for _ in 0..soak::amount(60_000, 150_000) {
            history.step();
            history.check();
        }
        let tally = &history.tally;
        let often = [tally.writes, tally.refused_writes, tally.queues, tally.unbound];
        assert!(often.iter().all(|&count| count > 100), "{tally:?}");
        assert!(tally.devices > 20 && tally.opened > 100, "{tally:?}");
        // Success, or a code that was there, and the codes of a missing driver, group, name, threshold.
        let codes = [0x8020_0000, 0x8003_0000, 0x8004_0000, 0x8006_0000, 0x23];
        assert!(codes.iter().all(|code| tally.refused_queues.contains(code)), "{tally:?}");
    }
}
