//! `skd_set_*`: several jobs, whose ends come in any order.
#![allow(unsafe_code)]

use crate::boundary::{
    Failure, count_of, guarded, insert, remove, required_out, with_exclusive, with_shared,
};
use crate::handles::{self, Table};
use crate::job::{JobHandle, SKD_FOREVER, limit, look, pause};
use libc::c_int;
use std::ptr::without_provenance_mut;
use std::time::Instant;

/// Jobs, each with a number of the caller's.
pub struct SetHandle(());

/// The end of a job of a set. This structure stays as it is.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EndOfC {
    /// The number that the job was added with.
    pub tag: u64,
    /// The job, which has left the set and is to be given back. skd_job_poll() says what it came to.
    pub job: *mut JobHandle,
    /// 0, or the negative errno that it failed with.
    pub error: c_int,
}

struct Member {
    tag: u64,
    /// A handle as a number.
    job: usize,
}

struct SetOfC {
    members: Vec<Member>,
    /// Where the next look begins, so that none is looked at last for ever.
    next: usize,
}

static SETS: Table<SetOfC> = Table::new(handles::SET);
const OF: (&Table<SetOfC>, u64) = (&SETS, handles::SET);

impl SetOfC {
    /// Ends that are there, as many as fit.
    fn poll(&mut self, ends: *mut EndOfC, count: usize) -> usize {
        let mut found = 0;
        for _ in 0..self.members.len() {
            if found == count {
                break;
            }
            self.next = if self.next < self.members.len() { self.next } else { 0 };
            let Member { tag, job } = self.members[self.next];
            let job = without_provenance_mut(job);
            let error = match look(job, "job") {
                Ok(Some(Ok(_))) => 0,
                Ok(Some(Err(failure))) => -failure.errno,
                // One that another thread waits for is looked at later; one that was given back has
                // left.
                Err(failure) if failure.errno != libc::EBUSY => -failure.errno,
                Ok(None) | Err(_) => {
                    self.next += 1;
                    continue;
                }
            };
            self.members.swap_remove(self.next);
            // SAFETY: the caller's array has `count` elements.
            unsafe { ends.add(found).write(EndOfC { tag, job, error }) };
            found += 1;
        }
        found
    }
}

/// The caller's array.
fn room(ends: *mut EndOfC, count: usize) -> Result<*mut EndOfC, Failure> {
    if count == 0 {
        return Err(Failure::invalid("`count` is 0: there is no room for an end"));
    }
    required_out(ends, "ends")
}

/// A set without jobs, to be given back with skd_set_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_create(set: *mut *mut SetHandle) -> c_int {
    guarded(|| insert(OF, SetOfC { members: Vec::new(), next: 0 }, required_out(set, "set")?))
}

/// Gives a set back; NULL does nothing. Its jobs go on, and are to be given back one by one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_free(set: *mut SetHandle) -> c_int {
    guarded(|| {
        if !set.is_null() {
            drop(remove(OF, set, "set", |_| Ok(()))?);
        }
        Ok(0)
    })
}

/// Adds a job, with a number that its end will have.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_add(set: *mut SetHandle, job: *mut JobHandle, tag: u64) -> c_int {
    guarded(|| {
        look(job, "job")?;
        with_exclusive(OF, set, "set", |set| {
            set.members.push(Member { tag, job: job.addr() });
            Ok(0)
        })
    })
}

/// Jobs of a set whose ends were not taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_count(set: *const SetHandle) -> c_int {
    guarded(|| with_shared(OF, set, "set", |set| count_of(set.members.len())))
}

/// Takes the ends of jobs that have ended, `count` of them at most: how many there were.
///
/// A job that was given back meanwhile ends with -EBADF.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_poll(
    set: *mut SetHandle,
    ends: *mut EndOfC,
    count: usize,
) -> c_int {
    guarded(|| {
        let ends = room(ends, count)?;
        with_exclusive(OF, set, "set", |set| count_of(set.poll(ends, count)))
    })
}

/// Waits until one job or more have ended, and takes the ends of `count` of them at most: how many
/// there were; 0 if the set has no jobs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_wait(
    set: *mut SetHandle,
    ends: *mut EndOfC,
    count: usize,
) -> c_int {
    // SAFETY: handed on.
    unsafe { skd_set_wait_for(set, SKD_FOREVER, ends, count) }
}

/// As skd_set_wait(), but not longer than so many nanoseconds: -ETIMEDOUT if none has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_wait_for(
    set: *mut SetHandle,
    nanoseconds: u64,
    ends: *mut EndOfC,
    count: usize,
) -> c_int {
    guarded(|| {
        let ends = room(ends, count)?;
        let (begun, most) = (Instant::now(), limit(nanoseconds));
        with_exclusive(OF, set, "set", |set| {
            let mut looks = 0_u32;
            loop {
                let found = set.poll(ends, count);
                if found > 0 || set.members.is_empty() {
                    return count_of(found);
                }
                if most.is_some_and(|most| begun.elapsed() >= most) {
                    let text = format!("no job of the set has ended after {nanoseconds} ns");
                    return Err(Failure::new(libc::ETIMEDOUT, text));
                }
                pause(looks);
                looks = looks.saturating_add(1);
            }
        })
    })
}
