//! Records that the device cannot write: the driver writes them, or counts them as lost.

use crate::client_queue::{self, ClientPortal, CompletionRecord, PAGE, attribute, errors};
use dsa::descriptor::Descriptor;
use dsa::hardware::{Opcode, status};
use std::time::{Duration, Instant};

/// A driver that has done nothing by then never will.
const HANGS: Duration = Duration::from_secs(20);

/// A counter of this program's only open file.
fn counter(queue: &str, name: &str) -> u64 {
    let directory = format!("{queue}/dsa!{queue}");
    let path = format!("/sys/bus/dsa/devices/{directory}");
    let files = std::fs::read_dir(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let files: Vec<String> = files
        .map(|file| file.expect("is read").file_name().into_string().expect("is text"))
        .filter(|file| file.starts_with("file"))
        .collect();
    let [file] = &files[..] else { panic!("{path}: {files:?}") };
    let text = attribute(&format!("{directory}/{file}/{name}"));
    text.trim_end().parse().unwrap_or_else(|error| panic!("{name}: {text}: {error}"))
}

/// Waits until a counter has a value.
fn wait_for(queue: &str, name: &str, value: u64) {
    let start = Instant::now();
    while counter(queue, name) < value {
        assert!(start.elapsed() < HANGS, "{name} does not come to {value}");
        std::thread::yield_now();
    }
    assert_eq!(counter(queue, name), value);
}

/// A page at an address that the run's plan has as absent for the device.
fn page_at(address: usize) -> *mut u8 {
    // SAFETY: a new mapping, which replaces none.
    let mapped = unsafe {
        libc::mmap(
            address as *mut libc::c_void,
            PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_FIXED_NOREPLACE,
            -1,
            0,
        )
    };
    assert_eq!(mapped as usize, address);
    mapped.cast()
}

/// The device does not reach the page of a record, and the driver does.
pub fn held(arguments: &[String]) {
    let queue = &arguments[0];
    let page = page_at(usize::from_str_radix(&arguments[1], 16).expect("an address"));
    let portal = ClientPortal::open(queue);
    // SAFETY: the page is zero, which is a record without a status, and stays.
    let (own, of_member) =
        unsafe { (&*page.cast::<CompletionRecord>(), &*page.add(64).cast::<CompletionRecord>()) };
    let mut to = vec![0; 64];
    portal.post(&client_queue::fill(&mut to, 0x0101_0101_0101_0101).recording(own.address()));
    assert_eq!(own.ended(), status::SUCCESS);
    // SAFETY: the device has written it, which the compiler does not know.
    assert_eq!(unsafe { std::ptr::read_volatile(to.as_ptr()) }, 1, "it is done before");
    wait_for(queue, "cr_faults", 1);

    let record = CompletionRecord::new();
    let list = two_no_ops(of_member.address());
    portal.post(&batch_of(&list, &record));
    assert_eq!(record.ended(), status::SUCCESS);
    assert_eq!(of_member.status(), status::SUCCESS, "that of the batch comes after it");
    wait_for(queue, "cr_faults", 3);
    println!("failures {} errors {:x?}", counter(queue, "cr_fault_failures"), errors());
}

#[repr(align(64))]
struct TwoDescriptors([[u8; 64]; 2]);

/// Two members of a batch, the first with a record at this address.
fn two_no_ops(record: u64) -> TwoDescriptors {
    let no_op = Descriptor::of(Opcode::NoOp);
    TwoDescriptors([no_op.recording(record).0, no_op.0])
}

fn batch_of(list: &TwoDescriptors, record: &CompletionRecord) -> Descriptor {
    Descriptor::of(Opcode::Batch)
        .with_first(std::ptr::from_ref(&list.0) as u64)
        .with_size(2)
        .recording(record.address())
}

/// Neither device nor driver reaches the page of a record: it is lost, and that of its batch says so.
pub fn lost(arguments: &[String]) {
    let queue = &arguments[0];
    let nowhere = client_queue::pages(1, libc::PROT_NONE) as u64;
    let portal = ClientPortal::open(queue);
    let record = CompletionRecord::new();
    let list = two_no_ops(nowhere);
    portal.post(&batch_of(&list, &record));
    let ended = record.ended();
    if arguments.get(1).is_some_and(|has_log| has_log == "log") {
        wait_for(queue, "cr_fault_failures", 1);
    }
    println!("batch {ended} result {} error {:#x}", record.result(), errors()[0] >> 8 & 0xff);
}
