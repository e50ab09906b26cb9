//! Paths and their numbers.

use fuser::INodeNo;
use std::collections::HashMap;

/// A number is never given to another path.
#[derive(Default)]
pub struct Names {
    paths: Vec<String>,
    numbers: HashMap<String, u64>,
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
        self.paths.push(path.to_owned());
        let number = self.paths.len() as u64 + INodeNo::ROOT.0;
        self.numbers.insert(path.to_owned(), number);
        number
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
