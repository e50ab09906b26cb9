//! Who does the operations.

/// Who does the operations, and what the answer is worth.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    /// Queues that this process finds: of real devices, or of those of `skipline-dsa run`.
    Device,
    /// The same below `skipline-dsa run`.
    Software,
    /// The CPUs of this machine.
    Cpu,
    /// The copy engines of a simulated machine.
    Model(String),
    /// The cores of a simulated machine.
    ModelCpu(String),
}

/// What `--on` may name.
pub const ALLOWED: &str = "device, software, cpu, model:PLATFORM, cpu-model:PLATFORM";

impl Target {
    /// A target by name.
    ///
    /// # Errors
    /// If there is none, with all that there are.
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

    /// The same with the CPU in place of engines (`-m`).
    #[must_use]
    pub fn by_cpu(self) -> Self {
        match self {
            Self::Device | Self::Software | Self::Cpu => Self::Cpu,
            Self::Model(name) | Self::ModelCpu(name) => Self::ModelCpu(name),
        }
    }

    /// What its numbers are: measured ones and simulated ones are never mixed.
    #[must_use]
    pub fn basis(&self) -> &'static str {
        match self {
            Self::Device => "measured on the queues that were found",
            Self::Software => "measured on a device in software: function, not speed",
            Self::Cpu => "measured on the CPUs of this machine",
            Self::Model(_) | Self::ModelCpu(_) => "simulated",
        }
    }
}

impl std::fmt::Display for Target {
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
