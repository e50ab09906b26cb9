//! `skd_set_*`: sets of jobs, whose ends are taken in the order in which the jobs end.
#![allow(unsafe_code)]

use crate::boundary::{
    SkdFailure, count_of, guarded, insert, remove, required_out, with_exclusive, with_shared,
};
use crate::handles::{self, HandleTable};
use crate::job::{JobHandle, SKD_FOREVER, limit, pause, poll_job};
use libc::c_int;
use std::ptr::without_provenance_mut;
use std::time::Instant;

/// A set of jobs, each with a tag that the caller chose.
pub struct SetHandle(());

/// The end of a job of a set. This structure never changes, so that it states no size.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct EndOfC {
    /// Tag with which the job was added.
    pub tag: u64,
    /// The job. It has left the set and has to be given back; skd_job_poll() returns its result.
    pub job: *mut JobHandle,
    /// 0, or the negative errno that the job failed with.
    pub error: c_int,
}

struct Member {
    tag: u64,
    /// A handle as a number.
    job: usize,
}

struct SetOfC {
    members: Vec<Member>,
    /// Index of the job that is polled next, so that none is always polled last.
    next: usize,
}

static SETS: HandleTable<SetOfC> = HandleTable::new(handles::SET);
const SET_TABLE: (&HandleTable<SetOfC>, u64) = (&SETS, handles::SET);

impl SetOfC {
    /// Takes the ends of jobs that have ended, as many as fit, and returns their number.
    fn poll(&mut self, ends: *mut EndOfC, count: usize) -> usize {
        let mut found = 0;
        for _ in 0..self.members.len() {
            if found == count {
                break;
            }
            self.next = if self.next < self.members.len() { self.next } else { 0 };
            let Member { tag, job } = self.members[self.next];
            let job = without_provenance_mut(job);
            let error = match poll_job(job, "job") {
                Ok(Some(Ok(_))) => 0,
                Ok(Some(Err(failure))) => -failure.errno,
                // A job that another thread waits for is polled later; one that was given back leaves the
                // set.
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

/// Checks the array of the caller.
fn check_array(ends: *mut EndOfC, count: usize) -> Result<*mut EndOfC, SkdFailure> {
    if count == 0 {
        return Err(SkdFailure::invalid("`count` is 0: the array has no room for an end"));
    }
    required_out(ends, "ends")
}

/// Creates a set without jobs. It has to be given back with skd_set_free().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_create(set: *mut *mut SetHandle) -> c_int {
    guarded(|| {
        insert(SET_TABLE, SetOfC { members: Vec::new(), next: 0 }, required_out(set, "set")?)
    })
}

/// Gives a set back; NULL does nothing. Its jobs continue, and have to be given back one by one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_free(set: *mut SetHandle) -> c_int {
    guarded(|| {
        if !set.is_null() {
            drop(remove(SET_TABLE, set, "set", |_| Ok(()))?);
        }
        Ok(0)
    })
}

/// Adds a job with a tag, which is reported with its end.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_add(set: *mut SetHandle, job: *mut JobHandle, tag: u64) -> c_int {
    guarded(|| {
        poll_job(job, "job")?;
        with_exclusive(SET_TABLE, set, "set", |set| {
            set.members.push(Member { tag, job: job.addr() });
            Ok(0)
        })
    })
}

/// Returns the number of jobs of a set whose ends were not taken.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_count(set: *const SetHandle) -> c_int {
    guarded(|| with_shared(SET_TABLE, set, "set", |set| count_of(set.members.len())))
}

/// Takes the ends of jobs that have ended, at most `count` of them, and returns their number.
///
/// A job that was given back meanwhile ends with -EBADF.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_poll(
    set: *mut SetHandle,
    ends: *mut EndOfC,
    count: usize,
) -> c_int {
    guarded(|| {
        let ends = check_array(ends, count)?;
        with_exclusive(SET_TABLE, set, "set", |set| count_of(set.poll(ends, count)))
    })
}

/// Waits until one job or more have ended, takes the ends of at most `count` of them, and returns their
/// number; 0 if the set has no jobs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_wait(
    set: *mut SetHandle,
    ends: *mut EndOfC,
    count: usize,
) -> c_int {
    // SAFETY: the caller promises the same.
    unsafe { skd_set_wait_for(set, SKD_FOREVER, ends, count) }
}

/// Waits as skd_set_wait() does, but not longer than so many nanoseconds.
///
/// -ETIMEDOUT if no job has ended.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_set_wait_for(
    set: *mut SetHandle,
    nanoseconds: u64,
    ends: *mut EndOfC,
    count: usize,
) -> c_int {
    guarded(|| {
        let ends = check_array(ends, count)?;
        let (begun, most) = (Instant::now(), limit(nanoseconds));
        with_exclusive(SET_TABLE, set, "set", |set| {
            let mut looks = 0_u32;
            loop {
                let found = set.poll(ends, count);
                if found > 0 || set.members.is_empty() {
                    return count_of(found);
                }
                if most.is_some_and(|most| begun.elapsed() >= most) {
                    let text = format!("no job of the set has ended after {nanoseconds} ns");
                    return Err(SkdFailure::new(libc::ETIMEDOUT, text));
                }
                pause(looks);
                looks = looks.saturating_add(1);
            }
        })
    })
}
