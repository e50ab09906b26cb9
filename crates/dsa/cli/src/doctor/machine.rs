//! The requirements of a real device.

use super::DoctorFinding;
use crate::list;
use std::fs;
use std::path::Path;

/// Checks from the hardware up to the file of a queue, up to the first requirement that is not met.
pub fn findings() -> Vec<DoctorFinding> {
    let mut all = Vec::new();
    let checks: [fn() -> DoctorFinding; 5] = [hardware, driver, iommu, queues, rights];
    for check in checks {
        let finding = check();
        let is_end = finding.repair.is_some();
        all.push(finding);
        if is_end {
            break;
        }
    }
    all
}

fn hardware() -> DoctorFinding {
    let what = "hardware";
    /// PCI ids of DSA: Sapphire and Emerald Rapids; Granite Rapids [Linux, drivers/dma/idxd/registers.h].
    const IDS: [&str; 2] = ["0x0b25", "0x1212"];
    let read = |path: &Path, name: &str| fs::read_to_string(path.join(name)).unwrap_or_default();
    let entries = fs::read_dir("/sys/bus/pci/devices").into_iter().flatten().flatten();
    let found: Vec<String> = entries
        .filter(|entry| {
            let path = entry.path();
            read(&path, "vendor").trim() == "0x8086" && IDS.contains(&read(&path, "device").trim())
        })
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    if found.is_empty() {
        let repair = "it takes an Intel Xeon of the 4th generation or later, with its accelerators on; \
                      `skipline-dsa run` needs none";
        return DoctorFinding::bad(what, "no DSA on the PCI bus", repair);
    }
    DoctorFinding::good(what, found.join(", "))
}

fn driver() -> DoctorFinding {
    let what = "driver";
    if Path::new("/sys/module/idxd").exists() {
        DoctorFinding::good(what, "idxd is loaded")
    } else {
        DoctorFinding::bad(what, "idxd is not loaded", "sudo modprobe idxd")
    }
}

fn iommu() -> DoctorFinding {
    let what = "shared virtual memory";
    let enabled = "/sys/bus/dsa/devices/dsa0/pasid_enabled";
    if fs::read_to_string(enabled).is_ok_and(|text| text.trim() == "1") {
        return DoctorFinding::good(what, "on");
    }
    let repair = "boot with intel_iommu=on,sm_on and with VT-d on in the firmware";
    DoctorFinding::bad(what, "off: shared queues cannot be enabled", repair)
}

fn queues() -> DoctorFinding {
    let what = "queues";
    let devices = list::machine_devices();
    let enabled = fs::read_dir("/dev/dsa").map(Iterator::count).unwrap_or_default();
    if enabled > 0 {
        return DoctorFinding::good(
            what,
            format!("{enabled} with a file, {} device(s)", devices.len()),
        );
    }
    let repair = "sudo skipline-dsa config apply FILE.json --apply";
    DoctorFinding::bad(what, "no queue is enabled for programs", repair)
}

fn rights() -> DoctorFinding {
    let what = "rights";
    let entries = fs::read_dir("/dev/dsa").into_iter().flatten().flatten();
    let refused: Vec<String> = entries
        .map(|entry| entry.path())
        .filter(|path| {
            let rights = rustix::fs::Access::READ_OK | rustix::fs::Access::WRITE_OK;
            rustix::fs::access(path, rights).is_err()
        })
        .map(|path| path.display().to_string())
        .collect();
    if refused.is_empty() {
        return DoctorFinding::good(what, "this user can open the files of all queues");
    }
    let files = refused.join(" ");
    DoctorFinding::bad(
        what,
        format!("no right to open {files}"),
        format!("sudo chown $USER {files}"),
    )
}
