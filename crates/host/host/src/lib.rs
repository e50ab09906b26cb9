//! The real machine: reads how I/O data reaches its cache, changes that safely, measures it and restores
//! the old settings.
//!
//! | module | what it is |
//! | --- | --- |
//! | `machine` | the machine at hand: its files and backends |
//! | `root`, `error`, `unavailable` | files below one directory; errors of files; reason and remedy of an item that is unavailable |
//! | `kernel_rules` | the kernel's rules for writes to registers: lockdown, filter, taint |
//! | `offline` | CPUs that are offline, and sockets that nothing can reach because of that |
//! | `numa` | NUMA nodes: their CPUs, their socket, the node of an address |
//! | `hex` | registers and masks in JSON |
//! | `registers`, `pci_config`, `control_files`, `rings`, `ethtool`, `uncore`, `probe_memory` | backends, each behind one trait |
//! | `fake` | the backends of a described machine, a directory tree |
//! | `cpu`, `pci_address`, `pci`, `resctrl` | parsers of the descriptions that kernel and hardware give |
//! | `controls` | registers and kernel files that may be written, and their allow-list |
//! | `status` | everything about I/O and caches in one structure, with explanations |
//! | `doctor` | tries which things can be read and changed |
//! | `tune` | plans, journal, writing with read-back, restoring, verification |
//! | `monitor` | hits, misses, bandwidth and occupancy, counted in windows of time |
//! | `observe` | a running server as a scenario of the simulator, a source for each value |
//! | `steer` | controllers that set ways by what `monitor` counts |
//! | `slices` | which slice a line is in, by counters or timing; latencies to slices |
//! | `calibrate` | measures caches and memory, writes a platform file |
//!
//! Nothing here prints or exits. `data/` contains the tables of generations and events.

pub mod calibrate;
pub mod control_files;
pub mod controls;
pub mod cpu;
pub mod doctor;
pub mod error;
pub mod ethtool;
pub mod fake;
mod hex;
mod kernel_rules;
mod machine;
pub mod monitor;
mod numa;
pub mod observe;
pub mod offline;
pub mod pci;
pub mod pci_address;
pub mod pci_config;
pub mod probe_memory;
pub mod registers;
pub mod resctrl;
pub mod rings;
mod root;
pub mod slices;
pub mod status;
pub mod steer;
pub mod tune;
mod unavailable;
pub mod uncore;

pub use machine::Host;
pub use root::Root;
pub use unavailable::Unavailable;
