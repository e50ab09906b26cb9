//! Who is where: the numbers of cores and devices that tenants and co-runners get.
//!
//! Cores are numbered socket by socket: in each, those of the tenants in their order, then those of
//! the co-runners. Devices are numbered after all cores, in the order of their tenants.

use crate::scenario::Scenario;
use model::attribution::AgentId;

/// Sockets that a machine has at most.
const SOCKETS: usize = 2;

/// Places of everything that a scenario puts into a machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Cores in use of each socket.
    pub cores: [u32; SOCKETS],
    /// Places of each tenant, the main one first.
    pub tenants: Vec<TenantPlaces>,
    /// Cores of each co-runner.
    pub co_runners: Vec<Vec<u8>>,
    /// NICs in use.
    pub nics: usize,
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
        let co_runners = seats.split_off(seats.len() - co_runners.len());
        let tenants: Vec<TenantPlaces> = scenario
            .tenants()
            .zip(seats)
            .enumerate()
            .map(|(nic, (tenant, cores))| TenantPlaces {
                name: tenant.name.clone(),
                cores,
                nic: Some(nic),
            })
            .collect();
        Self { cores, nics: tenants.len(), tenants, co_runners }
    }

    /// Cores in use of all sockets.
    #[must_use]
    pub fn all_cores(&self) -> usize {
        self.cores.iter().sum::<u32>() as usize
    }

    /// Agents of the machine: cores and devices.
    #[must_use]
    pub fn agents(&self) -> usize {
        self.all_cores() + self.nics
    }

    /// Names of agents in results: cores, then NICs.
    #[must_use]
    pub fn agent_names(&self) -> Vec<String> {
        let cores = (0..self.all_cores()).map(|core| format!("core{core}"));
        cores.chain((0..self.nics).map(|nic| format!("nic{nic}"))).collect()
    }

    /// The name of an agent in results.
    #[must_use]
    pub fn agent_name(&self, agent: AgentId) -> String {
        self.agent_names()[usize::from(agent.0)].clone()
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
