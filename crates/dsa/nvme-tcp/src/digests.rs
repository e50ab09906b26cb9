//! CRC-32Cs over lists of buffers, many under way at a time.
//!
//! The CRC of one buffer seeds the next. Buffers belong to [`DigestQueue`] as long as a device may read them,
//! so that their memory stays valid.

#![allow(unsafe_code)]

use crate::tally::DigestBytes;
use dsa_client::client::{OffloadClient, Path};
use dsa_client::error::Error;
use dsa_client::operation::{CrcKind, OffloadOperation};
use dsa_client::outcome::{OffloadAnswer, OffloadOutcome};
use dsa_client::set::Set;
use slab::Slab;
use std::collections::VecDeque;
use units::narrow::fit;

/// Computes the CRC-32C of the concatenation of several buffers, and waits for it. `seed` is the CRC-32C of
/// the bytes before them; 0: there are none.
///
/// # Errors
/// If [`OffloadClient::run`] fails.
pub fn crc32c(
    client: &OffloadClient,
    path: Path,
    seed: u32,
    buffers: &[&[u8]],
) -> Result<u32, Error> {
    buffers.iter().filter(|buffer| !buffer.is_empty()).try_fold(seed, |crc, buffer| {
        // SAFETY: the buffer is borrowed until the call returns.
        let outcome = unsafe { client.run(&crc_operation(crc, buffer), path) }?;
        Ok(crc_of(&outcome, crc))
    })
}

fn crc_operation(seed: u32, bytes: &[u8]) -> OffloadOperation {
    OffloadOperation::crc(
        CrcKind::default(),
        seed.into(),
        bytes.as_ptr() as u64,
        bytes.len() as u64,
    )
}

fn crc_of(outcome: &OffloadOutcome, seed: u32) -> u32 {
    match outcome.answer {
        OffloadAnswer::Crc(crc) => fit(crc),
        _ => seed,
    }
}

/// Buffers whose first bytes are covered by a digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CoveredBuffers {
    /// Buffers with the covered bytes, in order.
    pub buffers: Vec<Vec<u8>>,
    /// Number of bytes that the digest covers, from the first byte of the first buffer on.
    pub bytes: usize,
}

impl CoveredBuffers {
    /// Buffers that the digest covers as a whole.
    #[must_use]
    pub fn all(buffers: Vec<Vec<u8>>) -> Self {
        let bytes = buffers.iter().map(Vec::len).sum();
        Self { buffers, bytes }
    }
}

/// A computed digest, with the buffers that it covers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Digest {
    /// Buffers that the digest covers, unchanged.
    pub buffers: Vec<Vec<u8>>,
    /// CRC-32C of the covered bytes.
    pub crc: u32,
    /// Numbers of bytes of which a device and the CPU computed the CRC.
    pub bytes: DigestBytes,
}

/// Both computed digests of a PDU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PduDigests<T> {
    /// The tag that was given to [`DigestQueue::begin`].
    pub tag: T,
    /// The header digest of the PDU.
    pub header: Digest,
    /// The data digest of the PDU.
    pub data: Digest,
}

/// A CRC that is computed buffer by buffer.
#[derive(Debug)]
struct CrcChain {
    digest: Digest,
    /// Index of the next buffer.
    next: usize,
    /// Bytes that are still to be covered.
    left: usize,
}

impl CrcChain {
    fn new(covered: CoveredBuffers) -> Self {
        let digest = Digest { buffers: covered.buffers, crc: 0, bytes: DigestBytes::default() };
        Self { digest, next: 0, left: covered.bytes }
    }

    fn next_operation(&mut self) -> Option<OffloadOperation> {
        loop {
            let buffer = self.digest.buffers.get(self.next)?;
            let covered = &buffer[..buffer.len().min(self.left)];
            self.next += 1;
            self.left -= covered.len();
            if !covered.is_empty() {
                return Some(crc_operation(self.digest.crc, covered));
            }
        }
    }

    fn absorb(&mut self, outcome: &OffloadOutcome) {
        self.digest.crc = crc_of(outcome, self.digest.crc);
        self.digest.bytes.device_bytes += outcome.device_bytes;
        self.digest.bytes.cpu_bytes += outcome.cpu_bytes;
    }
}

struct PduTask<T> {
    tag: T,
    /// The chains of header and data.
    chains: [CrcChain; 2],
    /// Number of chains under way.
    left: usize,
    failed: Option<Error>,
}

/// Digests under way, two for each PDU.
pub struct DigestQueue<T> {
    client: OffloadClient,
    path: Path,
    most: usize,
    /// Jobs under way, by task and number of the chain.
    jobs: Set<(usize, usize)>,
    tasks: Slab<PduTask<T>>,
    ended: VecDeque<Result<PduDigests<T>, Error>>,
}

impl<T> DigestQueue<T> {
    /// An empty queue. At most `most` PDUs are under way at a time; 0 counts as 1.
    #[must_use]
    pub fn new(client: &OffloadClient, path: Path, most: usize) -> Self {
        let (jobs, tasks) = (Set::new(client), Slab::new());
        let most = most.max(1);
        Self { client: client.clone(), path, most, jobs, tasks, ended: VecDeque::new() }
    }

    /// Begins the digests of a PDU. If too many PDUs are under way, waits for the digests of another one.
    /// Results and errors are kept until [`Self::poll`] or [`Self::wait`] returns them.
    pub fn begin(&mut self, tag: T, header: CoveredBuffers, data: CoveredBuffers) {
        while self.tasks.len() >= self.most {
            self.advance(true);
        }
        let chains = [CrcChain::new(header), CrcChain::new(data)];
        let key = self.tasks.insert(PduTask { tag, chains, left: 2, failed: None });
        self.continue_chain(key, 0);
        self.continue_chain(key, 1);
    }

    /// Number of PDUs under way.
    #[must_use]
    pub fn under_way(&self) -> usize {
        self.tasks.len()
    }

    /// Returns the digests of a PDU, if one is finished; PDUs finish in any order.
    ///
    /// # Errors
    /// The item is an error if a digest could not be computed.
    pub fn poll(&mut self) -> Option<Result<PduDigests<T>, Error>> {
        self.advance(false);
        self.ended.pop_front()
    }

    /// Waits for the digests of a PDU; `None`: no PDU is under way.
    ///
    /// # Errors
    /// The item is an error if a digest could not be computed.
    pub fn wait(&mut self) -> Option<Result<PduDigests<T>, Error>> {
        while self.ended.is_empty() && !self.tasks.is_empty() {
            self.advance(true);
        }
        self.ended.pop_front()
    }

    /// Takes the results of finished jobs; with `waits` first waits for one.
    fn advance(&mut self, waits: bool) {
        let mut end = if waits { self.jobs.wait() } else { self.jobs.poll() };
        while let Some(one) = end {
            let (key, which) = one.tag;
            let task = &mut self.tasks[key];
            match one.result {
                Ok(outcome) => task.chains[which].absorb(&outcome),
                Err(error) => task.failed = Some(error),
            }
            self.continue_chain(key, which);
            end = self.jobs.poll();
        }
    }

    /// Continues a chain until one of its jobs is under way, or the chain has ended.
    fn continue_chain(&mut self, key: usize, which: usize) {
        let task = &mut self.tasks[key];
        while task.failed.is_none() {
            let Some(operation) = task.chains[which].next_operation() else { break };
            // SAFETY: the buffers belong to the task, which does not change them and keeps them until its
            // last job has ended; the task belongs to `self`, whose drop waits for that.
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
            let PduTask { tag, chains: [header, data], failed, .. } = self.tasks.remove(key);
            let (header, data) = (header.digest, data.digest);
            self.ended.push_back(failed.map_or(Ok(PduDigests { tag, header, data }), Err));
        }
    }
}

impl<T> Drop for DigestQueue<T> {
    fn drop(&mut self) {
        // A device may still read the buffers.
        while self.jobs.wait().is_some() {}
    }
}
