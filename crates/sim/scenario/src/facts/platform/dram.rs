//! DRAM of a socket as facts.

use crate::text::check::Check;
use crate::text::error::InputError;
use crate::text::sourced::Sourced;
use model::dram::{
    BankHash, ChannelHash, DramConfig, Geometry, RowPolicy, Timing, WriteQueueConfig,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Picos;

/// Memory of the socket: shape, interleave, timing by JEDEC's names, and the controller.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct DramFacts {
    /// Number of channels of the socket.
    pub channels: Sourced<u32>,
    /// Number of independent halves of a channel: 1 for DDR4, 2 for DDR5.
    pub subchannels: Sourced<u32>,
    /// Width of the data bus of a channel (DDR4) or subchannel (DDR5) without ECC.
    pub bus_bytes: Sourced<u32>,
    /// Number of ranks of each channel.
    pub ranks: Sourced<u32>,
    /// Number of bank groups of a rank.
    pub bank_groups: Sourced<u32>,
    /// Number of banks of a bank group.
    pub banks_per_group: Sourced<u32>,
    /// Size of the open row of a rank's bank.
    pub row_bytes: Sourced<u32>,
    /// Number of neighbouring lines on one channel.
    pub channel_granularity_lines: Sourced<u32>,
    /// Number of bank groups over which a channel's neighbouring lines are spread.
    pub neighbouring_bank_groups: Sourced<u32>,
    /// How lines are spread over channels.
    pub channel_hash: Sourced<ChannelHashName>,
    /// How rows are spread over banks.
    pub bank_hash: Sourced<BankHashName>,
    /// Data rate of the bus, in millions of transfers per second.
    pub mega_transfers_per_s: Sourced<f64>,
    /// Time from a read command to its first data.
    pub tcl_ns: Sourced<f64>,
    /// Time from a write command to its first data.
    pub tcwl_ns: Sourced<f64>,
    /// Least time from the activation of a row to a column command.
    pub trcd_ns: Sourced<f64>,
    /// Least time from a precharge to the next activation.
    pub trp_ns: Sourced<f64>,
    /// Least time from an activation to the precharge.
    pub tras_ns: Sourced<f64>,
    /// Least time between activations of a rank.
    pub trrd_ns: Sourced<f64>,
    /// Time in which a rank has at most four activations.
    pub tfaw_ns: Sourced<f64>,
    /// Least time between column commands of a bank group.
    pub tccd_l_ns: Sourced<f64>,
    /// Duration of a refresh.
    pub trfc_ns: Sourced<f64>,
    /// Time between refreshes of a rank.
    pub trefi_ns: Sourced<f64>,
    /// Least time from the last written data to the precharge.
    pub twr_ns: Sourced<f64>,
    /// Least time from the last written data to a read command.
    pub twtr_ns: Sourced<f64>,
    /// Least time from a read command to the precharge.
    pub trtp_ns: Sourced<f64>,
    /// When the controller closes open rows.
    pub row_policy: Sourced<RowPolicyName>,
    /// Time without use after which `open-for` closes a row; other policies ignore it.
    pub row_idle_ns: Sourced<f64>,
    /// Number of entries of a channel's write queue.
    pub write_queue_entries: Sourced<u32>,
    /// Waiting writes at which a batch begins.
    pub write_high_watermark: Sourced<u32>,
    /// Waiting writes at which a batch ends.
    pub write_low_watermark: Sourced<u32>,
    /// Mean idle time of the data bus after each line.
    pub burst_gap_ns: Sourced<f64>,
    /// Time from a core to the controller and back.
    pub path_ns: Sourced<f64>,
}

/// How lines are spread over channels.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ChannelHashName {
    /// In turn.
    Modulo,
    /// In turn, rotated by a hash of the higher address bits.
    Rotated,
}

/// How rows are spread over banks.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BankHashName {
    /// Address bits.
    Plain,
    /// Address bits XORed with those of the row.
    RowXor,
}

/// When rows of memory are closed.
#[derive(Clone, Copy, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum RowPolicyName {
    /// When another row is needed.
    Open,
    /// When a row has not been used for `row_idle_ns`.
    OpenFor,
    /// As soon as no request waits for a row.
    Closed,
}

impl DramFacts {
    pub(super) fn check(&self, check: &Check<'_>) -> Result<(), InputError> {
        let dram = self;
        check.whole("dram.channels", dram.channels.value, (1, 64), "")?;
        check.one_of("dram.subchannels", dram.subchannels.value, &[1, 2])?;
        check.one_of("dram.bus_bytes", dram.bus_bytes.value, &[2, 4, 8, 16])?;
        check.one_of("dram.ranks", dram.ranks.value, &[1, 2, 4, 8])?;
        check.one_of("dram.bank_groups", dram.bank_groups.value, &[1, 2, 4, 8])?;
        check.one_of("dram.banks_per_group", dram.banks_per_group.value, &[1, 2, 4, 8, 16])?;
        check.one_of("dram.row_bytes", dram.row_bytes.value, &[1024, 2048, 4096, 8192, 16_384])?;
        let granularity = dram.channel_granularity_lines.value;
        check.power_of_two("dram.channel_granularity_lines", granularity)?;
        let neighbouring = dram.neighbouring_bank_groups.value;
        check.power_of_two("dram.neighbouring_bank_groups", neighbouring)?;
        let groups = (1, dram.bank_groups.value);
        check.whole("dram.neighbouring_bank_groups", neighbouring, groups, "bank groups")?;
        let rate = dram.mega_transfers_per_s.value;
        check.number("dram.mega_transfers_per_s", rate, (100.0, 20_000.0))?;
        check.number("dram.trefi_ns", dram.trefi_ns.value, (dram.trfc_ns.value + 1.0, 1e6))?;
        check.number("dram.tfaw_ns", dram.tfaw_ns.value, (1.0, 1e3))?;
        check.number("dram.tccd_l_ns", dram.tccd_l_ns.value, (0.1, 1e3))?;
        let entries = dram.write_queue_entries.value;
        check.whole("dram.write_queue_entries", entries, (1, 1024), "lines")?;
        let high = dram.write_high_watermark.value;
        check.whole("dram.write_high_watermark", high, (1, entries), "lines")?;
        let low = dram.write_low_watermark.value;
        check.whole("dram.write_low_watermark", low, (0, high - 1), "lines")?;
        let delays = [
            ("dram.tcl_ns", &self.tcl_ns),
            ("dram.tcwl_ns", &self.tcwl_ns),
            ("dram.trcd_ns", &self.trcd_ns),
            ("dram.trp_ns", &self.trp_ns),
            ("dram.tras_ns", &self.tras_ns),
            ("dram.trrd_ns", &self.trrd_ns),
            ("dram.trfc_ns", &self.trfc_ns),
            ("dram.twr_ns", &self.twr_ns),
            ("dram.twtr_ns", &self.twtr_ns),
            ("dram.trtp_ns", &self.trtp_ns),
            ("dram.row_idle_ns", &self.row_idle_ns),
            ("dram.burst_gap_ns", &self.burst_gap_ns),
            ("dram.path_ns", &self.path_ns),
        ];
        delays.iter().try_for_each(|(key, delay)| check.delay(key, delay.value))
    }

    /// Configuration of a socket's memory.
    #[must_use]
    pub(crate) fn config(&self) -> DramConfig {
        let ns = |fact: &Sourced<f64>| Picos::from_ns(fact.value);
        DramConfig {
            geometry: Geometry {
                channels: self.channels.value * self.subchannels.value,
                ranks: self.ranks.value,
                bank_groups: self.bank_groups.value,
                banks_per_group: self.banks_per_group.value,
                row_bytes: self.row_bytes.value,
                channel_granularity_lines: self.channel_granularity_lines.value,
                neighbouring_bank_groups: self.neighbouring_bank_groups.value,
                channel_hash: match self.channel_hash.value {
                    ChannelHashName::Modulo => ChannelHash::Modulo,
                    ChannelHashName::Rotated => ChannelHash::Rotated,
                },
                bank_hash: match self.bank_hash.value {
                    BankHashName::Plain => BankHash::Plain,
                    BankHashName::RowXor => BankHash::RowXor,
                },
            },
            timing: self.timing(),
            row_policy: match self.row_policy.value {
                RowPolicyName::Open => RowPolicy::Open,
                RowPolicyName::OpenFor => RowPolicy::OpenFor(ns(&self.row_idle_ns)),
                RowPolicyName::Closed => RowPolicy::Closed,
            },
            writes: WriteQueueConfig {
                entries: self.write_queue_entries.value,
                high_watermark: self.write_high_watermark.value,
                low_watermark: self.write_low_watermark.value,
            },
            burst_gap: ns(&self.burst_gap_ns),
            path: ns(&self.path_ns),
        }
    }

    fn timing(&self) -> Timing {
        let ns = |fact: &Sourced<f64>| Picos::from_ns(fact.value);
        Timing {
            mega_transfers_per_s: self.mega_transfers_per_s.value,
            bus_bytes: self.bus_bytes.value,
            tcl: ns(&self.tcl_ns),
            tcwl: ns(&self.tcwl_ns),
            trcd: ns(&self.trcd_ns),
            trp: ns(&self.trp_ns),
            tras: ns(&self.tras_ns),
            trrd: ns(&self.trrd_ns),
            tfaw: ns(&self.tfaw_ns),
            tccd_l: ns(&self.tccd_l_ns),
            trfc: ns(&self.trfc_ns),
            trefi: ns(&self.trefi_ns),
            twr: ns(&self.twr_ns),
            twtr: ns(&self.twtr_ns),
            trtp: ns(&self.trtp_ns),
        }
    }
}
