//! Misuse of files and processes by programs, with work under way.

use crate::client_queue::{ClientPortal, CompletionRecord, PAGE, copy, map, open, works};
use crate::shared::MANY_BYTES;
use dsa::descriptor::Descriptor;
use dsa::hardware::Opcode;
use std::io::Write;
use std::os::fd::AsRawFd;

/// As many copies that take long as a queue holds; their records live as long as the program.
pub fn fill_queue(portal: &ClientPortal) -> Vec<&'static CompletionRecord> {
    let from = vec![1; MANY_BYTES].leak();
    let mut records = Vec::new();
    loop {
        let record: &'static CompletionRecord = Box::leak(CompletionRecord::new());
        let to = vec![0; MANY_BYTES].leak();
        if !portal.enqueue(&copy(from, to, record)) {
            return records;
        }
        records.push(record);
    }
}

/// QUEUE: closes every descriptor but its own, as daemons do, and opens files that get the numbers.
pub fn closes_descriptors(arguments: &[String]) {
    /// Above what a run may use by itself.
    const NUMBERS: i32 = 1024;
    let portal = ClientPortal::open(&arguments[0]);
    works(&portal);
    let own = portal.file.as_raw_fd();
    for number in (libc::STDERR_FILENO + 1..NUMBERS).filter(|number| *number != own) {
        // SAFETY: no other part of this program has a file open.
        unsafe { libc::close(number) };
    }
    let mut files = Vec::new();
    while let Ok(file) = std::fs::File::create_new(format!("file{}", files.len())) {
        if file.as_raw_fd() >= NUMBERS {
            break;
        }
        files.push(file);
        if files.len() == 1000 {
            break;
        }
    }
    for _ in 0..10 {
        works(&portal);
    }
    for mut file in files {
        file.write_all(b"own").expect("is its own file");
    }
}

/// QUEUE: unmaps and closes the queue while it is full, and disables it: that waits for all of it.
pub fn closes_busy(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let records = fill_queue(&portal);
    // SAFETY: the page of the portal, which is used no more.
    assert_eq!(unsafe { libc::munmap(portal.at(0).cast(), PAGE) }, 0);
    drop(portal);
    std::fs::write("/sys/bus/dsa/drivers/user/unbind", &arguments[0]).expect("unbind");
    assert!(records.iter().all(|record| record.status() == 1));
    println!("{}", if records.is_empty() { "idle" } else { "done" });
}

/// QUEUE COUNT: a dedicated queue that was closed is free at once.
pub fn reopens(arguments: &[String]) {
    for _ in 0..arguments[1].parse().expect("a number") {
        drop(open(&arguments[0]).expect("is free"));
    }
}

/// QUEUE: opens the queue twice, fills it, and is killed.
pub fn dies_busy(arguments: &[String]) {
    let first = ClientPortal::open(&arguments[0]);
    // SAFETY: the page of the portal, which is used no more.
    assert_eq!(unsafe { libc::munmap(first.at(0).cast(), PAGE) }, 0);
    drop(first);
    let records = fill_queue(&ClientPortal::open(&arguments[0]));
    assert!(!records.is_empty());
    // SAFETY: it ends this program.
    unsafe { libc::raise(libc::SIGKILL) };
}

/// QUEUE: stops with a descriptor under way; continued, waits for it.
pub fn stops_busy(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    let record = CompletionRecord::new();
    portal.enqueue_patiently(&Descriptor::of(Opcode::NoOp).recording(record.address()));
    // SAFETY: all threads of this program stop until it is continued.
    unsafe { libc::raise(libc::SIGSTOP) };
    assert_eq!(record.ended(), 1);
}

/// QUEUE: where no thread can be had there is no portal; later there is.
pub fn no_threads(arguments: &[String]) {
    /// Less than the stack of an engine.
    const SPARE_BYTES: u64 = 128 << 10;
    let file = open(&arguments[0]).expect("is there");
    let text = std::fs::read_to_string("/proc/self/statm").expect("is Linux");
    let pages: u64 = text.split(' ').next().expect("is there").parse().expect("is a number");
    // SAFETY: both calls have a limit of this function.
    let limit = unsafe {
        let mut before: libc::rlimit = std::mem::zeroed();
        assert_eq!(libc::getrlimit(libc::RLIMIT_AS, &raw mut before), 0);
        let bytes = pages * PAGE as u64 + SPARE_BYTES;
        let limit = libc::rlimit { rlim_cur: bytes, ..before };
        assert_eq!(libc::setrlimit(libc::RLIMIT_AS, &raw const limit), 0);
        before
    };
    let error = map(&file, PAGE).expect_err("there is no thread for an engine");
    assert_eq!(error.raw_os_error(), Some(libc::EAGAIN));
    // SAFETY: as above.
    assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) }, 0);
    drop(file);
    works(&ClientPortal::open(&arguments[0]));
}
