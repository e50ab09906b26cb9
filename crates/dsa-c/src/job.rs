//! `skd_submit`, `skd_job_*`: an operation, a list or a descriptor under way.
#![allow(unsafe_code)]

use crate::boundary::{
    Failure, count_of, guarded, insert, remove, required_out, with_exclusive, with_shared,
};
use crate::client::{ClientHandle, with_client};
use crate::handles::{self, Table};
use crate::operation::{OperationOfC, path};
use crate::outcome::{JobEnd, OutcomeOfC};
use crate::raw_job::RawJob;
use crate::sized::{self, Out};
use dsa_client::batch::BatchJob;
use dsa_client::error::Error;
use dsa_client::job::Job;
use dsa_client::outcome::Outcome;
use libc::c_int;
use std::time::{Duration, Instant};

/// In place of a time limit: none.
pub const SKD_FOREVER: u64 = u64::MAX;

/// What was begun. Its memory is the device's until it has ended.
pub struct JobHandle(());

/// Looks before the CPU is offered to other threads.
const SPINS: u32 = 512;

/// What a job is of.
pub enum Work {
    One(Job),
    List(BatchJob),
    Raw(RawJob),
}

/// A job, whose end is kept until it is given back.
pub struct JobOfC {
    work: Option<Work>,
    operations: usize,
    end: Option<JobEnd>,
    members: Vec<JobEnd>,
}

static JOBS: Table<JobOfC> = Table::new(handles::JOB);
const OF: (&Table<JobOfC>, u64) = (&JOBS, handles::JOB);

/// A handle for something that was begun, of so many operations.
pub fn begin(work: Work, operations: usize, out: *mut *mut JobHandle) -> Result<c_int, Failure> {
    insert(OF, JobOfC { work: Some(work), operations, end: None, members: Vec::new() }, out)
}

/// The end of a job of the caller's, if it has one.
pub fn look(job: *const JobHandle, name: &str) -> Result<Option<JobEnd>, Failure> {
    with_exclusive(OF, job, name, |job| Ok(job.poll().cloned()))
}

/// Waits a little, longer after many looks.
pub fn pause(looks: u32) {
    if looks < SPINS {
        std::hint::spin_loop();
    } else {
        std::thread::yield_now();
    }
}

impl JobOfC {
    /// Its end, if it has one.
    fn poll(&mut self) -> Option<&JobEnd> {
        match &mut self.work {
            None => {}
            Some(Work::One(job)) => self.end = job.poll().map(end_of),
            Some(Work::Raw(job)) => self.end = job.poll(),
            Some(Work::List(job)) => {
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

fn end_of(end: Result<Outcome, Error>) -> JobEnd {
    end.map(|outcome| OutcomeOfC::from(&outcome)).map_err(Failure::from)
}

/// What a list came to: its bytes, or the failure of the first member that has one.
fn end_of_list(members: &[JobEnd]) -> JobEnd {
    let mut all = OutcomeOfC::empty();
    for (number, end) in members.iter().enumerate() {
        match end {
            Ok(outcome) => {
                all.device_bytes += outcome.device_bytes;
                all.cpu_bytes += outcome.cpu_bytes;
            }
            Err(Failure { errno, text }) => {
                return Err(Failure::new(*errno, format!("member {number} of the batch: {text}")));
            }
        }
    }
    Ok(all)
}

/// Tells the caller of an end.
pub fn tell(end: &JobEnd, out: &Out<OutcomeOfC>) -> Result<c_int, Failure> {
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

/// Begins an operation. On success `*job` is to be given back with skd_job_free(). Until it has
/// ended the program leaves the operation's memory alone, and keeps it.
///
/// -EINVAL, -ENODEV as skd_run(); what else goes wrong is told with the job's end.
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
        let operation = unsafe { sized::given(operation, "operation") }?.read()?;
        let path = self::path(path)?;
        with_client(client, |client| {
            // SAFETY: the caller vouches for the operation's memory.
            begin(Work::One(unsafe { client.submit(&operation, path) }?), 1, out)
        })
    })
}

/// Looks whether a job has ended: -EAGAIN if not; else 0 or the negative errno that it failed with,
/// as of skd_run(). A list fails as its first member that does. The end can be asked for again
/// until the job is given back. What is left of an operation that was divided, or met an absent
/// page, is begun here: a job that is not looked at may not end.
///
/// -ECHILD in a child of the process that began the job, -EBUSY while another thread is inside a
/// call with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_poll(job: *const JobHandle, outcome: *mut OutcomeOfC) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { Out::optional(outcome, "outcome") }?;
        match look(job, "job")? {
            Some(end) => tell(&end, &out),
            None => Err(Failure::new(libc::EAGAIN, "the job is under way")),
        }
    })
}

/// Waits for the end of a job: as skd_job_poll().
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_wait(job: *const JobHandle, outcome: *mut OutcomeOfC) -> c_int {
    // SAFETY: handed on.
    unsafe { skd_job_wait_for(job, SKD_FOREVER, outcome) }
}

/// Waits for the end of a job, but not longer than so many nanoseconds: -ETIMEDOUT leaves it under way.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_wait_for(
    job: *const JobHandle,
    nanoseconds: u64,
    outcome: *mut OutcomeOfC,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { Out::optional(outcome, "outcome") }?;
        let most = limit(nanoseconds);
        with_exclusive(OF, job, "job", |job| match job.wait(most) {
            Some(end) => tell(end, &out),
            None => {
                let text = format!("the job is under way after {nanoseconds} ns");
                Err(Failure::new(libc::ETIMEDOUT, text))
            }
        })
    })
}

/// A time limit as C states it.
pub fn limit(nanoseconds: u64) -> Option<Duration> {
    (nanoseconds != SKD_FOREVER).then_some(Duration::from_nanos(nanoseconds))
}

/// Operations of a job: more than 1 for a list alone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_members(job: *const JobHandle) -> c_int {
    guarded(|| with_shared(OF, job, "job", |job| count_of(job.operations)))
}

/// How an operation of a job has ended, by its number in the list: 0 or its negative errno, and
/// `outcome`, which may be NULL.
///
/// -EAGAIN before the job has ended, -ENOENT if there is no operation of that number.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_member(
    job: *const JobHandle,
    number: u32,
    outcome: *mut OutcomeOfC,
) -> c_int {
    guarded(|| {
        // SAFETY: the caller's structure.
        let out = unsafe { Out::optional(outcome, "outcome") }?;
        with_exclusive(OF, job, "job", |job| {
            let all = job.poll().cloned();
            let all = all.ok_or_else(|| Failure::new(libc::EAGAIN, "the job is under way"))?;
            let members = if job.members.is_empty() { &vec![all] } else { &job.members };
            let last = members.len() - 1;
            let text = || format!("the job has no operation {number}; allowed: 0 to {last}");
            let end = members.get(number as usize);
            tell(end.ok_or_else(|| Failure::new(libc::ENOENT, text()))?, &out)
        })
    })
}

/// Gives a job back that has ended; NULL does nothing.
///
/// -EBUSY if it is under way: wait for it, or abandon it. In a child of the process that began it,
/// it can be given back at any time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_free(job: *mut JobHandle) -> c_int {
    guarded(|| {
        if job.is_null() {
            return Ok(0);
        }
        let has_ended = |job: &mut JobOfC| match job.poll() {
            Some(_) => Ok(()),
            None => Err(Failure::new(
                libc::EBUSY,
                "the job is under way, and its memory a device's: wait for its end, or call \
                 skd_job_abandon()",
            )),
        };
        drop(remove(OF, job, "job", has_ended)?);
        Ok(0)
    })
}

/// Gives a job back, whether or not it has ended. A device may read and write the operation's
/// memory still: it has to stay, and its contents are undefined. NULL does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn skd_job_abandon(job: *mut JobHandle) -> c_int {
    guarded(|| {
        if !job.is_null() {
            drop(remove(OF, job, "job", |_| Ok(()))?);
        }
        Ok(0)
    })
}
