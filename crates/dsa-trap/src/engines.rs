//! Engines of the queues that this process has mapped, and what the registers say of their work.

use crate::record::{self, Recorder};
use crate::run::{self, Run};
use crate::signals::masks;
use dsa::checks::QueueLimits;
use dsa::descriptor::Descriptor;
use dsa::device::{
    Device, DeviceConfig, Entries, EntrySlots, EventLog, GroupConfig, Hooks, Mode, Origin, Posted,
    QueueConfig, QueueId, SoftwareError, Submitted, Tag, Watcher,
};
use dsa::engine::{Ended, Outcome};
use dsa::hardware::capabilities::Capabilities;
use dsa::hardware::status;
use dsa::inject::{Injector, Plan};
use dsa_run::Identity;
use dsa_run::registers::{self, Counts, state};
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// A queue with engines in this process.
#[derive(Clone, Copy)]
pub struct Served {
    number: u32,
    /// Configuration of the queue that the engines were started for.
    generation: u32,
    registers: &'static registers::Device,
    queue: &'static registers::Queue,
    engines: &'static Engines,
    id: QueueId,
}

/// The engines of a group. They live as long as the process: a signal handler may be about to submit.
struct Engines {
    device: Device,
    recorder: Option<Arc<Recorder>>,
}

type AllServed = Mutex<Vec<((u32, u32), Served)>>;

/// All queues of this process that have engines. A child begins with others: a thread that is not there
/// any more may have held the lock.
static SERVED: AtomicPtr<AllServed> = AtomicPtr::new(std::ptr::null_mut());

fn all_served() -> &'static AllServed {
    let new = || Box::into_raw(Box::new(Mutex::new(Vec::new())));
    once(&SERVED, new)
}

/// What a pointer leads to, made if it is null. It is never freed.
pub fn once<T>(pointer: &AtomicPtr<T>, new: impl FnOnce() -> *mut T) -> &'static T {
    let mut known = pointer.load(Ordering::Acquire);
    if known.is_null() {
        let made = new();
        known = match pointer.compare_exchange(
            std::ptr::null_mut(),
            made,
            Ordering::AcqRel,
            Ordering::Acquire,
        ) {
            Ok(_) => made,
            Err(other) => other,
        };
    }
    // SAFETY: a box that was leaked.
    unsafe { &*known }
}

impl Served {
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
                publish_error(&self.engines.device, self.registers, self.number);
                self.counts().lost.fetch_add(1, Ordering::Relaxed)
            }
        };
    }

    /// A write that is answered.
    pub fn enqueue(&self, descriptor: &Descriptor) -> Submitted {
        let answer = if self.is_current() {
            self.engines.device.enqueue_tagged(self.id, descriptor, self.tag())
        } else {
            Submitted::Retry
        };
        let count = match answer {
            Submitted::Accepted => &self.counts().accepted,
            Submitted::Retry => {
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

    fn counts(&self) -> &'static Counts {
        &self.queue.counts
    }

    fn tag(&self) -> Tag {
        match &self.engines.recorder {
            Some(_) => record::tag(),
            None => Tag::default(),
        }
    }
}

/// The queue of an open file, with engines that are started if there are none.
pub fn serve(identity: &Identity) -> Option<Served> {
    let run = run::current()?;
    let mut served = all_served().lock().unwrap_or_else(PoisonError::into_inner);
    let key = (identity.device, identity.queue);
    let known = served.iter().find(|(known, queue)| *known == key && queue.is_current());
    if let Some((_, known)) = known {
        return Some(*known);
    }
    let new = start(run, identity)?;
    served.push((key, new));
    Some(new)
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
fn start(run: &'static Run, identity: &Identity) -> Option<Served> {
    let registers = run.registers.device.get(units::narrow::usize_from(identity.device.into()))?;
    let queue = registers.queue.get(units::narrow::usize_from(identity.queue.into()))?;
    let generation = queue.generation.load(Ordering::Acquire);
    let group = units::narrow::usize_from(queue.group.load(Ordering::Relaxed).into());
    let engines = registers.engines.get(group)?.load(Ordering::Relaxed);
    let part = registers.capabilities();
    let config = DeviceConfig {
        capabilities: part,
        groups: vec![GroupConfig {
            engines: units::narrow::fit(engines),
            queues: vec![config_of(queue, identity, &part)?],
        }],
    };
    let recorder = record::start(run);
    let event_log = event_log(registers, identity);
    let number = identity.queue;
    let hooks = Hooks {
        watcher: Some(watch((registers, event_log.is_some()), queue, identity, recorder.clone())),
        on_error: Some(Arc::new(move |error| {
            // Others have been shown already: by who watches, or by who submitted.
            if error.code() == status::LOG_FULL {
                show(error, registers, number);
            }
            registers.notified.store(1, Ordering::Release);
        })),
        injector: injector(run, identity),
        event_log,
        ..Hooks::default()
    };
    // The program's signals are for its own threads.
    let device = masks::without_signals(|| {
        // SAFETY: a program answers for what its descriptors name, as it does on a real device.
        unsafe { Device::start(&config, hooks) }
    });
    let device = device.ok()?;
    let id = *device.queues().first()?;
    let engines: &'static Engines = Box::leak(Box::new(Engines { device, recorder }));
    Some(Served { number: identity.queue, generation, registers, queue, engines, id })
}

/// The event log of the device, if it is on.
fn event_log(registers: &'static registers::Device, identity: &Identity) -> Option<Arc<EventLog>> {
    let client = NonZeroU32::new(identity.client)?;
    let queue = units::narrow::usize_from(identity.queue.into());
    let place = registers.events.of(client, queue, Some(identity.pasid))?;
    EventLog::new(place).ok().map(Arc::new)
}

/// The trouble that the run asks for; each queue has its own.
fn injector(run: &Run, identity: &Identity) -> Option<Injector> {
    let text = std::fs::read_to_string(run.directory.join(dsa_run::PLAN_FILE)).ok()?;
    // The supervisor has read it before.
    let mut plan = Plan::parse(&text).ok()?;
    let queue = u64::from(identity.device) << 8 | u64::from(identity.queue);
    plan.seed = plan.seed.wrapping_add(queue);
    Some(Injector::new(&plan))
}

fn config_of(
    queue: &'static registers::Queue,
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
        entries: Entries::Shared(slots),
        enabled: Some(&queue.state),
        in_flight: queue.in_flight.get(units::narrow::usize_from(identity.slot.into())),
    })
}

/// Counts what ends, shows errors, and records.
fn watch(
    (registers, has_event_log): (&'static registers::Device, bool),
    queue: &'static registers::Queue,
    identity: &Identity,
    recorder: Option<Arc<Recorder>>,
) -> Watcher {
    let (device, number) = (identity.device, identity.queue);
    Arc::new(move |origin: &Origin, ended: &Ended<'_>| {
        let record = ended.outcome.record();
        let code = record.status() & !status::FAULT_ON_WRITE;
        let add = |counters: &[AtomicU64], number: u8| {
            if let Some(counter) = counters.get(usize::from(number)) {
                counter.fetch_add(1, Ordering::Relaxed);
            }
        };
        add(&queue.counts.ended, code);
        if code == status::SUCCESS {
            add(&queue.counts.done, ended.descriptor.code());
            queue.counts.bytes.fetch_add(record::data_bytes(ended.descriptor), Ordering::Relaxed);
        }
        if matches!(ended.outcome, Outcome::Logged(_)) && !has_event_log {
            registers
                .note_error(SoftwareError::of(units::narrow::usize_from(number.into()), ended).0);
        }
        if let Some(recorder) = &recorder {
            recorder.ended((device, number), origin.tag, ended);
        }
    })
}

/// Shows the error of a lost descriptor in the registers, under the queue's own number.
fn publish_error(device: &Device, registers: &registers::Device, number: u32) {
    show(&device.software_error(), registers, number);
}

fn show(error: &SoftwareError, registers: &registers::Device, number: u32) {
    const QUEUE: u64 = 0xff << 16;
    let mut words = error.0;
    words[0] = words[0] & !QUEUE | u64::from(number) << 16;
    registers.note_error(words);
}
