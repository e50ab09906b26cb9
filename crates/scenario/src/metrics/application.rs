//! Metrics of single applications: of the virtual switch, the cache of items, the replay of descriptors,
//! messages, the storage target.

use super::declaration::Group::{CopyEngines, Cores, Packets, Storage};
use super::declaration::{Metric, Subject, named};
use crate::run::sample::Sample;
use model::reading::Reading;
use model::software::Account;
use units::Picos;

/// The cores of an application.
pub struct ApplicationCores {
    /// Their numbers.
    pub cores: Vec<usize>,
}

/// Such cores in a sample.
pub struct ApplicationView {
    /// All cores together.
    account: Account,
    last_completion: Picos,
    /// Time of all cores.
    core_time: Picos,
    span: Picos,
}

impl Subject for ApplicationCores {
    type View<'a> = ApplicationView;

    fn view<'a>(&'a self, sample: &'a Sample) -> ApplicationView {
        let accounts = || self.cores.iter().map(|&core| &sample.software[core]);
        ApplicationView {
            account: accounts().fold(Account::default(), |sum, account| sum.plus(account)),
            last_completion: accounts().map(|it| it.last_completion).max().unwrap_or_default(),
            core_time: Picos(sample.span.0 * self.cores.len() as u64),
            span: sample.span,
        }
    }
}

impl ApplicationView {
    fn per_second(&self, count: u64) -> f64 {
        count as f64 / self.span.as_seconds()
    }
}

fn percent(part: f64, whole: f64) -> f64 {
    100.0 * part / whole
}

/// Metrics of a virtual switch.
pub const SWITCH: &[Metric<ApplicationCores>] = &[
    named(Packets, "switch_copied_gbytes_per_s", "GB/s", "Packet data copied")
        .about("Packets copied to the guest and from it, by cores or by engines.")
        .rate(|v| v.account.copies.bytes as f64 / v.span.as_ns()),
    named(Packets, "switch_copying_percent", "percent", "Switch cores' time copying")
        .about("Share of copies in the time in which cores of the switch neither poll nor wait.")
        .headline()
        .rate(|v| {
            let switch = &v.account.switch;
            percent(switch.copying.as_ns(), switch.working.as_ns())
        }),
    named(Packets, "switch_dropped_per_s", "1/s", "Dropped for lack of guest buffers")
        .about("Packets dropped because the guest had offered no buffer.")
        .rate(|v| v.per_second(v.account.switch.dropped)),
    named(Packets, "switch_overtaking_bursts", "bursts", "Bursts that overtook others")
        .about("Bursts whose copies ended before those of an earlier one, which they waited for.")
        .count(|v| v.account.switch.overtaking as f64),
    named(Packets, "switch_disordered_packets", "packets", "Packets out of order")
        .about("Packets that the guest received after a later one of their queue.")
        .count(|v| v.account.switch.disordered as f64),
];

/// Metrics of a cache of items.
pub const STORE: &[Metric<ApplicationCores>] = &[
    named(Cores, "store_gets_per_s", "1/s", "Gets")
        .about("Items that the cache's clients read.")
        .headline()
        .rate(|v| v.per_second(v.account.store.gets)),
    named(Cores, "store_sets_per_s", "1/s", "Sets")
        .about("Items that the cache's clients wrote.")
        .headline()
        .rate(|v| v.per_second(v.account.store.sets)),
    named(CopyEngines, "offloaded_copies_percent", "percent", "Share of copies by engines")
        .about("Share of all copies that engines made.")
        .rate(|v| {
            let copies = &v.account.copies;
            percent(copies.offloaded as f64, copies.copies as f64)
        }),
    named(CopyEngines, "offloaded_bytes_percent", "percent", "Share of bytes by engines")
        .about("Share of the bytes of all copies that engines copied.")
        .rate(|v| {
            let copies = &v.account.copies;
            percent(copies.offloaded_bytes as f64, copies.bytes as f64)
        }),
];

/// Metrics of a replay of descriptors.
pub const REPLAY: &[Metric<ApplicationCores>] = &[named(
    CopyEngines,
    "replay_ns",
    "ns",
    "Time of the replay",
)
.about(
    "Time until a core has read the last completion record so far, or done the operation itself.",
)
.headline()
.count(|v| v.last_completion.as_ns())];

/// Metrics of ranks that pass messages.
pub const MESSAGES: &[Metric<ApplicationCores>] =
    &[named(Cores, "message_gbytes_per_s", "GB/s", "Messages")
        .about("Data of messages received, or of reductions that ranks have finished.")
        .headline()
        .rate(|v| v.account.message_bytes as f64 / v.span.as_ns())];

/// Metrics of a storage target.
pub const TARGET: &[Metric<ApplicationCores>] = &[
    named(Storage, "target_reads_per_s", "1/s", "Reads answered")
        .about("Requests of initiators that the target has answered.")
        .headline()
        .rate(|v| v.per_second(v.account.work)),
    named(Storage, "target_gbytes_per_s", "GB/s", "Data of answers")
        .about("Data of the reads that the target has answered, without headers.")
        .headline()
        .in_timeline()
        .rate(|v| v.account.target.answered_bytes as f64 / v.span.as_ns()),
    named(Storage, "target_core_time", "percent", "Core time of the target")
        .about("Time of its cores by what they do; the rest is idle.")
        .headline()
        .rate_by("part", |v| {
            let it = &v.account.target;
            let parts = [
                ("requests", it.requesting),
                ("completions", it.completing),
                ("digests", it.digesting),
                ("answers", it.sending),
            ];
            let all = v.core_time.as_ns();
            parts.map(|(name, time)| (name.into(), percent(time.as_ns(), all))).into()
        }),
];

/// Lists of metrics that only some applications have.
pub const ALL: [&[Metric<ApplicationCores>]; 5] = [SWITCH, STORE, REPLAY, MESSAGES, TARGET];
