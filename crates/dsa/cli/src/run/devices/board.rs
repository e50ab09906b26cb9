//! The registers of the devices, and the processes that use them.

use super::drains::{DrainGuard, QueueDrains};
use dsa::hardware::capabilities::{Capabilities, wqcap};
use dsa_run::registers::{self, ClientRegisters, RunRegisters, place_of, state};
use idxd::{DeviceState, HardwareAccess, WorkQueueMode};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::Ordering;
use std::sync::{Mutex, MutexGuard, PoisonError};
use units::narrow::usize_from;

/// The registers of all devices, and the processes that have queues open.
pub struct RegisterBoard {
    /// The registers in shared memory.
    pub registers: &'static RunRegisters,
    users: Mutex<Users>,
    drains: QueueDrains,
}

/// The processes that have a queue open.
#[derive(Default)]
struct Users {
    /// By process, device and queue.
    all: BTreeMap<(u32, usize, usize), User>,
    /// Free places among the clients below the first that was never taken.
    free: BTreeSet<u32>,
    /// Number of clients until now.
    clients: u32,
    /// The process that [`RegisterBoard::release_ended`] has asked last of those that do nothing.
    asked: u32,
}

/// A process that has a queue's file open.
#[derive(Clone, Copy)]
pub struct User {
    /// The client's number, unique in the run.
    pub client: u32,
    /// Index among the clients of the run.
    pub slot: u32,
    files: u32,
}

/// Most processes without descriptors under way of which one round finds out if they have ended: of thousands
/// it would take longer than the time to the next.
const ASKED_AT_ONCE: usize = 64;

impl RegisterBoard {
    /// Creates a board of the registers, without clients.
    pub fn new(registers: &'static RunRegisters) -> Self {
        Self { registers, users: Mutex::default(), drains: QueueDrains::default() }
    }

    fn users(&self) -> MutexGuard<'_, Users> {
        self.users.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn client(&self, user: &User) -> &'static ClientRegisters {
        &self.registers.clients[usize_from(user.slot.into())]
    }

    /// Counts that a process opens a queue; `None`: the run has no place for a further client.
    pub fn enter(&self, device: usize, queue: usize, process: u32) -> Option<User> {
        let users = &mut *self.users();
        if let Some(user) = users.all.get_mut(&(process, device, queue)) {
            user.files += 1;
            return Some(*user);
        }
        let places = self.registers.places.load(Ordering::Relaxed);
        // The lowest ones, so that few are looked through.
        let slot = users.free.pop_first().unwrap_or(places);
        users.clients += 1;
        let user = User { client: users.clients, slot, files: 1 };
        let client = self.registers.clients.get(usize_from(slot.into()))?;
        client.number.store(user.client, Ordering::Release);
        client.queue.store(place_of(device, queue), Ordering::Release);
        client.process.store(process, Ordering::Release);
        self.registers.places.store(places.max(slot + 1), Ordering::Release);
        users.all.insert((process, device, queue), user);
        Some(user)
    }

    /// Counts that a process closes a queue. It keeps its number, as its engines may have work: its entries
    /// are released when it ends ([`Self::release_ended`]).
    pub fn leave(&self, device: usize, queue: usize, process: u32) {
        if let Some(user) = self.users().all.get_mut(&(process, device, queue)) {
            user.files = user.files.saturating_sub(1);
        }
        self.release_if_ended(process);
    }

    /// Releases the entries of queues and event logs of processes that have ended, since their engines ended
    /// with them. A child may keep a file of an ended process open. Those that have descriptors under way are
    /// asked in each call, the others in turn.
    pub fn release_ended(&self) {
        let users = &mut *self.users();
        let is_busy = |user: &User| self.client(user).in_flight.load(Ordering::Acquire) > 0;
        let busy = users.all.iter().filter(|(_, user)| is_busy(user)).map(|(key, _)| key.0);
        let mut asked: BTreeSet<u32> = busy.collect();
        for _ in 0..ASKED_AT_ONCE {
            let mut behind = users.all.range((users.asked.saturating_add(1), 0, 0)..);
            let Some((&(process, ..), _)) = behind.next() else {
                users.asked = 0;
                break;
            };
            users.asked = process;
            asked.insert(process);
        }
        for process in asked {
            self.release_of(users, process);
        }
    }

    /// Releases what a process has, if it has ended.
    pub fn release_if_ended(&self, process: u32) {
        self.release_of(&mut self.users(), process);
    }

    fn release_of(&self, users: &mut Users, process: u32) {
        if !is_ending(process) {
            return;
        }
        let own = users.all.range((process, 0, 0)..=(process, usize::MAX, usize::MAX));
        let own: Vec<_> = own.map(|(key, user)| (*key, *user)).collect();
        for (key, user) in own {
            self.registers.release(self.client(&user));
            if user.files == 0 {
                self.client(&user).process.store(0, Ordering::Release);
                users.all.remove(&key);
                users.free.insert(user.slot);
            }
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

#[cfg(test)]
mod tests {
    use super::*;
    use dsa_run::registers::SharedRegisters;

    /// Processes from here on have no numbers that a system gives: they have ended.
    const ENDED: u32 = 1 << 31;

    fn board() -> RegisterBoard {
        let place = tempfile::tempdir().expect("can be created");
        let shared = SharedRegisters::create(&place.path().join("registers"));
        RegisterBoard::new(shared.expect("can be created").forever())
    }

    fn places(board: &RegisterBoard) -> u32 {
        board.registers.places.load(Ordering::Relaxed)
    }

    #[test]
    fn a_process_keeps_its_place_until_it_ends() {
        let (board, own) = (board(), std::process::id());
        let first = board.enter(0, 1, own).expect("has room");
        let again = board.enter(0, 1, own).expect("has room");
        let other = board.enter(2, 1, own).expect("has room");
        assert_eq!((first.slot, again.slot, other.slot), (0, 0, 1));
        assert_ne!(first.client, other.client);
        board.leave(0, 1, own);
        board.leave(0, 1, own);
        board.release_ended();
        assert_eq!(board.enter(0, 1, own).expect("has room").client, first.client);
        assert_eq!(places(&board), 2);
    }

    #[test]
    fn places_of_ended_processes_are_used_again_the_lowest_first() {
        let board = board();
        for number in 0..5000 {
            let user = board.enter(0, 0, ENDED + number).expect("has room");
            assert_eq!(user.slot, number);
        }
        for number in [7, 3, 4000] {
            board.leave(0, 0, ENDED + number);
        }
        let again = [1, 2, 3, 4].map(|number| board.enter(1, 1, number).expect("has room").slot);
        assert_eq!(again, [3, 7, 4000, 5000]);
        assert_eq!(places(&board), 5001);
    }

    #[test]
    fn what_an_ended_process_has_is_released_though_a_child_keeps_its_file() {
        let board = board();
        let clients: Vec<User> =
            (0..300).map(|number| board.enter(0, 0, ENDED + number).expect("has room")).collect();
        let busy = board.client(&clients[299]);
        busy.in_flight.store(3, Ordering::Relaxed);
        let entries = &board.queue(0, 0).entries;
        for (entry, user) in entries.iter().zip(&clients) {
            entry.store(user.client, Ordering::Relaxed);
        }
        assert_eq!(board.registers.in_flight(0, 0), 3);
        board.release_ended();
        assert_eq!(board.registers.in_flight(0, 0), 0, "of busy ones at once");
        // Of the others in turn, so many in a round.
        for _ in 0..300_usize.div_ceil(ASKED_AT_ONCE) {
            board.release_ended();
        }
        assert_eq!(board.queue(0, 0).occupancy(), 0);
        assert_eq!(board.enter(0, 0, ENDED).expect("has room").client, clients[0].client);
    }
}
