//! CRC-32Cs over lists of buffers, many under way at a time.
//!
//! A CRC goes from buffer to buffer: what the one before came to is the seed of the next. Buffers belong
//! to [`Digests`] as long as a device may read them, so that nothing can go wrong with their memory.

#![allow(unsafe_code)]

use crate::tally::Share;
use dsa_client::client::{Client, Path};
use dsa_client::error::Error;
use dsa_client::operation::{CrcKind, Operation};
use dsa_client::outcome::{Answer, Outcome};
use dsa_client::set::Set;
use slab::Slab;
use std::collections::VecDeque;
use units::narrow::fit;

/// CRC-32C of the bytes of several buffers, one behind the other, behind bytes whose CRC-32C is `seed`
/// (0: behind none). Waits for its end.
///
/// # Errors
/// Those of [`Client::run`].
pub fn crc32c(client: &Client, path: Path, seed: u32, buffers: &[&[u8]]) -> Result<u32, Error> {
    buffers.iter().filter(|buffer| !buffer.is_empty()).try_fold(seed, |crc, buffer| {
        // SAFETY: the buffer is borrowed until the call returns.
        let outcome = unsafe { client.run(&over(crc, buffer), path) }?;
        Ok(crc_of(&outcome, crc))
    })
}

fn over(seed: u32, bytes: &[u8]) -> Operation {
    Operation::crc(CrcKind::default(), seed.into(), bytes.as_ptr() as u64, bytes.len() as u64)
}

fn crc_of(outcome: &Outcome, seed: u32) -> u32 {
    match outcome.answer {
        Answer::Crc(crc) => fit(crc),
        _ => seed,
    }
}

/// Buffers, of whose bytes the first so many have a digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Covered {
    /// The buffers.
    pub buffers: Vec<Vec<u8>>,
    /// Bytes.
    pub bytes: usize,
}

impl Covered {
    /// All bytes of buffers.
    #[must_use]
    pub fn all(buffers: Vec<Vec<u8>>) -> Self {
        let bytes = buffers.iter().map(Vec::len).sum();
        Self { buffers, bytes }
    }
}

/// A digest that was computed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// The buffers, unchanged.
    pub buffers: Vec<Vec<u8>>,
    /// CRC-32C of the covered bytes.
    pub crc: u32,
    /// Who computed it.
    pub share: Share,
}

/// Both digests of a PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ended<T> {
    /// What they were begun with.
    pub tag: T,
    /// Of the header.
    pub header: Digest,
    /// Of the data.
    pub data: Digest,
}

/// A CRC on its way through buffers.
#[derive(Debug)]
struct Chain {
    digest: Digest,
    /// The next buffer.
    next: usize,
    /// Bytes that are not covered yet.
    left: usize,
}

impl Chain {
    fn new(covered: Covered) -> Self {
        let digest = Digest { buffers: covered.buffers, crc: 0, share: Share::default() };
        Self { digest, next: 0, left: covered.bytes }
    }

    fn operation(&mut self) -> Option<Operation> {
        loop {
            let buffer = self.digest.buffers.get(self.next)?;
            let covered = &buffer[..buffer.len().min(self.left)];
            self.next += 1;
            self.left -= covered.len();
            if !covered.is_empty() {
                return Some(over(self.digest.crc, covered));
            }
        }
    }

    fn absorb(&mut self, outcome: &Outcome) {
        self.digest.crc = crc_of(outcome, self.digest.crc);
        self.digest.share.device_bytes += outcome.device_bytes;
        self.digest.share.cpu_bytes += outcome.cpu_bytes;
    }
}

struct Task<T> {
    tag: T,
    /// Of the header, and of the data.
    chains: [Chain; 2],
    /// Chains under way.
    left: usize,
    failed: Option<Error>,
}

/// Digests under way, two for each PDU.
pub struct Digests<T> {
    client: Client,
    path: Path,
    most: usize,
    /// Which chain of which task each job is of.
    jobs: Set<(usize, usize)>,
    tasks: Slab<Task<T>>,
    ended: VecDeque<Result<Ended<T>, Error>>,
}

impl<T> Digests<T> {
    /// None yet; at most so many PDUs, and one at least, are under way at a time.
    #[must_use]
    pub fn new(client: &Client, path: Path, most: usize) -> Self {
        let (jobs, tasks) = (Set::new(client), Slab::new());
        let most = most.max(1);
        Self { client: client.clone(), path, most, jobs, tasks, ended: VecDeque::new() }
    }

    /// Begins the digests of a PDU; waits for those of another one if too many are under way. Ends, and
    /// errors with them, are kept until they are taken ([`Self::poll`], [`Self::wait`]).
    pub fn begin(&mut self, tag: T, header: Covered, data: Covered) {
        while self.tasks.len() >= self.most {
            self.advance(true);
        }
        let chains = [Chain::new(header), Chain::new(data)];
        let key = self.tasks.insert(Task { tag, chains, left: 2, failed: None });
        self.go_on(key, 0);
        self.go_on(key, 1);
    }

    /// PDUs under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.tasks.len()
    }

    /// The end of one, if there is one.
    pub fn poll(&mut self) -> Option<Result<Ended<T>, Error>> {
        self.advance(false);
        self.ended.pop_front()
    }

    /// Waits for the end of one; `None` if there is none.
    pub fn wait(&mut self) -> Option<Result<Ended<T>, Error>> {
        while self.ended.is_empty() && !self.tasks.is_empty() {
            self.advance(true);
        }
        self.ended.pop_front()
    }

    /// Takes what jobs have come to, after a wait for one if need be.
    fn advance(&mut self, waits: bool) {
        let mut end = if waits { self.jobs.wait() } else { self.jobs.poll() };
        while let Some(one) = end {
            let (key, which) = one.tag;
            let task = &mut self.tasks[key];
            match one.result {
                Ok(outcome) => task.chains[which].absorb(&outcome),
                Err(error) => task.failed = Some(error),
            }
            self.go_on(key, which);
            end = self.jobs.poll();
        }
    }

    /// Goes on with a chain until something is under way, or its end.
    fn go_on(&mut self, key: usize, which: usize) {
        let task = &mut self.tasks[key];
        while task.failed.is_none() {
            let Some(operation) = task.chains[which].operation() else { break };
            // SAFETY: the buffers are the task's, which leaves them as they are and keeps them until its
            // last job has ended; it is kept by `self`, whose drop waits for that.
            let mut job = match unsafe { self.client.submit(&operation, self.path) } {
                Ok(job) => job,
                Err(error) => {
                    task.failed = Some(error);
                    break;
                }
            };
            match job.poll() {
                Some(Ok(outcome)) => task.chains[which].absorb(&outcome),
                Some(Err(error)) => task.failed = Some(error),
                None => {
                    self.jobs.add((key, which), job);
                    return;
                }
            }
        }
        task.left -= 1;
        if task.left == 0 {
            let Task { tag, chains: [header, data], failed, .. } = self.tasks.remove(key);
            let (header, data) = (header.digest, data.digest);
            self.ended.push_back(failed.map_or(Ok(Ended { tag, header, data }), Err));
        }
    }
}

impl<T> Drop for Digests<T> {
    fn drop(&mut self) {
        // A device may still read the buffers.
        while self.jobs.wait().is_some() {}
    }
}
