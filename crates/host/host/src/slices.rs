//! Finds the slice of the last-level cache that a line is in, by experiments on the machine itself.
//!
//! | module | what it is |
//! | --- | --- |
//! | `counters` | counters of look-ups: through perf, else through registers of the boxes |
//! | `box_programming` | box registers while look-ups are counted: journalled, read back, put back |
//! | `socket` | selection of a socket; check whether a published function can be that socket's |
//! | `lookup_oracle` | the slice of a line, by the box that counts its look-ups |
//! | `timing_oracle`, `latency_classes` | the slice of a line without counters: latencies from several cores, sorted into classes |
//! | `latency` | latencies from cores to slices |
//! | `eviction_test` | whether lines evict another one, by the time of a load |
//!
//! Single answers may be wrong: callers decide by votes.

mod box_programming;
mod counters;
mod eviction_test;
mod latency;
mod latency_classes;
mod lookup_oracle;
mod socket;
mod timing_oracle;

pub use box_programming::{BoxPlan, ProgramError, ProgrammedBoxes};
pub use counters::{BoxReaders, CountersError, CountingMethod, SliceMachine};
pub use eviction_test::{EvictionTest, LoadTimesError};
pub use latency::{CoreToSliceLatency, LatencyPlan, measure_latencies, median};
pub use lookup_oracle::LookupOracle;
pub use timing_oracle::{ClassesError, TimingOracle, TimingPlan};
