//! Hooks of the engines of a queue: counters, errors, the log, the event log, and fault injection.

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

/// The hooks for the engines of a queue.
pub fn for_queue(
    run: &CurrentRun,
    identity: &Identity,
    (device, queue): (&'static registers::DeviceRegisters, &'static registers::QueueRegisters),
    recorder: Option<Arc<Recorder>>,
) -> Hooks {
    let event_log = event_log(device, identity);
    let number = identity.queue;
    Hooks {
        watcher: Some(queue_watcher((device, event_log.is_some()), queue, identity, recorder)),
        on_error: Some(Arc::new(move |error| {
            // All other errors have been published already, by the watcher or by the submitter.
            if error.code() == status::LOG_FULL {
                publish(error, device, number);
            }
            device.notified.store(1, Ordering::Release);
        })),
        // User programs have no interrupt handles.
        on_interrupt: None,
        injector: run_injector(run, identity),
        event_log,
        on_event: None,
    }
}

/// The event log of the device; `None` while it is off.
fn event_log(
    registers: &'static registers::DeviceRegisters,
    identity: &Identity,
) -> Option<Arc<EventLog>> {
    let client = NonZeroU32::new(identity.client)?;
    let queue = units::narrow::usize_from(identity.queue.into());
    let place = registers.events.log_for(client, queue, Some(identity.pasid))?;
    EventLog::new(place).ok().map(Arc::new)
}

/// The injector of the run's plan; `None` without a plan. Each queue has a seed of its own.
fn run_injector(run: &CurrentRun, identity: &Identity) -> Option<Injector> {
    let text = std::fs::read_to_string(run.directory.join(dsa_run::PLAN_FILE)).ok()?;
    // The supervisor has checked the plan before.
    let mut plan = InjectionPlan::parse(&text).ok()?;
    let queue = u64::from(identity.device) << 8 | u64::from(identity.queue);
    plan.seed = plan.seed.wrapping_add(queue);
    Some(Injector::new(&plan))
}

/// The watcher that counts each descriptor that has ended, publishes its error, and logs it.
fn queue_watcher(
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
            recorder.log_ended((device, number), origin.tag, ended);
        }
    })
}

/// Publishes the error of a lost descriptor in the registers of the run, with the number of its queue there.
pub fn publish_error(device: &SoftwareDevice, registers: &registers::DeviceRegisters, number: u32) {
    publish(&device.software_error(), registers, number);
}

fn publish(error: &SoftwareError, registers: &registers::DeviceRegisters, number: u32) {
    const QUEUE: u64 = 0xff << 16;
    let mut words = error.0;
    words[0] = words[0] & !QUEUE | u64::from(number) << 16;
    registers.note_error(words);
}
