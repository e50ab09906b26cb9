//! A log is refused, or has descriptors in order of their times; the way to its bytes does not matter.

use recordings::descriptor_log;
use units::Picos;
use workload::descriptor_log::DescriptorLog;

use super::file::OpenFile;

/// No device takes more at once.
const MOST_BYTES: u64 = 1 << 31;

pub fn read(bytes: &[u8]) {
    let file = OpenFile::of_bytes(bytes);
    let read = read_file(&file);
    assert_eq!(read_file(&file), read, "read once more");
    if let Some(pipe) = OpenFile::piped(bytes) {
        assert_eq!(read_file(&pipe), read, "from a pipe");
    }
    if let Ok(text) = str::from_utf8(bytes) {
        let of_text = descriptor_log::of_text("log", text).map_err(|it| it.fault.to_string());
        assert_eq!(of_text, read, "from memory");
    }
    if let Ok(log) = read {
        check(&log);
    }
}

fn read_file(file: &OpenFile) -> Result<DescriptorLog, String> {
    descriptor_log::read(file.path()).map_err(|error| error.fault.to_string())
}

fn check(log: &DescriptorLog) {
    let members = || log.offloads.iter().flat_map(|offload| &offload.members);
    assert!(log.offloads.iter().all(|offload| !offload.members.is_empty()));
    assert!(log.offloads.is_sorted_by_key(|offload| offload.time));
    assert!(members().all(|descriptor| descriptor.bytes <= MOST_BYTES));
    assert_eq!(log.descriptors(), members().count() as u64);
    assert!(!log.portals().is_empty());
    let phases = log.phases(Picos(1), 3);
    assert!(phases.len() <= 3 && phases.first().is_some_and(|first| first.start == 0));
    assert_eq!(phases.last().map(|last| last.end), Some(log.offloads.len()));
}
