//! What the engines of a queue tell while they work, and what trouble they meet.

use crate::descriptor_log::{self, Recorder};
use crate::run::CurrentRun;
use dsa::device::{EventLog, Hooks, SoftwareDevice, SoftwareError, SubmissionOrigin, Watcher};
use dsa::engine::{EndedDescriptor, Outcome};
use dsa::hardware::status;
use dsa::inject::{InjectionPlan, Injector};
use dsa_run::Identity;
use dsa_run::registers;
use std::num::NonZeroU32;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// Those of a queue.
pub fn for_queue(
    run: &CurrentRun,
    identity: &Identity,
    (device, queue): (&'static registers::DeviceRegisters, &'static registers::QueueRegisters),
    recorder: Option<Arc<Recorder>>,
) -> Hooks {
    let event_log = event_log(device, identity);
    let number = identity.queue;
    Hooks {
        watcher: Some(watch((device, event_log.is_some()), queue, identity, recorder)),
        on_error: Some(Arc::new(move |error| {
            // Others have been shown already: by who watches, or by who submitted.
            if error.code() == status::LOG_FULL {
                show(error, device, number);
            }
            device.notified.store(1, Ordering::Release);
        })),
        // No program of a user has handles of interrupts.
        on_interrupt: None,
        injector: injector(run, identity),
        event_log,
        on_event: None,
    }
}

/// The event log of the device, if it is on.
fn event_log(
    registers: &'static registers::DeviceRegisters,
    identity: &Identity,
) -> Option<Arc<EventLog>> {
    let client = NonZeroU32::new(identity.client)?;
    let queue = units::narrow::usize_from(identity.queue.into());
    let place = registers.events.log_for(client, queue, Some(identity.pasid))?;
    EventLog::new(place).ok().map(Arc::new)
}

/// The trouble that the run asks for; each queue has its own.
fn injector(run: &CurrentRun, identity: &Identity) -> Option<Injector> {
    let text = std::fs::read_to_string(run.directory.join(dsa_run::PLAN_FILE)).ok()?;
    // The supervisor has read it before.
    let mut plan = InjectionPlan::parse(&text).ok()?;
    let queue = u64::from(identity.device) << 8 | u64::from(identity.queue);
    plan.seed = plan.seed.wrapping_add(queue);
    Some(Injector::new(&plan))
}

/// Counts what ends, shows errors, and records.
fn watch(
    (registers, has_event_log): (&'static registers::DeviceRegisters, bool),
    queue: &'static registers::QueueRegisters,
    identity: &Identity,
    recorder: Option<Arc<Recorder>>,
) -> Watcher {
    let (device, number) = (identity.device, identity.queue);
    Arc::new(move |origin: &SubmissionOrigin, ended: &EndedDescriptor<'_>| {
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
            queue
                .counts
                .bytes
                .fetch_add(descriptor_log::data_bytes(ended.descriptor), Ordering::Relaxed);
        }
        if matches!(ended.outcome, Outcome::Logged(_)) && !has_event_log {
            registers.note_error(
                SoftwareError::from_ended(units::narrow::usize_from(number.into()), ended).0,
            );
        }
        if let Some(recorder) = &recorder {
            recorder.ended((device, number), origin.tag, ended);
        }
    })
}

/// Shows the error of a lost descriptor in the registers, under the queue's own number.
pub fn publish_error(device: &SoftwareDevice, registers: &registers::DeviceRegisters, number: u32) {
    show(&device.software_error(), registers, number);
}

fn show(error: &SoftwareError, registers: &registers::DeviceRegisters, number: u32) {
    const QUEUE: u64 = 0xff << 16;
    let mut words = error.0;
    words[0] = words[0] & !QUEUE | u64::from(number) << 16;
    registers.note_error(words);
}
