//! Costs of applications on a machine, as facts.

use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::app::work::Work;

/// Cycles of packet applications outside memory stalls, including receive and send.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ApplicationFacts {
    /// Instructions that retire per cycle of such work.
    pub instructions_per_cycle: Sourced<f64>,
    /// Cycles to forward a packet by its IP address (L3).
    pub l3_forward_cycles: Sourced<f64>,
    /// Cycles to receive a packet and drop it.
    pub packet_sink_cycles: Sourced<f64>,
    /// Cycles to build and send a packet, without its stores.
    pub packet_source_cycles: Sourced<f64>,
    /// Cycles of a step through the filter rules in software.
    pub filter_step_cycles: Sourced<f64>,
    /// Cycles to translate a packet's address and port.
    pub napt_cycles: Sourced<f64>,
    /// Cycles to find a packet's server.
    pub load_balancer_cycles: Sourced<f64>,
    /// Cycles to enter a new flow into a flow table.
    pub new_flow_cycles: Sourced<f64>,
    /// Cycles of a request to a key-value store over a kernel-bypass stack.
    pub key_value_bypass_cycles: Sourced<f64>,
    /// Cycles of a request to a key-value store that is built for packets.
    pub key_value_plain_cycles: Sourced<f64>,
    /// Cycles of a request to a key-value store over the sockets of the operating system.
    pub key_value_socket_cycles: Sourced<f64>,
    /// Bytes of fresh memory that a client on the same machine writes per request to a key-value
    /// store.
    pub key_value_client_bytes: Sourced<u64>,
    /// Cycles to hand a packet to a guest, without its copy.
    pub vhost_enqueue_cycles: Sourced<f64>,
    /// Cycles to take a packet from a guest, without its copy.
    pub vhost_dequeue_cycles: Sourced<f64>,
    /// Cycles to track a packet that a copy engine copies.
    pub vhost_track_cycles: Sourced<f64>,
    /// Cycles of the guest's work for a packet.
    pub vhost_guest_cycles: Sourced<f64>,
    /// Cycles to read an item of a cache, without its copy.
    pub cachelib_get_cycles: Sourced<f64>,
    /// Cycles to write an item of a cache, without its copy.
    pub cachelib_set_cycles: Sourced<f64>,
    /// Cycles of a call to send or to receive a message.
    pub message_call_cycles: Sourced<f64>,
    /// Cycles of a look at a channel of messages.
    pub message_poll_cycles: Sourced<f64>,
    /// Cycles to add a line of numbers to another.
    pub message_sum_cycles: Sourced<f64>,
    /// Cycles of a round of the reactor of an NVMe/TCP target: looks at connections and queues.
    pub nvme_tcp_round_cycles: Sourced<f64>,
    /// Cycles of a request to an NVMe/TCP target, from the network stack to the SSD.
    pub nvme_tcp_request_cycles: Sourced<f64>,
    /// Cycles of an answer of an NVMe/TCP target, from the completion of the SSD on, without what
    /// follows.
    pub nvme_tcp_answer_cycles: Sourced<f64>,
    /// Cycles of the network stack for each unit of segmentation offload of an answer.
    pub nvme_tcp_unit_cycles: Sourced<f64>,
    /// Cycles of the network stack for each page of 4 KiB of an answer that the card reads.
    pub nvme_tcp_page_cycles: Sourced<f64>,
    /// Cycles of a call for the digest of an answer.
    pub nvme_tcp_digest_cycles: Sourced<f64>,
    /// Time from an answer to the next request of its connection, outside the target.
    pub nvme_tcp_initiator_ns: Sourced<f64>,
}

impl ApplicationFacts {
    /// Work of `cycles`, with the instructions that retire in them.
    #[must_use]
    pub(crate) fn work(&self, cycles: &Sourced<f64>) -> Work {
        Work::of_cycles(cycles.value, self.instructions_per_cycle.value)
    }

    pub(crate) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        let rate = self.instructions_per_cycle.value;
        check.number("applications.instructions_per_cycle", rate, (0.1, 8.0))?;
        let bytes = self.key_value_client_bytes.value;
        check.whole("applications.key_value_client_bytes", bytes, (0, 1 << 20), "bytes")?;
        let cycles = [
            ("applications.l3_forward_cycles", &self.l3_forward_cycles),
            ("applications.packet_sink_cycles", &self.packet_sink_cycles),
            ("applications.packet_source_cycles", &self.packet_source_cycles),
            ("applications.filter_step_cycles", &self.filter_step_cycles),
            ("applications.napt_cycles", &self.napt_cycles),
            ("applications.load_balancer_cycles", &self.load_balancer_cycles),
            ("applications.new_flow_cycles", &self.new_flow_cycles),
            ("applications.key_value_bypass_cycles", &self.key_value_bypass_cycles),
            ("applications.key_value_plain_cycles", &self.key_value_plain_cycles),
            ("applications.key_value_socket_cycles", &self.key_value_socket_cycles),
            ("applications.vhost_enqueue_cycles", &self.vhost_enqueue_cycles),
            ("applications.vhost_dequeue_cycles", &self.vhost_dequeue_cycles),
            ("applications.vhost_track_cycles", &self.vhost_track_cycles),
            ("applications.vhost_guest_cycles", &self.vhost_guest_cycles),
            ("applications.cachelib_get_cycles", &self.cachelib_get_cycles),
            ("applications.cachelib_set_cycles", &self.cachelib_set_cycles),
            ("applications.message_call_cycles", &self.message_call_cycles),
            ("applications.message_poll_cycles", &self.message_poll_cycles),
            ("applications.message_sum_cycles", &self.message_sum_cycles),
            ("applications.nvme_tcp_round_cycles", &self.nvme_tcp_round_cycles),
            ("applications.nvme_tcp_request_cycles", &self.nvme_tcp_request_cycles),
            ("applications.nvme_tcp_answer_cycles", &self.nvme_tcp_answer_cycles),
            ("applications.nvme_tcp_unit_cycles", &self.nvme_tcp_unit_cycles),
            ("applications.nvme_tcp_page_cycles", &self.nvme_tcp_page_cycles),
            ("applications.nvme_tcp_digest_cycles", &self.nvme_tcp_digest_cycles),
            ("applications.nvme_tcp_initiator_ns", &self.nvme_tcp_initiator_ns),
        ];
        cycles.iter().try_for_each(|(key, cycles)| check.delay(key, cycles.value))
    }
}
