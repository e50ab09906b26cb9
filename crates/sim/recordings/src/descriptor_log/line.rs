//! A line of a log, and the descriptor that it describes.

use super::descriptor::{LoggedDescriptor, LoggedOperation};
use serde::{Deserialize, Deserializer};
use units::Picos;

/// Flags of a descriptor that act here.
const FENCE: u32 = 1 << 0;
const BLOCK_ON_FAULT: u32 = 1 << 1;
const CACHE_CONTROL: u32 = 1 << 8;
/// Flags have 24 bits.
const FLAGS: u32 = 0x00ff_ffff;
/// No device takes more at once.
const MOST_BYTES: u64 = 1 << 31;
/// Later than any run.
const MOST_TIME_NS: f64 = 1e15;
const DIF_BLOCKS: [u64; 4] = [512, 520, 4096, 4104];
/// Entries of a delta record.
const DELTA_BYTES: u64 = 10;

/// A line of a log: a descriptor as JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogLine {
    /// Time at which the descriptor was written to its portal.
    time_ns: f64,
    /// Number of the portal to which the descriptor was written.
    pub portal: u32,
    /// Number of the batch of which the descriptor is a member.
    #[serde(default)]
    pub batch: Option<u64>,
    opcode: u32,
    #[serde(default)]
    flags: u32,
    #[serde(default)]
    bytes: u64,
    #[serde(default, deserialize_with = "address")]
    source: Option<u64>,
    #[serde(default, deserialize_with = "address")]
    destination: Option<u64>,
    #[serde(default, deserialize_with = "address")]
    third: Option<u64>,
    #[serde(default)]
    record_bytes: Option<u64>,
    #[serde(default)]
    block_bytes: Option<u64>,
    /// Queue, process and status at the time of the recording; a replay ignores them.
    #[serde(default, rename = "queue")]
    _queue: Option<String>,
    #[serde(default, rename = "process")]
    _process: Option<u32>,
    #[serde(default, rename = "status")]
    _status: Option<u8>,
}

/// An address as hexadecimal text.
fn address<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u64>, D::Error> {
    let text = String::deserialize(from)?;
    let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    number.map(Some).ok_or_else(|| {
        serde::de::Error::custom(format!("an address is text such as \"0x7f00\", not \"{text}\""))
    })
}

impl LogLine {
    pub(super) fn parse(text: &[u8]) -> Result<Self, String> {
        let line: Self = serde_json::from_slice(text).map_err(|error| {
            // The parser counts lines of this text, which has one.
            error.to_string().replace("line 1 column", "column")
        })?;
        if !(0.0..=MOST_TIME_NS).contains(&line.time_ns) {
            return Err(format!("`time_ns` is {}; allowed: 0 to {MOST_TIME_NS}", line.time_ns));
        }
        Ok(line)
    }

    /// The descriptor; `continues_batch` if it is a member of the batch of the line before.
    pub(super) fn descriptor(&self, continues_batch: bool) -> Result<LoggedDescriptor, String> {
        let operation = self.operation()?;
        if self.flags > FLAGS {
            return Err(format!("`flags` is {}; allowed: 0 to {FLAGS}", self.flags));
        }
        let has = |flag: u32| self.flags & flag != 0;
        if has(FENCE) && self.batch.is_none() {
            return Err("`flags` has a fence (1), which only members of batches have".into());
        }
        let descriptor = LoggedDescriptor {
            time: Picos::from_ns(self.time_ns),
            portal: self.portal,
            continues_batch,
            operation,
            bytes: self.bytes,
            source: self.source.unwrap_or(0),
            destination: self.destination.unwrap_or(0),
            third: self.third.unwrap_or(0),
            writes_to_cache: has(CACHE_CONTROL),
            fence: has(FENCE),
            block_on_fault: has(BLOCK_ON_FAULT),
        };
        self.check(&descriptor)?;
        Ok(descriptor)
    }

    fn operation(&self) -> Result<LoggedOperation, String> {
        Ok(match self.opcode {
            0x00 => LoggedOperation::NoOp,
            0x02 if self.batch.is_none() => LoggedOperation::Drain,
            0x02 => return Err("`opcode` is 2 (drain), which no batch may contain".into()),
            0x03 => LoggedOperation::Move,
            0x04 => LoggedOperation::Fill,
            0x05 => LoggedOperation::Compare,
            0x06 => LoggedOperation::ComparePattern,
            0x07 => LoggedOperation::CreateDelta { record_bytes: self.record_bytes(0)? },
            0x08 => LoggedOperation::ApplyDelta { record_bytes: self.record_bytes(DELTA_BYTES)? },
            0x09 => LoggedOperation::Dualcast,
            0x10 => LoggedOperation::Crc,
            0x11 => LoggedOperation::CopyCrc,
            0x12 => LoggedOperation::DifCheck { block_bytes: self.block_bytes()? },
            0x13 => LoggedOperation::DifInsert { block_bytes: self.block_bytes()? },
            0x14 => LoggedOperation::DifStrip { block_bytes: self.block_bytes()? },
            0x15 => LoggedOperation::DifUpdate { block_bytes: self.block_bytes()? },
            0x20 => LoggedOperation::CacheFlush,
            0x01 => return Err("`opcode` is 1; a batch is its members' `batch`".into()),
            other => {
                return Err(format!("`opcode` is {other}; allowed: 0, 2 to 9, 16 to 21 and 32"));
            }
        })
    }

    fn record_bytes(&self, least: u64) -> Result<u64, String> {
        let bytes =
            self.record_bytes.ok_or("`record_bytes` is missing: the delta record's size")?;
        match bytes {
            bytes if (least..=MOST_BYTES).contains(&bytes) => Ok(bytes),
            _ => Err(format!("`record_bytes` is {bytes}; allowed: {least} to {MOST_BYTES}")),
        }
    }

    fn block_bytes(&self) -> Result<u64, String> {
        let bytes = self.block_bytes.ok_or("`block_bytes` is missing: data of a block")?;
        match bytes {
            bytes if DIF_BLOCKS.contains(&bytes) && self.bytes.is_multiple_of(bytes) => Ok(bytes),
            _ => {
                Err(format!("`block_bytes` is {bytes}; allowed: {DIF_BLOCKS:?}, a part of `bytes`"))
            }
        }
    }

    /// Whether the size is there, and the address of each operand.
    fn check(&self, descriptor: &LoggedDescriptor) -> Result<(), String> {
        let bare = matches!(descriptor.operation, LoggedOperation::NoOp | LoggedOperation::Drain);
        if !bare && !(1..=MOST_BYTES).contains(&self.bytes) {
            return Err(format!("`bytes` is {}; allowed: 1 to {MOST_BYTES}", self.bytes));
        }
        let operands =
            [("source", self.source), ("destination", self.destination), ("third", self.third)];
        for ((name, address), bytes) in operands.into_iter().zip(descriptor.operand_bytes()) {
            let Some(bytes) = bytes else { continue };
            let Some(address) = address else {
                return Err(format!("`{name}` is missing: opcode {} has it", self.opcode));
            };
            if address.checked_add(bytes).is_none() {
                return Err(format!("`{name}` is {address:#x}: its operand exceeds 64 bits"));
            }
        }
        Ok(())
    }
}
