//! The work queues of this system that fit the options.

use super::operands::opcode;
use crate::failure::Failure;
use crate::option_values::QueueKind;
use crate::options::BenchOptions;
use crate::point::BenchPoint;
use dsa_client::portal::{QueuePortal, SubmissionMethod};
use dsa_client::queues::{self, SharingMode, UserQueue};
use std::path::Path;

/// Selects the queue of each thread: threads use instances in turn, then the queues of each instance.
pub fn queues_of_threads(
    options: &BenchOptions,
    point: &BenchPoint,
) -> Result<Vec<UserQueue>, Failure> {
    let all = queues::find(Path::new(queues::SYSFS))
        .map_err(|error| Failure::Failed(error.to_string()))?;
    let fitting: Vec<&UserQueue> = all.iter().filter(|queue| fits(queue, options, point)).collect();
    let mut devices: Vec<Vec<&UserQueue>> = Vec::new();
    for queue in fitting {
        match devices.iter_mut().find(|own| own[0].device == queue.device) {
            Some(own) => own.push(queue),
            None => devices.push(vec![queue]),
        }
    }
    devices.retain(|own| own.len() >= point.queues as usize);
    if devices.len() < point.instances as usize {
        return Err(no_fitting_queue(options, point, &all));
    }
    let (instances, queues) = (point.instances as usize, point.queues as usize);
    let queue = |thread: usize| devices[thread % instances][thread / instances % queues].clone();
    Ok((0..point.threads as usize).map(queue).collect())
}

/// The modes of the queues that are enabled for programs on this system.
pub(crate) fn queue_kinds() -> Result<Vec<QueueKind>, Failure> {
    let all = queues::find(Path::new(queues::SYSFS))
        .map_err(|error| Failure::Failed(error.to_string()))?;
    if all.is_empty() {
        return Err(no_queue());
    }
    let has = |mode: SharingMode| all.iter().any(|queue| queue.mode == mode);
    let kinds =
        [(QueueKind::Dedicated, SharingMode::Dedicated), (QueueKind::Shared, SharingMode::Shared)];
    Ok(kinds.into_iter().filter(|(_, mode)| has(*mode)).map(|(kind, _)| kind).collect())
}

fn fits(queue: &UserQueue, options: &BenchOptions, point: &BenchPoint) -> bool {
    let mode = match options.machine.queue_kind {
        QueueKind::Dedicated => SharingMode::Dedicated,
        QueueKind::Shared => SharingMode::Shared,
    };
    queue.mode == mode
        && queue.takes(opcode(options))
        && point.engines.is_none_or(|wanted| engines(queue) == wanted)
        && point.queue_entries.is_none_or(|wanted| queue.entries == wanted)
        && point.size_bytes <= queue.most_transfer_bytes
        && (point.batch == 1 || point.batch <= queue.most_batch)
}

/// Engines of a queue's group.
fn engines(queue: &UserQueue) -> u32 {
    let read = |path: std::path::PathBuf| std::fs::read_to_string(path).unwrap_or_default();
    let group = read(queue.directory.join("group_id"));
    let device = queue.device.trim_start_matches("dsa");
    let group = format!("group{device}.{}", group.trim());
    let engines = read(queue.device_directory.join(&group).join("engines"));
    units::narrow::fit(engines.split_whitespace().count())
}

fn no_queue() -> Failure {
    Failure::Failed(
        "--on device: no queue is enabled for user programs in /sys/bus/dsa/devices; accel-config \
         enables one (type user), and --on software needs none"
            .into(),
    )
}

fn no_fitting_queue(options: &BenchOptions, point: &BenchPoint, all: &[UserQueue]) -> Failure {
    if all.is_empty() {
        return no_queue();
    }
    let kind = options.machine.queue_kind.name();
    let mut wanted = format!(
        "{} {kind} queue(s) on each of {} device(s) for {} with -s {} and -b {}",
        point.queues, point.instances, options.operation.name, point.size_bytes, point.batch
    );
    if let Some(engines) = point.engines {
        wanted += &format!(", engines {engines}");
    }
    if let Some(entries) = point.queue_entries {
        wanted += &format!(", entries {entries}");
    }
    let known: Vec<String> = all
        .iter()
        .map(|queue| {
            let mode = if queue.mode == SharingMode::Dedicated { "dedicated" } else { "shared" };
            format!(
                "{} ({mode}, entries {}, engines {}, transfers up to {} B, batches up to {})",
                queue.name,
                queue.entries,
                engines(queue),
                queue.most_transfer_bytes,
                queue.most_batch
            )
        })
        .collect();
    Failure::BadInput(format!(
        "--on device: the options ask for {wanted}; this system has {}; choose by -w, --engines, --queue-entries, \
         --instances, or configure others by accel-config",
        known.join(", ")
    ))
}

/// Opens a queue for submission. With `-c` the address of its portal moves from one descriptor to the next.
pub fn open_portal(queue: UserQueue, options: &BenchOptions) -> Result<QueuePortal, Failure> {
    let how = SubmissionMethod::Automatic;
    let mut portal = QueuePortal::open(queue, Path::new(queues::DEVICES), how)
        .map_err(|error| Failure::Failed(error.to_string()))?;
    if !options.descriptor.move_portal {
        portal.fix_address();
    }
    Ok(portal)
}
