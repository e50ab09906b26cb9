//! Reference results of operations, computed by plain code, for random calls.

/// The contribution of a byte to a CRC of so many bits, highest power first.
const fn table(polynomial: u64, width: u32) -> [u64; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut register = (byte as u64) << (width - 8);
        let mut bit = 0;
        while bit < 8 {
            let carry = register >> (width - 1) & 1;
            register = register << 1 & (u64::MAX >> (64 - width)) ^ (carry * polynomial);
            bit += 1;
        }
        table[byte] = register;
        byte += 1;
    }
    table
}

static CRC_32C: [u64; 256] = table(0x1edc_6f41, 32);
static CRC_64: [u64; 256] = table(0xad93_d235_94c9_3659, 64);
static CRC_16: [u64; 256] = table(0x8bb7, 16);

fn divided(table: &[u64; 256], width: u32, register: u64, bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(register, |register, byte| {
        let [.., first] = (register >> (width - 8) ^ u64::from(byte)).to_be_bytes();
        register << 8 & (u64::MAX >> (64 - width)) ^ table[usize::from(first)]
    })
}

/// CRC-32C, or the CRC-64 of NVMe, by the specification's two flags.
pub fn crc(is_wide: bool, seed: u64, bytes: &[u8], (raw, unreflected): (bool, bool)) -> u64 {
    let (table, width) = if is_wide { (&CRC_64, 64) } else { (&CRC_32C, 32) };
    let mask = u64::MAX >> (64 - width);
    let turned = |value: u64| value.reverse_bits() >> (64 - width);
    let register = if raw { seed & mask } else { turned(!seed & mask) };
    let bytes = bytes.iter().map(|byte| if unreflected { *byte } else { byte.reverse_bits() });
    let register = divided(table, width, register, bytes);
    if raw { register } else { !turned(register) & mask }
}

/// CRC-16 of T10-DIF.
fn guard(block: &[u8]) -> [u8; 2] {
    let register = divided(&CRC_16, 16, 0, block.iter().copied());
    let [.., high, low] = register.to_be_bytes();
    [high, low]
}

/// Tags of a run of blocks: the application tag stays, the reference tag counts.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    pub block: usize,
    pub application: u16,
    pub reference: u32,
}

impl Run {
    fn protection(&self, number: usize, block: &[u8]) -> [u8; 8] {
        let count = u32::try_from(number).expect("few blocks");
        let mut bytes = [0; 8];
        bytes[..2].copy_from_slice(&guard(block));
        bytes[2..4].copy_from_slice(&self.application.to_be_bytes());
        bytes[4..].copy_from_slice(&self.reference.wrapping_add(count).to_be_bytes());
        bytes
    }

    /// Blocks with their protection.
    pub fn inserted(&self, data: &[u8]) -> Vec<u8> {
        let blocks = data.chunks(self.block).enumerate();
        blocks.flat_map(|(n, block)| [block, &self.protection(n, block)].concat()).collect()
    }

    /// The protection alone.
    pub fn generated(&self, data: &[u8]) -> Vec<u8> {
        let blocks = data.chunks(self.block).enumerate();
        blocks.flat_map(|(n, block)| self.protection(n, block)).collect()
    }

    /// The first block whose protection is wrong, and the DIF status that it has.
    pub fn wrong(&self, protected: &[u8]) -> Option<(usize, u8)> {
        protected.chunks(self.block + 8).enumerate().find_map(|(number, chunk)| {
            let (block, found) = chunk.split_at(self.block);
            let right = self.protection(number, block);
            let differs = |range: std::ops::Range<usize>, bit| {
                if found[range.clone()] == right[range] { 0 } else { bit }
            };
            let wrong = differs(0..2, 1) | differs(2..4, 2) | differs(4..8, 4);
            (wrong != 0).then_some((number, wrong))
        })
    }

    /// Data without protection.
    pub fn stripped(&self, protected: &[u8]) -> Vec<u8> {
        let blocks = protected.chunks(self.block + 8);
        blocks.flat_map(|chunk| chunk[..self.block].to_vec()).collect()
    }
}

/// The record of differences in units of eight bytes, cut at `most` bytes, and whether it was.
pub fn delta(original: &[u8], changed: &[u8], most: usize) -> (Vec<u8>, bool) {
    let mut record = Vec::new();
    for (unit, (own, other)) in original.chunks(8).zip(changed.chunks(8)).enumerate() {
        if own == other {
            continue;
        }
        if record.len() + 10 > most {
            return (record, true);
        }
        record.extend(u16::try_from(unit).expect("small").to_le_bytes());
        record.extend(other);
    }
    (record, false)
}

#[test]
fn judges_know_published_check_values() {
    assert_eq!(crc(false, 0, b"123456789", (false, false)), 0xe306_9283);
    assert_eq!(crc(true, 0, b"123456789", (false, false)), 0xae8b_1486_0a79_9888);
    assert_eq!(guard(b"123456789"), [0xd0, 0xdb]);
}
