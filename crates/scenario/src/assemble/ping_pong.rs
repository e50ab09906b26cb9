//! From a platform's facts to an echo server and its memory.

use super::Plan;
use super::software::Shared;
use crate::input::sourced::Sourced;
use crate::platform::PingPongFacts;
use units::{Cycles, Picos};
use workload::app::packet_loop::Drivers;
use workload::app::ping_pong::{Interrupts, PingPong, PingPongConfig, PingPongMemory, Work};
use workload::host_memory::{Arena, HostMemory};

/// Bytes of memory whose lines interrupts read in turn: so much that none is read twice
/// before it has left all caches.
const SYSTEM_BYTES: u64 = 64 << 20;

impl Plan<'_> {
    /// Facts about an echo server.
    ///
    /// # Panics
    /// If the platform has none: resolving the scenario has checked that.
    fn ping_pong_facts(&self) -> &PingPongFacts {
        self.platform.ping_pong.as_ref().expect("a resolved scenario has its facts")
    }

    /// Memory of an echo server beside its pool and queues.
    fn ping_pong_memory(
        shared: &Shared<'_>,
        memory: &mut HostMemory,
        arena: &mut Arena,
    ) -> PingPongMemory {
        let bytes = shared.server.software.buffer_data_bytes.value;
        PingPongMemory {
            message: arena.place(bytes),
            system: memory.region(SYSTEM_BYTES),
            system_lines: SYSTEM_BYTES / units::LINE_BYTES,
        }
    }

    /// An echo server.
    pub(super) fn ping_pong(
        &self,
        shared: &Shared<'_>,
        id: u8,
        drivers: Drivers,
        arena: &mut Arena,
        memory: &mut HostMemory,
    ) -> PingPong {
        let facts = self.ping_pong_facts();
        let own = Self::ping_pong_memory(shared, memory, arena);
        let work = |cycles: &Sourced<f64>, instructions: &Sourced<u64>| Work {
            cycles: Cycles(cycles.value),
            instructions: instructions.value,
        };
        let keys = &shared.tenant.ping_pong;
        let config = PingPongConfig {
            poll: work(&facts.poll_cycles, &facts.poll_instructions),
            receive: work(&facts.receive_cycles, &facts.receive_instructions),
            prefix_bytes: facts.prefix_bytes.value,
            header_bytes: keys.header_bytes + facts.message_header_bytes.value,
            copy: work(&facts.copy_cycles_per_line, &facts.copy_instructions_per_line),
            answer: work(&facts.answer_cycles, &facts.answer_instructions),
            interrupts: Interrupts {
                mean_distance: Picos::from_ns(1e9 / facts.interrupt_hz.value),
                work: work(&facts.interrupt_cycles, &facts.interrupt_instructions),
                cold_lines: facts.interrupt_cold_lines.value,
            },
            seed: self.seed.wrapping_add(u64::from(id)),
        };
        let Drivers { pool, rx, tx, queue } = drivers;
        PingPong::new(config, self.core(id), pool, (rx, tx), queue, own)
    }
}
