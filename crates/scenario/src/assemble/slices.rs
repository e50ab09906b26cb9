//! Which slices memory lies in: of working sets, packet headers, popular items.

use super::hardware::address_map;
use super::{Plan, software};
use crate::scenario::{MemoryKernelKeys, SliceChoice, Tenant};
use address_map::AddressMap;
use model::mesh::Topology;
use std::rc::Rc;
use units::{LINE_BYTES, LineAddr, SliceId};
use workload::app::key_value::requests::by_popularity;
use workload::app::key_value::store::ItemsApart;
use workload::driver::header_slices::HeaderPlacement;
use workload::driver::mempool::Mempool;
use workload::host_memory::{HostMemory, Region};
use workload::slice_memory::region_in_slices;

impl Plan<'_> {
    /// Memory for the working set of `core`, one of `cores` that run the same.
    pub(super) fn working_set(
        &self,
        keys: &MemoryKernelKeys,
        core: u8,
        cores: &[u8],
        memory: &mut HostMemory,
    ) -> Region {
        let bytes = keys.working_set_bytes;
        match keys.slice_choice() {
            None => memory.region(bytes),
            Some(SliceChoice::Nearest(count)) => {
                let nearest = self.topology().nearest_slices(self.number_in_socket(core));
                self.in_slices(memory, bytes, &nearest[..count as usize])
            }
            Some(SliceChoice::Isolated) => {
                let own: Vec<u8> = cores.iter().map(|&core| self.number_in_socket(core)).collect();
                let shares = self.topology().isolated_slices(&own);
                let place = cores.iter().position(|&other| other == core);
                self.in_slices(memory, bytes, &shares[place.expect("it is one of them")])
            }
            Some(SliceChoice::Listed(slices)) => {
                let slices: Vec<SliceId> = slices.iter().map(|&slice| SliceId(slice)).collect();
                self.in_slices(memory, bytes, &slices)
            }
        }
    }

    /// Makes a tenant's pool place headers near the cores that poll, if it is to.
    pub(super) fn place_headers(&self, tenant: &Tenant, cores: &[u8], pool: &mut Mempool) {
        let Some(wanted) = tenant.placement.header_slices else { return };
        let topology = self.topology();
        let nearest = |&core: &u8| topology.nearest_slices(self.number_in_socket(core));
        let placement = HeaderPlacement {
            line: tenant.placement.header_line.unwrap_or(0),
            nearest: cores.iter().map(nearest).collect(),
            wanted: wanted as usize,
            most_lines: software::shift_lines(tenant),
        };
        let map = address_map(self.platform);
        pool.place_headers(&placement, slice_of(&map));
    }

    /// The most popular items of a tenant's store in the slices that are best for all its cores.
    pub(super) fn items_apart(
        &self,
        tenant: &Tenant,
        cores: &[u8],
        memory: &mut HostMemory,
    ) -> Option<Rc<ItemsApart>> {
        let keys = &tenant.key_value;
        let count = keys.slice_aware_items?;
        let cores: Vec<u8> = cores.iter().map(|&core| self.number_in_socket(core)).collect();
        let nearest = self.topology().nearest_slices_for(&cores);
        let bytes = count * keys.shape(tenant.cores).item_lines() * LINE_BYTES;
        let slices = keys.nearest_slices.unwrap_or(1) as usize;
        let region = self.in_slices(memory, bytes, &nearest[..slices]);
        let items = by_popularity(keys.items).take(count as usize);
        Some(Rc::new(ItemsApart::new(items, region)))
    }

    fn in_slices(&self, memory: &mut HostMemory, bytes: u64, slices: &[SliceId]) -> Region {
        let map = address_map(self.platform);
        region_in_slices(memory, bytes, map.slices() as u16, slices, slice_of(&map))
    }

    fn topology(&self) -> Topology {
        self.platform.topology("").expect("a platform is checked when it is read")
    }

    /// Topologies number the cores of a socket.
    fn number_in_socket(&self, core: u8) -> u8 {
        let in_first = self.layout.cores[0] as u8;
        if core < in_first { core } else { core - in_first }
    }
}

fn slice_of(map: &AddressMap) -> impl Fn(LineAddr) -> SliceId + '_ {
    |line| map.slice_of(line)
}
