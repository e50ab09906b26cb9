//! The requirements of `skipline-dsa run`.

use super::DoctorFinding;
use crate::run::{executable, program};
use std::arch::x86_64::__cpuid_count;
use std::ffi::OsStr;
use std::path::Path;

/// The requirements without which no run is possible.
pub fn needed(name: Option<&OsStr>) -> Vec<DoctorFinding> {
    let mut all = vec![library()];
    all.extend(name.map(program));
    all
}

/// The requirements of a run with namespaces, in which programs find the devices as on a machine that has
/// them. Without them they find the devices in another way ([`WITHOUT`]).
pub fn wanted() -> Vec<DoctorFinding> {
    vec![fuse(), namespaces()]
}

/// A note on runs without namespaces.
pub const WITHOUT: &str = "until then programs run without namespaces: DPDK finds the devices by variables, \
                           others by a library in place of libaccel-config (docs/how-to/dsa-run.md)";

fn fuse() -> DoctorFinding {
    let what = "file systems in user space";
    match std::fs::File::options().read(true).write(true).open("/dev/fuse") {
        Ok(_) => DoctorFinding::good(what, "/dev/fuse can be opened"),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => DoctorFinding::bad(
            what,
            "/dev/fuse does not exist",
            "modprobe fuse; in a container: docker run --device /dev/fuse --cap-add SYS_ADMIN ...",
        ),
        Err(error) => {
            DoctorFinding::bad(what, format!("/dev/fuse: {error}"), "chmod a+rw /dev/fuse")
        }
    }
}

fn namespaces() -> DoctorFinding {
    let what = "a mount namespace";
    // A child tries, as a namespace cannot be left.
    let tried = |arguments: &[&str]| {
        let command = std::process::Command::new("unshare").args(arguments).arg("true").output();
        command.is_ok_and(|output| output.status.success())
    };
    if tried(&["--mount"]) {
        return DoctorFinding::good(what, "allowed");
    }
    if tried(&["--user", "--map-root-user", "--mount"]) {
        return DoctorFinding::good(what, "allowed in a user namespace");
    }
    let limit = std::fs::read_to_string("/proc/sys/user/max_user_namespaces").unwrap_or_default();
    let sealed = "/proc/sys/kernel/apparmor_restrict_unprivileged_userns";
    let repair = if limit.trim() == "0" {
        "sudo sysctl user.max_user_namespaces=15000"
    } else if std::fs::read_to_string(sealed).is_ok_and(|value| value.trim() == "1") {
        "sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0"
    } else if Path::new("/proc/sys/kernel/unprivileged_userns_clone").exists() {
        "sudo sysctl kernel.unprivileged_userns_clone=1"
    } else {
        "run as root; in a container: docker run --cap-add SYS_ADMIN --device /dev/fuse ..."
    };
    DoctorFinding::bad(what, "refused, with and without a user namespace", repair)
}

fn library() -> DoctorFinding {
    let what = "the library for programs";
    match program::library() {
        Ok(path) => DoctorFinding::good(what, path.display().to_string()),
        Err(error) => {
            DoctorFinding::bad(what, error.to_string(), "install both files of one release")
        }
    }
}

fn program(name: &OsStr) -> DoctorFinding {
    let what = "the program";
    let shown = name.to_string_lossy();
    let Some(path) = program::on_path(name) else {
        return DoctorFinding::bad(
            what,
            format!("{shown} was not found, or is not executable"),
            "give the path of its file",
        );
    };
    let obstacle = executable::obstacle(&path);
    match obstacle.or_else(|| executable::restriction(&path).map(str::to_owned)) {
        None if executable::has_address_sanitizer(&path) => DoctorFinding::good(
            what,
            format!(
                "{} loads libraries; it is built with AddressSanitizer, for which `run` adds \
                 verify_asan_link_order=0 to ASAN_OPTIONS",
                path.display()
            ),
        ),
        None => DoctorFinding::good(what, format!("{} loads libraries", path.display())),
        Some(why) => DoctorFinding::bad(
            what,
            format!("{}: {why}", path.display()),
            "it takes a program for 64-bit x86 with the dynamic loader of the GNU C library, started as the user \
             that it runs as",
        ),
    }
}

/// Notes for the user: the instructions of the CPU, and whether CPUID can be trapped.
pub fn notes() -> Vec<String> {
    /// Leaf 7, ECX [SDM vol. 2, CPUID].
    const INSTRUCTIONS: [(u32, &str); 3] = [(5, "WAITPKG"), (28, "MOVDIR64B"), (29, "ENQCMD")];
    let bits = __cpuid_count(7, 0).ecx;
    let has = |bit: u32| if bits >> bit & 1 == 1 { "in the CPU" } else { "emulated" };
    let instructions: Vec<String> =
        INSTRUCTIONS.map(|(bit, name)| format!("{name} {}", has(bit))).to_vec();
    let flags = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let faults = flags.split_whitespace().any(|flag| flag == "cpuid_fault");
    let cpuid = if faults {
        "CPUID is trapped: to programs the CPU has all of them"
    } else {
        "this CPU's CPUID cannot be trapped: a program that checks for ENQCMD first will not use it"
    };
    vec![instructions.join(", "), cpuid.to_owned()]
}
