//! Paths and their numbers.

use fuser::INodeNo;
use std::collections::{HashMap, VecDeque};

/// Numbers that a path of [`Names::further_number`] has at most.
const MOST_NUMBERS: usize = 64;

/// A number is never given to another path.
#[derive(Default)]
pub struct Names {
    paths: Vec<String>,
    numbers: HashMap<String, u64>,
    /// Further numbers of a path, the one that was given last at the end.
    further: HashMap<String, VecDeque<u64>>,
}

impl Names {
    /// The number of a path.
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

    /// Another number of a path than the last ones. The kernel has one write to a file at a time, which it
    /// knows by its number; those to this path may wait long, and do not wait for each other.
    pub fn further_number(&mut self, path: &str) -> u64 {
        let known = self.further.get_mut(path).filter(|known| known.len() == MOST_NUMBERS);
        let number = known.and_then(VecDeque::pop_front).unwrap_or_else(|| self.new_number(path));
        self.further.entry(path.to_owned()).or_default().push_back(number);
        number
    }

    fn new_number(&mut self, path: &str) -> u64 {
        self.paths.push(path.to_owned());
        self.paths.len() as u64 + INodeNo::ROOT.0
    }

    /// The path of a number.
    pub fn path(&self, number: INodeNo) -> Option<String> {
        if number == INodeNo::ROOT {
            return Some(String::new());
        }
        let index = number.0.checked_sub(INodeNo::ROOT.0 + 1)?;
        self.paths.get(units::narrow::usize_from(index)).cloned()
    }
}
