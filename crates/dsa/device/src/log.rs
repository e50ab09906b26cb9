//! A log of submitted descriptors, in the format that `skipline run` replays
//! (docs/reference/descriptor-log.md).

use crate::checks::{CheckRules, Membership, QueueLimits};
use crate::descriptor::Descriptor;
use crate::engine::EndedDescriptor;
use crate::hardware::capabilities::Capabilities;
use crate::hardware::status;
use crate::hardware::{DELTA_ENTRY_BYTES, DESCRIPTOR_BYTES, Opcode, PRIVILEGED, PROTECTION_BYTES};
use crate::memory;
use crate::operations::block_bytes;
use std::fmt::Write as _;
use std::io::{self, Write};

/// A log with a line for each submitted descriptor, and for each member of a batch.
#[derive(Debug)]
pub struct Log<W> {
    to: W,
    capabilities: Capabilities,
    batches: u64,
    skipped: u64,
}

impl<W: Write> Log<W> {
    /// A log for a device with these capabilities.
    pub fn new(to: W, capabilities: Capabilities) -> Self {
        Self { to, capabilities, batches: 0, skipped: 0 }
    }

    /// Number of descriptors without a line: those that a check refuses, and operations that the format does
    /// not have (translation fetch, DIX generate).
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// Flushes and returns the writer.
    ///
    /// # Errors
    /// If the flush fails.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }

    /// Writes the line of a descriptor that is about to be submitted. `time_ns` may not decrease from
    /// call to call. `portal` is a different number for each pair of a thread and a queue. The list of a
    /// batch is read from memory.
    ///
    /// # Errors
    /// If the line cannot be written.
    pub fn submitted(
        &mut self,
        time_ns: u64,
        portal: u32,
        descriptor: &Descriptor,
        queue: &QueueLimits,
    ) -> io::Result<()> {
        match self.operation(descriptor, queue, Membership::Queue) {
            Some(Opcode::Batch) => self.batch(time_ns, portal, descriptor, queue),
            Some(opcode) => self.line(time_ns, portal, None, (descriptor, opcode)),
            None => Ok(()),
        }
    }

    fn batch(
        &mut self,
        time_ns: u64,
        portal: u32,
        batch: &Descriptor,
        queue: &QueueLimits,
    ) -> io::Result<()> {
        self.batches += 1;
        for number in 0..u64::from(batch.size()) {
            let address = batch.first().wrapping_add(number * DESCRIPTOR_BYTES as u64);
            let Some(member) = memory::read(address).map(Descriptor) else { break };
            let privileged = batch.pasid_word() & PRIVILEGED != 0;
            let membership = Membership::Batch { privileged };
            if let Some(opcode) = self.operation(&member, queue, membership) {
                self.line(time_ns, portal, Some(self.batches), (&member, opcode))?;
            }
        }
        Ok(())
    }

    fn operation(
        &mut self,
        descriptor: &Descriptor,
        queue: &QueueLimits,
        membership: Membership,
    ) -> Option<Opcode> {
        let rules = CheckRules { capabilities: &self.capabilities, queue, membership };
        let checked = rules.check(descriptor).ok();
        let opcode = checked.filter(|opcode| is_known(*opcode));
        self.skipped += u64::from(opcode.is_none());
        opcode
    }

    fn line(
        &mut self,
        time_ns: u64,
        portal: u32,
        batch: Option<u64>,
        (descriptor, opcode): (&Descriptor, Opcode),
    ) -> io::Result<()> {
        let mut line = fields(time_ns, portal, batch, (descriptor, opcode));
        line.push_str("}\n");
        self.to.write_all(line.as_bytes())
    }
}

/// Submission of a descriptor, for its line in the log of a device that reports each descriptor's end.
#[derive(Clone, Copy, Debug)]
pub struct LogSource<'a> {
    /// Time of the submission in nanoseconds since the start of the log.
    pub time_ns: u64,
    /// Number of the portal that the descriptor was submitted to.
    pub portal: u32,
    /// Name of the queue, as in `wq0.1`.
    pub queue: &'a str,
    /// The process that submitted the descriptor.
    pub process: u32,
}

impl LogSource<'_> {
    /// Formats the line of a descriptor that has ended. `None` for a batch, whose members have lines, and for
    /// descriptors that [`Log::skipped`] counts. The time of a batch is its number.
    #[must_use]
    pub fn line(&self, ended: &EndedDescriptor<'_>) -> Option<String> {
        let status = ended.outcome.record().status();
        let is_refused = (status::BAD_OPCODE..=status::BAD_TRAFFIC_CLASS).contains(&status)
            && status != status::RECORD_FAULT;
        let opcode = ended.descriptor.opcode().filter(|opcode| !is_refused && is_known(*opcode));
        let opcode = opcode.filter(|opcode| *opcode != Opcode::Batch)?;
        let batch = ended.member.map(|_| self.time_ns);
        let mut line = fields(self.time_ns, self.portal, batch, (ended.descriptor, opcode));
        let Self { queue, process, .. } = self;
        // Text grows without an error.
        let _ =
            write!(line, ", \"queue\": \"{queue}\", \"process\": {process}, \"status\": {status}");
        line.push_str("}\n");
        Some(line)
    }
}

/// Whether the format has the operation.
fn is_known(opcode: Opcode) -> bool {
    !matches!(opcode, Opcode::TranslationFetch | Opcode::DixGenerate)
}

/// Formats a line without its end.
fn fields(
    time_ns: u64,
    portal: u32,
    batch: Option<u64>,
    (descriptor, opcode): (&Descriptor, Opcode),
) -> String {
    let mut line = format!("{{\"time_ns\": {time_ns}, \"portal\": {portal}");
    let mut field = |name: &str, value: Option<u64>| {
        if let Some(value) = value {
            // Text grows without an error.
            let _ = write!(line, ", \"{name}\": {value}");
        }
    };
    let bytes = data_bytes(descriptor, opcode);
    field("batch", batch);
    field("opcode", Some(u64::from(descriptor.code())));
    field("flags", Some(u64::from(descriptor.flags())));
    field("bytes", bytes);
    field("record_bytes", record_bytes(descriptor, opcode));
    let has_blocks = (Opcode::DifCheck..=Opcode::DifUpdate).contains(&opcode);
    field("block_bytes", has_blocks.then(|| block_bytes(descriptor.dif_flags())));
    let [source, destination, third] = addresses(descriptor, opcode);
    for (name, address) in [("source", source), ("destination", destination), ("third", third)] {
        if let Some(address) = address {
            let _ = write!(line, ", \"{name}\": \"{address:#x}\"");
        }
    }
    line
}

/// The transfer size in bytes, without protection information of blocks.
fn data_bytes(descriptor: &Descriptor, opcode: Opcode) -> Option<u64> {
    let size = u64::from(descriptor.size());
    let block = block_bytes(descriptor.dif_flags());
    match opcode {
        Opcode::NoOp | Opcode::Drain => None,
        Opcode::DifCheck | Opcode::DifStrip | Opcode::DifUpdate => {
            Some(size / (block + PROTECTION_BYTES) * block)
        }
        _ => Some(size),
    }
}

/// The size of a delta record in bytes of whole entries; for a record to create, its maximum size.
fn record_bytes(descriptor: &Descriptor, opcode: Opcode) -> Option<u64> {
    let bytes = match opcode {
        Opcode::CreateDelta => descriptor.most_delta_bytes(),
        Opcode::ApplyDelta => descriptor.delta_bytes(),
        _ => return None,
    };
    Some(u64::from(bytes / DELTA_ENTRY_BYTES * DELTA_ENTRY_BYTES))
}

/// Source, destination (or second source), and third address, if the operation has them.
fn addresses(descriptor: &Descriptor, opcode: Opcode) -> [Option<u64>; 3] {
    let (first, second) = (Some(descriptor.first()), Some(descriptor.second()));
    match opcode {
        Opcode::NoOp | Opcode::Drain | Opcode::Batch => [None, None, None],
        Opcode::Fill | Opcode::CacheFlush => [None, second, None],
        Opcode::ComparePattern | Opcode::Crc | Opcode::DifCheck => [first, None, None],
        Opcode::CreateDelta => [first, second, Some(descriptor.delta_record())],
        Opcode::Dualcast => [first, second, Some(descriptor.second_destination())],
        _ => [first, second, None],
    }
}
