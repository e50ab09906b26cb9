//! Memory for the kernels: whole huge pages if the system gives them.

use super::PAGE_BYTES;
use memmap2::{Advice, MmapMut, MmapOptions};
use serde::{Deserialize, Serialize};
use std::io;

/// Bytes of a huge page.
const HUGE_PAGE_BYTES: usize = 2 << 20;
const HUGE_PAGE_BITS: u8 = 21;
const WORD_BYTES: usize = size_of::<u64>();

/// Kind of pages that the system gave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PagesObtained {
    /// Reserved huge pages (MAP_HUGETLB).
    Reserved,
    /// Transparent huge pages for at least nine tenths of the memory.
    Transparent,
    /// Small pages for more than a tenth of the memory.
    Small,
}

/// Zeroed and touched memory whose beginning is aligned to a huge page.
#[derive(Debug)]
pub(super) struct KernelArena {
    map: MmapMut,
    start: usize,
    bytes: usize,
    obtained: PagesObtained,
}

impl KernelArena {
    /// Maps at least `bytes`: reserved huge pages, else transparent ones, else small ones.
    ///
    /// # Errors
    /// If the system has no memory left.
    pub(super) fn new(bytes: usize) -> io::Result<Self> {
        let bytes = bytes.next_multiple_of(HUGE_PAGE_BYTES);
        if let Ok(map) = MmapOptions::new().len(bytes).huge(Some(HUGE_PAGE_BITS)).map_anon() {
            let mut arena = Self { map, start: 0, bytes, obtained: PagesObtained::Reserved };
            arena.touch_pages();
            return Ok(arena);
        }
        let map = MmapMut::map_anon(bytes + HUGE_PAGE_BYTES)?;
        // Without huge pages small ones do; smaps below says which ones the system gave.
        let _ = map.advise(Advice::HugePage);
        let misaligned = map.as_ptr() as usize % HUGE_PAGE_BYTES;
        let start = (HUGE_PAGE_BYTES - misaligned) % HUGE_PAGE_BYTES;
        let mut arena = Self { map, start, bytes, obtained: PagesObtained::Small };
        arena.touch_pages();
        let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
        if huge_bytes_at(&maps, arena.map.as_ptr() as usize) >= bytes / 10 * 9 {
            arena.obtained = PagesObtained::Transparent;
        }
        Ok(arena)
    }

    /// Kind of pages that the system gave.
    pub(super) fn pages_obtained(&self) -> PagesObtained {
        self.obtained
    }

    /// The memory as words.
    pub(super) fn words(&mut self) -> &mut [u64] {
        let end = self.start + self.bytes;
        bytemuck::cast_slice_mut(&mut self.map[self.start..end])
    }

    fn touch_pages(&mut self) {
        let words = PAGE_BYTES / WORD_BYTES;
        self.words().iter_mut().step_by(words).for_each(|word| *word = 1);
    }
}

/// Bytes in transparent huge pages of the mapping that contains `address`, from the text of smaps.
fn huge_bytes_at(smaps: &str, address: usize) -> usize {
    let mut inside = false;
    for line in smaps.lines() {
        let mut words = line.split_ascii_whitespace();
        let first = words.next().unwrap_or_default();
        if let Some((begin, end)) = first.split_once('-') {
            let hexadecimal = |text| usize::from_str_radix(text, 16).ok();
            inside = hexadecimal(begin).is_some_and(|begin| begin <= address)
                && hexadecimal(end).is_some_and(|end| address < end);
        } else if inside && first == "AnonHugePages:" {
            let kib: usize = words.next().and_then(|text| text.parse().ok()).unwrap_or(0);
            return kib << 10;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMAPS: &str = "7f0000000000-7f0000400000 rw-p 00000000 00:00 0 \n\
        Size:               4096 kB\nAnonHugePages:      2048 kB\n\
        7f0000400000-7f0000800000 rw-p 00000000 00:00 0 \nAnonHugePages:         0 kB\n";

    #[test]
    fn huge_pages_are_counted_for_the_mapping_that_holds_the_address() {
        assert_eq!(huge_bytes_at(SMAPS, 0x7f00_0020_0000), 2 << 20);
        assert_eq!(huge_bytes_at(SMAPS, 0x7f00_0040_0000), 0);
        assert_eq!(huge_bytes_at(SMAPS, 0x1000), 0);
    }

    #[test]
    fn the_memory_begins_on_a_huge_page_and_has_the_size_asked_for() {
        let mut arena = KernelArena::new(3 << 20).unwrap();
        assert_eq!(arena.words().len(), (4 << 20) / WORD_BYTES);
        assert_eq!(arena.words().as_ptr() as usize % HUGE_PAGE_BYTES, 0);
    }
}
