//! Files of `/dev/dsa` that programs have open [K cdev.c].

use crate::{Driver, Errno, HardwareAccess, WorkQueueMode};
use std::collections::BTreeSet;

/// Major number of the files in `/dev/dsa`. The kernel assigns the next dynamic one, from 254 down; this
/// number is made up.
pub const CDEV_MAJOR: u32 = 240;

/// A client of a queue: an open file of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    device: usize,
    queue: usize,
    pid: u32,
    pasid: u32,
    file: usize,
}

impl Client {
    /// Number of the device.
    #[must_use]
    pub fn device(&self) -> usize {
        self.device
    }

    /// Number of the queue in the device.
    #[must_use]
    pub fn queue(&self) -> usize {
        self.queue
    }

    /// PID of the process that opened the file.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// PASID of the process's address space, the same for all of its files.
    #[must_use]
    pub fn pasid(&self) -> u32 {
        self.pasid
    }

    /// Number K of its directory `fileK`, unique among the open files of all devices.
    #[must_use]
    pub fn file(&self) -> usize {
        self.file
    }
}

/// An open file, with its counts of faults of completion records.
#[derive(Clone, Debug)]
pub(crate) struct OpenFile {
    client: Client,
    record_faults: u64,
    record_fault_failures: u64,
}

/// The least number from `first` on that is not `taken`.
fn least_free<T: Ord + Copy>(first: T, next: fn(T) -> T, taken: impl IntoIterator<Item = T>) -> T {
    let taken: BTreeSet<T> = taken.into_iter().collect();
    let mut number = first;
    for own in taken.range(first..) {
        if *own != number {
            break;
        }
        number = next(number);
    }
    number
}

impl Driver {
    /// Opens the file of a queue for a process.
    ///
    /// # Errors
    /// `ENXIO` if the queue does not have a file, `EBUSY` if it is dedicated and open.
    pub fn open(
        &mut self,
        device: usize,
        queue: usize,
        pid: u32,
        hardware: &dyn HardwareAccess,
    ) -> Result<Client, Errno> {
        let state = self.queue(device, queue).ok_or(Errno::ENXIO)?;
        let mode = state.mode;
        if state.cdev_minor.is_none() {
            return Err(Errno::ENXIO);
        }
        if mode == WorkQueueMode::Dedicated && self.clients(device, queue) > 0 {
            return Err(Errno::EBUSY);
        }
        let clients = || self.files.iter().map(|file| &file.client);
        let file = least_free(0, |it| it + 1, clients().map(|it| it.file));
        let same = clients().find(|it| it.pid == pid);
        let new_pasid = || least_free(1, |it| it + 1, clients().map(|it| it.pasid));
        let pasid = same.map_or_else(new_pasid, |it| it.pasid);
        let client = Client { device, queue, pid, pasid, file };
        self.files.push(OpenFile {
            client: client.clone(),
            record_faults: 0,
            record_fault_failures: 0,
        });
        if mode == WorkQueueMode::Dedicated {
            self.devices[device].queues[queue].pasid = Some(pasid);
        }
        self.changed(device, hardware);
        Ok(client)
    }

    /// Closes a file, after the descriptors that the queue has accepted from its address space have ended.
    pub fn close(&mut self, client: &Client, hardware: &dyn HardwareAccess) {
        let Some(index) = self.files.iter().position(|file| file.client == *client) else {
            return;
        };
        let &Client { device, queue, pasid, .. } = client;
        self.files.remove(index);
        let own = &mut self.devices[device].queues[queue];
        if own.enabled {
            match own.mode {
                WorkQueueMode::Dedicated => hardware.drain(device, queue),
                WorkQueueMode::Shared => hardware.drain_pasid(device, queue, pasid),
            }
        }
        if own.mode == WorkQueueMode::Dedicated {
            own.pasid = None;
        }
        self.changed(device, hardware);
    }

    /// Open files of a queue, in the order in which they were opened.
    pub fn files(&self, device: usize, queue: usize) -> impl Iterator<Item = &Client> {
        let clients = self.files.iter().map(|file| &file.client);
        clients.filter(move |client| client.device == device && client.queue == queue)
    }

    /// Names of the attributes in an open file's directory. All are read-only.
    pub const FILE_ATTRIBUTES: [&str; 3] = ["cr_faults", "cr_fault_failures", "pid"];

    /// Reads an attribute of an open file, with its newline.
    ///
    /// # Errors
    /// `ENOENT` if the file or the attribute does not exist.
    pub fn read_file_attribute(&self, client: &Client, attribute: &str) -> Result<String, Errno> {
        let file = self.files.iter().find(|file| file.client == *client).ok_or(Errno::ENOENT)?;
        match attribute {
            "cr_faults" => Ok(format!("{}\n", file.record_faults)),
            "cr_fault_failures" => Ok(format!("{}\n", file.record_fault_failures)),
            "pid" => Ok(format!("{}\n", client.pid)),
            _ => Err(Errno::ENOENT),
        }
    }

    /// Counts a fault of a completion record, for all files of its address space on its queue. `written`:
    /// whether the driver could write the record afterwards.
    pub fn note_record_fault(&mut self, device: usize, queue: usize, pasid: u32, written: bool) {
        for file in &mut self.files {
            let client = &file.client;
            if (client.device, client.queue, client.pasid) == (device, queue, pasid) {
                file.record_faults += 1;
                file.record_fault_failures += u64::from(!written);
            }
        }
    }

    /// Number of clients of a queue: its open files. On a real machine a channel that a client of the
    /// kernel takes counts as well; here no client of the kernel exists.
    #[must_use]
    pub fn clients(&self, device: usize, queue: usize) -> usize {
        self.files(device, queue).count()
    }

    /// Minor number of a queue's file; `None` while it does not have one.
    #[must_use]
    pub fn cdev_minor(&self, device: usize, queue: usize) -> Option<u32> {
        self.queue(device, queue)?.cdev_minor
    }

    /// The least free minor number for a new file in `/dev/dsa`.
    pub(crate) fn free_minor(&self) -> u32 {
        let queues = self.devices.iter().flat_map(|device| &device.queues);
        least_free(0, |it| it + 1, queues.filter_map(|queue| queue.cdev_minor))
    }
}
