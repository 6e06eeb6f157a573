//! The fold's state as blocks of bytes, and back.
//!
//! Below it stands the [`log`](crate::log), to which a snapshot is opaque blocks under a horizon;
//! above it the [`table`](crate::table), which is what is written and read. Both directions stream:
//! neither holds more than one block and the names of brokers and namespaces.
//!
//! # Layout, version 1
//!
//! The first block is `magic 8 | version u32 | horizon u64 | chain u32`, every later one
//! `chain u32 | body`, integers little-endian. The chain is the CRC-32 of the chain before it (zero
//! for the first block) and of the rest of its own block, so that blocks that are damaged, missing,
//! repeated or in another order do not fit together. Bodies come in this order: the numbers among
//! the facts, namespaces, sessions, rows, and at the end the count of rows. Lists are sorted, span
//! as many blocks as they need, and are left out if they are empty. A name is spelled out in the
//! block that uses it first.

mod error;
mod format;
mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub use error::Error;
pub use format::{BLOCK_BYTES, BLOCK_BYTES_MAX, FORMAT_VERSION};
pub use reader::{Rows, Snapshot};
pub use writer::{Sealed, Writer};
