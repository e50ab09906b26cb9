//! What values of options may be, and how they are read.

use crate::sizes;

macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$each:meta])* $variant:ident = $word:literal),+ $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
        pub enum $name {
            $($(#[$each])* #[value(name = $word)] $variant),+
        }

        impl $name {
            /// As options and scenarios name it.
            #[must_use]
            pub fn word(self) -> &'static str {
                match self { $(Self::$variant => $word),+ }
            }
        }
    };
}

words! {
    /// Memory, as seen from the socket of the engines.
    Node {
        /// Of the same socket.
        Local = "local",
        /// Of the other socket.
        OtherSocket = "other-socket",
        /// Behind CXL.
        Cxl = "cxl",
    }
}

words! {
    /// How a thread waits.
    Wait {
        /// It looks at the completion record again and again.
        Poll = "poll",
        /// It sleeps until the record's line is written.
        Umwait = "umwait",
        /// It sleeps until an interrupt (models only).
        Interrupt = "interrupt",
    }
}

words! {
    /// Where descriptors come from.
    Descriptors {
        /// Filled in once.
        Prepared = "prepared",
        /// Filled in for each operation.
        FilledIn = "filled-in",
        /// Allocated and filled in for each operation.
        Allocated = "allocated",
    }
}

words! {
    /// Pages of the buffers.
    Pages {
        /// 4 KiB.
        Base = "4K",
        /// 2 MiB.
        Huge = "2M",
        /// 1 GiB.
        Giant = "1G",
    }
}

words! {
    /// Where an operand is before an operation.
    Operand {
        /// Where the CPU and earlier operations leave it.
        Core = "core",
        /// In the LLC, and in no cache of a core.
        Llc = "llc",
        /// In memory only.
        Flushed = "flushed",
    }
}

/// The operands of the source and of the destination.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Operands {
    /// Of the source.
    pub source: Operand,
    /// Of the destination.
    pub destination: Operand,
}

impl Operands {
    /// By its name on the command line.
    ///
    /// # Errors
    /// If there is none, with what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let one =
            |letter: &str| match letter {
                "F" | "f" => Ok(Operand::Flushed),
                "L" | "l" => Ok(Operand::Llc),
                "C" | "c" => Ok(Operand::Core),
                _ => Err("allowed: F, L or C for the source and for the destination, such as F,F"
                    .to_owned()),
            };
        let (source, destination) = text.split_once(',').unwrap_or((text, text));
        Ok(Self { source: one(source)?, destination: one(destination)? })
    }
}

/// Sizes of a sweep.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sweep(pub Vec<u64>);

impl Sweep {
    /// By its name on the command line.
    ///
    /// # Errors
    /// If there is none, with what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        sizes::parse_range(text).map(Self)
    }
}

/// CPUs for threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cpus(pub Vec<u32>);

impl Cpus {
    /// By its name on the command line.
    ///
    /// # Errors
    /// If there is none, with what is allowed.
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

/// The kind of a queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum QueueKind {
    /// MOVDIR64B, posted: one client.
    Dedicated,
    /// ENQCMD, answered: any number of them.
    Shared,
}

impl QueueKind {
    /// By its name on the command line.
    ///
    /// # Errors
    /// If there is none, with what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        match text {
            "0" | "dedicated" => Ok(Self::Dedicated),
            "1" | "shared" => Ok(Self::Shared),
            _ => Err("allowed: 0 or dedicated, 1 or shared".into()),
        }
    }

    /// As sysfs and scenarios name it.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Dedicated => "dedicated",
            Self::Shared => "shared",
        }
    }
}

/// Block on fault: the engine waits for an absent page.
pub const BLOCK_ON_FAULT: u32 = 1 << 1;
/// Cache control: destinations go into the LLC.
pub const CACHE_CONTROL: u32 = 1 << 8;

/// Flags of descriptors that may be chosen.
///
/// # Errors
/// If it is no sum of them, with what is allowed.
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

/// A key of scenarios, and its value.
///
/// # Errors
/// If there is no equals sign, with what is allowed.
pub fn parse_setting(text: &str) -> Result<(String, String), String> {
    let parts =
        text.split_once('=').map(|(key, value)| (key.trim().to_owned(), value.trim().to_owned()));
    parts
        .ok_or_else(|| "allowed: KEY=VALUE, a key of scenarios (skipline schema lists them)".into())
}
