//! Rules about a scenario that belong to no single kind, in the order in which they are checked.

use crate::contract::input::TenantInput;
use crate::contract::port::PortPlan;
use crate::contract::tenant::{
    MAIN, MBA_PERCENT, SOCKETS, TenantRef, memory_node, socket, way_mask,
};
use crate::facts::platform::{GHZ, Platform, SoftwareFacts};
use crate::kinds::{Application, check_applications_together, check_devices_together};
use crate::plan::layout::Layout;
use crate::scenario::inert::stated_inert;
use crate::scenario::{Scenario, Tenant, check_events};
use crate::text::check::Check;
use crate::text::error::InputError;
use model::attribution::Owner;
use std::collections::BTreeSet;
use units::narrow::fit;
use workload::host_memory::PagePlacement;

/// A stage of a plan, after which some rules can be checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// The scenario as it is stated.
    Stated,
    /// All defaults are filled in.
    FilledIn,
    /// Each tenant and co-runner is resolved.
    Resolved,
    /// Cores, root ports and devices are numbered.
    Numbered,
}

/// Subject of the rules: a scenario on its way to a plan.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked<'s> {
    /// The scenario.
    pub scenario: &'s Scenario,
    /// Platform of the scenario.
    pub platform: &'s Platform,
    /// Refuses values of the scenario's file.
    pub check: Check<'s>,
    /// The root ports of each tenant, once they are resolved.
    pub ports: &'s [&'s [PortPlan]],
    /// Numbers of cores, root ports and devices, once there are any.
    pub layout: &'s Layout,
}

type Rule = fn(&Checked<'_>) -> Result<(), InputError>;

/// All rules, each with the stage after which it is checked.
const RULES: [(Stage, Rule); 11] = [
    (Stage::Stated, facts_without_effect),
    (Stage::Stated, keys_without_effect),
    (Stage::FilledIn, clocks),
    (Stage::FilledIn, names),
    (Stage::Resolved, cores),
    (Stage::Resolved, applications),
    (Stage::Resolved, events),
    (Stage::Resolved, run),
    (Stage::Resolved, devices),
    (Stage::Numbered, owners),
    (Stage::Numbered, controller),
];

/// Checks the rules of a stage.
///
/// # Errors
/// Names the first value that is out of range or contradicts another.
pub(super) fn check(stage: Stage, checked: &Checked<'_>) -> Result<(), InputError> {
    let mut of_stage = RULES.iter().filter(|(at, _)| *at == stage);
    of_stage.try_for_each(|(_, rule)| rule(checked))
}

/// Checks the keys that every tenant has.
///
/// # Errors
/// Names the first value that is out of range.
pub(super) fn tenant(input: &TenantInput<'_>) -> Result<(), InputError> {
    let (keys, check, platform) = (input.tenant.keys, &input.check, input.platform);
    let cores = platform.cpu.cores.value;
    check.whole("cores", keys.cores, (1, cores), "cores, which all tenants of a socket share")?;
    way_mask(check, "core_way_mask", keys.core_way_mask.unwrap_or(1), platform.llc.ways.value)?;
    socket(check, "socket", keys.socket, platform)?;
    memory_node(check, "memory_node", keys.memory_node, platform)?;
    check.whole("mba_percent", keys.mba_percent, MBA_PERCENT, "percent")?;
    memory_start(input)
}

/// Refuses memory that would begin beyond the page that its regions share.
fn memory_start(input: &TenantInput<'_>) -> Result<(), InputError> {
    let page_bytes = input.tenant.keys.page_size.bytes();
    let pages = input.platform.software.as_ref().map(SoftwareFacts::page_placement);
    match pages {
        Some(PagePlacement::Together(start)) if start >= page_bytes => {
            let allowed = format!("allowed: less than page_size, {page_bytes} bytes");
            Err(input.check.refuse("hardware.software.memory_start_bytes", &start, allowed))
        }
        _ => Ok(()),
    }
}

/// Refuses stated keys without effect, but not those of a file that keys of the command line override.
fn keys_without_effect(rule: &Checked<'_>) -> Result<(), InputError> {
    let (scenario, file) = (rule.scenario, rule.check.file);
    let mut found = stated_inert(scenario).into_iter();
    match found.find(|found| !scenario.overridden.contains(found)) {
        None => Ok(()),
        Some(found) => {
            let tenant = scenario.tenants().nth(found.tenant).map(|it| it.keys.name.as_str());
            let file = match (found.tenant, tenant) {
                (1.., Some(name)) => format!("{file}, tenant `{name}`"),
                _ => file.to_owned(),
            };
            Err(without_effect(&file, &found.key, &found.because))
        }
    }
}

/// Refuses replaced facts that keys of the scenario override.
fn facts_without_effect(rule: &Checked<'_>) -> Result<(), InputError> {
    let (scenario, file) = (rule.scenario, rule.check.file);
    let machine = &scenario.machine;
    let with_buffers = |tenant: &Tenant| tenant.kinds.devices.nic.buffer_bytes.is_some();
    let overridden = [
        ("cpu.core_ghz", machine.core_ghz.is_some(), "core_ghz"),
        ("cpu.uncore_ghz", machine.uncore_ghz.is_some(), "uncore_ghz"),
        (
            "ddio.default_ways",
            scenario.tenants().all(|tenant| tenant.stated.contains("ddio_ways")),
            "ddio_ways",
        ),
        ("software.buffer_data_bytes", scenario.tenants().all(with_buffers), "buffer_bytes"),
    ];
    for (fact, is_overridden, by) in overridden {
        if is_overridden && machine.hardware.contains_key(fact) {
            let because = format!("the scenario states {by}");
            return Err(without_effect(file, &format!("hardware.{fact}"), &because));
        }
    }
    Ok(())
}

fn without_effect(file: &str, key: &str, because: &str) -> InputError {
    let reason = format!("would have no effect: {because}; leave it out");
    InputError::WrongValue { file: file.into(), key: key.into(), reason }
}

/// Clocks are in the range that platforms have.
fn clocks(rule: &Checked<'_>) -> Result<(), InputError> {
    let (machine, check) = (&rule.scenario.machine, &rule.check);
    check.number("core_ghz", machine.core_ghz.unwrap_or(1.0), GHZ)?;
    check.number("uncore_ghz", machine.uncore_ghz.unwrap_or(1.0), GHZ)
}

/// Names are part of the names of results.
fn names(rule: &Checked<'_>) -> Result<(), InputError> {
    let Checked { scenario, check, .. } = rule;
    let mut seen = BTreeSet::from([MAIN]);
    for (number, tenant) in scenario.tenant.iter().enumerate() {
        let (key, name) = (format!("tenant.{number}.name"), &tenant.keys.name);
        let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
        if name.is_empty() || !name.chars().all(plain) {
            let allowed = "allowed: letters, digits, - and _".into();
            return Err(check.refuse(&key, name, allowed));
        }
        if !seen.insert(name) {
            let allowed = "another tenant has this name; the top-level keys are `main`".into();
            return Err(check.refuse(&key, name, allowed));
        }
    }
    Ok(())
}

/// Each socket has enough cores for all that run there.
fn cores(rule: &Checked<'_>) -> Result<(), InputError> {
    let Checked { scenario, platform, check, .. } = rule;
    let cores = platform.cpu.cores.value;
    for socket in 0..fit(SOCKETS) {
        let tenants = scenario.tenants().filter(|tenant| tenant.keys.socket == socket);
        let used: u32 = tenants.map(|tenant| tenant.keys.cores).sum();
        let beside = scenario.machine.co_runner.iter().filter(|keys| keys.socket == socket);
        let wanted: u32 = beside.map(|keys| keys.cores).sum();
        if used > cores {
            let allowed = format!(
                "all tenants of socket {socket} together; it has {cores} cores: lower `cores`"
            );
            return Err(check.refuse("cores", &used, allowed));
        }
        if used + wanted > cores {
            let left = cores - used;
            let allowed = format!("the tenants leave {left} of {cores} cores: lower `cores`");
            return Err(check.refuse("co_runner.cores", &wanted, allowed));
        }
    }
    Ok(())
}

/// Applications of all tenants fit together.
fn applications(rule: &Checked<'_>) -> Result<(), InputError> {
    let tenants = rule.scenario.tenants().map(|tenant| (tenant.application(), tenant.view()));
    let tenants: Vec<(Application, TenantRef<'_>)> = tenants.collect();
    check_applications_together(&tenants, &rule.check)
}

/// Events change what can be changed.
fn events(rule: &Checked<'_>) -> Result<(), InputError> {
    check_events(rule.scenario, &rule.check, rule.platform)
}

/// The length of a run.
fn run(rule: &Checked<'_>) -> Result<(), InputError> {
    rule.scenario.machine.run.check(&rule.check)
}

/// Devices of all tenants fit together.
fn devices(rule: &Checked<'_>) -> Result<(), InputError> {
    let tenants = rule.scenario.tenants().map(Tenant::view).zip(rule.ports.iter().copied());
    check_devices_together(&tenants.collect::<Vec<_>>(), &rule.check)
}

/// Each socket has enough owner numbers for its own cores in use and all root ports of the machine.
fn owners(rule: &Checked<'_>) -> Result<(), InputError> {
    let Checked { layout, check, .. } = rule;
    let (cores, ports) = (layout.cores[0].max(layout.cores[1]), layout.ports.len());
    let most = usize::from(Owner::MOST).saturating_sub(ports);
    if cores as usize > most {
        let allowed = format!(
            "allowed: up to {most} beside {ports} root ports: lower `cores`, or let devices share \
             ports"
        );
        return Err(check.refuse("cores", &cores, allowed));
    }
    Ok(())
}

/// The controller of LLC ways steers what a machine has.
fn controller(rule: &Checked<'_>) -> Result<(), InputError> {
    let Checked { scenario, platform, check, .. } = rule;
    let keys = scenario.machine.controller.as_ref();
    keys.map_or(Ok(()), |keys| keys.check(scenario, check, platform))
}
