//! Settings from the environment, read once before `main`.
//!
//! Variables of this library have priority over those of DTO ([`dto`]), and these over the file of
//! thresholds. A value that is not valid changes nothing, and is reported with the statistics.

mod dto;

use crate::functions::MemoryFunction;
use crate::tuning;
use dsa_client::thresholds::Thresholds;
use dsa_client::wait::WaitMethod;
use std::ffi::c_int;
use std::sync::OnceLock;

/// The destination of statistics.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReportDestination {
    /// Standard error.
    StandardError,
    /// A file of this path, to which each report is appended; `%p` stands for the process id.
    File(String),
}

impl ReportDestination {
    /// A file, relative to the directory in which the program starts.
    fn file(name: String) -> Self {
        let path = std::path::absolute(&name).map(std::path::PathBuf::into_os_string);
        Self::File(path.ok().and_then(|path| path.into_string().ok()).unwrap_or(name))
    }
}

/// The settings of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreloadSettings {
    /// Whether devices are used at all.
    pub is_on: bool,
    /// The size in bytes from which on a device is used, by function; `u64::MAX`: never.
    pub least_bytes: [u64; 4],
    /// Names of the queues to use. Default: `None`, all shared queues.
    pub queues: Option<Vec<String>>,
    /// The share of a copy or fill that the CPU processes, in 256ths. Default: 0.
    pub cpu_share: u32,
    /// Whether sizes and share follow the times of calls.
    pub tunes: bool,
    /// Whether a child opens queues when it is forked.
    pub opens_in_children: bool,
    /// How threads wait. Default: they poll.
    pub wait: WaitMethod,
    /// How often a full queue is tried again. Default: 16.
    pub retries: u32,
    /// Where statistics are written at the end of the program; `None`: nowhere.
    pub statistics: Option<ReportDestination>,
    /// The signal on which statistics are written.
    pub signal: Option<c_int>,
    /// Problems with values that are not valid, in words.
    pub troubles: Vec<String>,
}

static SETTINGS: OnceLock<PreloadSettings> = OnceLock::new();

/// The settings of this process; `None` until they are read.
#[inline]
pub fn current() -> Option<&'static PreloadSettings> {
    SETTINGS.get()
}

/// Reads the settings from the environment. A program with raised privileges gets none.
pub fn read() -> &'static PreloadSettings {
    SETTINGS.get_or_init(|| {
        // SAFETY: it returns a number.
        let is_privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
        if is_privileged {
            // A user who starts a program with more rights must not have it open or write files.
            return PreloadSettings {
                is_on: false,
                ..PreloadSettings::from_environment(&|_| None)
            };
        }
        PreloadSettings::from_environment(&|name| {
            std::env::var(name).ok().filter(|value| !value.is_empty())
        })
    })
}

impl PreloadSettings {
    /// The size in bytes from which on calls of a function go to a device, also those that tuning only tries.
    #[inline]
    pub fn least_bytes_tried(&self, function: MemoryFunction) -> u64 {
        match self.least_bytes[function as usize] {
            u64::MAX => u64::MAX,
            least if self.tunes => least.min(tuning::LEAST_BYTES),
            least => least,
        }
    }
}

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

impl PreloadSettings {
    fn from_environment(environment: Environment<'_>) -> Self {
        let mut settings = Self {
            is_on: true,
            least_bytes: [0; 4],
            queues: None,
            cpu_share: 0,
            tunes: false,
            opens_in_children: false,
            wait: WaitMethod::Poll,
            retries: 16,
            statistics: None,
            signal: None,
            troubles: Vec::new(),
        };
        settings.take_thresholds(environment);
        settings.take_dto(environment);
        settings.take_own(environment);
        settings
    }

    fn take_thresholds(&mut self, environment: Environment<'_>) {
        let file = environment("SKIPLINE_DSA_THRESHOLDS");
        let read = file.map_or(Ok(Thresholds::default()), |file| Thresholds::read(file.as_ref()));
        let thresholds = read.unwrap_or_else(|error| {
            self.troubles.push(error.to_string());
            Thresholds::default()
        });
        self.least_bytes =
            MemoryFunction::ALL.map(|function| thresholds.synchronous_bytes(function.opcode()));
    }

    fn take_own(&mut self, environment: Environment<'_>) {
        let own = |name: &str| environment(&format!("SKIPLINE_DSA_PRELOAD_{name}"));
        match environment("SKIPLINE_DSA_PRELOAD").as_deref() {
            None | Some("on") => {}
            Some("off") => self.is_on = false,
            Some(other) => self.trouble("SKIPLINE_DSA_PRELOAD", other, "on, off"),
        }
        if let Some(names) = environment("SKIPLINE_DSA_QUEUES") {
            self.queues = Some(listed(&names, ','));
        }
        if let Some(value) = own("MIN_BYTES") {
            match value.parse() {
                Ok(bytes) => self.begin_at(bytes),
                Err(_) => self.trouble("SKIPLINE_DSA_PRELOAD_MIN_BYTES", &value, "a number"),
            }
        }
        if let Some(value) = own("FUNCTIONS") {
            self.take_functions(&value);
        }
        if let Some(value) = own("CPU_SHARE") {
            self.take_share("SKIPLINE_DSA_PRELOAD_CPU_SHARE", &value);
        }
        if let Some(value) = own("TUNE") {
            match value.as_str() {
                "on" => self.tunes = true,
                "off" => self.tunes = false,
                _ => self.trouble("SKIPLINE_DSA_PRELOAD_TUNE", &value, "on, off"),
            }
        }
        match own("CHILDREN").as_deref() {
            None | Some("off") => {}
            Some("on") => self.opens_in_children = true,
            Some(other) => self.trouble("SKIPLINE_DSA_PRELOAD_CHILDREN", other, "on, off"),
        }
        match own("WAIT").as_deref() {
            None => {}
            Some("poll") => self.wait = WaitMethod::Poll,
            Some("yield") => self.wait = WaitMethod::Yield,
            Some("line") => self.wait = WaitMethod::Line,
            Some(other) => {
                self.trouble("SKIPLINE_DSA_PRELOAD_WAIT", other, "poll, yield, line");
            }
        }
        if let Some(value) = own("STATISTICS") {
            self.statistics = Some(match value.as_str() {
                "stderr" => ReportDestination::StandardError,
                _ => ReportDestination::file(value),
            });
        }
        if let Some(value) = own("SIGNAL") {
            self.take_signal(&value);
        }
    }

    fn take_functions(&mut self, value: &str) {
        let names = listed(value, ',');
        let is_known = |name: &String| MemoryFunction::ALL.iter().any(|known| known.name() == name);
        if !names.iter().all(is_known) {
            let allowed = "memcpy, memmove, memset, memcmp with commas between them";
            return self.trouble("SKIPLINE_DSA_PRELOAD_FUNCTIONS", value, allowed);
        }
        for function in MemoryFunction::ALL {
            if !names.iter().any(|name| name == function.name()) {
                self.leave_to_cpu(function);
            }
        }
    }

    /// Sets the size of all functions that are not left to the CPU.
    fn begin_at(&mut self, bytes: u64) {
        for least in self.least_bytes.iter_mut().filter(|least| **least != u64::MAX) {
            *least = bytes;
        }
    }

    fn leave_to_cpu(&mut self, function: MemoryFunction) {
        self.least_bytes[function as usize] = u64::MAX;
    }

    fn take_share(&mut self, name: &str, value: &str) {
        let most = f64::from(tuning::MOST_CPU_SHARE) / 256.0;
        match value.parse::<f64>() {
            Ok(share) if (0.0..1.0).contains(&share) => {
                let share = units::narrow::whole(share.min(most) * 256.0);
                self.cpu_share = units::narrow::low_u32(share);
            }
            _ => self.trouble(name, value, "from 0 to below 1"),
        }
    }

    fn take_signal(&mut self, value: &str) {
        let name = value.strip_prefix("SIG").unwrap_or(value);
        let number = match name {
            "USR1" => Some(libc::SIGUSR1),
            "USR2" => Some(libc::SIGUSR2),
            _ => name.parse().ok().filter(|number| {
                let is_real_time = (libc::SIGRTMIN()..=libc::SIGRTMAX()).contains(number);
                is_real_time || [libc::SIGUSR1, libc::SIGUSR2].contains(number)
            }),
        };
        match number {
            Some(number) => self.signal = Some(number),
            None => {
                let allowed = "USR1, USR2, or the number of one of these or of a real-time signal";
                self.trouble("SKIPLINE_DSA_PRELOAD_SIGNAL", value, allowed);
            }
        }
    }

    fn trouble(&mut self, name: &str, value: &str, allowed: &str) {
        self.troubles.push(format!("{name}={value}: allowed is {allowed}"));
    }
}

fn listed(names: &str, separator: char) -> Vec<String> {
    let names = names.split(separator).map(str::trim).filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}
