//! Types of option values: their names, and how the command line is parsed into them.

use crate::sizes;

macro_rules! named_values {
    ($(#[$doc:meta])* $type:ident { $($(#[$variant_doc:meta])* $variant:ident = $name:literal),+ $(,)? }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
        pub enum $type {
            $($(#[$variant_doc])* #[value(name = $name)] $variant),+
        }

        impl $type {
            /// The name that options and scenarios use for this value.
            #[must_use]
            pub fn name(self) -> &'static str {
                match self { $(Self::$variant => $name),+ }
            }
        }
    };
}

named_values! {
    /// The memory of a buffer, as seen from the socket of the engines.
    MemoryNode {
        /// Memory of the same socket.
        Local = "local",
        /// Memory of the other socket.
        OtherSocket = "other-socket",
        /// Memory behind CXL.
        Cxl = "cxl",
    }
}

named_values! {
    /// How a thread waits for the completion of a descriptor.
    WaitMethod {
        /// The thread reads the completion record again and again.
        Poll = "poll",
        /// The thread executes PAUSE between two reads (not on models).
        Pause = "pause",
        /// The thread sleeps (UMWAIT) until the record's cache line is written.
        Umwait = "umwait",
        /// The thread sleeps until an interrupt (models only).
        Interrupt = "interrupt",
    }
}

named_values! {
    /// How often descriptors are made.
    DescriptorSource {
        /// Filled in once.
        Prepared = "prepared",
        /// Filled in for each operation.
        FilledIn = "filled-in",
        /// Allocated and filled in for each operation.
        Allocated = "allocated",
    }
}

named_values! {
    /// Size of the pages of the buffers.
    PageSize {
        /// 4 KiB.
        Base = "4K",
        /// 2 MiB.
        Huge = "2M",
        /// 1 GiB.
        Giant = "1G",
    }
}

named_values! {
    /// The location of an operand's cache lines before an operation.
    OperandPlacement {
        /// In the caches or the memory where the CPU and earlier operations have left the lines.
        Core = "core",
        /// In the LLC, and in no cache of a core.
        Llc = "llc",
        /// In memory only.
        Flushed = "flushed",
        /// In the caches of the CPU, prefetched (not on models).
        Prefetched = "prefetched",
    }
}

/// The locations of source and destination before an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperandPlacements {
    /// Location of the source.
    pub source: OperandPlacement,
    /// Location of the destination.
    pub destination: OperandPlacement,
}

impl OperandPlacements {
    /// Parses `S,D`, or one name for both: `core`, `llc`, `flushed`, `prefetched`.
    ///
    /// # Errors
    /// If the text is not such a pair: a sentence with the allowed names.
    pub fn parse(text: &str) -> Result<Self, String> {
        use clap::ValueEnum;
        let one = |name: &str| {
            OperandPlacement::from_str(name, false).map_err(|_| {
                "allowed: core, llc, flushed or prefetched for the source and for the destination, \
                 such as flushed,flushed"
                    .to_owned()
            })
        };
        let (source, destination) = text.split_once(',').unwrap_or((text, text));
        Ok(Self { source: one(source)?, destination: one(destination)? })
    }

    /// The names as [`Self::parse`] reads them.
    #[must_use]
    pub fn names(&self) -> String {
        format!("{},{}", self.source.name(), self.destination.name())
    }
}

/// The transfer sizes of a sweep, in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SizeSweep(pub Vec<u64>);

impl SizeSweep {
    /// Parses `FROM-TO` or `FROM-TO*FACTOR` ([`sizes::parse_range`]).
    ///
    /// # Errors
    /// If the text is not such a range: a sentence with the allowed form.
    pub fn parse(text: &str) -> Result<Self, String> {
        sizes::parse_range(text).map(Self)
    }
}

/// The CPUs that threads are pinned to, in turn.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuList(pub Vec<u32>);

impl CpuList {
    /// Parses numbers and ranges, such as `5-8,10`.
    ///
    /// # Errors
    /// If the text is not such a list, or a number is 8192 or larger: a sentence with the allowed form.
    pub fn parse(text: &str) -> Result<Self, String> {
        let allowed = || "allowed: numbers of CPUs and ranges of them, such as 5-8,10".to_owned();
        let number =
            |text: &str| text.parse::<u32>().ok().filter(|&cpu| cpu < 8192).ok_or_else(allowed);
        let mut cpus = Vec::new();
        for part in text.split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return Err(allowed());
            }
            cpus.extend(first..=last);
        }
        Ok(Self(cpus))
    }
}

/// The mode of a work queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueKind {
    /// Takes descriptors by MOVDIR64B, a posted write; has one client.
    Dedicated,
    /// Takes descriptors by ENQCMD, which reports a full queue; has any number of clients.
    Shared,
}

impl QueueKind {
    /// Parses the mode by name, or by its number in dsa-perf-micros: 0 dedicated, 1 shared.
    ///
    /// # Errors
    /// If the text is neither: a sentence with the allowed values.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "0" | "dedicated" => Ok(Self::Dedicated),
            "1" | "shared" => Ok(Self::Shared),
            _ => Err("allowed: 0 or dedicated, 1 or shared".into()),
        }
    }

    /// The name that sysfs and scenarios use for this mode.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dedicated => "dedicated",
            Self::Shared => "shared",
        }
    }
}

/// Flag "block on fault": the engine waits until an absent page is present.
pub const BLOCK_ON_FAULT: u32 = 1 << 1;
/// Flag "cache control": destinations are written into the LLC.
pub const CACHE_CONTROL: u32 = 1 << 8;

/// Parses flags of descriptors, in decimal or, with 0x, in hexadecimal digits: [`BLOCK_ON_FAULT`],
/// [`CACHE_CONTROL`] or their sum.
///
/// # Errors
/// If the text has any other flag: a sentence with the allowed ones.
pub fn parse_flags(text: &str) -> Result<u32, String> {
    let number = match text.strip_prefix("0x") {
        Some(digits) => u32::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    };
    let known = BLOCK_ON_FAULT | CACHE_CONTROL;
    number.filter(|flags| flags & !known == 0).ok_or_else(|| {
        format!("allowed: sums of {BLOCK_ON_FAULT:#x} (block on fault) and {CACHE_CONTROL:#x} (cache control)")
    })
}

/// Parses `KEY=VALUE`: a key of scenarios and its value, without surrounding spaces.
///
/// # Errors
/// If the text has no equals sign: a sentence with the allowed form.
pub fn parse_setting(text: &str) -> Result<(String, String), String> {
    let parts =
        text.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    parts
        .ok_or_else(|| "allowed: KEY=VALUE, a key of scenarios (skipline schema lists them)".into())
}
