//! A queue as programs have it: an open file, a page of it, and records in their memory.

use crate::instructions::{self, NONE, ZERO};
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use dsa_client::portal_page::PortalPage;
use dsa_client::record_slot::RecordSlot;
use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;
use std::time::{Duration, Instant};

/// Length of a portal's page.
pub const PAGE: usize = dsa::hardware::PORTAL_BYTES;
/// A descriptor that has not ended by then never will: the test fails instead of waiting for ever.
const HANGS: Duration = Duration::from_secs(20);

/// A queue that is open, and whose page is mapped.
pub struct ClientPortal {
    pub file: File,
    page: PortalPage,
}

/// Opens a queue's file.
pub fn open(queue: &str) -> io::Result<File> {
    File::options().read(true).write(true).open(format!("/dev/dsa/{queue}"))
}

/// Maps some bytes of a queue's file, also more or fewer than its page.
pub fn map(file: &File, bytes: usize) -> io::Result<*mut u8> {
    // SAFETY: a new mapping, where the kernel likes.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            bytes,
            libc::PROT_WRITE,
            libc::MAP_SHARED | libc::MAP_POPULATE,
            file.as_raw_fd(),
            0,
        )
    };
    if mapped == libc::MAP_FAILED { Err(io::Error::last_os_error()) } else { Ok(mapped.cast()) }
}

impl ClientPortal {
    /// Opens and maps a queue.
    pub fn open(queue: &str) -> Self {
        let file = open(queue).unwrap_or_else(|error| panic!("{queue}: {error}"));
        let page = PortalPage::default();
        let is_mapped = page.map(file.as_raw_fd());
        assert!(is_mapped, "{queue}: mmap: {}", io::Error::last_os_error());
        Self { file, page }
    }

    /// An address of the page.
    pub fn at(&self, offset: usize) -> *mut u8 {
        assert!(offset < PAGE);
        self.page.address().expect("is mapped").as_ptr().wrapping_add(offset)
    }

    /// ENQCMD: whether the queue has taken it. It sets or clears ZF, and clears the other flags.
    pub fn enqueue(&self, descriptor: &Descriptor) -> bool {
        let (flags, overflow) = instructions::enqcmd(self.at(0), descriptor);
        assert!(flags & !ZERO == NONE && !overflow, "flags {flags:#x}, overflow {overflow}");
        flags & ZERO == 0
    }

    /// ENQCMD until the queue takes it.
    pub fn enqueue_patiently(&self, descriptor: &Descriptor) {
        while !self.enqueue(descriptor) {
            std::thread::yield_now();
        }
    }

    /// MOVDIR64B.
    pub fn post(&self, descriptor: &Descriptor) {
        instructions::movdir64b(self.at(0), descriptor);
    }
}

/// A completion record.
#[derive(Default)]
pub struct CompletionRecord(RecordSlot);

impl CompletionRecord {
    pub fn new() -> Box<Self> {
        Box::default()
    }

    pub fn address(&self) -> u64 {
        self.0.address()
    }

    /// The status; 0: not yet.
    pub fn status(&self) -> u8 {
        self.0.status()
    }

    pub fn result(&self) -> u8 {
        self.0.record().result()
    }

    pub fn completed(&self) -> u64 {
        self.0.record().completed().into()
    }

    pub fn fault_address(&self) -> u64 {
        self.0.record().fault_address()
    }

    pub fn crc(&self) -> u64 {
        self.0.record().crc() & 0xffff_ffff
    }

    /// Waits for the end of its descriptor; gives the status, and is then as new.
    pub fn ended(&self) -> u8 {
        let start = Instant::now();
        while self.status() == 0 {
            assert!(start.elapsed() < HANGS, "a descriptor does not end");
            std::thread::yield_now();
        }
        self.status()
    }

    pub fn clear(&self) {
        self.0.clear();
    }
}

/// A copy with a record.
pub fn copy(from: &[u8], to: &mut [u8], record: &CompletionRecord) -> Descriptor {
    assert!(from.len() == to.len());
    let size = u32::try_from(from.len()).expect("fits");
    Descriptor::of(Opcode::Move)
        .with_first(from.as_ptr() as u64)
        .with_second(to.as_mut_ptr() as u64)
        .with_size(size)
        .recording(record.address())
}

/// A fill without a record.
pub fn fill(to: &mut [u8], pattern: u64) -> Descriptor {
    let size = u32::try_from(to.len()).expect("fits");
    Descriptor::of(Opcode::Fill)
        .with_first(pattern)
        .with_second(to.as_mut_ptr() as u64)
        .with_size(size)
}

/// Copies a few bytes through a shared queue and looks at them: the queue works.
pub fn works(portal: &ClientPortal) {
    let (from, mut to, record) = ([0x5a; 200], [0; 200], CompletionRecord::new());
    let descriptor = copy(&from, &mut to, &record);
    portal.enqueue_patiently(&descriptor);
    assert_eq!(record.ended(), 1);
    // SAFETY: the device has written it, which the compiler does not know.
    assert!(unsafe { std::ptr::read_volatile(&raw const to) } == from);
}

/// Text of an attribute.
pub fn attribute(path: &str) -> String {
    let path = format!("/sys/bus/dsa/devices/{path}");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// The words of the software error register of the first device, least first.
pub fn errors() -> Vec<u64> {
    let text = attribute("dsa0/errors");
    let words: Vec<u64> = text
        .trim_end()
        .rsplit(',')
        .map(|word| {
            assert_eq!(word.len(), 8, "{text}");
            u64::from_str_radix(word, 16).expect("hexadecimal")
        })
        .collect();
    assert_eq!(words.len(), 8, "{text}");
    words.chunks(2).map(|pair| pair[0] | pair[1] << 32).collect()
}

/// Memory of its own pages; `protection` can be changed.
pub fn pages(count: usize, protection: i32) -> *mut u8 {
    // SAFETY: a new mapping, where the kernel likes.
    let mapped = unsafe {
        libc::mmap(
            std::ptr::null_mut(),
            count * PAGE,
            protection,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    assert!(mapped != libc::MAP_FAILED);
    mapped.cast()
}
