//! Which slice of the last-level cache a line is in, asked of the machine itself.
//!
//! | module | what it is |
//! | --- | --- |
//! | `counters` | how boxes are read: through perf, else through their registers |
//! | `programmed` | box registers while look-ups are counted: journalled, read back, put back |
//! | `socket` | the socket that is meant; whether a published function can be this socket's |
//! | `lookups` | one question: the box that saw a line's accesses |
//! | `timing`, `classes` | one question without counters: latencies from several cores, sorted into classes |
//! | `latency` | latencies from cores to slices |
//!
//! Single answers may be wrong: callers decide by votes.

mod classes;
mod counters;
mod latency;
mod lookups;
mod programmed;
mod socket;
mod timing;

pub use counters::{BoxReaders, Counting, NoCounters, SliceMachine};
pub use latency::{LatencyPlan, SliceLatency, measure_latencies, typical};
pub use lookups::LookupOracle;
pub use programmed::{BoxPlan, ProgramError, ProgrammedBoxes};
pub use timing::{ClassesError, TimingOracle, TimingPlan};
