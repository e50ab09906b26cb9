//! Whether the rules in the header of the root-complex buffer suffice: a toy machine that does exactly
//! what they demand, with contents. Every reader of a line must see the last write.

use model::attribution::AgentId;
use model::root_complex::buffer::{
    Acquire, BufferConfig, BufferState, BufferedLine, Placement, RootComplexBuffer, WriteBack,
};
use proptest::prelude::*;
use std::collections::{BTreeMap, VecDeque};
use units::{LineAddr, Picos};

const NIC: AgentId = AgentId(8);
const LINES: u64 = 10;
/// Blocks of the toy LLC, which is one set.
const LLC_BLOCKS: usize = 3;

/// A line has two halves; a partial write changes the first.
type Content = (u32, u32);

#[derive(Clone, Copy, Debug)]
struct Copied {
    content: Content,
    modified: bool,
    /// For a core: it may write without a request.
    writable: bool,
}

/// Memory, an LLC, one core of unlimited capacity, a buffer and its device.
struct Toy {
    memory: BTreeMap<u64, Content>,
    llc: VecDeque<(u64, Copied)>,
    core: BTreeMap<u64, Copied>,
    buffer: RootComplexBuffer,
    in_buffer: BTreeMap<u64, Content>,
}

impl Toy {
    fn new(config: BufferConfig) -> Self {
        Self {
            memory: (0..LINES).map(|line| (line, (0, 0))).collect(),
            llc: VecDeque::new(),
            core: BTreeMap::new(),
            buffer: RootComplexBuffer::new(config).expect("it has entries"),
            in_buffer: BTreeMap::new(),
        }
    }

    fn write_llc(&mut self, line: u64, content: Content, modified: bool) {
        let at = self.llc.iter().position(|(other, _)| *other == line);
        let had = at.and_then(|at| self.llc.remove(at));
        let modified = modified || had.is_some_and(|(_, copy)| copy.modified);
        self.llc.push_back((line, Copied { content, modified, writable: false }));
        if self.llc.len() > LLC_BLOCKS {
            let (line, left) = self.llc.pop_front().expect("it is too full");
            if left.modified {
                self.memory.insert(line, left.content);
            }
        }
    }

    /// The newest content outside the buffer.
    fn newest(&self, line: u64) -> Content {
        let in_llc =
            self.llc.iter().find(|(other, _)| *other == line).map(|(_, copy)| copy.content);
        let in_core = self.core.get(&line).filter(|copy| copy.modified).map(|copy| copy.content);
        in_core.or(in_llc).unwrap_or(self.memory[&line])
    }

    /// Invalidates the line in core and LLC; returns whether one of them had it modified.
    fn remove(&mut self, line: u64) -> bool {
        let in_core = self.core.remove(&line).is_some_and(|copy| copy.modified);
        let at = self.llc.iter().position(|(other, _)| *other == line);
        let in_llc = at.and_then(|at| self.llc.remove(at)).is_some_and(|(_, copy)| copy.modified);
        in_core || in_llc
    }

    fn write_back(&mut self, held: BufferedLine, content: Content) {
        if held.modified {
            match self.buffer.config().write_back(held.device) {
                WriteBack::Llc { .. } => self.write_llc(held.line.0, content, true),
                WriteBack::Memory => {
                    self.memory.insert(held.line.0, content);
                }
            }
        }
    }

    fn acquire(&mut self, line: u64, acquire: Acquire) {
        let newest = self.newest(line);
        let modified = match acquire {
            Acquire::None => return,
            Acquire::Shared => {
                if let Some(copy) = self.core.get_mut(&line) {
                    let was_modified = std::mem::take(&mut copy.modified);
                    copy.writable = false;
                    if was_modified {
                        self.write_llc(line, newest, true);
                    }
                }
                self.in_buffer.insert(line, newest);
                false
            }
            Acquire::Exclusive { with_data } => {
                let modified = self.remove(line);
                // Without data, the buffer's content is undefined until the write.
                self.in_buffer.insert(line, if with_data { newest } else { (u32::MAX, u32::MAX) });
                modified
            }
        };
        self.buffer.fill(LineAddr(line), Picos::ZERO, Picos::ZERO, modified);
    }

    fn victim(&mut self, victim: Option<BufferedLine>) {
        if let Some(held) = victim {
            let content = self.in_buffer.remove(&held.line.0).expect("a held line has content");
            self.write_back(held, content);
        }
    }

    fn device_read(&mut self, line: u64) -> Content {
        let action = self.buffer.read(LineAddr(line), NIC, Picos::ZERO);
        self.acquire(line, action.acquire);
        self.victim(action.victim);
        self.in_buffer[&line]
    }

    fn device_write(&mut self, line: u64, value: u32, full: bool) {
        let action = self.buffer.write(LineAddr(line), NIC, full, Picos::ZERO);
        self.acquire(line, action.acquire);
        self.victim(action.victim);
        let content = self.in_buffer.get_mut(&line).expect("it was acquired");
        *content = if full { (value, value) } else { (value, content.1) };
    }

    fn core_read(&mut self, line: u64) -> Content {
        if let Some(copy) = self.core.get(&line) {
            return copy.content;
        }
        let held = self.buffer.snoop_read(LineAddr(line));
        if let Some(held) = held {
            self.write_back(held, self.in_buffer[&line]);
        }
        let content = self.newest(line);
        let copy = Copied { content, modified: false, writable: held.is_none() };
        self.core.insert(line, copy);
        content
    }

    fn core_write(&mut self, line: u64, value: u32) {
        let mut content = self.core_read(line);
        if !self.core[&line].writable {
            if self.buffer.snoop_invalidate(LineAddr(line)).is_some_and(|held| held.modified) {
                content = self.in_buffer[&line];
            }
            self.in_buffer.remove(&line);
        }
        content.0 = value;
        self.core.insert(line, Copied { content, modified: true, writable: true });
    }

    fn core_evicts(&mut self, line: u64) {
        if let Some(copy) = self.core.remove(&line) {
            self.write_llc(line, copy.content, copy.modified);
        }
    }

    /// A line that the buffer holds exclusively has no other copy.
    fn owned_lines_are_alone(&self) -> bool {
        (0..LINES).all(|line| match self.buffer.state(LineAddr(line)) {
            None | Some(BufferState::Shared) => true,
            Some(BufferState::Exclusive | BufferState::Modified) => {
                !self.core.contains_key(&line) && self.llc.iter().all(|(other, _)| *other != line)
            }
        })
    }
}

fn placement() -> impl Strategy<Value = Placement> {
    prop::sample::select(vec![
        Placement::LlcSide,
        Placement::MemorySide { evict_on_dma_read: true },
        Placement::MemorySide { evict_on_dma_read: false },
        Placement::SeparateIoCache,
    ])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(soak::amount(1_000, 20_000)))]
    #[test]
    fn a_reader_sees_what_was_written_last(
        entries in 1u32..6,
        placement in placement(),
        as_published_code: bool,
        steps in prop::collection::vec((0u64..LINES, 0u8..6), 1..200),
    ) {
        let mut toy = Toy::new(BufferConfig { entries, mshrs: 1, placement, as_published_code });
        let mut last: BTreeMap<u64, Content> = (0..LINES).map(|line| (line, (0, 0))).collect();
        for (value, (line, what)) in (1u32..).zip(steps) {
            match what {
                0 => prop_assert_eq!(toy.device_read(line), last[&line]),
                1 => prop_assert_eq!(toy.core_read(line), last[&line]),
                2 => {
                    toy.device_write(line, value, true);
                    last.insert(line, (value, value));
                }
                3 => {
                    toy.device_write(line, value, false);
                    last.insert(line, (value, last[&line].1));
                }
                4 => {
                    toy.core_write(line, value);
                    last.insert(line, (value, last[&line].1));
                }
                _ => toy.core_evicts(line),
            }
            prop_assert!(toy.owned_lines_are_alone(), "line {line}, step {what}");
        }
        for line in 0..LINES {
            prop_assert_eq!(toy.core_read(line), last[&line]);
        }
    }
}
