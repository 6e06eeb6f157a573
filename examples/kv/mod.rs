//! A small key-value broker: how deedbook is embedded. Each node counts keys, and answers only for
//! those that it owns; what it counts stands in a storage that all nodes share.

mod load;
mod node;
mod storage;

pub(crate) use load::{Load, Report, run};
pub(crate) use storage::Fences;
