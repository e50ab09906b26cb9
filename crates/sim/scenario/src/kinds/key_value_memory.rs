//! The key-value store whose clients are on the same machine: its threads always have a request.

use crate::contract::application::ApplicationModule;
use crate::contract::build::Builder;
use crate::contract::inert::{Inert, keys_of_devices};
use crate::contract::input::TenantInput;
use crate::contract::tenant::TenantRef;
use crate::kinds::key_value::StorePlan;
use crate::text::error::InputError;
use model::tracer::Tracer;
use units::LINE_BYTES;
use workload::app::key_value::in_memory::{KeyValueInMemory, ThreadMemory};
use workload::app::work::Work;
use workload::host_memory::Arena;

/// Memory that the clients of a thread fill before they reuse it: more than any LLC holds, as the
/// youngest generation of a Java heap.
const CLIENTS_BYTES: u64 = 128 << 20;

/// A store whose clients are on the same machine.
#[derive(Clone, Debug)]
pub(crate) struct KeyValueMemoryPlan {
    store: StorePlan,
    work: Work,
    lines_per_request: u64,
}

impl ApplicationModule for KeyValueMemoryPlan {
    const TABLE: Option<&'static str> = Some("key_value");

    fn inert(tenant: TenantRef<'_>) -> Vec<Inert> {
        let mut inert = keys_of_devices(tenant);
        inert.extend(Inert::all(["key_value.protocol"], "its clients send no packets"));
        inert.extend(Inert::all(["initial_content"], "it has no buffers for packets"));
        inert
    }

    fn plan(input: &TenantInput<'_>) -> Result<Self, InputError> {
        let costs = input.costs()?;
        Ok(Self {
            store: StorePlan::from_keys(input),
            work: costs.work(&costs.key_value_socket_cycles),
            lines_per_request: costs.key_value_client_bytes.value.div_ceil(LINE_BYTES),
        })
    }

    fn build<T: Tracer>(&self, builder: &mut Builder<'_, T>) {
        let placed = self.store.place(builder);
        let bytes = self.store.value_bytes();
        for (thread, &core) in (0..).zip(&builder.tenant.cores) {
            let (store, requests) = self.store.of_thread(&placed, thread);
            let own = ThreadMemory {
                answer: Arena::new(builder.memory.region(bytes)).place(bytes),
                clients: builder.memory.region(CLIENTS_BYTES),
                clients_lines: CLIENTS_BYTES / LINE_BYTES,
                lines_per_request: self.lines_per_request,
            };
            let core_itself = builder.machine.core(core);
            let software = KeyValueInMemory::new(self.work, core_itself, requests, store, own);
            builder.software.insert(core, Box::new(software));
        }
    }
}
