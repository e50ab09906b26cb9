//! Instructions that wait, and what the CPU says of itself.

use crate::client_queue::{ClientPortal, CompletionRecord, copy};
use crate::instructions::{CARRY, NONE, tpause, umonitor, umwait};
use std::arch::x86_64::{__cpuid_count, _rdtsc};

/// UMONITOR and UMWAIT wait for a record; deadlines that are past end at once; the system's limit sets CF.
pub fn waits(arguments: &[String]) {
    let portal = ClientPortal::open(&arguments[0]);
    for _ in 0..100 {
        let (from, mut to, record) = (vec![9; 3000], vec![0; 3000], CompletionRecord::new());
        portal.enqueue_patiently(&copy(&from, &mut to, &record));
        while record.status() == 0 {
            umonitor(record.address() as *const u8);
            if record.status() == 0 {
                umwait(u64::MAX);
            }
        }
        assert_eq!((record.ended(), to), (1, from));
    }
    // SAFETY: the time stamp counter can be read everywhere.
    let now = || unsafe { _rdtsc() };
    for _ in 0..100 {
        assert_eq!(tpause(0), NONE);
        assert_eq!(tpause(now() - 1), NONE);
        let (start, wait) = (now(), 5_000);
        assert_eq!(tpause(start + wait) & !CARRY, NONE);
        assert!(now() >= start + wait);
    }
    assert_eq!(tpause(u64::MAX), NONE | CARRY);
    // Nothing writes to the line: the limit ends it.
    let line = CompletionRecord::new();
    umonitor(line.address() as *const u8);
    assert_eq!(umwait(u64::MAX), NONE | CARRY);
}

/// Leaf 7 as each thread and a child see it: bits of WAITPKG, MOVDIR64B, ENQCMD; then leaves 0 and 7.
pub fn cpuid(_: &[String]) {
    let bits = || {
        let features = __cpuid_count(7, 0).ecx;
        [5, 28, 29].map(|bit| features >> bit & 1)
    };
    let own = bits();
    let other = std::thread::spawn(bits).join().expect("ends");
    assert_eq!(own, other);
    println!("waitpkg {} movdir64b {} enqcmd {}", own[0], own[1], own[2]);
    let (names, features) = (__cpuid_count(0, 0), __cpuid_count(7, 0));
    println!("{names:x?} {:x} {:x}", features.eax, features.ebx);
    println!("{:x}", __cpuid_count(0x8000_0000, 0).eax);
}
