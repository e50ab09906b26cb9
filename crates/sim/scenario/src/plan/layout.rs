//! Numbers of cores, root ports and devices, and their tenants or co-runners.
//!
//! Cores are numbered socket by socket: in each, those of the tenants in their order, then those of
//! the co-runners. Root ports are numbered after all cores, in the order of their tenants. Devices are
//! numbered kind by kind, and of each kind in the order of their root ports.

use crate::contract::port::{DevicePlace, PortPlan};
use crate::contract::tenant::SOCKETS;
use crate::kinds::co_runner::CoRunnerKeys;
use crate::kinds::{Application, DeviceClass};
use crate::scenario::Tenant;
use model::device::DeviceId;
use units::narrow::fit;
use units::{CoreId, Id, RootPortId};

/// The tenants and co-runners of cores, root ports and devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Cores in use of each socket.
    pub(crate) cores: [u32; SOCKETS],
    /// Resources of each tenant, the main one first.
    pub(crate) tenants: Vec<TenantLayout>,
    /// Cores of each co-runner.
    pub(crate) co_runners: Vec<Vec<CoreId>>,
    /// Cores that watch cache sets.
    pub(crate) probes: Vec<CoreId>,
    /// Root ports in use.
    pub(crate) ports: Vec<RootPort>,
    /// Devices, as the machine numbers them.
    pub(crate) devices: Vec<DeviceLayout>,
}

/// Name, cores and software of a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TenantLayout {
    /// Name of the tenant.
    pub name: String,
    /// Cores of the tenant.
    pub cores: Vec<CoreId>,
    /// Software of the cores.
    pub application: Application,
    /// Whether the tenant's application moves data by engines or by its cores.
    pub moves_data: bool,
}

/// Name and tenant of a root port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RootPort {
    /// Name of the port in results: that of its first device.
    pub name: String,
    /// Number of the tenant that the port belongs to.
    pub tenant: usize,
}

/// Kind, tenant and place of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DeviceLayout {
    /// Kind of the device.
    pub kind: DeviceClass,
    /// Number of the tenant that the device belongs to.
    pub tenant: usize,
    /// Its number among the devices of its kind, and its root port.
    pub place: DevicePlace,
}

impl DeviceLayout {
    /// Whether the device is a further port of a card, beside one of this kind.
    pub(crate) fn is_port_beside(&self, kind: DeviceClass) -> bool {
        self.kind == kind && kind.has_ports()
    }
}

impl Layout {
    /// Numbers the resources of tenants with these root ports, and of co-runners.
    #[must_use]
    pub(crate) fn for_tenants(
        tenants: &[(&Tenant, &[PortPlan])],
        co_runners: &[CoRunnerKeys],
    ) -> Self {
        let of_tenants = tenants.iter().map(|(tenant, _)| (tenant.keys.socket, tenant.keys.cores));
        let beside = co_runners.iter().map(|keys| (keys.socket, keys.cores));
        let requests: Vec<(u32, u32)> = of_tenants.chain(beside).collect();
        let (cores, mut numbers) = number_cores(&requests);
        let of_co_runners = numbers.split_off(tenants.len());
        let watching =
            co_runners.iter().zip(&of_co_runners).filter(|(keys, _)| keys.probe.is_some());
        let probes = watching.flat_map(|(_, cores)| cores.clone()).collect();
        let with_cores = tenants.iter().zip(numbers);
        let with_cores = with_cores.map(|((tenant, _), cores)| TenantLayout {
            name: tenant.keys.name.clone(),
            cores,
            application: tenant.application(),
            moves_data: tenant.application().moves_data(),
        });
        let mut layout = Self {
            cores,
            probes,
            tenants: with_cores.collect(),
            co_runners: of_co_runners,
            ..Self::default()
        };
        for (tenant, (_, ports)) in tenants.iter().enumerate() {
            ports.iter().for_each(|port| layout.add(tenant, port));
        }
        layout.devices.sort_by_key(|device| device.kind);
        layout
    }

    fn add(&mut self, tenant: usize, plan: &PortPlan) {
        let port = RootPortId::at(self.ports.len());
        let mut name = String::new();
        for device in &plan.devices {
            let kind = DeviceClass::ALL[device.kind()];
            let number = self.of_kind(kind).count();
            if name.is_empty() {
                name = format!("{}{number}", kind.key());
            }
            self.devices.push(DeviceLayout { kind, tenant, place: DevicePlace { number, port } });
        }
        self.ports.push(RootPort { name, tenant });
    }

    fn of_kind(&self, kind: DeviceClass) -> impl Iterator<Item = &DeviceLayout> {
        self.devices.iter().filter(move |device| device.kind == kind)
    }

    /// The devices of a tenant.
    pub(crate) fn devices_of(&self, tenant: usize) -> impl Iterator<Item = DeviceId> {
        let numbered = (0..).map(DeviceId).zip(&self.devices);
        numbered.filter(move |(_, device)| device.tenant == tenant).map(|(id, _)| id)
    }

    /// Cores in use of all sockets.
    #[must_use]
    pub(crate) fn all_cores(&self) -> usize {
        self.cores.iter().sum::<u32>() as usize
    }

    /// The devices of a kind that a tenant has.
    pub(crate) fn devices_of_kind(&self, tenant: usize, kind: DeviceClass) -> Vec<DeviceId> {
        let of_kind = |id: &DeviceId| self.devices[id.index()].kind == kind;
        self.devices_of(tenant).filter(of_kind).collect()
    }

    /// The number of a core in its socket.
    #[must_use]
    pub(crate) fn number_in_socket(&self, core: CoreId) -> u8 {
        let in_first = fit(self.cores[0]);
        core.0.checked_sub(in_first).unwrap_or(core.0)
    }

    /// Root ports of a tenant.
    pub(crate) fn ports_of(&self, tenant: usize) -> impl Iterator<Item = RootPortId> + '_ {
        let own = move |&port: &usize| self.ports[port].tenant == tenant;
        (0..self.ports.len()).filter(own).map(RootPortId::at)
    }

    /// Numbers and names of the root ports of a tenant's copy engines.
    #[must_use]
    pub(crate) fn engine_ports_of(&self, tenant: usize) -> Vec<(usize, String)> {
        let devices = self.devices.iter().filter(|device| device.tenant == tenant);
        let engines = devices.filter(|device| device.kind.is_copy_engine());
        let port = |device: &DeviceLayout| {
            let number = device.place.port.index();
            (number, self.ports[number].name.clone())
        };
        engines.map(port).collect()
    }

    /// Names of agents in results: cores, then root ports.
    #[must_use]
    pub fn agent_names(&self) -> Vec<String> {
        let cores = (0..self.all_cores()).map(|core| format!("core{core}"));
        cores.chain(self.ports.iter().map(|port| port.name.clone())).collect()
    }
}

/// Cores in use of each socket, and the cores that each request for (socket, number of cores) gets.
fn number_cores(requests: &[(u32, u32)]) -> ([u32; SOCKETS], Vec<Vec<CoreId>>) {
    let mut cores = [0; SOCKETS];
    let mut numbers = vec![Vec::new(); requests.len()];
    let mut next = 0;
    for (socket, in_use) in cores.iter_mut().enumerate() {
        for (own, &(wanted, count)) in numbers.iter_mut().zip(requests) {
            if wanted as usize == socket {
                own.extend((next..next + count as usize).map(CoreId::at));
                next += count as usize;
                *in_use += count;
            }
        }
    }
    (cores, numbers)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cores_are_numbered_socket_by_socket_in_the_order_of_the_requests() {
        let (in_use, numbers) = number_cores(&[(0, 2), (1, 2), (0, 1)]);
        assert_eq!(in_use, [3, 2]);
        let cores = |numbers: &[u8]| numbers.iter().copied().map(CoreId).collect::<Vec<_>>();
        assert_eq!(numbers, [cores(&[0, 1]), cores(&[3, 4]), cores(&[2])]);
    }
}
