//! A log of submitted descriptors, in the format that `skipline run` replays (docs/descriptor-log.md).

use crate::checks::{Place, QueueLimits, Rules};
use crate::descriptor::Descriptor;
use crate::engine::Ended;
use crate::hardware::capabilities::Capabilities;
use crate::hardware::status;
use crate::hardware::{DELTA_ENTRY_BYTES, DESCRIPTOR_BYTES, Opcode, PRIVILEGED, PROTECTION_BYTES};
use crate::memory;
use crate::operations::block_bytes;
use std::fmt::Write as _;
use std::io::{self, Write};

/// Writes a line for each descriptor, and for each member of a batch.
#[derive(Debug)]
pub struct Log<W> {
    to: W,
    capabilities: Capabilities,
    batches: u64,
    skipped: u64,
}

impl<W: Write> Log<W> {
    /// A log of what is submitted to a device that can do this.
    pub fn new(to: W, capabilities: Capabilities) -> Self {
        Self { to, capabilities, batches: 0, skipped: 0 }
    }

    /// Descriptors that have no line, since no part does them: those that a check refuses, and
    /// operations that the format does not have (translation fetch, DIX generate).
    #[must_use]
    pub fn skipped(&self) -> u64 {
        self.skipped
    }

    /// The writer, with all lines.
    ///
    /// # Errors
    /// If what the writer keeps cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.to.flush()?;
        Ok(self.to)
    }

    /// Notes a descriptor that is about to be submitted. Times do not go back; `portal` is a number of
    /// its own for each pair of a thread and a queue. The list of a batch is read from memory.
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
        match self.operation(descriptor, queue, Place::Queue) {
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
            let place = Place::Batch { privileged };
            if let Some(opcode) = self.operation(&member, queue, place) {
                self.line(time_ns, portal, Some(self.batches), (&member, opcode))?;
            }
        }
        Ok(())
    }

    fn operation(
        &mut self,
        descriptor: &Descriptor,
        queue: &QueueLimits,
        place: Place,
    ) -> Option<Opcode> {
        let rules = Rules { capabilities: &self.capabilities, queue, place };
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

/// What a descriptor's line says beside its operands: where it came from, if a device tells how it ended.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// When it was written to its portal.
    pub time_ns: u64,
    /// Its portal.
    pub portal: u32,
    /// Name of its queue.
    pub queue: &'a str,
    /// The process that submitted it.
    pub process: u32,
}

impl Source<'_> {
    /// The line of a descriptor that has ended. A batch has none, its members have; what no part does has
    /// none either (see [`Log::skipped`]). The time of a batch is its number.
    #[must_use]
    pub fn line(&self, ended: &Ended<'_>) -> Option<String> {
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

/// Whether the format has it.
fn is_known(opcode: Opcode) -> bool {
    !matches!(opcode, Opcode::TranslationFetch | Opcode::DixGenerate)
}

/// A line without its end.
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

/// The transfer size; where blocks have protection information, without that.
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

/// The size of a delta record in whole entries; of one to be created the largest that it may have.
fn record_bytes(descriptor: &Descriptor, opcode: Opcode) -> Option<u64> {
    let bytes = match opcode {
        Opcode::CreateDelta => descriptor.most_delta_bytes(),
        Opcode::ApplyDelta => descriptor.delta_bytes(),
        _ => return None,
    };
    Some(u64::from(bytes / DELTA_ENTRY_BYTES * DELTA_ENTRY_BYTES))
}

/// Source, destination (or second source), and third address, as far as the operation has them.
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
