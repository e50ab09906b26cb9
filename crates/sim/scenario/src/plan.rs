//! Resolves a scenario, its platform and the devices that it names to a plan: everything that a machine
//! is built from, checked, with all defaults filled in.

mod checks;
pub(crate) mod layout;
mod machine;
mod steering;

pub(crate) use steering::SteeringPlan;

use crate::contract::build::TenantResources;
use crate::contract::input::TenantInput;
use crate::contract::machine::MachinePlan;
use crate::contract::port::GeneratorWait;
use crate::contract::port::{DevicePlan, PortPlan};
use crate::facts::named_devices::NamedDevices;
use crate::facts::platform::Platform;
use crate::kinds::co_runner::{CoRunnerKeys, CoRunnerPlan};
use crate::kinds::{AnyApplication, DeviceClass, check_devices, root_port};
use crate::plan::layout::{Layout, TenantLayout};
use crate::scenario::{EventKeys, Scenario, Tenant};
use crate::text::check::Check;
use crate::text::error::InputError;
use checks::{Checked, Stage};
use machine::{nodes, tenant_seed};
use model::machine::Goal;
use std::rc::Rc;
use units::narrow::usize_from;
use units::{Bytes, CoreId, Id, RootPortId};
use workload::control::schedule::PolicyChange;

/// A scenario with every default filled in, and its plan.
#[derive(Clone, Debug)]
pub(crate) struct Resolved {
    /// The scenario.
    pub scenario: Scenario,
    /// Plan of the scenario: all that a run needs.
    pub plan: Plan,
}

/// Everything that a machine is built from.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Plan of the machine: caches, memory, devices.
    pub(crate) machine: MachinePlan,
    /// Numbers of cores, root ports and devices.
    pub layout: Layout,
    /// Devices, as the machine numbers them.
    pub(crate) devices: Vec<Rc<dyn DevicePlan>>,
    /// Software and resources of each tenant, the main one first.
    pub(crate) tenants: Vec<TenantPlan>,
    pub(crate) co_runners: Vec<CoRunnerOnCores>,
    /// Policies that root ports change to, at given times.
    pub(crate) changes: Vec<PolicyChange>,
    /// Controllers that change LLC ways during a run.
    pub(crate) controllers: Vec<SteeringPlan>,
    /// Work that a run counts as progress: that of the main tenant.
    pub(crate) goal: Goal,
}

/// A tenant, with numbered cores and devices.
#[derive(Clone, Debug)]
pub(crate) struct TenantPlan {
    /// Software of the tenant's cores.
    pub application: AnyApplication,
    /// Cores, devices and memory of the tenant.
    pub resources: TenantResources,
}

/// A co-runner, with numbered cores.
#[derive(Clone, Debug)]
pub(crate) struct CoRunnerOnCores {
    /// Software of the co-runner's cores.
    pub software: CoRunnerPlan,
    /// Cores of the co-runner.
    pub cores: Vec<CoreId>,
    /// The memory node of its working sets.
    pub node: usize,
    /// Pages of its working sets.
    pub page: Bytes,
}

impl Plan {
    /// Checks `scenario` against `platform`, fills in the platform's defaults, and resolves it. `file`
    /// is the scenario's name in messages.
    ///
    /// # Errors
    /// Names the first value that is out of range or contradicts another.
    pub(crate) fn resolve(
        file: &str,
        mut scenario: Scenario,
        platform: &Platform,
        seed: u64,
    ) -> Result<Resolved, InputError> {
        let named = scenario.named_devices(file)?;
        let check = Check { file };
        let rules = |stage, scenario: &Scenario, ports: &[&[PortPlan]], layout: &Layout| {
            checks::check(stage, &Checked { scenario, platform, check, ports, layout })
        };
        let none = Layout::default();
        rules(Stage::Stated, &scenario, &[], &none)?;
        scenario.fill_in(platform, &named);
        rules(Stage::FilledIn, &scenario, &[], &none)?;
        let applications = applications(file, &scenario, platform, (&named, seed))?;
        let co_runners = scenario.machine.co_runner.iter().enumerate();
        let co_runners = co_runners.map(|(number, keys)| {
            CoRunnerPlan::resolve(&format!("co_runner.{number}"), keys, &check, platform)
        });
        let co_runners = co_runners.collect::<Result<Vec<_>, _>>()?;
        let ports: Vec<&[PortPlan]> = applications.iter().map(AnyApplication::ports).collect();
        rules(Stage::Resolved, &scenario, &ports, &none)?;
        let with_ports: Vec<_> = scenario.tenants().zip(ports.iter().copied()).collect();
        let layout = Layout::for_tenants(&with_ports, &scenario.machine.co_runner);
        rules(Stage::Numbered, &scenario, &ports, &layout)?;
        let plan = Self::numbered(&scenario, platform, (applications, co_runners), layout, seed)?;
        Ok(Resolved { scenario, plan })
    }

    /// The plan of a checked scenario with this layout.
    fn numbered(
        scenario: &Scenario,
        platform: &Platform,
        (applications, co_runners): (Vec<AnyApplication>, Vec<CoRunnerPlan>),
        layout: Layout,
        seed: u64,
    ) -> Result<Self, InputError> {
        let ports = || applications.iter().flat_map(AnyApplication::ports);
        let machine = machine::machine(scenario, platform, &layout, ports(), seed)?;
        let mut devices: Vec<_> = ports().flat_map(|port| port.devices.clone()).collect();
        devices.sort_by_key(|device| DeviceClass::ALL[device.kind()]);
        let changes = changes(scenario, platform, &layout);
        let mut controllers = controllers_of_ports(ports(), platform);
        controllers.extend(SteeringPlan::of_machine(scenario, &layout, platform));
        let co_runners = co_runners_on_cores(co_runners, scenario, &layout);
        let tenants = tenants(applications, scenario, &layout);
        let goal = goal(&scenario.main, &tenants[0].resources);
        Ok(Self { machine, layout, devices, tenants, co_runners, changes, controllers, goal })
    }

    /// Notes on the input of its devices for the reader of a result.
    pub(crate) fn notes(&self) -> Vec<String> {
        self.devices.iter().filter_map(|device| device.note()).collect()
    }

    /// The time that a tenant's packets spend in their generator, behind the stamp from which that measures.
    pub(crate) fn generator_wait(&self, tenant: usize) -> Option<GeneratorWait> {
        let mut devices = self.layout.devices_of(tenant);
        devices.find_map(|id| self.devices[id.index()].generator_wait())
    }

    /// Packets or other work after which the run ends, if the main tenant's source has such a number.
    #[must_use]
    pub(crate) fn packets_to_replay(&self) -> Option<u64> {
        let main = &self.tenants[0];
        let devices = main.resources.devices.iter().map(|id| &self.devices[id.index()]);
        let of_devices = devices.filter_map(|device| device.packets_to_replay()).next();
        of_devices.or_else(|| main.application.work_to_replay())
    }
}

/// The application of each tenant.
fn applications(
    file: &str,
    scenario: &Scenario,
    platform: &Platform,
    (named, seed): (&[NamedDevices], u64),
) -> Result<Vec<AnyApplication>, InputError> {
    let plan = |(number, (tenant, named)): (u64, (&Tenant, &NamedDevices))| {
        let named_in = match number {
            0 => file.to_owned(),
            _ => format!("{file}, tenant `{}`", tenant.keys.name),
        };
        let input = TenantInput {
            file,
            check: Check { file: &named_in },
            tenant: tenant.view(),
            platform,
            platform_name: &scenario.machine.platform,
            named,
            seed: tenant_seed(seed, number),
            changes: scenario
                .machine
                .event
                .iter()
                .filter(|event| event.tenant == tenant.keys.name)
                .map(EventKeys::device_change)
                .collect(),
        };
        checks::tenant(&input)?;
        check_devices(&input)?;
        tenant.application().plan(&input)
    };
    (0..).zip(scenario.tenants().zip(named)).map(plan).collect()
}

fn tenants(
    applications: Vec<AnyApplication>,
    scenario: &Scenario,
    layout: &Layout,
) -> Vec<TenantPlan> {
    let nodes = nodes(scenario);
    let all = scenario.tenants().zip(&layout.tenants).zip(applications);
    let tenant =
        |(number, ((tenant, own), application)): (usize, ((&Tenant, &TenantLayout), _))| {
            TenantPlan {
                application,
                resources: TenantResources {
                    cores: own.cores.clone(),
                    devices: layout.devices_of(number).collect(),
                    ports: layout.ports_of(number).collect(),
                    node: usize_from(nodes.number(tenant.keys.memory_node, tenant.keys.socket)),
                    page: Bytes(tenant.keys.page_size.bytes()),
                },
            }
        };
    all.enumerate().map(tenant).collect()
}

/// Co-runners use memory of their own socket, in pages of the main tenant's size.
fn co_runners_on_cores(
    co_runners: Vec<CoRunnerPlan>,
    scenario: &Scenario,
    layout: &Layout,
) -> Vec<CoRunnerOnCores> {
    let all = scenario.machine.co_runner.iter().zip(&layout.co_runners);
    let co_runner =
        |((keys, cores), software): ((&CoRunnerKeys, &Vec<CoreId>), _)| CoRunnerOnCores {
            software,
            cores: cores.clone(),
            node: keys.socket as usize,
            page: Bytes(scenario.main.keys.page_size.bytes()),
        };
    all.zip(co_runners).map(co_runner).collect()
}

fn goal(main: &Tenant, plan: &TenantResources) -> Goal {
    if main.application().packets().are_sent() {
        return Goal::Device(plan.devices[0]);
    }
    let first = plan.cores[0].index();
    Goal::Work(first..first + plan.cores.len())
}

/// The policies that the scenario's events set.
fn changes(scenario: &Scenario, platform: &Platform, layout: &Layout) -> Vec<PolicyChange> {
    let Some(ddio) = &platform.ddio else { return Vec::new() };
    let of_event = |event: &EventKeys| {
        let tenants = scenario.tenants().enumerate();
        let meant = tenants.filter(|(_, tenant)| tenant.keys.name == event.tenant);
        let changes = meant.flat_map(|(number, tenant)| {
            let policy = event
                .changed(&tenant.kinds.devices.port)
                .map(|keys| root_port::policy(&keys, ddio, platform).0);
            let change = move |port| Some(PolicyChange { at: event.at(), port, policy: policy? });
            layout.ports_of(number).filter_map(change)
        });
        changes.collect::<Vec<_>>()
    };
    scenario.machine.event.iter().flat_map(of_event).collect()
}

/// Controllers of single root ports.
fn controllers_of_ports<'p>(
    ports: impl Iterator<Item = &'p PortPlan>,
    platform: &Platform,
) -> Vec<SteeringPlan> {
    let of_port = |(number, port): (usize, &PortPlan)| {
        let controller = port.controller.as_ref()?;
        Some(SteeringPlan::of_port(RootPortId::at(number), platform.llc.ways.value, controller))
    };
    ports.enumerate().filter_map(of_port).collect()
}
