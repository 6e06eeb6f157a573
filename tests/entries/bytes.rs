//! Decisions out of bytes: each asks for a few of them, and after the last one gets zeroes.
#![allow(dead_code, reason = "not every target makes every kind of decision")]

/// The bytes that are left.
pub(crate) struct Bytes<'a>(&'a [u8]);

impl<'a> Bytes<'a> {
    pub(crate) const fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All that are left.
    pub(crate) fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// So many, or all that are left.
    pub(crate) fn take(&mut self, count: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(count.min(self.0.len()));
        self.0 = rest;
        taken
    }

    pub(crate) fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or(0)
    }

    pub(crate) fn pair(&mut self) -> u16 {
        u16::from_le_bytes([self.byte(), self.byte()])
    }

    /// One of `count`, which is at least 1 and at most 256.
    pub(crate) fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()) % count
    }

    /// A number below `count`, which is at least 1 and at most 256.
    pub(crate) fn number_below(&mut self, count: u64) -> u64 {
        u64::from(self.byte()) % count
    }

    /// One of a list.
    pub(crate) fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len().min(256))]
    }

    /// A length in two bytes, and as many bytes as it says or are left.
    pub(crate) fn chunk(&mut self) -> &'a [u8] {
        let length = usize::from(self.pair());
        self.take(length)
    }

    pub(crate) fn number(&mut self) -> u64 {
        let mut number = [0; 8];
        let taken = self.take(number.len());
        number[..taken.len()].copy_from_slice(taken);
        u64::from_le_bytes(number)
    }
}
