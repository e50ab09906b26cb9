//! Engines of the queues that this process has mapped, and the registers that show their work.

mod bytes;
mod hooks;

use crate::cpus;
use crate::descriptor_log::{self, Recorder};
use crate::engine_stacks::EngineStack;
use crate::leaked::load_or_leak;
use crate::private_libc;
use crate::run::{self, CurrentRun};
use crate::signals::masks;
use crate::thread_locals::local;
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
    /// Generation of the queue's configuration that the engines were started for.
    generation: u32,
    registers: &'static registers::DeviceRegisters,
    queue: &'static registers::QueueRegisters,
    device: &'static GroupDevice,
    id: GroupQueue,
}

/// A device for one group, with the engines of the group. It lives as long as the process: a signal
/// handler may be about to submit.
struct GroupDevice {
    device: SoftwareDevice,
    recorder: Option<Arc<Recorder>>,
    /// Whether the run injects faults.
    injects: bool,
}

/// Most bytes of a descriptor that has ended when its submission returns. A real part transfers as many in
/// some 600 us, for which programs poll that look 10,000 times with PAUSE in between.
const MOST_ATTENDED_BYTES: u64 = 16 << 20;

impl GroupDevice {
    /// Submits a descriptor by `submit`. Its argument is `None` for a descriptor that takes long, or may be delayed
    /// on purpose, and otherwise whether the thread may execute the descriptor itself: on a stack for that,
    /// and where no log needs more than a signal handler may do.
    fn submit<R>(&self, descriptor: &Descriptor, submit: impl FnOnce(Option<bool>) -> R) -> R {
        if self.injects
            || bytes::transfer_bytes(descriptor, MOST_ATTENDED_BYTES) > MOST_ATTENDED_BYTES
        {
            return submit(None);
        }
        let Some(stack) = self.recorder.is_none().then(EngineStack::take).flatten() else {
            return submit(Some(false));
        };
        let mut submit = Some(submit);
        let mut result = None;
        local().executes.set(1);
        stack.call(|| result = submit.take().map(|submit| submit(Some(true))));
        local().executes.set(0);
        result.unwrap_or_else(|| unreachable!("the call has run"))
    }
}

type QueueHandles = Mutex<Vec<((u32, u32), QueueHandle)>>;

/// All queues of this process that have engines. A forked child begins with an empty list: a thread that it
/// does not have may hold the lock.
static QUEUES: AtomicPtr<QueueHandles> = AtomicPtr::new(std::ptr::null_mut());

fn all_queues() -> &'static QueueHandles {
    let new = || Box::into_raw(Box::new(Mutex::new(Vec::new())));
    load_or_leak(&QUEUES, new)
}

impl QueueHandle {
    /// Submits a descriptor by a posted write, and counts the result.
    pub fn post(&self, descriptor: &Descriptor) {
        if !self.is_current() {
            self.counts().lost.fetch_add(1, Ordering::Relaxed);
            return;
        }
        let (device, tag) = (&self.device.device, self.tag());
        let posted = self.device.submit(descriptor, |attended| match attended {
            None => device.post_tagged(self.id, descriptor, tag),
            Some(may_execute) => device.post_attended(self.id, descriptor, tag, may_execute),
        });
        match posted {
            Posted::Taken => self.counts().accepted.fetch_add(1, Ordering::Relaxed),
            Posted::Lost => {
                self.halt_if_reset();
                self.counts().lost.fetch_add(1, Ordering::Relaxed)
            }
            Posted::Overflow => {
                hooks::publish_error(&self.device.device, self.registers, self.number);
                self.counts().lost.fetch_add(1, Ordering::Relaxed)
            }
        };
    }

    /// Submits a descriptor by an enqueue command, and counts the response.
    pub fn enqueue(&self, descriptor: &Descriptor) -> EnqueueAnswer {
        let answer = if self.is_current() {
            let (device, tag) = (&self.device.device, self.tag());
            self.device.submit(descriptor, |attended| match attended {
                None => device.enqueue_tagged(self.id, descriptor, tag),
                Some(may_execute) => device.enqueue_attended(self.id, descriptor, tag, may_execute),
            })
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

    /// Whether the queue is dedicated.
    pub fn is_dedicated(&self) -> bool {
        self.queue.dedicated.load(Ordering::Relaxed) != 0
    }

    /// Capabilities of the device of the queue.
    pub fn capabilities(&self) -> Capabilities {
        self.registers.capabilities()
    }

    /// Whether the portal is valid: it is not once its work queue was disabled and enabled again.
    fn is_current(&self) -> bool {
        self.queue.generation.load(Ordering::Acquire) == self.generation
    }

    /// Halts the device for all processes, if an injected reset has stopped it.
    fn halt_if_reset(&self) {
        if self.device.device.is_reset() {
            self.registers.state.store(state::HALTED, Ordering::Release);
        }
    }

    fn counts(&self) -> &'static QueueCounters {
        &self.queue.counts
    }

    fn tag(&self) -> Tag {
        match &self.device.recorder {
            Some(_) => descriptor_log::tag(),
            None => Tag::default(),
        }
    }
}

/// Finds the queue of an open file, and starts its engines if it has none in this process.
///
/// # Errors
/// ENODEV if the queue does not exist, EAGAIN if the system cannot start threads for its engines.
pub fn serve(identity: &Identity) -> Result<QueueHandle, c_int> {
    let run = run::current().ok_or(libc::ENODEV)?;
    let mut queues = all_queues().lock().unwrap_or_else(PoisonError::into_inner);
    let key = (identity.device, identity.queue);
    let known = queues.iter().find(|(known, queue)| *known == key && queue.is_current());
    if let Some((_, known)) = known {
        return Ok(*known);
    }
    // The C library allocates by the program's functions, which may submit to a portal.
    local().starts_engines.set(1);
    let new = start(run, identity);
    local().starts_engines.set(0);
    let new = new?;
    queues.push((key, new));
    Ok(new)
}

/// Waits until all descriptors of this process have ended, as the driver does when it closes a file: a
/// program that has seen a record may end before the engine has counted and logged the descriptor.
pub extern "C" fn finish() {
    // SAFETY: the list is never freed.
    let Some(all) = (unsafe { QUEUES.load(Ordering::Acquire).as_ref() }) else { return };
    // A thread that starts engines while the process ends has submitted nothing to them.
    let Ok(queues) = all.try_lock() else { return };
    for (_, own) in queues.iter() {
        own.device.device.drain(own.id);
    }
}

/// Forgets all queues, in a forked child, which has none of its parent's threads.
pub fn forget() {
    QUEUES.store(std::ptr::null_mut(), Ordering::Release);
}

/// Starts as many engines as the queue's group has, for this queue alone: another queue of the group that
/// this process maps gets engines of its own.
fn start(run: &'static CurrentRun, identity: &Identity) -> Result<QueueHandle, c_int> {
    let (registers, queue) = registers_of(run, identity).ok_or(libc::ENODEV)?;
    let generation = queue.generation.load(Ordering::Acquire);
    let config = device_config(run, (registers, queue), identity).ok_or(libc::ENODEV)?;
    let recorder = descriptor_log::start(run);
    let hooks = hooks::for_queue(run, identity, (registers, queue), recorder.clone());
    let injects = hooks.injector.is_some();
    // Signals of the program have to be delivered to its own threads.
    let device = masks::without_signals(|| {
        // SAFETY: a program is responsible for the memory that its descriptors name, as on a real device.
        cpus::with_all(|| unsafe { SoftwareDevice::start(&config, hooks) })
    });
    let device = device.map_err(|error| {
        if !matches!(error, ConfigError::NoThread(_)) {
            return libc::ENODEV;
        }
        print_error(&format!("wq{}.{}: {error}\n", identity.device, identity.queue));
        libc::EAGAIN
    })?;
    let id = *device.queues().first().ok_or(libc::ENODEV)?;
    let device: &'static GroupDevice =
        Box::leak(Box::new(GroupDevice { device, recorder, injects }));
    Ok(QueueHandle { number: identity.queue, generation, registers, queue, device, id })
}

fn registers_of(
    run: &'static CurrentRun,
    identity: &Identity,
) -> Option<(&'static registers::DeviceRegisters, &'static registers::QueueRegisters)> {
    let device = run.registers.device.get(units::narrow::usize_from(identity.device.into()))?;
    Some((device, device.queue.get(units::narrow::usize_from(identity.queue.into()))?))
}

fn device_config(
    run: &'static CurrentRun,
    (registers, queue): (&'static registers::DeviceRegisters, &'static registers::QueueRegisters),
    identity: &Identity,
) -> Option<DeviceConfig> {
    let group = units::narrow::usize_from(queue.group.load(Ordering::Relaxed).into());
    let engines = units::narrow::fit(registers.engines.get(group)?.load(Ordering::Relaxed));
    let capabilities = registers.capabilities();
    let slot = units::narrow::usize_from(identity.slot.into());
    let in_flight = run.registers.clients.get(slot).map(|client| &client.in_flight);
    let queues = vec![QueueConfig { in_flight, ..config_of(queue, identity, &capabilities)? }];
    Some(DeviceConfig { capabilities, groups: vec![EngineGroupConfig { engines, queues }] })
}

/// Writes a line to the program's standard error, with the reason that its error number alone does not show.
fn print_error(text: &str) {
    let text = format!("skipline-dsa: {text}");
    // SAFETY: the bytes of a text; if the program has closed the file, the line is lost.
    unsafe { private_libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len()) };
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
        operations: queue.operations.load(Ordering::Relaxed),
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
        in_flight: None,
    })
}
