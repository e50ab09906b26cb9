//! The two ends of a ping-pong test as facts: the server's software, and everything beyond its port.

use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Costs of an echo server, and its client.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct PingPongFacts {
    /// Bytes that the card writes before a received packet.
    pub prefix_bytes: Sourced<u64>,
    /// Bytes of a message that are the application's own header.
    pub message_header_bytes: Sourced<u64>,
    /// Cycles of one poll of an empty event queue.
    pub poll_cycles: Sourced<f64>,
    /// Number of instructions of one poll of an empty event queue.
    pub poll_instructions: Sourced<u64>,
    /// Cycles from the event to the application, outside memory stalls.
    pub receive_cycles: Sourced<f64>,
    /// Number of instructions from the event to the application.
    pub receive_instructions: Sourced<u64>,
    /// Cycles to copy a line, without its load and store.
    pub copy_cycles_per_line: Sourced<f64>,
    /// Number of instructions to copy a line.
    pub copy_instructions_per_line: Sourced<u64>,
    /// Cycles from the copied message to the answer in the send queue, outside memory stalls.
    pub answer_cycles: Sourced<f64>,
    /// Number of instructions from the copied message to the answer in the send queue.
    pub answer_instructions: Sourced<u64>,
    /// Rate of interrupts of the server's core by the operating system and its drivers, at random
    /// times.
    pub interrupt_hz: Sourced<f64>,
    /// Cycles of one interrupt.
    pub interrupt_cycles: Sourced<f64>,
    /// Number of instructions of one interrupt.
    pub interrupt_instructions: Sourced<u64>,
    /// Number of lines that an interrupt reads and that no cache has kept since the last one.
    pub interrupt_cold_lines: Sourced<u64>,
    /// Time of a round trip outside the server: client's host, its card, the wire.
    pub client_turnaround_ns: Sourced<f64>,
    /// Standard deviation of the turnaround.
    pub client_jitter_ns: Sourced<f64>,
    /// Occasional delays of the client: probability per message, least length in ns, and the mean of an
    /// exponentially distributed addition.
    pub client_delays: Sourced<Vec<(f64, f64, f64)>>,
    /// Time from the end of a round trip to the beginning of the next.
    pub client_pause_ns: Sourced<f64>,
    /// Time without an answer after which the client sends its request again.
    pub client_resend_ms: Sourced<f64>,
}

impl PingPongFacts {
    pub(crate) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        let delays = [
            ("ping_pong.poll_cycles", &self.poll_cycles),
            ("ping_pong.receive_cycles", &self.receive_cycles),
            ("ping_pong.copy_cycles_per_line", &self.copy_cycles_per_line),
            ("ping_pong.answer_cycles", &self.answer_cycles),
            ("ping_pong.interrupt_cycles", &self.interrupt_cycles),
            ("ping_pong.client_turnaround_ns", &self.client_turnaround_ns),
            ("ping_pong.client_jitter_ns", &self.client_jitter_ns),
            ("ping_pong.client_pause_ns", &self.client_pause_ns),
        ];
        delays.iter().try_for_each(|(key, delay)| check.delay(key, delay.value))?;
        check.number("ping_pong.poll_cycles", self.poll_cycles.value, (1.0, 1e6))?;
        check.number("ping_pong.interrupt_hz", self.interrupt_hz.value, (0.01, 1e5))?;
        check.number("ping_pong.client_resend_ms", self.client_resend_ms.value, (0.01, 1e5))?;
        let most = [
            ("ping_pong.poll_instructions", self.poll_instructions.value),
            ("ping_pong.receive_instructions", self.receive_instructions.value),
            ("ping_pong.copy_instructions_per_line", self.copy_instructions_per_line.value),
            ("ping_pong.answer_instructions", self.answer_instructions.value),
            ("ping_pong.interrupt_instructions", self.interrupt_instructions.value),
            ("ping_pong.interrupt_cold_lines", self.interrupt_cold_lines.value),
        ];
        most.iter().try_for_each(|(key, count)| check.whole(key, *count, (0, 1_000_000), ""))?;
        let bytes = [
            ("ping_pong.prefix_bytes", self.prefix_bytes.value),
            ("ping_pong.message_header_bytes", self.message_header_bytes.value),
        ];
        bytes.iter().try_for_each(|(key, bytes)| check.whole(key, *bytes, (0, 1024), "bytes"))?;
        for &(probability, least, more) in &self.client_delays.value {
            let key = "ping_pong.client_delays";
            check.number(key, probability, (0.0, 1.0))?;
            check.number(key, least, (0.0, 1e9))?;
            check.number(key, more, (0.0, 1e9))?;
        }
        Ok(())
    }
}
