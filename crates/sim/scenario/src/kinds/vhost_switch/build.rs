//! Builds a virtual switch: its drivers, the guest's queues and buffers, the software of all cores.

use super::VhostSwitchPlan;
use crate::contract::build::{Builder, TenantResources};
use crate::kinds::copies::offloaders;
use model::device::DeviceQueues;
use model::device::nic::rings::Buffer;
use model::device::queues::QueueId;
use model::tracer::Tracer;
use std::cell::RefCell;
use std::rc::Rc;
use units::LINE_BYTES;
use units::narrow::fit;
use workload::app::vhost_switch::VhostSwitch;
use workload::app::vhost_switch::guest::{Guest, GuestPort, GuestQueues};
use workload::app::vhost_switch::pipeline::Pipeline;
use workload::driver::virtqueue::Virtqueue;
use workload::host_memory::Arena;

impl VhostSwitchPlan {
    /// Puts switch and guest on the tenant's cores: the switch has the first.
    pub(super) fn build_on<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let (switch, guest) =
            builder.tenant.cores.split_at(builder.tenant.cores.len() - self.guest_cores);
        let tenant = TenantResources { cores: switch.to_vec(), ..builder.tenant.clone() };
        let mut ports: Vec<Vec<GuestPort>> = guest.iter().map(|_| Vec::new()).collect();
        let mut builder = Builder {
            tenant: &tenant,
            machine: builder.machine,
            memory: builder.memory,
            elsewhere: Vec::new(),
            caches: builder.caches,
            software: builder.software,
            queues: builder.queues,
        };
        let queues = self.build_switch(&mut builder);
        for (number, (queues, spare)) in queues.into_iter().enumerate() {
            ports[number % guest.len()].push(GuestPort { queues, spare, last: None });
        }
        for (&id, ports) in guest.iter().zip(ports) {
            let software = Guest::new(self.guest, builder.machine.core(id), ports);
            builder.software.insert(id, Box::new(software));
        }
    }

    /// Builds the software of the switch's cores. Returns for each core its queues of the guest, and spare
    /// buffers of the guest.
    fn build_switch<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
    ) -> Vec<(Rc<RefCell<GuestQueues>>, Vec<Buffer>)> {
        let pool = self.driver.pool(builder);
        let mut arena = self.driver.arena(builder);
        let mut pairs = self.driver.queue_pairs(builder, &mut arena);
        let (nic, engines) = (builder.tenant.devices[0], &builder.tenant.devices[1..]);
        let mut offloaders = offloaders(self.engines.as_ref(), builder, engines);
        let mut of_guest = Vec::new();
        for (number, (pair, &id)) in pairs.iter_mut().zip(&builder.tenant.cores).enumerate() {
            let queue = QueueId { device: nic, queue: fit(number) };
            let at = (builder.machine.core(id), queue, pair);
            let drivers = self.driver.start(builder, at, &pool, &mut arena);
            let (queues, spare) = self.guest_memory(builder);
            let pipeline =
                offloaders.next().map(|offloader| Pipeline::new(offloader, self.destination));
            let core = builder.machine.core(id);
            let shared = Rc::clone(&queues);
            let software = VhostSwitch::new(self.switch, core, drivers, shared, pipeline);
            builder.software.insert(id, Box::new(software));
            of_guest.push((queues, spare));
        }
        builder.queues.insert(nic, DeviceQueues::Nic(pairs));
        of_guest
    }

    /// Allocates a pair of queues of the guest, fills the receive queue, and returns as many spare buffers.
    fn guest_memory<T: Tracer>(
        &self,
        builder: &mut Builder<'_, T>,
    ) -> (Rc<RefCell<GuestQueues>>, Vec<Buffer>) {
        let entries = self.guest_descriptors;
        let page = builder.memory.page().0;
        let tables = 2 * Virtqueue::<Buffer, Buffer>::arena_bytes(entries);
        // A table does not cross pages: each begins a page at most.
        let mut arena = Arena::new(builder.memory.region(tables + 6 * page));
        let queues = GuestQueues {
            receive: Virtqueue::new(entries, &mut arena),
            send: Virtqueue::new(entries, &mut arena),
        };
        let buffer_bytes = LINE_BYTES + self.buffer_bytes;
        let buffers = 2 * u64::from(entries);
        let pages = buffers.div_ceil(page / buffer_bytes.next_multiple_of(LINE_BYTES));
        let mut arena = Arena::new(builder.memory.region(pages * page));
        let mut buffer = |id| Buffer { id, data: arena.place(buffer_bytes).step(1) };
        let mut offered: Vec<Buffer> = (0..2 * entries).map(&mut buffer).collect();
        let spare = offered.split_off(entries as usize);
        let queues = Rc::new(RefCell::new(queues));
        queues.borrow_mut().receive.stock(offered);
        (queues, spare)
    }
}
