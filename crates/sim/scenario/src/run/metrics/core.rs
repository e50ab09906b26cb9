//! Metrics of software: of each core, and of a tenant's cores together.

use super::machine::MachineAgents;
use crate::contract::arithmetic::counted;
use crate::contract::metric::Group::{Cache, Cores};
use crate::contract::metric::{Metric, Subject, named};
use crate::contract::sample::Sample;
use model::counters::CoreCounters;
use model::device::DeviceId;
use model::software::Account;
use units::Picos;

/// The cores of a tenant.
pub(crate) struct TenantCores {
    /// Numbers of the cores.
    pub numbers: Vec<usize>,
    /// The devices that the cores serve.
    pub devices: Vec<DeviceId>,
    /// Clock of the cores in GHz.
    pub core_ghz: f64,
}

/// The cores of a tenant in a sample.
pub(crate) struct TenantCoresView<'a> {
    cores: &'a TenantCores,
    sample: &'a Sample,
}

impl Subject for TenantCores {
    type View<'a> = TenantCoresView<'a>;

    fn view<'a>(&'a self, sample: &'a Sample) -> TenantCoresView<'a> {
        TenantCoresView { cores: self, sample }
    }
}

impl<'a> TenantCoresView<'a> {
    fn accounts(&self) -> impl Iterator<Item = &'a Account> {
        let software = &self.sample.software;
        self.cores.numbers.iter().map(|&core| &software[core])
    }

    fn count(&self, of: fn(&CoreCounters) -> u64) -> u64 {
        self.cores.numbers.iter().map(|&core| of(&self.sample.cores[core])).sum()
    }

    /// Sum of the times of all cores.
    fn core_ns(&self) -> f64 {
        self.sample.span.as_ns() * self.cores.numbers.len() as f64
    }

    /// Time for which the receive rings of the tenant's device were full, if it has such rings; of several
    /// ports the mean.
    fn ring_full(&self) -> Option<Picos> {
        let devices = self.cores.devices.iter();
        let each = devices.filter_map(|&id| self.sample.devices[id.index()].ring_full());
        let (ports, full) = each.fold((0, 0), |(ports, sum), full| (ports + 1, sum + full.0));
        (ports > 0).then(|| Picos(full / ports))
    }

    fn share(&self, of: fn(&Account) -> Picos) -> f64 {
        let spent: f64 = self.accounts().map(|account| of(account).as_ns()).sum();
        100.0 * spent / self.core_ns()
    }
}

/// Metrics of each core.
pub(crate) const METRICS: &[Metric<MachineAgents>] = &[
    named(Cores, "work_per_s_by_core", "1/s", "Work by core")
        .about("Units of work done: packets, requests or accesses.")
        .rate_by("core", |m| m.each_account(|account| account.work as f64)),
    named(Cores, "instructions_per_s", "1/s", "Instructions")
        .about("Instructions retired; null where some work is known in cycles only.")
        .rate_by("core", |m| m.each_account(|account| counted(account.instructions))),
];

/// Metrics of all cores of a tenant together.
pub(crate) const TENANT_METRICS: &[Metric<TenantCores>] = &[
    named(Cores, "work_per_s", "1/s", "Work")
        .about("Units of work done by all cores of the tenant: packets, requests or accesses.")
        .in_timeline()
        .rate(|v| {
            let work: u64 = v.accounts().map(|account| account.work).sum();
            work as f64 / v.sample.span.as_seconds()
        }),
    named(Cores, "time_in_regime", "percent", "Time in each regime")
        .about("Share of time with a full receive ring, waiting for a send ring, polling without work.")
        .headline()
        .rate_by("regime", |v| {
            let ring_full = v
                .ring_full()
                .map(|full| ("ring_full".into(), 100.0 * full.as_ns() / v.sample.span.as_ns()));
            let blocked = v.share(|account| account.sender_blocked);
            let idle = v.share(|account| account.idle);
            let of_cores = [("sender_blocked".into(), blocked), ("idle".into(), idle)];
            ring_full.into_iter().chain(of_cores).collect()
        }),
    named(Cores, "load_imbalance", "ratio", "Load imbalance")
        .about("Work of the busiest core over the mean of the tenant's cores.")
        .rate(|v| {
            let work = || v.accounts().map(|account| account.work);
            let most = work().max().unwrap_or_default() as f64;
            most * v.cores.numbers.len() as f64 / work().sum::<u64>() as f64
        }),
    named(Cores, "ipc", "1", "Instructions per cycle")
        .about("Instructions retired per core cycle; null where some work is known in cycles only.")
        .rate(|v| {
            let retired = v.accounts().map(|account| account.instructions).sum();
            let cores = v.cores.numbers.len() as f64;
            counted(retired) / (v.sample.span.as_ns() * v.cores.core_ghz * cores)
        }),
    named(Cache, "llc_load_miss_ratio", "percent", "LLC load miss ratio")
        .about("Demand loads that missed the LLC, of those that missed L2.")
        .rate(|v| {
            let missed = v.count(|core| core.llc_load_misses);
            100.0 * missed as f64 / v.count(|core| core.l2_load_misses) as f64
        }),
];
