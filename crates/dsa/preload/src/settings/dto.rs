//! Variables of Intel's DTO, recalled from its public description and not compared with a release.
//!
//! Two variables are not accepted, since they have no meaning here: `DTO_LOG_LEVEL`, as nothing is
//! logged, and `DTO_IS_NUMA_AWARE`, as queues of the own node are preferred anyway.

use super::{Environment, PreloadSettings, ReportDestination, listed};
use crate::functions::MemoryFunction;
use dsa_client::wait::WaitMethod;

impl PreloadSettings {
    /// Takes the settings that DTO's variables make.
    pub(super) fn take_dto(&mut self, environment: Environment<'_>) {
        let dto = |name: &str| environment(&format!("DTO_{name}"));
        let is_set = |name: &str| dto(name).is_some_and(|value| value != "0");
        if is_set("USESTDC_CALLS") {
            self.is_on = false;
        }
        if let Some(value) = dto("MIN_BYTES") {
            match value.parse() {
                Ok(bytes) => self.begin_at(bytes),
                Err(_) => self.trouble("DTO_MIN_BYTES", &value, "a number"),
            }
        }
        for function in MemoryFunction::ALL {
            let name = format!("DSA_{}", function.name().to_uppercase());
            if dto(&name).is_some_and(|value| value == "0") {
                self.leave_to_cpu(function);
            }
        }
        if let Some(value) = dto("CPU_SIZE_FRACTION") {
            self.take_share("DTO_CPU_SIZE_FRACTION", &value);
        }
        self.tunes |= is_set("AUTO_ADJUST_KNOBS");
        if let Some(names) = dto("WQ_LIST") {
            let names = listed(&names, ';');
            let last = |name: &String| name.rsplit('/').next().unwrap_or_default().to_owned();
            self.queues = Some(names.iter().map(last).collect());
        }
        if let Some(value) = dto("ENQCMD_MAX_RETRIES") {
            match value.parse() {
                Ok(retries) => self.retries = retries,
                Err(_) => self.trouble("DTO_ENQCMD_MAX_RETRIES", &value, "a number"),
            }
        }
        match dto("WAIT_METHOD").as_deref() {
            None => {}
            Some("busypoll") => self.wait = WaitMethod::Poll,
            Some("yield" | "sleep" | "tpause") => self.wait = WaitMethod::Yield,
            Some("umwait") => self.wait = WaitMethod::Line,
            Some(other) => {
                let allowed = "busypoll, umwait, yield, sleep, tpause (these two yield here)";
                self.trouble("DTO_WAIT_METHOD", other, allowed);
            }
        }
        if is_set("COLLECT_STATS") {
            let file = dto("LOG_FILE");
            self.statistics =
                Some(file.map_or(ReportDestination::StandardError, ReportDestination::file));
        }
    }
}
