//! `skd_submit`, `skd_job_*`: an operation, a batch or a descriptor under way.
#![allow(unsafe_code)]

use crate::boundary::{
    SkdFailure, count_of, guarded, insert, remove, required_out, with_exclusive, with_shared,
};
use crate::client::{ClientHandle, with_client};
use crate::handles::{self, HandleTable};
use crate::operation::{OperationOfC, path};
use crate::outcome::{JobEnd, OutcomeOfC};
use crate::raw_job::RawJob;
use crate::sized::{self, OutStructure};
use dsa_client::batch::BatchJob;
use dsa_client::error::Error;
use dsa_client::job::OffloadJob;
use dsa_client::outcome::OffloadOutcome;
use libc::c_int;
use std::time::{Duration, Instant};

/// In place of a time limit: the call waits without a limit.
pub const SKD_FOREVER: u64 = u64::MAX;

/// A job: an operation, a batch or a descriptor under way. Its memory belongs to the device until the
/// job has ended.
pub struct JobHandle(());

/// Polls before the CPU is yielded to other threads.
const SPINS: u32 = 512;

/// The work of a job.
pub enum JobWork {
    One(OffloadJob),
    List(BatchJob),
    Raw(RawJob),
}

/// A C caller's job: one operation, a batch or a raw descriptor under way; then its result, kept
/// until the handle is given back.
pub struct JobOfC {
    work: Option<JobWork>,
    operations: usize,
    end: Option<JobEnd>,
    members: Vec<JobEnd>,
}

static JOBS: HandleTable<JobOfC> = HandleTable::new(handles::JOB);
const JOB_TABLE: (&HandleTable<JobOfC>, u64) = (&JOBS, handles::JOB);

/// Makes a job of work that was begun, with so many operations, and writes its handle.
pub fn begin(
    work: JobWork,
    operations: usize,
    out: *mut *mut JobHandle,
) -> Result<c_int, SkdFailure> {
    insert(JOB_TABLE, JobOfC { work: Some(work), operations, end: None, members: Vec::new() }, out)
}

/// Polls the job of a handle: its result, if it has ended.
pub fn poll_job(job: *const JobHandle, name: &str) -> Result<Option<JobEnd>, SkdFailure> {
    with_exclusive(JOB_TABLE, job, name, |job| Ok(job.poll().cloned()))
}

/// Waits a little: spins at first, and yields the CPU after many polls.
pub fn pause(looks: u32) {
    if looks < SPINS {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

impl JobOfC {
    /// The result of the job, if it has ended.
    fn poll(&mut self) -> Option<&JobEnd> {
        match &mut self.work {
            None => {}
            Some(JobWork::One(job)) => self.end = job.poll().map(end_of),
            Some(JobWork::Raw(job)) => self.end = job.poll(),
            Some(JobWork::List(job)) => {
                if let Some(ends) = job.poll() {
                    self.members = ends.into_iter().map(end_of).collect();
                    self.end = Some(end_of_list(&self.members));
                }
            }
        }
        if self.end.is_some() {
            self.work = None;
        }
        self.end.as_ref()
    }

    fn wait(&mut self, most: Option<Duration>) -> Option<&JobEnd> {
        let begun = Instant::now();
        let mut looks = 0_u32;
        while self.poll().is_none() {
            if most.is_some_and(|most| begun.elapsed() >= most) {
                return None;
            }
            pause(looks);
            looks = looks.saturating_add(1);
        }
        self.end.as_ref()
    }
}

fn end_of(end: Result<OffloadOutcome, Error>) -> JobEnd {
    end.map(|outcome| OutcomeOfC::from(&outcome)).map_err(SkdFailure::from)
}

/// The result of a batch: the sum of its bytes, or the failure of the first operation that failed.
fn end_of_list(members: &[JobEnd]) -> JobEnd {
    let mut all = OutcomeOfC::empty();
    for (number, end) in members.iter().enumerate() {
        match end {
            Ok(outcome) => {
                all.device_bytes += outcome.device_bytes;
                all.cpu_bytes += outcome.cpu_bytes;
            }
            Err(SkdFailure { errno, text }) => {
                return Err(SkdFailure::new(
                    *errno,
                    format!("member {number} of the batch: {text}"),
                ));
            }
        }
    }
    Ok(all)
}

/// Writes the result of a job for the caller, and returns its errno.
pub fn report_end(end: &JobEnd, out: &OutStructure<OutcomeOfC>) -> Result<c_int, SkdFailure> {
    match end {
        Ok(outcome) => {
            out.write(*outcome);
            Ok(0)
        }
        Err(failure) => {
            out.write(OutcomeOfC::failed(failure));
            Err(failure.clone())
        }
    }
}

/// Begins an operation. On success `*job` has to be given back with skd_job_free(). Until the job has
/// ended, the program has to keep the memory of the operation and must not use it.
///
/// -EINVAL, -ENODEV as skd_run(); all other errors are reported when the job ends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_submit(
    client: *const ClientHandle,
    operation: *const OperationOfC,
    path: c_int,
    job: *mut *mut JobHandle,
) -> c_int {
    guarded(|| {
        let out = required_out(job, "job")?;
        // SAFETY: the caller's structure.
        let operation = unsafe { sized::read_structure(operation, "operation") }?.read()?;
        let path = self::path(path)?;
        with_client(client, |client| {
            // SAFETY: the caller vouches for the operation's memory.
            begin(JobWork::One(unsafe { client.submit(&operation, path) }?), 1, out)
        })
    })
}

/// Returns -EAGAIN if a job has not ended; otherwise 0, or the negative errno that it failed with, as
/// of skd_run(). A batch has the errno of its first operation that failed. The result can be read
/// again until the job is given back. This call also begins further pieces of an operation that was
/// divided or met an absent page: a job that is never polled may not end.
///
/// -ECHILD in a child of the process that began the job, -EBUSY while another thread is inside a
/// call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_poll(job: *const JobHandle, outcome: *mut OutcomeOfC) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { OutStructure::optional(outcome, "outcome") }?;
        match poll_job(job, "job")? {
            Some(end) => report_end(&end, &out),
            None => Err(SkdFailure::new(libc::EAGAIN, "the job is under way")),
        }
    })
}

/// Waits for the end of a job, and returns its result as skd_job_poll() does.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_wait(job: *const JobHandle, outcome: *mut OutcomeOfC) -> c_int {
    // SAFETY: the caller promises the same.
    unsafe { skd_job_wait_for(job, SKD_FOREVER, outcome) }
}

/// Waits for the end of a job as skd_job_wait() does, but not longer than so many nanoseconds.
///
/// -ETIMEDOUT if the job is still under way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_wait_for(
    job: *const JobHandle,
    nanoseconds: u64,
    outcome: *mut OutcomeOfC,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { OutStructure::optional(outcome, "outcome") }?;
        let most = limit(nanoseconds);
        with_exclusive(JOB_TABLE, job, "job", |job| match job.wait(most) {
            Some(end) => report_end(end, &out),
            None => {
                let text = format!("the job is under way after {nanoseconds} ns");
                Err(SkdFailure::new(libc::ETIMEDOUT, text))
            }
        })
    })
}

/// Converts a time limit of C: `None` for SKD_FOREVER.
pub fn limit(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds != SKD_FOREVER).then_some(Duration::from_nanos(nanoseconds))
}

/// Returns the number of operations of a job: 1, or those of its batch.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_members(job: *const JobHandle) -> c_int {
    guarded(|| with_shared(JOB_TABLE, job, "job", |job| count_of(job.operations)))
}

/// Returns 0 or the negative errno of one operation of a job, by its number in the batch, and writes
/// its outcome to `outcome`, which may be NULL.
///
/// -EAGAIN before the job has ended, -ENOENT if the job has no operation of that number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_member(
    job: *const JobHandle,
    number: u32,
    outcome: *mut OutcomeOfC,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { OutStructure::optional(outcome, "outcome") }?;
        with_exclusive(JOB_TABLE, job, "job", |job| {
            let all = job.poll().cloned();
            let all = all.ok_or_else(|| SkdFailure::new(libc::EAGAIN, "the job is under way"))?;
            let members = if job.members.is_empty() { &vec![all] } else { &job.members };
            let last = members.len() - 1;
            let text = || format!("the job has no operation {number}; allowed: 0 to {last}");
            let end = members.get(number as usize);
            report_end(end.ok_or_else(|| SkdFailure::new(libc::ENOENT, text()))?, &out)
        })
    })
}

/// Gives a job back that has ended; NULL does nothing.
///
/// -EBUSY if the job is under way: wait for it, or abandon it. In a child of the process that began
/// it, it can be given back at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_free(job: *mut JobHandle) -> c_int {
    guarded(|| {
        if job.is_null() {
            return Ok(0);
        }
        let has_ended = |job: &mut JobOfC| match job.poll() {
            Some(_) => Ok(()),
            None => Err(SkdFailure::new(
                libc::EBUSY,
                "the job is under way, and a device uses its memory: wait for its end, or call \
                 skd_job_abandon()",
            )),
        };
        drop(remove(JOB_TABLE, job, "job", has_ended)?);
        Ok(0)
    })
}

/// Gives a job back, whether or not it has ended; NULL does nothing. A device may still read and write
/// the memory of the operation: the program has to keep it, and its contents are undefined.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_abandon(job: *mut JobHandle) -> c_int {
    guarded(|| {
        if !job.is_null() {
            drop(remove(JOB_TABLE, job, "job", |_| Ok(()))?);
        }
        Ok(0)
    })
}
