//! The CPU of this machine, and whether it is the one of a table.

use std::io;

/// Reasons why a placement that follows the table may still bring no speed: the table is for another CPU
/// model, or this is a virtual machine.
pub fn caveats(part: &str, cpu_info: &str) -> Vec<String> {
    let value = |key: &str| {
        let line = cpu_info.lines().find(|line| line.split(':').next().map(str::trim) == Some(key));
        line.and_then(|line| line.split_once(':')).map_or("", |(_, value)| value.trim())
    };
    let model = value("model name");
    let mut caveats = Vec::new();
    // Both have the model's number: "Xeon E5-2667 v3", "Intel(R) Xeon(R) CPU E5-2667 v3 @ 3.20GHz".
    let mut numbers =
        part.split_whitespace().filter(|word| word.contains(|c: char| c.is_ascii_digit()));
    if !numbers.all(|number| model.split_whitespace().any(|word| word == number)) {
        let known = if model.is_empty() { "an unknown CPU" } else { model };
        caveats.push(format!(
            "emulated: the table is for {part}, this machine is {known}; the placement follows the \
             table, and no speed-up is promised"
        ));
    }
    if value("flags").split_whitespace().any(|flag| flag == "hypervisor") {
        caveats.push(
            "a virtual machine: physical addresses are the guest's, which the cache does not see"
                .into(),
        );
    }
    caveats
}

/// The kernel's description of the processors; empty if it cannot be read.
pub fn cpu_info() -> String {
    std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default()
}

/// Ties this thread to a core.
pub fn pin_to_core(core: usize) -> io::Result<()> {
    let mut only = rustix::thread::CpuSet::new();
    only.set(core);
    Ok(rustix::thread::sched_setaffinity(None, &only)?)
}

/// The message of [`pin_to_core`]'s error.
pub fn pin_failure_message(core: usize, error: &io::Error) -> String {
    format!("core {core}: this process cannot run on it ({error})")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_another_part_or_a_virtual_machine_is_said() {
        let haswell = "model name\t: Intel(R) Xeon(R) CPU E5-2667 v3 @ 3.20GHz\nflags\t: fpu sse\n";
        assert!(caveats("Xeon E5-2667 v3", haswell).is_empty());
        let [other] = &caveats("Xeon Gold 6134", haswell)[..] else { panic!("one caveat") };
        assert!(other.contains("the table is for Xeon Gold 6134, this machine is Intel(R)"));
        let guest = haswell.replace("sse", "hypervisor");
        assert!(caveats("Xeon E5-2667 v3", &guest)[0].contains("virtual machine"));
        assert!(caveats("Xeon E5-2667 v3", "")[0].contains("an unknown CPU"));
    }
}
