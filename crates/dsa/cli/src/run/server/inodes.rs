//! Inode numbers of paths.

use fuser::INodeNo;
use std::collections::{HashMap, VecDeque};

/// Most numbers of a path in [`InodeTable::fresh_number`].
const MOST_NUMBERS: usize = 64;

/// The inode numbers of paths. A number is never given to another path.
#[derive(Default)]
pub struct InodeTable {
    paths: Vec<String>,
    numbers: HashMap<String, u64>,
    /// Fresh numbers of a path, the last one at the end.
    further: HashMap<String, VecDeque<u64>>,
}

impl InodeTable {
    /// The number of a path, always the same.
    pub fn number(&mut self, path: &str) -> u64 {
        if path.is_empty() {
            return INodeNo::ROOT.0;
        }
        if let Some(number) = self.numbers.get(path) {
            return *number;
        }
        let number = self.new_number(path);
        self.numbers.insert(path.to_owned(), number);
        number
    }

    /// A number of a path other than the last ones. The kernel allows one write at a time for a number;
    /// writes to this path may take long, and must not wait for each other.
    pub fn fresh_number(&mut self, path: &str) -> u64 {
        let known = self.further.get_mut(path).filter(|known| known.len() == MOST_NUMBERS);
        let number = known.and_then(VecDeque::pop_front).unwrap_or_else(|| self.new_number(path));
        self.further.entry(path.to_owned()).or_default().push_back(number);
        number
    }

    fn new_number(&mut self, path: &str) -> u64 {
        self.paths.push(path.to_owned());
        self.paths.len() as u64 + INodeNo::ROOT.0
    }

    /// The path of a number; `None`: the number was not given.
    pub fn path(&self, number: INodeNo) -> Option<String> {
        if number == INodeNo::ROOT {
            return Some(String::new());
        }
        let index = number.0.checked_sub(INodeNo::ROOT.0 + 1)?;
        self.paths.get(units::narrow::usize_from(index)).cloned()
    }
}
