//! Operations, and the buffers that they keep alive.

use crate::InputError;
use dsa_client::operation::{CrcKind, OffloadOperation, ProtectionTags};
use pyo3::buffer::PyUntypedBuffer;
use pyo3::prelude::*;
use std::sync::Arc;

/// An operation and its buffers.
#[pyclass(module = "skipline.dsa", frozen)]
pub struct DsaOperation {
    pub(super) operation: Box<OffloadOperation>,
    pub(super) buffers: Buffers,
}

/// Buffers that operations and jobs share; they are released with the last of these.
pub(super) type Buffers = Arc<Vec<PyUntypedBuffer>>;

/// Tags of protection information (T10 DIF), and flags as the specification of DSA has them.
#[pyclass(module = "skipline.dsa", frozen)]
pub struct DsaTags(ProtectionTags);

#[pymethods]
impl DsaTags {
    #[new]
    #[pyo3(signature = (reference=0, application=0, mask=0, flags=0))]
    fn new(reference: u32, application: u16, mask: u16, flags: u8) -> Self {
        Self(ProtectionTags { flags, reference, application, mask })
    }
}

/// A buffer's address and size.
struct BufferRange {
    at: u64,
    bytes: u64,
    buffer: PyUntypedBuffer,
}

fn readable(name: &str, given: &Bound<'_, PyAny>) -> PyResult<BufferRange> {
    let wrong = |why: &str| InputError::new_err(format!("`{name}`: {why}"));
    let buffer = PyUntypedBuffer::get(given).map_err(|_| {
        wrong("a buffer is needed: bytes, bytearray, memoryview, array, numpy array")
    })?;
    if !buffer.is_c_contiguous() && !buffer.is_fortran_contiguous() {
        return Err(wrong("the buffer is not contiguous; pass numpy.ascontiguousarray(...)"));
    }
    Ok(BufferRange { at: buffer.buf_ptr() as u64, bytes: buffer.len_bytes() as u64, buffer })
}

fn writable(name: &str, given: &Bound<'_, PyAny>) -> PyResult<BufferRange> {
    let range = readable(name, given)?;
    if range.buffer.readonly() {
        return Err(InputError::new_err(format!("`{name}`: it is read-only; a bytearray is not")));
    }
    Ok(range)
}

/// A writable buffer of at least `bytes`.
fn with_room(name: &str, given: &Bound<'_, PyAny>, bytes: u64) -> PyResult<BufferRange> {
    let range = writable(name, given)?;
    if range.bytes < bytes {
        let has = range.bytes;
        let why = format!("`{name}` has {has} bytes; {bytes} are needed");
        return Err(InputError::new_err(why));
    }
    Ok(range)
}

fn with_buffers<const N: usize>(
    operation: OffloadOperation,
    ranges: [BufferRange; N],
) -> DsaOperation {
    let buffers = Arc::new(ranges.into_iter().map(|range| range.buffer).collect());
    DsaOperation { operation: Box::new(operation), buffers }
}

fn source_and_destination(
    source: &Bound<'_, PyAny>,
    destination: &Bound<'_, PyAny>,
    room: impl FnOnce(u64) -> u64,
) -> PyResult<(BufferRange, BufferRange)> {
    let source = readable("source", source)?;
    let destination = with_room("destination", destination, room(source.bytes))?;
    Ok((source, destination))
}

/// Two sources of the same size.
fn equally_long(
    (first, of_first): (&str, &Bound<'_, PyAny>),
    (second, of_second): (&str, &Bound<'_, PyAny>),
) -> PyResult<(BufferRange, BufferRange)> {
    let ranges = (readable(first, of_first)?, readable(second, of_second)?);
    if ranges.0.bytes != ranges.1.bytes {
        let (one, other) = (ranges.0.bytes, ranges.1.bytes);
        return Err(InputError::new_err(format!(
            "`{first}` has {one} bytes and `{second}` {other}; they have to be equally long"
        )));
    }
    Ok(ranges)
}

/// Flags and block size of protection information.
struct ProtectionFormat {
    bits: u8,
    block: u64,
}

fn format(block: u64, seed_ones: bool, inverts_guard: bool) -> PyResult<ProtectionFormat> {
    let number = [512, 520, 4096, 4104].into_iter().zip(0_u8..).find(|(size, _)| *size == block);
    let Some((_, number)) = number else {
        return Err(InputError::new_err(format!(
            "`block` = {block}; allowed: 512, 520, 4096, 4104"
        )));
    };
    let bits = number | u8::from(seed_ones) << 2 | u8::from(inverts_guard) << 3;
    Ok(ProtectionFormat { bits, block })
}

/// Size of a record of differences in bytes, as a descriptor states it.
fn record_size(bytes: u64) -> PyResult<u32> {
    let wrong = |_| InputError::new_err(format!("`record` has {bytes} bytes; that is too many"));
    u32::try_from(bytes).map_err(wrong)
}

const PROTECTION_BYTES: u64 = 8;

#[pymethods]
impl DsaOperation {
    /// Copies; the buffers may overlap.
    #[staticmethod]
    fn copy(source: &Bound<'_, PyAny>, destination: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (from, to) = source_and_destination(source, destination, |bytes| bytes)?;
        Ok(with_buffers(OffloadOperation::copy(from.at, to.at, from.bytes), [from, to]))
    }

    /// Fills with a pattern of eight bytes (`wide`: 16), the least significant first.
    #[staticmethod]
    #[pyo3(signature = (destination, pattern, *, wide=false))]
    fn fill(destination: &Bound<'_, PyAny>, pattern: u128, wide: bool) -> PyResult<Self> {
        let to = writable("destination", destination)?;
        let operation = match (wide, u64::try_from(pattern)) {
            (true, _) => OffloadOperation::fill_wide(to.at, pattern, to.bytes),
            (false, Ok(pattern)) => OffloadOperation::fill(to.at, pattern, to.bytes),
            (false, Err(_)) => {
                let why = format!("`pattern` = {pattern:#x}: more than 64 bits need wide=True");
                return Err(InputError::new_err(why));
            }
        };
        Ok(with_buffers(operation, [to]))
    }

    /// Finds the first byte in which two buffers differ.
    #[staticmethod]
    fn compare(first: &Bound<'_, PyAny>, second: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (first, second) = equally_long(("first", first), ("second", second))?;
        Ok(with_buffers(
            OffloadOperation::compare(first.at, second.at, first.bytes),
            [first, second],
        ))
    }

    /// Finds the first byte in which a buffer differs from a pattern of eight bytes.
    #[staticmethod]
    fn compare_pattern(source: &Bound<'_, PyAny>, pattern: u64) -> PyResult<Self> {
        let from = readable("source", source)?;
        Ok(with_buffers(OffloadOperation::compare_pattern(from.at, pattern, from.bytes), [from]))
    }

    /// Copies to two buffers, whose addresses are equal in their lowest 12 bits.
    #[staticmethod]
    fn dualcast(
        source: &Bound<'_, PyAny>,
        first: &Bound<'_, PyAny>,
        second: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let from = readable("source", source)?;
        let first = with_room("first", first, from.bytes)?;
        let second = with_room("second", second, from.bytes)?;
        let operation = OffloadOperation::dualcast(from.at, first.at, second.at, from.bytes);
        Ok(with_buffers(operation, [from, first, second]))
    }

    /// Records the differences of `changed` from `original`.
    #[staticmethod]
    fn create_delta(
        original: &Bound<'_, PyAny>,
        changed: &Bound<'_, PyAny>,
        record: &Bound<'_, PyAny>,
    ) -> PyResult<Self> {
        let (original, changed) = equally_long(("original", original), ("changed", changed))?;
        let record = writable("record", record)?;
        let room = (record.at, record_size(record.bytes)?);
        let operation =
            OffloadOperation::create_delta((original.at, changed.at), original.bytes, room);
        Ok(with_buffers(operation, [original, changed, record]))
    }

    /// Writes recorded differences over a buffer.
    #[staticmethod]
    fn apply_delta(record: &Bound<'_, PyAny>, destination: &Bound<'_, PyAny>) -> PyResult<Self> {
        let (record, to) = (readable("record", record)?, writable("destination", destination)?);
        let given = (record.at, record_size(record.bytes)?);
        Ok(with_buffers(OffloadOperation::apply_delta(given, to.at, to.bytes), [record, to]))
    }

    /// Computes a CRC behind bytes whose CRC is `seed`.
    #[staticmethod]
    #[pyo3(signature = (source, seed=0, *, wide=false, bypass_inversion=false,
                        bypass_reflection=false))]
    fn crc(
        source: &Bound<'_, PyAny>,
        seed: u64,
        wide: bool,
        bypass_inversion: bool,
        bypass_reflection: bool,
    ) -> PyResult<Self> {
        let from = readable("source", source)?;
        let kind = kind(wide, bypass_inversion, bypass_reflection);
        Ok(with_buffers(OffloadOperation::crc(kind, seed, from.at, from.bytes), [from]))
    }

    /// Copies, and computes the CRC.
    #[staticmethod]
    #[pyo3(signature = (source, destination, seed=0, *, wide=false, bypass_inversion=false,
                        bypass_reflection=false))]
    fn copy_crc(
        source: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>,
        seed: u64,
        wide: bool,
        bypass_inversion: bool,
        bypass_reflection: bool,
    ) -> PyResult<Self> {
        let (from, to) = source_and_destination(source, destination, |bytes| bytes)?;
        let kind = kind(wide, bypass_inversion, bypass_reflection);
        Ok(with_buffers(
            OffloadOperation::copy_crc(kind, seed, (from.at, to.at), from.bytes),
            [from, to],
        ))
    }

    /// Checks protection information behind each block.
    #[staticmethod]
    #[pyo3(signature = (source, tags, *, block=512, seed_ones=false, inverts_guard=false))]
    fn dif_check(
        source: &Bound<'_, PyAny>,
        tags: &DsaTags,
        block: u64,
        seed_ones: bool,
        inverts_guard: bool,
    ) -> PyResult<Self> {
        let format = format(block, seed_ones, inverts_guard)?;
        let from = readable("source", source)?;
        Ok(with_buffers(
            OffloadOperation::dif_check(from.at, from.bytes, format.bits, tags.0),
            [from],
        ))
    }

    /// Copies blocks, and adds protection information to each.
    #[staticmethod]
    #[pyo3(signature = (source, destination, tags, *, block=512, seed_ones=false,
                        inverts_guard=false))]
    fn dif_insert(
        source: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>,
        tags: &DsaTags,
        block: u64,
        seed_ones: bool,
        inverts_guard: bool,
    ) -> PyResult<Self> {
        let ProtectionFormat { bits, block } = format(block, seed_ones, inverts_guard)?;
        let room = |bytes: u64| bytes / block * (block + PROTECTION_BYTES);
        let (from, to) = source_and_destination(source, destination, room)?;
        Ok(with_buffers(
            OffloadOperation::dif_insert((from.at, to.at), from.bytes, bits, tags.0),
            [from, to],
        ))
    }

    /// Checks protection information, and copies blocks without it.
    #[staticmethod]
    #[pyo3(signature = (source, destination, tags, *, block=512, seed_ones=false,
                        inverts_guard=false))]
    fn dif_strip(
        source: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>,
        tags: &DsaTags,
        block: u64,
        seed_ones: bool,
        inverts_guard: bool,
    ) -> PyResult<Self> {
        let ProtectionFormat { bits, block } = format(block, seed_ones, inverts_guard)?;
        let room = |bytes: u64| bytes / (block + PROTECTION_BYTES) * block;
        let (from, to) = source_and_destination(source, destination, room)?;
        Ok(with_buffers(
            OffloadOperation::dif_strip((from.at, to.at), from.bytes, bits, tags.0),
            [from, to],
        ))
    }

    /// Checks protection information, and copies blocks with new one.
    #[staticmethod]
    #[pyo3(signature = (source, destination, source_tags, destination_tags, *, block=512,
                        seed_ones=false, inverts_guard=false))]
    fn dif_update(
        source: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>,
        source_tags: &DsaTags,
        destination_tags: &DsaTags,
        block: u64,
        seed_ones: bool,
        inverts_guard: bool,
    ) -> PyResult<Self> {
        let format = format(block, seed_ones, inverts_guard)?;
        let (from, to) = source_and_destination(source, destination, |bytes| bytes)?;
        let tags = (source_tags.0, destination_tags.0);
        let operation =
            OffloadOperation::dif_update((from.at, to.at), from.bytes, format.bits, tags);
        Ok(with_buffers(operation, [from, to]))
    }

    /// Writes protection information of blocks, apart from them.
    #[staticmethod]
    #[pyo3(signature = (source, destination, tags, *, block=512, seed_ones=false,
                        inverts_guard=false))]
    fn dix_generate(
        source: &Bound<'_, PyAny>,
        destination: &Bound<'_, PyAny>,
        tags: &DsaTags,
        block: u64,
        seed_ones: bool,
        inverts_guard: bool,
    ) -> PyResult<Self> {
        let ProtectionFormat { bits, block } = format(block, seed_ones, inverts_guard)?;
        let (from, to) =
            source_and_destination(source, destination, |bytes| bytes / block * PROTECTION_BYTES)?;
        Ok(with_buffers(
            OffloadOperation::dix_generate((from.at, to.at), from.bytes, bits, tags.0),
            [from, to],
        ))
    }

    /// Writes the lines of a buffer back to memory, and out of the caches.
    #[staticmethod]
    fn flush(source: &Bound<'_, PyAny>) -> PyResult<Self> {
        let from = readable("source", source)?;
        Ok(with_buffers(OffloadOperation::flush(from.at, from.bytes), [from]))
    }

    /// A copy of the operation that writes its destination to the last-level cache instead of memory.
    fn to_cache(&self) -> Self {
        Self { operation: Box::new(self.operation.to_cache()), buffers: Arc::clone(&self.buffers) }
    }

    /// Name of the operation in the specification.
    #[getter]
    fn name(&self) -> &'static str {
        self.operation.opcode().name()
    }

    /// Size of the source in bytes, including its protection information.
    #[getter]
    fn bytes(&self) -> u64 {
        self.operation.bytes()
    }

    fn __repr__(&self) -> String {
        format!("<Operation {}, {} B>", self.name(), self.bytes())
    }
}

fn kind(is_wide: bool, bypasses_inversion: bool, bypasses_reflection: bool) -> CrcKind {
    CrcKind { is_wide, bypasses_inversion, bypasses_reflection }
}
