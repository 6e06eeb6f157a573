//! Maps from ids that bring their hash along.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

/// A map whose keys are ids. Its order means nothing and differs from process to process: where
/// order can be seen, sort.
pub(crate) type IdMap<K, V> = HashMap<K, V, BuildHasherDefault<IdHasher>>;

/// The hash by which an id is found.
pub(crate) fn id_hash(id: &impl Hash) -> u64 {
    let mut hasher = IdHasher::default();
    id.hash(&mut hasher);
    hasher.finish()
}

/// Mixes the hashes of names, which are strong and differ from process to process, with numbers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct IdHasher(u64);

/// An odd number without a pattern: the fraction of the golden ratio.
const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;

impl Hasher for IdHasher {
    fn write_u64(&mut self, number: u64) {
        // The upper half of the product depends on all bits, the lower half only on lower ones.
        let product = u128::from(self.0 ^ number) * u128::from(FACTOR);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }

    fn write_u32(&mut self, number: u32) {
        self.write_u64(number.into());
    }

    fn write_isize(&mut self, number: isize) {
        self.write_u64(number as u64);
    }

    fn write(&mut self, bytes: &[u8]) {
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            for (to, from) in word.iter_mut().zip(chunk) {
                *to = *from;
            }
            self.write_u64(u64::from_le_bytes(word));
        }
    }

    fn finish(&self) -> u64 {
        self.0
    }
}
