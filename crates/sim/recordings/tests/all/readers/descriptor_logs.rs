//! A log is refused, or has descriptors in order of their times; the way to its bytes does not matter.

use recordings::descriptor_log::{self, DescriptorLogError, LoggedDescriptor};

use super::file::OpenFile;

/// No device takes more at once.
const MOST_BYTES: u64 = 1 << 31;

/// The descriptors of a log, or the words of its fault.
type Read = Result<Vec<LoggedDescriptor>, String>;

pub fn read(bytes: &[u8]) {
    let file = OpenFile::of_bytes(bytes);
    let read = read_file(&file);
    assert_eq!(read_file(&file), read, "read once more");
    if let Some(pipe) = OpenFile::piped(bytes) {
        assert_eq!(read_file(&pipe), read, "from a pipe");
    }
    if let Ok(text) = str::from_utf8(bytes) {
        let of_text = collected(|log| {
            descriptor_log::of_text("log", text, |descriptor| log.push(descriptor))
        });
        assert_eq!(of_text, read, "from memory");
    }
    if let Ok(log) = read {
        check(&log);
    }
}

fn read_file(file: &OpenFile) -> Read {
    collected(|log| descriptor_log::read(file.path(), |descriptor| log.push(descriptor)))
}

fn collected(
    read: impl FnOnce(&mut Vec<LoggedDescriptor>) -> Result<(), DescriptorLogError>,
) -> Read {
    let mut log = Vec::new();
    read(&mut log).map_err(|error| error.fault.to_string())?;
    Ok(log)
}

fn check(log: &[LoggedDescriptor]) {
    assert!(!log.is_empty() && !log[0].continues_batch);
    let submissions = log.iter().filter(|descriptor| !descriptor.continues_batch);
    assert!(submissions.is_sorted_by_key(|descriptor| descriptor.time));
    assert!(
        log.windows(2).all(|pair| !pair[1].continues_batch || pair[0].portal == pair[1].portal)
    );
    assert!(log.iter().all(|descriptor| descriptor.bytes <= MOST_BYTES));
    for descriptor in log {
        let addresses = [descriptor.source, descriptor.destination, descriptor.third];
        for (address, bytes) in addresses.into_iter().zip(descriptor.operand_bytes()) {
            assert!(address.checked_add(bytes.unwrap_or(0)).is_some(), "{descriptor:?}");
        }
    }
}
