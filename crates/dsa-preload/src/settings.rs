//! What the environment asks for, read once before `main`.
//!
//! Names of this library go before those that DTO has ([`dto`]), and these before the file of thresholds.
//! What cannot be understood changes nothing, and is told with the statistics.

mod dto;

use crate::functions::Function;
use crate::tuning;
use dsa_client::thresholds::Thresholds;
use std::ffi::c_int;
use std::sync::OnceLock;

/// What a thread does while a device works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// It looks again and again, and lets others have the CPU after a while.
    Poll,
    /// It lets others have the CPU each time.
    Yield,
    /// It waits for the line of the record, where the processor can (UMWAIT); else it polls.
    Line,
}

/// Where statistics go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    StandardError,
    /// A file, to which each report is appended; `%p` is the process.
    File(String),
}

impl Destination {
    /// A file, named from the directory in which the program starts.
    fn of_file(name: String) -> Self {
        let path = std::path::absolute(&name).map(std::path::PathBuf::into_os_string);
        Self::File(path.ok().and_then(|path| path.into_string().ok()).unwrap_or(name))
    }
}

/// The settings of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Settings {
    /// Whether devices are used at all.
    pub is_on: bool,
    /// From which size on a device is used, in bytes, by function; `u64::MAX`: never.
    pub least_bytes: [u64; 4],
    /// Names of queues; `None`: all shared ones.
    pub queues: Option<Vec<String>>,
    /// The CPU's share of a copy or fill, in parts of 256.
    pub cpu_share: u32,
    /// Whether sizes and share follow what calls take.
    pub tunes: bool,
    /// Whether a child opens queues at the fork that it comes of.
    pub opens_in_children: bool,
    pub wait: Wait,
    /// Times that a full queue is tried.
    pub retries: u32,
    pub statistics: Option<Destination>,
    /// The signal that asks for statistics.
    pub signal: Option<c_int>,
    /// What could not be understood.
    pub troubles: Vec<String>,
}

static SETTINGS: OnceLock<Settings> = OnceLock::new();

/// Those of this process, once they were read.
#[inline]
pub fn current() -> Option<&'static Settings> {
    SETTINGS.get()
}

/// Reads the environment.
pub fn read() -> &'static Settings {
    SETTINGS.get_or_init(|| {
        // SAFETY: it asks for a number.
        let is_privileged = unsafe { libc::getauxval(libc::AT_SECURE) } != 0;
        if is_privileged {
            // Who starts a program with more rights must not have it open or write files.
            return Settings { is_on: false, ..Settings::of(&|_| None) };
        }
        Settings::of(&|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    })
}

impl Settings {
    /// From which size on a device is tried for a function.
    #[inline]
    pub fn least_bytes_tried(&self, function: Function) -> u64 {
        match self.least_bytes[function as usize] {
            u64::MAX => u64::MAX,
            least if self.tunes => least.min(tuning::LEAST_BYTES),
            least => least,
        }
    }
}

type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

impl Settings {
    fn of(environment: Environment<'_>) -> Self {
        let mut settings = Self {
            is_on: true,
            least_bytes: [0; 4],
            queues: None,
            cpu_share: 0,
            tunes: false,
            opens_in_children: false,
            wait: Wait::Poll,
            retries: 16,
            statistics: None,
            signal: None,
            troubles: Vec::new(),
        };
        settings.take_thresholds(environment);
        settings.take_those_of_dto(environment);
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
            Function::ALL.map(|function| thresholds.synchronous_bytes(function.opcode()));
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
            Some("poll") => self.wait = Wait::Poll,
            Some("yield") => self.wait = Wait::Yield,
            Some("line") => self.wait = Wait::Line,
            Some(other) => {
                self.trouble("SKIPLINE_DSA_PRELOAD_WAIT", other, "poll, yield, line");
            }
        }
        if let Some(value) = own("STATISTICS") {
            self.statistics = Some(match value.as_str() {
                "stderr" => Destination::StandardError,
                _ => Destination::of_file(value),
            });
        }
        if let Some(value) = own("SIGNAL") {
            self.take_signal(&value);
        }
    }

    fn take_functions(&mut self, value: &str) {
        let names = listed(value, ',');
        let is_known = |name: &String| Function::ALL.iter().any(|known| known.name() == name);
        if !names.iter().all(is_known) {
            let allowed = "memcpy, memmove, memset, memcmp with commas between them";
            return self.trouble("SKIPLINE_DSA_PRELOAD_FUNCTIONS", value, allowed);
        }
        for function in Function::ALL {
            if !names.iter().any(|name| name == function.name()) {
                self.leave_to_cpu(function);
            }
        }
    }

    /// Sets the size of all functions that may be a device's.
    fn begin_at(&mut self, bytes: u64) {
        for least in self.least_bytes.iter_mut().filter(|least| **least != u64::MAX) {
            *least = bytes;
        }
    }

    fn leave_to_cpu(&mut self, function: Function) {
        self.least_bytes[function as usize] = u64::MAX;
    }

    fn take_share(&mut self, name: &str, value: &str) {
        let most = f64::from(tuning::MOST_CPU_SHARE) / 256.0;
        match value.parse::<f64>() {
            Ok(share) if (0.0..1.0).contains(&share) => {
                let parts = units::narrow::whole(share.min(most) * 256.0);
                self.cpu_share = units::narrow::low_u32(parts);
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
