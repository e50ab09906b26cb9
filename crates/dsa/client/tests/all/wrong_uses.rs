//! Wrong uses, each with the answer that it is to have.

use crate::inside::inside;
use dsa_client::client::{OffloadClient, Options, Path};
use dsa_client::error::Error;
use dsa_client::operation::{OffloadOperation, ProtectionTags};

fn on_cpu() -> OffloadClient {
    OffloadClient::open(&Options { sysfs: "/nowhere".into(), ..Options::default() })
        .expect("is opened")
}

/// Memory of others, read and written, by each path.
fn foreign_memory(client: &OffloadClient, path: Path) {
    let mut own = vec![3_u8; 20_000];
    let at = own.as_mut_ptr() as u64;
    // Never mapped: below the least address that the kernel maps.
    let nowhere = 0x8000;
    for (operation, write) in [
        (OffloadOperation::copy(nowhere, at, 9000), false),
        (OffloadOperation::copy(at, nowhere, 9000), true),
        (OffloadOperation::fill(nowhere, 1, 9000), true),
        (OffloadOperation::compare(at, nowhere, 9000), false),
        (OffloadOperation::crc(Default::default(), 0, nowhere, 9000), false),
    ] {
        // SAFETY: what is not mapped is what the test is about.
        let error = unsafe { client.run(&operation, path) }.expect_err("fails");
        match &error {
            Error::Fault { address, is_write, .. } => {
                assert_eq!((*address, *is_write), (nowhere, write), "{error}");
            }
            other => panic!("{other}"),
        }
        let how = if write { "written" } else { "read" };
        assert!(error.to_string().contains(&format!("address 0x8000 cannot be {how}")), "{error}");
        assert_eq!(error.errno(), libc::EFAULT);
    }
}

#[test]
fn foreign_memory_is_a_fault_with_its_address_and_no_crash() {
    foreign_memory(&on_cpu(), Path::Cpu);
}

#[test]
fn foreign_memory_is_a_fault_by_a_device_too() {
    inside!(foreign_memory_is_a_fault_by_a_device_too);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    foreign_memory(&client, Path::Device);
    foreign_memory(&client, Path::Automatic);
}

/// A page that only may be read.
#[test]
fn memory_that_may_not_be_written_is_a_fault_behind_what_may() {
    inside!(memory_that_may_not_be_written_is_a_fault_behind_what_may);
    let client = OffloadClient::open(&Options::default()).expect("is opened");
    // SAFETY: a new mapping, whose second page is made read-only.
    let pages = unsafe {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        let both = libc::PROT_READ | libc::PROT_WRITE;
        let pages = libc::mmap(std::ptr::null_mut(), 8192, both, flags, -1, 0);
        assert!(pages != libc::MAP_FAILED);
        assert_eq!(libc::mprotect(pages.byte_add(4096), 4096, libc::PROT_READ), 0);
        pages as u64
    };
    let from = vec![9; 8192];
    for path in [Path::Device, Path::Cpu] {
        let copy = OffloadOperation::copy(from.as_ptr() as u64, pages, 8192);
        // SAFETY: as above.
        let error = unsafe { client.run(&copy, path) }.expect_err("fails");
        match error {
            Error::Fault { address, is_write: true, .. } => assert_eq!(address, pages + 4096),
            other => panic!("{other}"),
        }
    }
}

#[test]
fn arguments_that_no_device_takes_are_refused_before_anything_is_done() {
    let client = on_cpu();
    let mut own = vec![0_u8; 5000];
    let at = own.as_mut_ptr() as u64;
    for (operation, words) in [
        (
            OffloadOperation::copy(at, at, 0),
            "memory move: the size is 0; it has to be 1 byte or more",
        ),
        (
            OffloadOperation::copy(u64::MAX - 10, at, 100),
            "memory move: a range of 100 bytes passes the end of the address space",
        ),
        (
            OffloadOperation::dif_check(at, 1000, 0, ProtectionTags::default()),
            "DIF check: the size is 1000; it has to be a multiple of 520 bytes",
        ),
        (
            OffloadOperation::create_delta((at, at), 1 << 20, (at, 100)),
            "create delta record: the size is 1048576; at most 524288 bytes are allowed",
        ),
    ] {
        // SAFETY: nothing is done.
        let error = unsafe { client.run(&operation, Path::Cpu) }.expect_err("is refused");
        assert_eq!(error.to_string(), words);
        assert_eq!(error.errno(), libc::EINVAL);
    }
    let record = OffloadOperation::create_delta((at & !7, at & !7), 64, (at & !7, 80));
    // SAFETY: it is refused, as the record is in its own source.
    let error = unsafe { client.run(&record, Path::Cpu) }.expect_err("is refused");
    assert!(error.to_string().contains("status 0x16, ranges overlap"), "{error}");
}
