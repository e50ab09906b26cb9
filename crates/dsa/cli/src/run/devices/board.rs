//! The registers of the devices, and the processes that use them.

use super::drains::{DrainGuard, QueueDrains};
use dsa::hardware::capabilities::{Capabilities, wqcap};
use dsa_run::registers::{self, MOST_CLIENTS, RunRegisters, state};
use idxd::{DeviceState, HardwareAccess, WorkQueueMode};
use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::narrow::usize_from;

/// The registers of all devices, and the processes that have queues open.
pub struct RegisterBoard {
    /// The registers in shared memory.
    pub registers: &'static RunRegisters,
    /// The processes that have a queue open, by device and queue.
    users: Mutex<HashMap<(usize, usize), Vec<User>>>,
    clients: AtomicU32,
    drains: QueueDrains,
}

/// A process that has a queue's file open.
#[derive(Clone, Copy)]
pub struct User {
    process: u32,
    /// The client's number, unique in the run.
    pub client: u32,
    /// Index among the clients of the queue.
    pub slot: u32,
    files: u32,
}

impl RegisterBoard {
    /// Creates a board of the registers, without clients.
    pub fn new(registers: &'static RunRegisters) -> Self {
        Self {
            registers,
            users: Mutex::new(HashMap::new()),
            clients: AtomicU32::new(1),
            drains: QueueDrains::default(),
        }
    }

    fn users(&self) -> MutexGuard<'_, HashMap<(usize, usize), Vec<User>>> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts that a process opens a queue; `None`: too many processes have it open.
    pub fn enter(&self, device: usize, queue: usize, process: u32) -> Option<User> {
        let mut users = self.users();
        let own = users.entry((device, queue)).or_default();
        if let Some(user) = own.iter_mut().find(|user| user.process == process) {
            user.files += 1;
            return Some(*user);
        }
        let mut is_free = vec![true; MOST_CLIENTS];
        own.iter().for_each(|user| is_free[usize_from(user.slot.into())] = false);
        let slot = units::narrow::fit(is_free.iter().position(|is_free| *is_free)?);
        let client = self.clients.fetch_add(1, Ordering::Relaxed);
        let user = User { process, client, slot, files: 1 };
        own.push(user);
        let (register, slot) = (self.queue(device, queue), usize_from(slot.into()));
        register.clients[slot].store(client, Ordering::Release);
        register.processes[slot].store(process, Ordering::Release);
        Some(user)
    }

    /// Counts that a process closes a queue. It keeps its number, as its engines may have work: its entries
    /// are released when it ends ([`Self::release_ended`]).
    pub fn leave(&self, device: usize, queue: usize, process: u32) {
        let mut users = self.users();
        let own = users.get_mut(&(device, queue)).into_iter().flatten();
        for user in own.filter(|user| user.process == process) {
            user.files = user.files.saturating_sub(1);
        }
    }

    /// Releases the entries of queues and event logs of processes that have ended, since their engines ended
    /// with them. A child may keep a file of an ended process open.
    pub fn release_ended(&self) {
        for ((device, queue), users) in &mut *self.users() {
            let own = self.queue(*device, *queue);
            let ended = users.iter().filter(|user| is_ending(user.process));
            for user in ended {
                own.release(user.client, usize_from(user.slot.into()));
                self.registers.device[*device].events.release(user.client);
            }
            users.retain(|user| {
                let stays = user.files > 0 || !is_ending(user.process);
                if !stays {
                    own.processes[usize_from(user.slot.into())].store(0, Ordering::Release);
                }
                stays
            });
        }
    }

    pub(super) fn queue(&self, device: usize, queue: usize) -> &'static registers::QueueRegisters {
        &self.registers.device[device].queue[queue]
    }

    /// Waits until queues have completed the descriptors that they have taken. They take no more until the
    /// guard is dropped.
    pub fn drain(&self, queues: Vec<(usize, usize)>) -> DrainGuard<'_> {
        DrainGuard::wait_for(self, queues)
    }

    pub(super) fn drains(&self) -> &QueueDrains {
        &self.drains
    }
}

/// Whether a process has ended or is about to end: its threads do not run any more.
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

impl HardwareAccess for RegisterBoard {
    fn occupancy(&self, device: usize, queue: usize) -> u32 {
        self.queue(device, queue).occupancy()
    }

    fn software_error(&self, device: usize) -> [u64; 4] {
        self.registers.device[device].error_words()
    }

    // `RunDevices` has waited before it called the driver, which was free for others meanwhile.
    fn drain(&self, _: usize, _: usize) {}

    // Other processes go on. The process's own engines complete its descriptors; those that are unfinished
    // when it ends are dropped.
    fn drain_pasid(&self, _: usize, _: usize, _: u32) {}

    fn publish(&self, device: usize, driver: &idxd::IdxdDevice) {
        let own = &self.registers.device[device];
        let is_on = driver.state() == DeviceState::Enabled;
        for (group, engines) in own.engines.iter().enumerate() {
            let members = driver.engines().iter().filter(|engine| engine.group() == Some(group));
            engines.store(units::narrow::fit(members.count()), Ordering::Relaxed);
        }
        for (number, (queue, register)) in driver.queues().iter().zip(&own.queue).enumerate() {
            let is_enabled = is_on && queue.is_enabled();
            self.drains.set_enabled((device, number), register, is_enabled, |is_new| {
                configure(driver.capabilities(), queue, register, is_new);
            });
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

/// Writes the configuration of an enabled queue to its registers. If it was enabled before, only the
/// threshold can have changed.
fn configure(
    part: &Capabilities,
    queue: &idxd::IdxdQueue,
    register: &registers::QueueRegisters,
    is_new: bool,
) {
    register.threshold.store(queue.threshold().into(), Ordering::Relaxed);
    if !is_new {
        return;
    }
    let dedicated = u32::from(queue.mode() == WorkQueueMode::Dedicated);
    let group = queue.group().map_or(0, units::narrow::fit);
    register.dedicated.store(dedicated, Ordering::Relaxed);
    register.size.store(queue.size().into(), Ordering::Relaxed);
    register.priority.store(queue.priority().into(), Ordering::Relaxed);
    register.group.store(group, Ordering::Relaxed);
    register.block_on_fault.store(queue.block_on_fault().into(), Ordering::Relaxed);
    register.most_batch.store(queue.most_batch(), Ordering::Relaxed);
    register.most_transfer_bytes.store(queue.most_transfer_bytes(), Ordering::Relaxed);
    let is_limited = part.queues_have(wqcap::OPERATIONS);
    let operations = if is_limited { queue.operations() } else { part.op_cap };
    register.operations.store(operations, Ordering::Relaxed);
    register.generation.fetch_add(1, Ordering::AcqRel);
}
