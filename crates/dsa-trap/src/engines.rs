//! Engines of the queues that this process has mapped, and what the registers say of their work.

mod hooks;

use crate::cpus;
use crate::descriptor_log::{self, Recorder};
use crate::leaked::load_or_leak;
use crate::run::{self, CurrentRun};
use crate::signals::masks;
use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::device::{
    ConfigError, DeviceConfig, EngineGroupConfig, EnqueueAnswer, EntryCounting, EntrySlots,
    GroupQueue, Mode, Posted, QueueConfig, SoftwareDevice, Tag,
};
use dsa::hardware::capabilities::Capabilities;
use dsa_run::Identity;
use dsa_run::registers::{self, QueueCounters, state};
use std::ffi::c_int;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A queue with engines in this process.
#[derive(Clone, Copy)]
pub struct QueueHandle {
    number: u32,
    /// Configuration of the queue that the engines were started for.
    generation: u32,
    registers: &'static registers::DeviceRegisters,
    queue: &'static registers::QueueRegisters,
    engines: &'static GroupDevice,
    id: GroupQueue,
}

/// The engines of a group. They live as long as the process: a signal handler may be about to submit.
struct GroupDevice {
    device: SoftwareDevice,
    recorder: Option<Arc<Recorder>>,
}

type QueueHandles = Mutex<Vec<((u32, u32), QueueHandle)>>;

/// All queues of this process that have engines. A child begins with others: a thread that is not there
/// any more may have held the lock.
static SERVED: AtomicPtr<QueueHandles> = AtomicPtr::new(std::ptr::null_mut());

fn all_served() -> &'static QueueHandles {
    let new = || Box::into_raw(Box::new(Mutex::new(Vec::new())));
    load_or_leak(&SERVED, new)
}

impl QueueHandle {
    /// A posted write.
    pub fn post(&self, descriptor: &Descriptor) {
        if !self.is_current() {
            self.counts().lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        match self.engines.device.post_tagged(self.id, descriptor, self.tag()) {
            Posted::Taken => self.counts().accepted.fetch_add(1, Ordering::Relaxed),
            Posted::Lost => {
                self.halt_if_reset();
                self.counts().lost.fetch_add(1, Ordering::Relaxed)
            }
            Posted::Overflow => {
                hooks::publish_error(&self.engines.device, self.registers, self.number);
                self.counts().lost.fetch_add(1, Ordering::Relaxed)
            }
        };
    }

    /// A write that is answered.
    pub fn enqueue(&self, descriptor: &Descriptor) -> EnqueueAnswer {
        let answer = if self.is_current() {
            self.engines.device.enqueue_tagged(self.id, descriptor, self.tag())
        } else {
            EnqueueAnswer::Retry
        };
        let count = match answer {
            EnqueueAnswer::Accepted => &self.counts().accepted,
            EnqueueAnswer::Retry => {
                self.halt_if_reset();
                &self.counts().retried
            }
        };
        count.fetch_add(1, Ordering::Relaxed);
        answer
    }

    /// Whether it is dedicated.
    pub fn is_dedicated(&self) -> bool {
        self.queue.dedicated.load(Ordering::Relaxed) != 0
    }

    /// What its device can do.
    pub fn capabilities(&self) -> Capabilities {
        self.registers.capabilities()
    }

    /// A portal leads to nothing once its queue was disabled and enabled again.
    fn is_current(&self) -> bool {
        self.queue.generation.load(Ordering::Acquire) == self.generation
    }

    /// An injected reset stops the device for all processes.
    fn halt_if_reset(&self) {
        if self.engines.device.is_reset() {
            self.registers.state.store(state::HALTED, Ordering::Release);
        }
    }

    fn counts(&self) -> &'static QueueCounters {
        &self.queue.counts
    }

    fn tag(&self) -> Tag {
        match &self.engines.recorder {
            Some(_) => descriptor_log::tag(),
            None => Tag::default(),
        }
    }
}

/// The queue of an open file, with engines that are started if there are none.
///
/// # Errors
/// ENODEV if there is no such queue, EAGAIN if the system gives no threads for its engines.
pub fn serve(identity: &Identity) -> Result<QueueHandle, c_int> {
    let run = run::current().ok_or(libc::ENODEV)?;
    let mut served = all_served().lock().unwrap_or_else(PoisonError::into_inner);
    let key = (identity.device, identity.queue);
    let known = served.iter().find(|(known, queue)| *known == key && queue.is_current());
    if let Some((_, known)) = known {
        return Ok(*known);
    }
    let new = start(run, identity)?;
    served.push((key, new));
    Ok(new)
}

/// Waits for what this process has submitted, as the driver does when it closes a file: who has seen a
/// record may end before the engine has counted and logged the descriptor.
pub extern "C" fn finish() {
    // SAFETY: what is there is never freed.
    let Some(all) = (unsafe { SERVED.load(Ordering::Acquire).as_ref() }) else { return };
    // A thread that starts engines while the process ends has submitted nothing to them.
    let Ok(served) = all.try_lock() else { return };
    for (_, own) in served.iter() {
        own.engines.device.drain(own.id);
    }
}

/// A child has none of its parent's threads.
pub fn forget() {
    SERVED.store(std::ptr::null_mut(), Ordering::Release);
}

/// Starts the engines of a queue's group for this queue: another queue of the group that this process
/// maps gets as many again.
fn start(run: &'static CurrentRun, identity: &Identity) -> Result<QueueHandle, c_int> {
    let (registers, queue) = registers_of(run, identity).ok_or(libc::ENODEV)?;
    let generation = queue.generation.load(Ordering::Acquire);
    let config = device_config(registers, queue, identity).ok_or(libc::ENODEV)?;
    let recorder = descriptor_log::start(run);
    let hooks = hooks::for_queue(run, identity, (registers, queue), recorder.clone());
    // The program's signals are for its own threads.
    let device = masks::without_signals(|| {
        // SAFETY: a program answers for what its descriptors name, as it does on a real device.
        cpus::with_all(|| unsafe { SoftwareDevice::start(&config, hooks) })
    });
    let device = device.map_err(|error| {
        if !matches!(error, ConfigError::NoThread(_)) {
            return libc::ENODEV;
        }
        say(&format!("wq{}.{}: {error}\n", identity.device, identity.queue));
        libc::EAGAIN
    })?;
    let id = *device.queues().first().ok_or(libc::ENODEV)?;
    let engines: &'static GroupDevice = Box::leak(Box::new(GroupDevice { device, recorder }));
    Ok(QueueHandle { number: identity.queue, generation, registers, queue, engines, id })
}

fn registers_of(
    run: &'static CurrentRun,
    identity: &Identity,
) -> Option<(&'static registers::DeviceRegisters, &'static registers::QueueRegisters)> {
    let device = run.registers.device.get(units::narrow::usize_from(identity.device.into()))?;
    Some((device, device.queue.get(units::narrow::usize_from(identity.queue.into()))?))
}

fn device_config(
    registers: &'static registers::DeviceRegisters,
    queue: &'static registers::QueueRegisters,
    identity: &Identity,
) -> Option<DeviceConfig> {
    let group = units::narrow::usize_from(queue.group.load(Ordering::Relaxed).into());
    let engines = units::narrow::fit(registers.engines.get(group)?.load(Ordering::Relaxed));
    let capabilities = registers.capabilities();
    let queues = vec![config_of(queue, identity, &capabilities)?];
    Some(DeviceConfig { capabilities, groups: vec![EngineGroupConfig { engines, queues }] })
}

/// A line on the program's standard error: what its error number alone does not tell.
fn say(text: &str) {
    let text = format!("skipline-dsa: {text}");
    // SAFETY: the bytes of a text; a program that has closed the file is told nothing.
    unsafe { libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
}

fn config_of(
    queue: &'static registers::QueueRegisters,
    identity: &Identity,
    part: &Capabilities,
) -> Option<QueueConfig> {
    let size: u16 = units::narrow::fit(queue.size.load(Ordering::Relaxed));
    let mode = if queue.dedicated.load(Ordering::Relaxed) == 0 {
        let threshold = units::narrow::fit(queue.threshold.load(Ordering::Relaxed));
        Mode::Shared { threshold }
    } else {
        Mode::Dedicated
    };
    let limits = QueueLimits {
        block_on_fault: queue.block_on_fault.load(Ordering::Relaxed) != 0,
        most_batch: queue.most_batch.load(Ordering::Relaxed),
        most_transfer_bytes: queue.most_transfer_bytes.load(Ordering::Relaxed),
        ..QueueLimits::of(part)
    };
    let slots = EntrySlots {
        slots: queue.entries.get(..size.into())?,
        client: NonZeroU32::new(identity.client)?,
    };
    Some(QueueConfig {
        size,
        mode,
        priority: units::narrow::fit(queue.priority.load(Ordering::Relaxed)),
        limits,
        entries: EntryCounting::Shared(slots),
        enabled: Some(&queue.state),
        in_flight: queue.in_flight.get(units::narrow::usize_from(identity.slot.into())),
    })
}
