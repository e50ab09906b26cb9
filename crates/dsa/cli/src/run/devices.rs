//! The driver's state and the devices' registers.
//!
//! The driver decides; each change that it accepts is written to the registers, where programs read it.

mod board;
mod drains;
mod event_log;

use super::driver_files::FileAttribute;
use super::pci_config;
use board::RegisterBoard;
use dsa_run::Identity;
use dsa_run::registers::{MOST_CLIENTS, RunRegisters, state};
use event_log::EventLogHandler;
use idxd::config_file::{ApplyError, SavedConfig};
use idxd::{Client, DeviceState, Driver, Errno, HardwareAccess, WorkQueueMode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// Interval in which the supervisor checks for ended processes and for errors.
const INTERVAL: Duration = Duration::from_millis(20);

/// All devices of a run.
pub struct RunDevices {
    driver: Mutex<Driver>,
    board: RegisterBoard,
    /// PCI configuration space of each device.
    config_spaces: Mutex<Vec<Vec<u8>>>,
}

impl RunDevices {
    /// Creates the devices of a run, without configuration.
    pub fn new(driver: Driver, registers: &'static RunRegisters) -> Self {
        registers.devices.store(units::narrow::fit(driver.devices().len()), Ordering::Release);
        for (device, own) in driver.devices().iter().zip(&registers.device) {
            own.set_capabilities(device.capabilities());
        }
        let config_spaces = vec![pci_config::config_space(); driver.devices().len()];
        let config_spaces = Mutex::new(config_spaces);
        Self { driver: Mutex::new(driver), board: RegisterBoard::new(registers), config_spaces }
    }

    /// Locks the driver, for one request.
    pub fn driver(&self) -> MutexGuard<'_, Driver> {
        self.driver.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the PCI configuration space of a device.
    pub fn config_space(&self, device: usize) -> Vec<u8> {
        let spaces = self.config_spaces.lock().unwrap_or_else(PoisonError::into_inner);
        spaces.get(device).cloned().unwrap_or_default()
    }

    /// Writes to the PCI configuration space of a device; bytes beyond its end are ignored.
    pub fn write_config_space(&self, device: usize, offset: u64, bytes: &[u8]) {
        let mut spaces = self.config_spaces.lock().unwrap_or_else(PoisonError::into_inner);
        let offset = units::narrow::usize_from(offset);
        let to = spaces.get_mut(device).and_then(|space| space.get_mut(offset..));
        for (to, byte) in to.into_iter().flatten().zip(bytes) {
            *to = *byte;
        }
    }

    /// The devices in the form in which the driver accesses them.
    pub fn hardware(&self) -> &dyn HardwareAccess {
        &self.board
    }

    /// Applies a configuration to the devices.
    pub fn configure(&self, saved: &SavedConfig) -> Result<(), ApplyError> {
        saved.apply(&mut self.driver(), &self.board)
    }

    /// Opens a queue's file for a process.
    ///
    /// # Errors
    /// As the driver has them; ENOSPC if too many processes have the queue open.
    pub fn open(
        &self,
        device: usize,
        queue: usize,
        process: u32,
    ) -> Result<(Client, Identity), Errno> {
        let client = self.driver().open(device, queue, process, &self.board)?;
        let Some(user) = self.board.enter(device, queue, process) else {
            self.driver().close(&client, &self.board);
            eprintln!(
                "skipline-dsa: process {process} may not open wq{device}.{queue}: processes have queues open \
                 {MOST_CLIENTS} times, the most that a run has room for"
            );
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

    /// Closes an open file. A dedicated queue first completes the descriptors that it has taken.
    pub fn close(&self, client: &Client) {
        self.board.release_if_ended(client.pid());
        let drained = self.drained_by_close(client).into_iter().collect();
        let _draining = self.board.drain(drained);
        self.driver().close(client, &self.board);
        self.board.leave(client.device(), client.queue(), client.pid());
    }

    /// Whether the close of a file would have to wait for descriptors.
    pub fn is_busy(&self, client: &Client) -> bool {
        let drained = self.drained_by_close(client);
        drained.is_some_and(|(device, queue)| self.board.registers.in_flight(device, queue) > 0)
    }

    fn drained_by_close(&self, client: &Client) -> Option<(usize, usize)> {
        let (device, queue) = (client.device(), client.queue());
        let driver = self.driver();
        let own = &driver.devices()[device].queues()[queue];
        (own.is_enabled() && own.mode() == WorkQueueMode::Dedicated).then_some((device, queue))
    }

    /// Writes an attribute. Queues that the write unbinds drain before, while other requests are served.
    pub fn write(&self, attribute: &FileAttribute, text: &str) -> Result<(), Errno> {
        let drained = attribute.drains(text, &self.driver());
        let _draining = self.board.drain(drained);
        attribute.write(text, &mut self.driver(), &self.board)
    }

    /// Whether the device has raised an error interrupt, which wakes programs that poll.
    pub fn has_error(&self, device: usize) -> bool {
        self.board.registers.device[device].notified.load(Ordering::Acquire) != 0
    }

    /// Starts a thread that takes care of ended processes and of errors until the run ends; it calls
    /// `watcher` in each round.
    pub fn supervise(self: &Arc<Self>, watcher: impl Fn(&Self) + Send + 'static) -> RunSupervisor {
        let stop = Arc::new(AtomicBool::new(false));
        let (devices, stopped) = (Arc::clone(self), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut handlers: Vec<EventLogHandler> =
                devices.board.registers.device.iter().map(|_| EventLogHandler::default()).collect();
            while !stopped.load(Ordering::Acquire) {
                std::thread::park_timeout(INTERVAL);
                devices.board.release_ended();
                devices.halt_stopped();
                for (device, handler) in handlers.iter_mut().enumerate() {
                    handler.handle(device, &devices);
                }
                watcher(&devices);
            }
        });
        RunSupervisor { stop, thread }
    }

    /// Halts devices in the driver that an injected reset has stopped.
    fn halt_stopped(&self) {
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

    /// Ends the run: disables all devices and queues for processes that still run.
    pub fn stop(&self) {
        self.board.drains().end();
        for own in &self.board.registers.device {
            own.state.store(state::DISABLED, Ordering::Release);
            for queue in &own.queue {
                queue.state.store(state::DISABLED, Ordering::SeqCst);
            }
        }
    }
}

/// The thread that takes care of ended processes and of errors.
pub struct RunSupervisor {
    stop: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl RunSupervisor {
    /// Ends the thread that takes care of ended processes and of errors.
    pub fn stop(self) {
        self.stop.store(true, Ordering::Release);
        self.thread.thread().unpark();
        // A panic of the thread was printed already.
        drop(self.thread.join());
    }
}
