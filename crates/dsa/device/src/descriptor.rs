//! A descriptor: the request of 64 bytes for an operation [S 8.1, 8.3].
//!
//! Any 64 bytes are a descriptor; [`crate::checks`] finds whether a device executes it. Fields are
//! little-endian; those of operations are methods here, named as the specification has them.

use crate::hardware::{DESCRIPTOR_BYTES, Opcode, flags, offset};

/// A descriptor as the device reads it from memory: 64 bytes, aligned to 64. Default: all zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C, align(64))]
pub struct Descriptor(pub [u8; DESCRIPTOR_BYTES]);

impl Default for Descriptor {
    fn default() -> Self {
        Self([0; DESCRIPTOR_BYTES])
    }
}

macro_rules! fields {
    ($($(#[doc = $doc:literal])+ $read:ident $write:ident $type:ty = $at:expr;)+) => { $(
        $(#[doc = $doc])+
        #[inline]
        #[must_use]
        pub fn $read(&self) -> $type {
            let mut bytes = [0; size_of::<$type>()];
            bytes.copy_from_slice(&self.0[$at..$at + size_of::<$type>()]);
            <$type>::from_le_bytes(bytes)
        }

        #[doc = concat!("Sets [`Self::", stringify!($read), "`].")]
        #[inline]
        #[must_use]
        pub fn $write(mut self, value: $type) -> Self {
            self.0[$at..$at + size_of::<$type>()].copy_from_slice(&value.to_le_bytes());
            self
        }
    )+ };
}

impl Descriptor {
    fields! {
        /// PASID in bits 19:0, privilege in bit 31.
        pasid_word with_pasid_word u32 = offset::PASID;
        /// Operation code.
        code with_code u8 = offset::OPCODE;
        /// Address of the completion record.
        record with_record u64 = offset::RECORD;
        /// First operand: source, first source, list, record to apply, first readback address.
        first with_first u64 = offset::FIRST;
        /// Second operand: destination, second source, first destination, second readback address.
        second with_second u64 = offset::SECOND;
        /// Transfer size in bytes, or number of descriptors.
        size with_size u32 = offset::SIZE;
        /// Handle of the completion interrupt.
        interrupt with_interrupt u16 = offset::INTERRUPT;
        /// Compare: the expected result, in bit 0.
        expected_result with_expected_result u8 = 40;
        /// Create delta: address of the record.
        delta_record with_delta_record u64 = 40;
        /// Create delta: maximum size of the record, in bytes.
        most_delta_bytes with_most_delta_bytes u32 = 48;
        /// Create delta: bit n says whether result n is expected.
        expected_results with_expected_results u8 = 56;
        /// Apply delta: size of the record, in bytes.
        delta_bytes with_delta_bytes u32 = 40;
        /// Dualcast: second destination.
        second_destination with_second_destination u64 = 40;
        /// Fill: upper half of a pattern of 16 bytes.
        pattern_high with_pattern_high u64 = 40;
        /// CRC of 32 bits: seed.
        crc_seed with_crc_seed u32 = 40;
        /// CRC of 64 bits: seed.
        crc_seed_64 with_crc_seed_64 u64 = 40;
        /// CRC: address of the seed.
        crc_seed_address with_crc_seed_address u64 = 48;
        /// DIF: flags of the source.
        dif_source_flags with_dif_source_flags u8 = 40;
        /// DIF: flags of the destination.
        dif_destination_flags with_dif_destination_flags u8 = 41;
        /// DIF: block size, seed and inversion of the guard.
        dif_flags with_dif_flags u8 = 42;
        /// DIF check, strip, update: reference tag of the source.
        source_reference with_source_reference u32 = 48;
        /// DIF check, strip, update: mask of the source's application tag.
        source_mask with_source_mask u16 = 52;
        /// DIF check, strip, update: application tag of the source.
        source_application with_source_application u16 = 54;
        /// DIF insert, update, DIX: reference tag of the destination.
        destination_reference with_destination_reference u32 = 56;
        /// DIF insert, update, DIX: mask of the destination's application tag.
        destination_mask with_destination_mask u16 = 60;
        /// DIF insert, update, DIX: application tag of the destination.
        destination_application with_destination_application u16 = 62;
        /// Translation fetch: stride, in bytes.
        stride with_stride u32 = 48;
    }

    /// A descriptor with this operation code and all other bytes zero.
    #[must_use]
    pub fn of(opcode: Opcode) -> Self {
        Self::default().with_code(opcode as u8)
    }

    /// Flags of the descriptor: 24 bits.
    #[inline]
    #[must_use]
    pub fn flags(&self) -> u32 {
        u32::from_le_bytes([self.0[4], self.0[5], self.0[6], 0])
    }

    /// Sets [`Self::flags`]. Bits beyond bit 23 are ignored.
    #[inline]
    #[must_use]
    pub fn with_flags(mut self, flags: u32) -> Self {
        self.0[offset::FLAGS..offset::OPCODE].copy_from_slice(&flags.to_le_bytes()[..3]);
        self
    }

    /// Whether all of these flags are set.
    #[inline]
    #[must_use]
    pub fn has(&self, flags: u32) -> bool {
        self.flags() & flags == flags
    }

    /// Requests a completion record at `address`, also if the operation succeeds.
    #[must_use]
    pub fn recording(self, address: u64) -> Self {
        let flags = self.flags() | flags::RECORD_ADDRESS_VALID | flags::REQUEST_RECORD;
        self.with_record(address).with_flags(flags)
    }

    /// The operation; `None` if the specification does not define the operation code.
    #[inline]
    #[must_use]
    pub fn opcode(&self) -> Option<Opcode> {
        Opcode::from_code(self.code())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_where_the_specification_has_them() {
        let descriptor = Descriptor::of(Opcode::CopyCrc)
            .with_flags(0x01_0c0e)
            .with_record(0x1122_3344_5566_7780)
            .with_first(0x0807_0605_0403_0201)
            .with_size(0xaabb_ccdd)
            .with_crc_seed_address(0xf0f1_f2f3_f4f5_f6f7);
        assert_eq!(descriptor.0[4..8], [0x0e, 0x0c, 0x01, 0x11]);
        assert_eq!(descriptor.0[8], 0x80);
        assert_eq!(descriptor.0[16..18], [0x01, 0x02]);
        assert_eq!(descriptor.0[32..36], [0xdd, 0xcc, 0xbb, 0xaa]);
        assert_eq!(descriptor.0[48], 0xf7);
        assert_eq!(descriptor.flags(), 0x01_0c0e);
        assert_eq!(descriptor.opcode(), Some(Opcode::CopyCrc));
    }
}
