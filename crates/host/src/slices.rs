//! Which slice of the last-level cache a line is in, asked of the machine itself.
//!
//! | module | what it is |
//! | --- | --- |
//! | `memory`, `huge_pages`, `touch` | huge pages whose physical address is known; loads, flushes, timed loads |
//! | `counters` | how boxes are read: through perf, else through their registers |
//! | `programmed` | box registers while look-ups are counted: journalled, read back, put back |
//! | `home` | whose memory an address is; whether a published function can be this socket's |
//! | `lookups` | one question: the box that saw a line's accesses |
//! | `timing`, `classes` | one question without counters: latencies from several cores, sorted into classes |
//! | `latency` | latencies from cores to slices |
//!
//! Single answers may be wrong: callers decide by votes.

mod classes;
mod counters;
mod home;
mod huge_pages;
mod latency;
mod lookups;
mod memory;
mod programmed;
mod timing;
mod touch;

pub use counters::{BoxReaders, Counting, NoCounters, SliceMachine};
pub use home::{node_of_address, nodes_of_socket};
pub use huge_pages::HugePages;
pub use latency::{LatencyPlan, SliceLatency, measure_latencies, typical};
pub use lookups::LookupOracle;
pub use memory::{MemoryError, MemorySource, ProbeMemory, ProbePage, ProbePageSize};
pub use programmed::{BoxPlan, ProgramError, ProgrammedBoxes};
pub use timing::{ClassesError, TimingOracle, TimingPlan};
