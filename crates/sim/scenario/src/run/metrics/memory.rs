//! Metrics of memory: lines moved by DRAM, CXL cards and the link between sockets.

use super::machine::MachineAgents;
use crate::contract::arithmetic::gbytes_per_s;
use crate::contract::metric::Group::Memory;
use crate::contract::metric::{Metric, named};

/// All metrics of memory.
pub(crate) const METRICS: &[Metric<MachineAgents>] = &[
    named(Memory, "dram_read_gbytes_per_s", "GB/s", "DRAM reads")
        .about("Lines read from the DRAM of all sockets.")
        .headline()
        .rate(|m| gbytes_per_s(m.sample.dram_lines.0, m.sample.span)),
    named(Memory, "dram_write_gbytes_per_s", "GB/s", "DRAM writes")
        .about("Lines written to the DRAM of all sockets.")
        .headline()
        .rate(|m| gbytes_per_s(m.sample.dram_lines.1, m.sample.span)),
    named(Memory, "cxl_read_gbytes_per_s", "GB/s", "CXL memory reads")
        .about("Lines read from CXL memory.")
        .rate(|m| gbytes_per_s(m.sample.cxl_lines.0, m.sample.span)),
    named(Memory, "cxl_write_gbytes_per_s", "GB/s", "CXL memory writes")
        .about("Lines written to CXL memory.")
        .rate(|m| gbytes_per_s(m.sample.cxl_lines.1, m.sample.span)),
    named(Memory, "other_socket_gbytes_per_s", "GB/s", "Other socket's memory")
        .about("Lines read and written whose memory belongs to another socket.")
        .rate(|m| gbytes_per_s(m.sample.counters.remote_lines, m.sample.span)),
];
