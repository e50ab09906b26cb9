//! Builds the machine of a plan. Each application and each device builds itself; this module assembles
//! them.

use crate::contract::build::{Builder, DeviceQueuesById, SoftwareByCore};
use crate::contract::filling::Filling;
use crate::contract::traffic::Traffic;
use crate::plan::Plan;
use model::device::queues::Queues;
use model::fabric::Fabric;
use model::machine::{Controller, Machine};
use model::tracer::Tracer;
use workload::control::schedule::PolicySchedule;
use workload::host_memory::HostMemory;

/// The machine of a scenario.
pub type ScenarioMachine<T> = Machine<Traffic, T>;

/// Builds the machine of a plan at time zero, with its caches filled.
pub(crate) fn machine<T: Tracer>(plan: &Plan, tracer: T) -> ScenarioMachine<T> {
    let mut caches = Filling::new(&plan.machine.fabric, tracer);
    let mut memories = plan.machine.memories();
    let (mut software, mut queues) = (SoftwareByCore::new(), DeviceQueuesById::new());
    for tenant in &plan.tenants {
        memories.iter_mut().for_each(|memory| memory.use_pages(tenant.resources.page));
        let (before, own_and_after) = memories.split_at_mut(tenant.resources.node);
        let (own, after) = own_and_after.split_at_mut(1);
        let elsewhere = before.iter_mut().map(Some).chain([None]).chain(after.iter_mut().map(Some));
        tenant.application.build(&mut Builder {
            machine: &plan.machine,
            tenant: &tenant.resources,
            memory: &mut own[0],
            elsewhere: elsewhere.collect(),
            caches: &mut caches,
            software: &mut software,
            queues: &mut queues,
        });
    }
    let fabric = caches.filled();
    build_co_runners(plan, &mut memories, &fabric, &mut software);
    let mut in_order = Queues::default();
    let mut devices = Vec::new();
    for ((device, layout), (_, own)) in plan.devices.iter().zip(&plan.layout.devices).zip(queues) {
        devices.push(device.build(&layout.place));
        in_order.push(own);
    }
    let software = software.into_values().collect();
    let goal = plan.goal.clone();
    Machine::new(fabric, devices, in_order, software, controllers(plan), goal)
}

fn build_co_runners<T: Tracer>(
    plan: &Plan,
    memories: &mut [HostMemory],
    fabric: &Fabric<T>,
    software: &mut SoftwareByCore<T>,
) {
    for co_runner in &plan.co_runners {
        let memory = &mut memories[co_runner.node];
        memory.use_pages(co_runner.page);
        for (thread, &core) in co_runner.cores.iter().enumerate() {
            let thread = (thread, &co_runner.cores[..]);
            software.insert(core, co_runner.software.build(&plan.machine, memory, fabric, thread));
        }
    }
}

/// Builds all controllers that change settings while the machine runs.
fn controllers<T: Tracer>(plan: &Plan) -> Vec<Box<dyn Controller<T>>> {
    let mut controllers: Vec<Box<dyn Controller<T>>> = Vec::new();
    if !plan.changes.is_empty() {
        controllers.push(Box::new(PolicySchedule::new(plan.changes.clone())));
    }
    for steering in &plan.controllers {
        controllers.push(Box::new(steering.build()));
    }
    controllers
}
