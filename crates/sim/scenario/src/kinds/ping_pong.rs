//! The echo server of a ping-pong test, and the client that waits for each of its answers.

use crate::contract::application::Packets;
use crate::contract::build::Builder;
use crate::contract::input::TenantInput;
use crate::contract::tenant::TenantMut;
use crate::facts::platform::MOST_BUFFER_DATA_BYTES;
use crate::facts::software::PingPongFacts;
use crate::kinds::nic::source::SourcePlan;
use crate::kinds::nic::{Arrivals, Card, NicKeys};
use crate::kinds::packets::{PacketApplication, PollingCore};
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use model::software::Software;
use model::tracer::Tracer;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Cycles, LINE_BYTES, Picos};
use workload::app::packet_loop::Drivers;
use workload::app::ping_pong::{
    Interrupts, PingPong, PingPongConfig, PingPongMemory, PingPongWork,
};
use workload::driver::mempool::Spacing;
use workload::traffic::{Delay, PingPongClientConfig};

/// Memory whose lines interrupts read in turn: large enough that a line is evicted from all caches
/// before its next read.
const SYSTEM_BYTES: u64 = 64 << 20;

/// From an Ethernet header alone.
const HEADER_BYTES: (u64, u64) = (14, 1024);

/// Keys of a ping-pong test.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PingPongKeys {
    /// Size of a message in bytes.
    #[schemars(range(min = 0, max = MOST_BUFFER_DATA_BYTES - HEADER_BYTES.0))]
    pub message_bytes: u64,
    /// Headers before it: Ethernet, IPv4 and UDP by default.
    #[schemars(range(min = HEADER_BYTES.0, max = HEADER_BYTES.1))]
    pub header_bytes: u64,
}

impl Default for PingPongKeys {
    fn default() -> Self {
        Self { message_bytes: 256, header_bytes: 14 + 20 + 8 }
    }
}

/// An echo server and its client, fully resolved.
#[derive(Clone, Debug)]
pub(crate) struct PingPongPlan {
    /// The seed is 0. Each core replaces it by its own.
    server: PingPongConfig,
    client: PingPongClientConfig,
    buffer_bytes: u64,
}

impl PacketApplication for PingPongPlan {
    const PACKETS: Packets = Packets::Forwarded;
    const TABLE: Option<&'static str> = Some("ping_pong");
    const ARRIVALS: Arrivals = Arrivals::Client;
    const SPACING: Spacing = Spacing::PowerOfTwo;
    /// Bytes for the message: no larger than a packet buffer may be.
    const OWN_BYTES: u64 = 64 << 10;

    type Shared = ();

    /// Records the size of packets, which is that of messages with their headers.
    fn fill_in(tenant: &mut TenantMut<'_>) {
        let &mut PingPongKeys { message_bytes, header_bytes } = tenant.table::<PingPongKeys>();
        tenant.table::<NicKeys>().packet_bytes = message_bytes.saturating_add(header_bytes);
    }

    fn plan(input: &TenantInput<'_>, card: &Card<'_>) -> Result<Self, InputError> {
        let Some(facts) = &input.platform.ping_pong else {
            let allowed = "needs a platform with a [ping_pong] table".into();
            return Err(input.check.refuse("application", &"ping-pong", allowed));
        };
        check(input, facts, card.buffer_bytes)?;
        let tenant = input.tenant;
        Ok(Self {
            server: server(tenant.table::<PingPongKeys>(), facts),
            client: client(tenant.table::<NicKeys>().packet_bytes, facts, input.seed),
            buffer_bytes: card.buffer_bytes,
        })
    }

    fn source(&self, _input: &TenantInput<'_>, _card: &Card<'_>) -> Result<SourcePlan, InputError> {
        Ok(SourcePlan::PingPong(self.client.clone()))
    }

    fn share<T: Tracer>(&self, _builder: &mut Builder<'_, T>) {}

    fn software<T: Tracer>(
        &self,
        (): &(),
        core: PollingCore<'_>,
        builder: &mut Builder<'_, T>,
    ) -> Box<dyn Software<T>> {
        let memory = PingPongMemory {
            message: core.arena.place(self.buffer_bytes),
            system: builder.memory.region(SYSTEM_BYTES),
            system_lines: SYSTEM_BYTES / LINE_BYTES,
        };
        let seed = builder.machine.seed.wrapping_add(u64::from(core.core.id().0));
        let config = PingPongConfig { seed, ..self.server };
        let Drivers { pool, rx, tx, queue, .. } = core.drivers;
        Box::new(PingPong::new(config, core.core, pool, (rx, tx), queue, memory))
    }
}

/// Checks that one client waits for each answer of one core.
fn check(
    input: &TenantInput<'_>,
    facts: &PingPongFacts,
    buffer_bytes: u64,
) -> Result<(), InputError> {
    let (tenant, check) = (input.tenant, &input.check);
    check.whole("cores", tenant.keys.cores, (1, 1), "core: there is one message in flight")?;
    let keys = tenant.table::<PingPongKeys>();
    check.whole("ping_pong.header_bytes", keys.header_bytes, HEADER_BYTES, "bytes")?;
    let before = keys.header_bytes + facts.prefix_bytes.value;
    let most = buffer_bytes.saturating_sub(before);
    let least = facts.message_header_bytes.value.max(60u64.saturating_sub(keys.header_bytes));
    let what =
        "bytes: no less than the application's header, no more than a buffer holds (buffer_bytes)";
    check.whole("ping_pong.message_bytes", keys.message_bytes, (least, most), what)?;
    if let Some(path) = &tenant.table::<NicKeys>().traffic.pcap {
        let allowed = "application ping-pong has a client of its own".into();
        return Err(check.refuse("traffic.pcap", path, allowed));
    }
    Ok(())
}

fn server(keys: &PingPongKeys, facts: &PingPongFacts) -> PingPongConfig {
    let work = |cycles: &Sourced<f64>, instructions: &Sourced<u64>| PingPongWork {
        cycles: Cycles(cycles.value),
        instructions: instructions.value,
    };
    PingPongConfig {
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
        seed: 0,
    }
}

fn client(packet_bytes: u64, facts: &PingPongFacts, seed: u64) -> PingPongClientConfig {
    let delays = facts.client_delays.value.iter();
    let delay = |&(probability, least_ns, mean_more_ns): &(f64, f64, f64)| Delay {
        probability,
        least_ns,
        mean_more_ns,
    };
    PingPongClientConfig {
        packet_bytes,
        turnaround_ns: facts.client_turnaround_ns.value,
        jitter_ns: facts.client_jitter_ns.value,
        delays: delays.map(delay).collect(),
        between_messages_ns: facts.client_pause_ns.value,
        resend_after: Picos::from_ns(facts.client_resend_ms.value * 1e6),
        seed,
    }
}
