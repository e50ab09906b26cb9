//! The capabilities of a function whose configuration space holds any bytes: what a walk tells agrees
//! with itself, and a register of the tool's is never believed inside a capability.

use host::error::{FileError, Problem};
use host::pci::{capability_at, express};
use host::pci_address::Bdf;
use host::pci_config::PciConfig;

const BYTES: u16 = 4096;
const FUNCTION: Bdf = Bdf { domain: 0, bus: 0x16, device: 0, function: 0 };

/// Configuration space; what the bytes do not reach is zero, or not there where they end early.
struct Space<'a> {
    bytes: &'a [u8],
    ends: bool,
}

impl PciConfig for Space<'_> {
    fn read(&self, _: Bdf, offset: u16) -> Result<u32, FileError> {
        assert!(offset.is_multiple_of(4) && offset < BYTES, "{offset:#x}");
        let at = usize::from(offset);
        if self.ends && at + 4 > self.bytes.len() {
            let problem = Problem::ShortRead { got: 0, wanted: 4 };
            return Err(FileError { path: "config".into(), problem });
        }
        let byte = |index: usize| self.bytes.get(at + index).copied().unwrap_or(0);
        Ok(u32::from_le_bytes([byte(0), byte(1), byte(2), byte(3)]))
    }

    fn write(&self, _: Bdf, _: u16, _: u32) -> Result<(), FileError> {
        panic!("reading writes nothing");
    }
}

pub fn read(bytes: &[u8]) {
    let Some((&first, bytes)) = bytes.split_first() else { return };
    let space = Space { bytes, ends: first & 1 == 1 };
    if let Ok(Some(link)) = express(&space, FUNCTION) {
        assert!((128..=128 << 7).contains(&link.mps_bytes), "{link:?}");
        assert!(link.width < 64 && link.most_width < 64, "{link:?}");
    }
    for offset in [0, 0x3c, 0x40, 0x60, 0xfc, 0x100, 0x104, 0x180, 0x184, 0x400, 0xffc] {
        let Ok(Some(found)) = capability_at(&space, FUNCTION, offset) else { continue };
        let end = u32::from(found.offset) + u32::from(found.bytes);
        assert!(found.offset <= offset && u32::from(offset) < end, "{offset:#x}: {found}");
        // It begins with the identifier that it was listed with.
        if found.offset >= 0x100 {
            let header = space.read(FUNCTION, found.offset).expect("it was read before");
            assert_eq!(header & 0xffff, u32::from(found.id), "{found}");
        }
    }
}
