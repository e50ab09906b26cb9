//! Targets: devices, CPUs and simulated machines that do the operations.

/// A device, CPU or simulated machine that does the operations.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum BenchTarget {
    /// Queues that this process finds: of real devices or, below `skipline-dsa run`, of devices in software.
    Device,
    /// Queues of devices in software, in a process that is started below `skipline-dsa run`.
    Software,
    /// The CPUs of this machine.
    Cpu,
    /// The copy engines of a simulated machine: its platform.
    Model(String),
    /// The cores of a simulated machine: its platform.
    ModelCpu(String),
}

/// The values of `--on`, for messages.
pub const ALLOWED: &str = "device, software, cpu, model:PLATFORM, cpu-model:PLATFORM";

impl BenchTarget {
    /// Parses the name of a target.
    ///
    /// # Errors
    /// If no target or platform has this name: a sentence with all that have one.
    pub fn parse(text: &str) -> Result<Self, String> {
        let platform = |name: &str| {
            let known = scenario::builtin::platform_names();
            let is_file = std::path::Path::new(name).extension().is_some_and(|it| it == "toml");
            if is_file || known.iter().any(|it| it == name) {
                return Ok(name.to_owned());
            }
            Err(format!("no such platform; allowed: a file or one of {}", known.join(", ")))
        };
        match text {
            "device" => Ok(Self::Device),
            "software" => Ok(Self::Software),
            "cpu" => Ok(Self::Cpu),
            _ => match text.split_once(':') {
                Some(("model", name)) => Ok(Self::Model(platform(name)?)),
                Some(("cpu-model", name)) => Ok(Self::ModelCpu(platform(name)?)),
                _ => Err(format!("allowed: {ALLOWED}")),
            },
        }
    }

    /// The CPU in place of this target's devices or engines (`-m`).
    #[must_use]
    pub fn by_cpu(self) -> Self {
        match self {
            Self::Device | Self::Software | Self::Cpu => Self::Cpu,
            Self::Model(name) | Self::ModelCpu(name) => Self::ModelCpu(name),
        }
    }

    /// The origin of the target's numbers, as results state it: measured ones and simulated ones are never
    /// mixed.
    #[must_use]
    pub fn basis(&self) -> &'static str {
        match self {
            Self::Device => "measured on the queues that were found",
            Self::Software => "measured on a device in software: function, not speed",
            Self::Cpu => "measured on the CPUs of this machine",
            Self::Model(_) | Self::ModelCpu(_) => "simulated",
        }
    }

    /// The machine whose numbers these are, for the heads of columns.
    #[must_use]
    pub fn owner(&self) -> String {
        match self {
            Self::Device => "this machine's devices".into(),
            Self::Software => "this machine's CPUs as devices".into(),
            Self::Cpu => "this machine's CPUs".into(),
            Self::Model(name) => format!("engines of a simulated {name}"),
            Self::ModelCpu(name) => format!("cores of a simulated {name}"),
        }
    }

    /// Whether the speeds of two targets say something of each other: both are simulated, or both are hardware
    /// of this machine. A device in software has no speed of its own.
    #[must_use]
    pub fn is_comparable(&self, other: &Self) -> bool {
        let is_simulated = |it: &Self| matches!(it, Self::Model(_) | Self::ModelCpu(_));
        let is_hardware = |it: &Self| matches!(it, Self::Device | Self::Cpu);
        is_simulated(self) && is_simulated(other) || is_hardware(self) && is_hardware(other)
    }
}

impl std::fmt::Display for BenchTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Device => f.write_str("device"),
            Self::Software => f.write_str("software"),
            Self::Cpu => f.write_str("cpu"),
            Self::Model(name) => write!(f, "model:{name}"),
            Self::ModelCpu(name) => write!(f, "cpu-model:{name}"),
        }
    }
}
