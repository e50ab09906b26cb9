//! The registers of the devices, and which process has which part of them.

use dsa_run::registers::{self, MOST_CLIENTS, Registers, state};
use idxd::{DeviceState, Hardware, Mode};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use units::narrow::usize_from;

/// A device that does not drain in this time is taken as hung.
const LONGEST_DRAIN: Duration = Duration::from_secs(10);

/// The registers, and who has which of them.
pub struct Board {
    /// The registers.
    pub registers: &'static Registers,
    /// The processes at each queue.
    users: Mutex<HashMap<(usize, usize), Vec<User>>>,
    clients: AtomicU32,
}

/// A process that has a queue's file open.
#[derive(Clone, Copy)]
pub struct User {
    process: u32,
    /// Its number at the queue.
    pub client: u32,
    /// Its place among those who have the queue.
    pub slot: u32,
    files: u32,
}

impl Board {
    /// Registers that no process has a part of.
    pub fn new(registers: &'static Registers) -> Self {
        Self { registers, users: Mutex::new(HashMap::new()), clients: AtomicU32::new(1) }
    }

    fn users(&self) -> MutexGuard<'_, HashMap<(usize, usize), Vec<User>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A process opens a queue once more; `None` if too many have it open.
    pub fn enter(&self, device: usize, queue: usize, process: u32) -> Option<User> {
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

    /// A process closes a queue once. It keeps its number, since its engines may have work: what it has
    /// goes back when it ends.
    pub fn leave(&self, device: usize, queue: usize, process: u32) {
        let mut users = self.users();
        let own = users.get_mut(&(device, queue)).into_iter().flatten();
        for user in own.filter(|user| user.process == process) {
            user.files = user.files.saturating_sub(1);
        }
    }

    /// Takes back what processes have that have ended: their threads had it, and are no more. A child may
    /// keep a file of theirs open.
    pub fn end_the_dead(&self) {
        for ((device, queue), users) in &mut *self.users() {
            let own = self.queue(*device, *queue);
            let ended = users.iter().filter(|user| is_ending(user.process));
            for user in ended {
                own.release(user.client, usize_from(user.slot.into()));
                self.registers.device[*device].events.release(user.client);
            }
            users.retain(|user| user.files > 0 || !is_ending(user.process));
        }
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
    // The name may have any character; flags and threads are the 7th and the 18th field behind it.
    let fields = text.rsplit_once(')').map_or("", |(_, fields)| fields);
    let field = |number: usize| fields.split_whitespace().nth(number)?.parse::<u64>().ok();
    let (flags, threads) = (field(6), field(17));
    // The first thread may end long before the others.
    flags.is_none_or(|flags| flags & PF_EXITING != 0) && threads.is_none_or(|threads| threads <= 1)
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
        while own.in_flight() > 0 && start.elapsed() < LONGEST_DRAIN {
            self.end_the_dead();
            std::thread::sleep(Duration::from_micros(200));
        }
        own.state.store(before, Ordering::SeqCst);
    }

    // Other processes go on: what this one has submitted its engines end, and what it leaves unfinished
    // when it ends is dropped.
    fn drain_pasid(&self, _: usize, _: usize, _: u32) {}

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
        let before = own.state.load(Ordering::Relaxed);
        if value == state::DISABLED {
            own.clear_error();
            own.events.begin(0);
        }
        if value == state::ENABLED && before != value && driver.capabilities().has_event_log() {
            own.events.begin(driver.event_log_size().into());
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
