//! The driver's state and the devices' registers.
//!
//! The driver decides; each change that it accepts is written to the registers, where programs see it.

mod board;
mod drains;
mod events;

use super::tree::Attribute;
use board::Board;
use dsa_run::Identity;
use dsa_run::registers::{Registers, state};
use events::Handler;
use idxd::saved::{ApplyError, Saved};
use idxd::{Client, DeviceState, Driver, Errno, Hardware, Mode};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How often the supervisor looks for processes that have ended, and for errors to tell.
const LOOK: Duration = Duration::from_millis(20);

/// All devices of a run.
pub struct Devices {
    driver: Mutex<Driver>,
    board: Board,
}

impl Devices {
    /// Devices that nothing is configured of.
    pub fn new(driver: Driver, registers: &'static Registers) -> Self {
        registers.devices.store(units::narrow::fit(driver.devices().len()), Ordering::Release);
        for (device, own) in driver.devices().iter().zip(&registers.device) {
            own.set_capabilities(device.capabilities());
        }
        Self { driver: Mutex::new(driver), board: Board::new(registers) }
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
    pub fn configure(&self, saved: &Saved) -> Result<(), ApplyError> {
        saved.apply(&mut self.driver(), &self.board)
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

    /// Closes it. A dedicated queue ends what it has taken first.
    pub fn close(&self, client: &Client) {
        self.board.end_the_dead();
        let drained = self.drained_by_close(client).into_iter().collect();
        let _draining = self.board.drain(drained);
        self.driver().close(client, &self.board);
        self.board.leave(client.device(), client.queue(), client.pid());
    }

    /// Whether a close would have to wait.
    pub fn is_busy(&self, client: &Client) -> bool {
        let drained = self.drained_by_close(client);
        drained.is_some_and(|(device, queue)| self.board.queue(device, queue).in_flight() > 0)
    }

    fn drained_by_close(&self, client: &Client) -> Option<(usize, usize)> {
        let (device, queue) = (client.device(), client.queue());
        let driver = self.driver();
        let own = &driver.devices()[device].queues()[queue];
        (own.is_enabled() && own.mode() == Mode::Dedicated).then_some((device, queue))
    }

    /// Writes an attribute. What has to drain drains before, while other requests are served.
    pub fn write(&self, attribute: &Attribute, text: &str) -> Result<(), Errno> {
        let drained = attribute.drains(text, &self.driver());
        let _draining = self.board.drain(drained);
        attribute.write(text, &mut self.driver(), &self.board)
    }

    /// Whether the interrupt of an error has come, for those who poll.
    pub fn has_error(&self, device: usize) -> bool {
        self.board.registers.device[device].notified.load(Ordering::Acquire) != 0
    }

    /// Looks after processes and errors until the run ends, and calls `look` each time.
    pub fn watch(self: &Arc<Self>, look: impl Fn(&Self) + Send + 'static) -> Watch {
        let stop = Arc::new(AtomicBool::new(false));
        let (devices, stopped) = (Arc::clone(self), Arc::clone(&stop));
        let thread = std::thread::spawn(move || {
            let mut handlers: Vec<Handler> =
                devices.board.registers.device.iter().map(|_| Handler::default()).collect();
            while !stopped.load(Ordering::Acquire) {
                std::thread::park_timeout(LOOK);
                devices.board.end_the_dead();
                devices.halt_those_that_stopped();
                for (device, handler) in handlers.iter_mut().enumerate() {
                    handler.handle(device, &devices);
                }
                look(&devices);
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
        self.board.drains().end();
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
