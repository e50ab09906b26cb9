//! Who is where: the numbers of cores and devices that tenants and co-runners get.
//!
//! Cores are numbered socket by socket: in each, those of the tenants in their order, then those of
//! the co-runners. Root ports are numbered after all cores, in the order of their tenants.

use crate::scenario::{Scenario, Tenant};
use model::device::DeviceId;

/// Sockets that a machine has at most.
const SOCKETS: usize = 2;

/// Places of everything that a scenario puts into a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Cores in use of each socket.
    pub cores: [u32; SOCKETS],
    /// Places of each tenant, the main one first.
    pub tenants: Vec<TenantPlaces>,
    /// Cores of each co-runner.
    pub co_runners: Vec<Vec<u8>>,
    /// Cores that watch cache sets.
    pub probes: Vec<u8>,
    /// Root ports in use.
    pub ports: Vec<RootPort>,
    /// Root port of each NIC.
    pub nics: Vec<usize>,
    /// Root port of each SSD.
    pub ssds: Vec<usize>,
}

/// What belongs to a tenant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TenantPlaces {
    /// Its name.
    pub name: String,
    /// Its cores.
    pub cores: Vec<u8>,
    /// Its NIC.
    pub nic: Option<usize>,
    /// Its SSDs.
    pub ssds: Vec<usize>,
}

/// A root port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RootPort {
    /// Its name in results: that of its first device.
    pub name: String,
    /// Number of the tenant that it belongs to.
    pub tenant: usize,
}

impl Layout {
    /// Places of a scenario.
    #[must_use]
    pub fn of(scenario: &Scenario) -> Self {
        let co_runners = &scenario.machine.co_runner;
        let tenants = scenario.tenants().map(|tenant| (tenant.socket, tenant.cores));
        let beside = co_runners.iter().map(|keys| (keys.socket, keys.cores));
        let wishes: Vec<(u32, u32)> = tenants.chain(beside).collect();
        let (cores, mut seats) = seat(&wishes);
        let co_runner_seats = seats.split_off(seats.len() - co_runners.len());
        let watching =
            co_runners.iter().zip(&co_runner_seats).filter(|(keys, _)| keys.probe.is_some());
        let probes = watching.flat_map(|(_, cores)| cores.clone()).collect();
        let mut layout = Self { cores, probes, co_runners: co_runner_seats, ..Self::default() };
        for (tenant, cores) in scenario.tenants().zip(seats) {
            layout.place(tenant, cores);
        }
        layout
    }

    fn place(&mut self, tenant: &Tenant, cores: Vec<u8>) {
        let number = self.tenants.len();
        let mut places =
            TenantPlaces { name: tenant.name.clone(), cores, nic: None, ssds: Vec::new() };
        if tenant.application.uses_nic() {
            places.nic = Some(self.nics.len());
            self.nics.push(self.ports.len());
            let name = format!("nic{}", self.nics.len() - 1);
            self.ports.push(RootPort { name, tenant: number });
        }
        if tenant.application.uses_ssds() {
            for device in 0..tenant.block_io.ssds {
                let name = format!("ssd{}", self.ssds.len());
                if device % tenant.block_io.ssds_per_root_port == 0 {
                    self.ports.push(RootPort { name, tenant: number });
                }
                places.ssds.push(self.ssds.len());
                self.ssds.push(self.ports.len() - 1);
            }
        }
        self.tenants.push(places);
    }

    /// The device that is NIC number `nic`: NICs come first.
    #[must_use]
    pub fn nic_device(&self, nic: usize) -> DeviceId {
        DeviceId(nic as u16)
    }

    /// The device that is SSD number `ssd`.
    #[must_use]
    pub fn ssd_device(&self, ssd: usize) -> DeviceId {
        DeviceId((self.nics.len() + ssd) as u16)
    }

    /// Cores in use of all sockets.
    #[must_use]
    pub fn all_cores(&self) -> usize {
        self.cores.iter().sum::<u32>() as usize
    }

    /// Root ports of a tenant.
    pub fn ports_of(&self, tenant: usize) -> impl Iterator<Item = usize> + '_ {
        (0..self.ports.len()).filter(move |&port| self.ports[port].tenant == tenant)
    }

    /// Names of agents in results: cores, then root ports.
    #[must_use]
    pub fn agent_names(&self) -> Vec<String> {
        let cores = (0..self.all_cores()).map(|core| format!("core{core}"));
        cores.chain(self.ports.iter().map(|port| port.name.clone())).collect()
    }
}

/// Cores in use of each socket, and the cores of each wish for (socket, number of cores).
fn seat(wishes: &[(u32, u32)]) -> ([u32; SOCKETS], Vec<Vec<u8>>) {
    let mut cores = [0; SOCKETS];
    let mut seats = vec![Vec::new(); wishes.len()];
    let mut next = 0;
    for (socket, in_use) in cores.iter_mut().enumerate() {
        for (seat, &(wanted, count)) in seats.iter_mut().zip(wishes) {
            if wanted as usize == socket {
                seat.extend(next..next + count as u8);
                next += count as u8;
                *in_use += count;
            }
        }
    }
    (cores, seats)
}

#[cfg(test)]
mod tests {
    use super::seat;

    #[test]
    fn cores_are_numbered_socket_by_socket_in_the_order_of_the_wishes() {
        let (cores, seats) = seat(&[(0, 2), (1, 2), (0, 1)]);
        assert_eq!(cores, [3, 2]);
        assert_eq!(seats, [vec![0, 1], vec![3, 4], vec![2]]);
    }
}
