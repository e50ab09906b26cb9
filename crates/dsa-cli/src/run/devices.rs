//! The driver's state and the devices' registers.
//!
//! The driver decides; each change that it accepts is written to the registers, where programs see it.

use super::server::Mounted;
use crate::failure::Failure;
use dsa_run::Identity;
use dsa_run::registers::{self, MOST_CLIENTS, Registers, state};
use idxd::saved::Saved;
use idxd::{Client, DeviceState, Driver, Errno, Hardware, Mode};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use units::narrow::usize_from;

/// How often the supervisor looks for processes that have ended, and for errors to tell.
const LOOK: Duration = Duration::from_millis(20);
/// A device that does not drain in this time is taken as hung.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);

/// All devices of a run.
pub struct Devices {
    driver: Mutex<Driver>,
    board: Board,
}

/// The registers, and who has which of them.
struct Board {
    registers: &'static Registers,
    /// The processes at each queue.
    users: Mutex<HashMap<(usize, usize), Vec<User>>>,
    clients: AtomicU32,
}

/// A process that has a queue's file open.
#[derive(Clone, Copy)]
struct User {
    process: u32,
    client: u32,
    slot: u32,
    files: u32,
}

impl Devices {
    /// Devices that nothing is configured of.
    pub fn new(driver: Driver, registers: &'static Registers) -> Self {
        registers.devices.store(units::narrow::fit(driver.devices().len()), Ordering::Release);
        for (device, own) in driver.devices().iter().zip(&registers.device) {
            own.set_capabilities(device.capabilities());
        }
        let board =
            Board { registers, users: Mutex::new(HashMap::new()), clients: AtomicU32::new(1) };
        Self { driver: Mutex::new(driver), board }
    }

    /// The driver, for one request.
    pub fn driver(&self) -> MutexGuard<'_, Driver> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The devices, as the driver reaches them.
    pub fn hardware(&self) -> &dyn Hardware {
        &self.board
    }

    /// Configures them.
    pub fn configure(&self, saved: &Saved) -> Result<(), Failure> {
        saved.apply(&mut self.driver(), &self.board).map_err(Failure::bad_input)
    }

    /// Opens a queue's file for a process.
    pub fn open(
        &self,
        device: usize,
        queue: usize,
        process: u32,
    ) -> Result<(Client, Identity), Errno> {
        let client = self.driver().open(device, queue, process, &self.board)?;
        let Some(user) = self.board.enter(device, queue, process) else {
            self.driver().close(&client, &self.board);
            return Err(Errno(libc::ENOSPC));
        };
        let identity = Identity {
            device: units::narrow::fit(device),
            queue: units::narrow::fit(queue),
            client: user.client,
            slot: user.slot,
            pasid: client.pasid(),
            process,
            reserved: [0; 2],
        };
        Ok((client, identity))
    }

    /// Closes it.
    pub fn close(&self, client: &Client) {
        if is_ending(client.pid()) {
            self.board.end(client.pid());
        }
        self.driver().close(client, &self.board);
        self.board.leave(client.device(), client.queue(), client.pid());
    }

    /// Whether the interrupt of an error has come, for those who poll.
    pub fn has_error(&self, device: usize) -> bool {
        self.board.registers.device[device].notified.load(Ordering::Acquire) != 0
    }

    /// Looks after processes and errors until the run ends.
    pub fn watch(self: &Arc<Self>, mounted: &Mounted) -> Watch {
        let stop = Arc::new(AtomicBool::new(false));
        let (devices, stopped, waiting) =
            (Arc::clone(self), Arc::clone(&stop), Arc::clone(&mounted.waiting));
        let thread = std::thread::spawn(move || {
            while !stopped.load(Ordering::Acquire) {
                std::thread::park_timeout(LOOK);
                devices.board.end_the_dead();
                devices.halt_those_that_stopped();
                waiting.tell(|device| devices.has_error(device));
            }
        });
        Watch { stop, thread }
    }

    /// A device that an injected reset has stopped is halted for the driver, too.
    fn halt_those_that_stopped(&self) {
        for (number, own) in self.board.registers.device.iter().enumerate() {
            if own.state.load(Ordering::Acquire) != state::HALTED {
                continue;
            }
            let mut driver = self.driver();
            if driver.devices().get(number).is_some_and(|it| it.state() == DeviceState::Enabled) {
                driver.halt(number, &self.board);
            }
        }
    }

    /// Ends the devices: what still runs finds them disabled.
    pub fn stop(&self) {
        for own in &self.board.registers.device {
            own.state.store(state::DISABLED, Ordering::Release);
            for queue in &own.queue {
                queue.state.store(state::DISABLED, Ordering::SeqCst);
            }
        }
    }
}

/// A thread that looks after a run.
pub struct Watch {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Watch {
    /// Ends it.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        // If it panicked, it has said so.
        drop(self.thread.join());
    }
}

impl Board {
    fn users(&self) -> MutexGuard<'_, HashMap<(usize, usize), Vec<User>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process opens a queue once more; `None` if too many have it open.
    fn enter(&self, device: usize, queue: usize, process: u32) -> Option<User> {
        let mut users = self.users();
        let own = users.entry((device, queue)).or_default();
        if let Some(user) = own.iter_mut().find(|user| user.process == process) {
            user.files += 1;
            return Some(*user);
        }
        let slots = 0..units::narrow::fit(MOST_CLIENTS);
        let slot = slots.into_iter().find(|slot| own.iter().all(|user| user.slot != *slot))?;
        let client = self.clients.fetch_add(1, Ordering::Relaxed);
        let user = User { process, client, slot, files: 1 };
        own.push(user);
        Some(user)
    }

    fn leave(&self, device: usize, queue: usize, process: u32) {
        let mut users = self.users();
        let Some(own) = users.get_mut(&(device, queue)) else { return };
        for user in own.iter_mut().filter(|user| user.process == process) {
            user.files -= 1;
            if user.files == 0 {
                self.queue(device, queue).release(user.client, usize_from(user.slot.into()));
            }
        }
        own.retain(|user| user.files > 0);
    }

    /// A process ends: what its threads had of any queue will never end.
    fn end(&self, process: u32) {
        for ((device, queue), users) in &*self.users() {
            for user in users.iter().filter(|user| user.process == process) {
                self.queue(*device, *queue).release(user.client, usize_from(user.slot.into()));
            }
        }
    }

    /// A child may keep the file of a process that has ended open.
    fn end_the_dead(&self) {
        let processes: Vec<u32> =
            self.users().values().flatten().map(|user| user.process).collect();
        processes.into_iter().filter(|process| is_ending(*process)).for_each(|it| self.end(it));
    }

    fn queue(&self, device: usize, queue: usize) -> &'static registers::Queue {
        &self.registers.device[device].queue[queue]
    }
}

/// Whether a process has ended, or is about to: its threads run no more.
fn is_ending(process: u32) -> bool {
    /// Flag of a task that ends [include/linux/sched.h].
    const PF_EXITING: u64 = 4;
    let Ok(text) = std::fs::read_to_string(format!("/proc/{process}/stat")) else { return true };
    // The name may have any character; the flags are the seventh field behind it.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let flags = fields.split_whitespace().nth(6).and_then(|field| field.parse::<u64>().ok());
    flags.is_none_or(|flags| flags & PF_EXITING != 0)
}

impl Hardware for Board {
    fn occupancy(&self, device: usize, queue: usize) -> u32 {
        self.queue(device, queue).occupancy()
    }

    fn software_error(&self, device: usize) -> [u64; 4] {
        self.registers.device[device].error_words()
    }

    fn drain(&self, device: usize, queue: usize) {
        let own = self.queue(device, queue);
        let start = Instant::now();
        // What is submitted from here on is lost, as it is while the device drains.
        let before = own.state.swap(state::DISABLED, Ordering::SeqCst);
        while own.in_flight() + own.occupancy() > 0 && start.elapsed() < LONGEST_DRAIN {
            self.end_the_dead();
            std::thread::sleep(Duration::from_micros(200));
        }
        own.state.store(before, Ordering::SeqCst);
    }

    fn drain_pasid(&self, device: usize, queue: usize, _: u32) {
        // Other processes go on: what this one has submitted it waits for by itself, and what it leaves
        // unfinished when it ends is dropped.
        let _ = (device, queue);
    }

    fn publish(&self, device: usize, driver: &idxd::Device) {
        let own = &self.registers.device[device];
        let is_on = driver.state() == DeviceState::Enabled;
        for (group, engines) in own.engines.iter().enumerate() {
            let members = driver.engines().iter().filter(|engine| engine.group() == Some(group));
            engines.store(units::narrow::fit(members.count()), Ordering::Relaxed);
        }
        for (queue, register) in driver.queues().iter().zip(&own.queue) {
            publish_queue(queue, register, is_on);
        }
        let value = match driver.state() {
            DeviceState::Disabled => state::DISABLED,
            DeviceState::Enabled => state::ENABLED,
            DeviceState::Halted => state::HALTED,
        };
        if value == state::DISABLED {
            own.clear_error();
        }
        own.state.store(value, Ordering::Release);
    }
}

fn publish_queue(queue: &idxd::Queue, register: &registers::Queue, is_on: bool) {
    let is_enabled = is_on && queue.is_enabled();
    let was_enabled = register.state.load(Ordering::Relaxed) == state::ENABLED;
    if !is_enabled {
        register.state.store(state::DISABLED, Ordering::SeqCst);
        return;
    }
    if was_enabled {
        // Nothing but the threshold can be changed of an enabled queue.
        register.threshold.store(queue.threshold().into(), Ordering::Relaxed);
        return;
    }
    let dedicated = u32::from(queue.mode() == Mode::Dedicated);
    let group = queue.group().map_or(0, units::narrow::fit);
    register.dedicated.store(dedicated, Ordering::Relaxed);
    register.size.store(queue.size().into(), Ordering::Relaxed);
    register.threshold.store(queue.threshold().into(), Ordering::Relaxed);
    register.priority.store(queue.priority().into(), Ordering::Relaxed);
    register.group.store(group, Ordering::Relaxed);
    register.block_on_fault.store(queue.block_on_fault().into(), Ordering::Relaxed);
    register.most_batch.store(queue.most_batch(), Ordering::Relaxed);
    register.most_transfer_bytes.store(queue.most_transfer_bytes(), Ordering::Relaxed);
    register.generation.fetch_add(1, Ordering::AcqRel);
    register.state.store(state::ENABLED, Ordering::SeqCst);
}
