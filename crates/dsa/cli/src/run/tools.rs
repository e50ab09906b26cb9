//! Stand-ins for `lspci`, `setpci` and `lsmod`, which scripts call to look for devices and their driver.
//!
//! They are scripts in a directory of the run that comes first in PATH. Each is there if the real tool would not
//! find the devices: it is not installed, the run has no namespaces, or the kernel has no modules.

use super::driver_files::MODULE_LINES;
use super::program::on_path;
use crate::run::devices::RunDevices;
use crate::run::without_namespaces::RunEnvironment;
use std::ffi::OsStr;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// Directory of the scripts, and of the configuration spaces that they read, in the run's directory.
const SCRIPTS: &str = "bin";
const SPACES: &str = "pci";

/// Writes the stand-ins that are needed. Returns the PATH with them, if there are any.
pub fn write(
    directory: &Path,
    devices: &RunDevices,
    has_namespaces: bool,
) -> io::Result<RunEnvironment> {
    let is_missing = |name: &str| !has_namespaces || on_path(OsStr::new(name)).is_none();
    let mut scripts = Vec::new();
    if is_missing("setpci") {
        scripts.push(("setpci", SETPCI));
    }
    if is_missing("lspci") {
        scripts.push(("lspci", LSPCI));
    }
    if is_missing("lsmod") || !Path::new("/proc/modules").exists() {
        scripts.push(("lsmod", LSMOD));
    }
    if scripts.is_empty() {
        return Ok(RunEnvironment::new());
    }
    let (bin, spaces) = (directory.join(SCRIPTS), directory.join(SPACES));
    std::fs::create_dir(&bin)?;
    std::fs::create_dir(&spaces)?;
    let driver = devices.driver();
    for (number, device) in driver.devices().iter().enumerate().filter(|(_, it)| !it.is_gap()) {
        std::fs::write(spaces.join(&device.part().pci_address), devices.config_space(number))?;
    }
    for (name, text) in scripts {
        let real = on_path(OsStr::new(name)).unwrap_or_default();
        let text = text
            .replace("@REAL@", &real.to_string_lossy())
            .replace("@SPACES@", &spaces.to_string_lossy())
            .replace("@MODULES@", MODULE_LINES.trim_end());
        std::fs::write(bin.join(name), text)?;
        std::fs::set_permissions(bin.join(name), PermissionsExt::from_mode(0o755))?;
    }
    let mut path = bin.into_os_string();
    if let Some(before) = std::env::var_os("PATH") {
        path.push(":");
        path.push(before);
    }
    Ok(vec![("PATH", path)])
}

/// Reads and writes registers of the devices of a run; other devices are the real tool's.
const SETPCI: &str = r#"#!/bin/sh
# setpci -s ADDRESS REGISTER[.b|.w|.l][=VALUE]... of a device of a run
while [ $# -gt 0 ]; do
    case $1 in
    -s) address=$2; shift 2 ;;
    -*) shift ;;
    *) break ;;
    esac
done
case $address in ????:*) ;; *) address=0000:$address ;; esac
space='@SPACES@'/$address
if [ ! -f "$space" ]; then
    real='@REAL@'
    [ -n "$real" ] && exec "$real" -s "$address" "$@"
    echo "setpci: $address: no such device" >&2
    exit 1
fi
for operation; do
    register=${operation%%=*}
    case $register in *.b | *.B) bytes=1 ;; *.w | *.W) bytes=2 ;; *) bytes=4 ;; esac
    at=$((0x${register%%.*}))
    case $operation in
    *=*)
        value=$((0x${operation#*=}))
        while [ $bytes -gt 0 ]; do
            printf "\\$(printf %o $((value & 255)))" |
                dd of="$space" bs=1 seek=$at conv=notrunc status=none
            value=$((value >> 8)) at=$((at + 1)) bytes=$((bytes - 1))
        done
        ;;
    *)
        digits=
        for byte in $(od -An -v -tx1 -j $at -N $bytes "$space"); do digits=$byte$digits; done
        echo "$digits"
        ;;
    esac
done
"#;

/// Lists the devices of a run, behind those that the real tool lists.
const LSPCI: &str = r#"#!/bin/sh
# lspci, with the devices of a run
real='@REAL@'
[ -n "$real" ] && "$real" "$@" 2> /dev/null
for space in '@SPACES@'/*; do
    address=${space##*/}
    case " $* " in
    *" -s "*"${address#0000:}"* | *" -d 8086:0b25"* | *" -d 8086:"\ *) ;;
    *" -s "* | *" -d "*) continue ;;
    esac
    case " $* " in *" -D"*) ;; *) address=${address#0000:} ;; esac
    case " $* " in
    *" -nn"*) echo "$address System peripheral [0880]: Intel Corporation Device [8086:0b25]" ;;
    *" -n"*) echo "$address 0880: 8086:0b25" ;;
    *) echo "$address System peripheral: Intel Corporation Device 0b25" ;;
    esac
done
exit 0
"#;

/// Lists the driver's modules before those that the real tool lists.
const LSMOD: &str = r#"#!/bin/sh
# lsmod, with the modules of the driver of a run
real='@REAL@'
printf '%-23s %8s  %s\n' Module Size 'Used by'
printf '%s\n' '@MODULES@' | while read -r name size users by rest; do
    [ "$by" = - ] && by=
    printf '%-23s %8s  %s %s\n' "$name" "$size" "$users" "${by%,}"
done
[ -n "$real" ] && "$real" 2> /dev/null | sed 1d
exit 0
"#;
