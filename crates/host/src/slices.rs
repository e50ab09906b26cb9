//! Which slice of the last-level cache a line is in, asked of the machine itself.
//!
//! | module | what it is |
//! | --- | --- |
//! | `counters` | how boxes are read: through perf, else through their registers |
//! | `box_programming` | box registers while look-ups are counted: journalled, read back, put back |
//! | `socket` | the socket that is meant; whether a published function can be this socket's |
//! | `lookup_oracle` | one question: the box that saw a line's accesses |
//! | `timing_oracle`, `latency_classes` | one question without counters: latencies from several cores, sorted into classes |
//! | `latency` | latencies from cores to slices |
//!
//! Single answers may be wrong: callers decide by votes.

mod box_programming;
mod counters;
mod latency;
mod latency_classes;
mod lookup_oracle;
mod socket;
mod timing_oracle;

pub use box_programming::{BoxPlan, ProgramError, ProgrammedBoxes};
pub use counters::{BoxReaders, CountersError, CountingMethod, SliceMachine};
pub use latency::{CoreToSliceLatency, LatencyPlan, measure_latencies, median};
pub use lookup_oracle::LookupOracle;
pub use timing_oracle::{ClassesError, TimingOracle, TimingPlan};
