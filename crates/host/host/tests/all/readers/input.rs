//! Choices and values out of bytes; where they end, everything is zero.

pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    /// A value of up to eight bytes, most of them short.
    pub fn word(&mut self) -> u64 {
        let length = usize::from(self.byte() % 9);
        let mut word = [0; 8];
        let taken = self.take(length);
        word[..taken.len()].copy_from_slice(taken);
        u64::from_le_bytes(word)
    }

    pub fn take(&mut self, length: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(length.min(self.0.len()));
        self.0 = rest;
        taken
    }

    pub fn one_of<T: Copy>(&mut self, all: &[T]) -> T {
        all[usize::from(self.byte()) % all.len()]
    }
}
