//! Changes, kills and restores in any order, from any configuration: is anything lost?

use crate::memory::{Memory, dies_at, never};
use dsa::hardware::capabilities::Capabilities;
use dsa_config::change::{ChangeError, ChangeOptions, change};
use dsa_config::restore::{ConfigRestoreOptions, restore};
use idxd::config_file::SavedConfig;
use idxd::{BusNode, Driver, DriverName, IdleHardware, Part};
use rand_core::{RngCore, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

struct Random(Xoshiro256PlusPlus);

impl Random {
    fn below(&mut self, most: usize) -> usize {
        usize::try_from(self.0.next_u64() % most as u64).expect("below a usize")
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A queue as a file has it, with an engine in its group.
    fn queue(&mut self, driver: &mut Driver, device: usize) {
        let queue = BusNode::Queue(device, self.below(8));
        let (group, kind) = (self.of(&["0", "1", "3"]), self.of(&["user", "user", "kernel"]));
        let settings = [
            ("group_id", group),
            ("mode", self.of(&["shared", "dedicated"])),
            ("size", self.of(&["4", "8", "16", "32"])),
            ("threshold", self.of(&["1", "3", "4"])),
            ("priority", self.of(&["1", "10", "15"])),
            ("type", kind),
            ("name", self.of(&["app", "dpdk_1"])),
            ("driver_name", if kind == "user" { "user" } else { "dmaengine" }),
            ("max_batch_size", self.of(&["32", "1024"])),
            ("block_on_fault", self.of(&["0", "1"])),
            ("enqcmds_retries", self.of(&["32", "5"])),
        ];
        for (attribute, text) in settings {
            let _ = driver.write(queue, attribute, text, &IdleHardware);
        }
        let engine = BusNode::Engine(device, self.below(4));
        let _ = driver.write(engine, "group_id", group, &IdleHardware);
    }

    /// The configuration of one device or both, whole or half of one, on or off.
    fn file(&mut self, parts: &[Part], numbers: &[usize]) -> SavedConfig {
        let mut driver = Driver::new(parts.to_vec());
        for &device in numbers {
            for _ in 0..self.below(6) {
                self.queue(&mut driver, device);
            }
            if self.below(3) == 0 {
                let group = BusNode::Group(device, self.below(4));
                let _ = driver.write(group, "read_buffers_reserved", "24", &IdleHardware);
                let _ =
                    driver.write(BusNode::Device(device), "read_buffer_limit", "40", &IdleHardware);
                let _ = driver.write(group, "use_read_buffer_limit", "1", &IdleHardware);
            }
            if self.below(4) > 0 {
                let _ = driver.bind(DriverName::Idxd, &format!("dsa{device}"), &IdleHardware);
                for queue in 0..8 {
                    let name =
                        if self.below(5) == 0 { DriverName::Dmaengine } else { DriverName::User };
                    let _ = driver.bind(name, &format!("wq{device}.{queue}"), &IdleHardware);
                }
            }
        }
        let named = match self.below(3) {
            0 => numbers.to_vec(),
            _ => vec![self.of(numbers)],
        };
        SavedConfig::from_devices(&driver, &named)
    }
}

/// Counts of the events in the histories, to test that they cover each kind.
#[derive(Default, Debug)]
struct Tally {
    changes: usize,
    kills: usize,
    restores: usize,
}

#[test]
fn histories_of_changes_and_kills_are_taken_back() {
    let parts =
        vec![Part::new(Capabilities::VERSION_1), Part::gap(), Part::new(Capabilities::VERSION_2)];
    let mut random = Random(Xoshiro256PlusPlus::seed_from_u64(soak::seed(57)));
    let mut tally = Tally::default();
    let histories = soak::amount(40, 300);
    for _ in 0..histories {
        let machine = Memory::with(parts.clone());
        let first = random.file(&parts, &machine.numbers);
        let _ = first.apply(&mut machine.driver.borrow_mut(), &IdleHardware);
        let before = machine.configuration();
        let options = ConfigRestoreOptions::default();
        for _ in 0..=random.below(4) {
            let at = match random.below(3) {
                0 => usize::MAX,
                _ => random.below(90),
            };
            let mut watch = dies_at(at);
            // Each is a run of the tool: the lock is taken, and all is read again.
            let state = machine.state();
            let ended = if random.below(5) == 0 {
                tally.restores += 1;
                restore(&machine, &state, options, &mut Vec::new(), &mut watch)
            } else {
                let file = random.file(&parts, &machine.numbers);
                let taken = file.accepted_by(&machine.driver.borrow());
                if !taken.refusals.is_empty() {
                    continue;
                }
                tally.changes += 1;
                let options = ChangeOptions::default();
                let wanted = &taken.configuration;
                let ended = change(&machine, &state, wanted, &options, &mut watch).map(|_| ());
                if ended.is_ok() {
                    // Applied and shown are equal.
                    let shown =
                        SavedConfig::from_devices(&machine.driver.borrow(), &file.devices());
                    assert_eq!(shown.differences(wanted), []);
                }
                ended
            };
            match ended {
                Ok(()) => {}
                Err(ChangeError::Stopped) => tally.kills += 1,
                // Half of a configuration that only single writes make.
                Err(ChangeError::NoWayBack(..)) => {}
                Err(other) => panic!("{other}"),
            }
        }
        restore(&machine, &machine.state(), options, &mut Vec::new(), &mut never).expect("ends");
        let after = machine.configuration();
        let differences = after.differences(&before);
        assert_eq!(differences, []);
        assert!(machine.place().peek().expect("none").entries.is_empty());
    }
    assert!(tally.kills * 3 > histories && tally.changes > histories, "{tally:?}");
    assert!(tally.restores * 4 > histories, "{tally:?}");
}
