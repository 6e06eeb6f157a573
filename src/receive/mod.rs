//! Receiver queues that find their own size, and the memory limit that many share.
//!
//! Whoever follows something reads through a [`Queue`]. It starts small and doubles, up to its
//! maximum, when (a) it was full after a put and then (b) somebody wants more and finds it empty,
//! with no put in between that left room. How many items may come is said by permits, which go out
//! when half of the size was consumed or the size has grown. A [`MemoryLimit`] is shared by any
//! number of queues and producers; queues grow only while less than 75 % of it is used, and halve
//! when it is more than 95 %.
//!
//! What decides stands in step machines without threads and time (`flow`, `inside`, `line`); around
//! them are locks and the waiting. The sum that all queues of a limit share is counted without a
//! lock (`budget`).
//!
//! # Examples
//!
//! ```
//! use deedbook::receive::{MemoryLimit, Queue};
//! use std::time::Duration;
//!
//! let limit = MemoryLimit::new(64 << 20);
//! let queue = Queue::builder()
//!     .size_max(10_000)
//!     .limit(&limit)
//!     .weigh(|message: &Vec<u8>| message.len())
//!     .build();
//! let producer = queue.clone();
//! let sender = std::thread::spawn(move || {
//!     for length in 0..100 {
//!         producer.put(vec![0; length])?; // waits for a permit
//!     }
//!     producer.finish();
//!     Ok::<(), deedbook::receive::PutError<_>>(())
//! });
//! let mut lengths = Vec::new();
//! while let Ok(Some(message)) = queue.take_for(Duration::from_secs(10)) {
//!     lengths.push(message.len());
//! }
//! assert_eq!(lengths, (0..100).collect::<Vec<_>>());
//! assert_eq!(limit.used(), 0);
//! sender.join().unwrap()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod batch;
mod budget;
mod builder;
mod flow;
mod inside;
mod limit;
mod line;
mod listen;
mod purse;
mod put;
mod queue;
mod take;
mod waiting;

pub use batch::{BATCH_BYTES_MAX, BATCH_COUNT_MAX, Batch};
pub use budget::{GROWTH_STOPS_PERCENT, SHRINK_STARTS_PERCENT};
pub use builder::{QUEUE_SIZE_MAX, QueueBuilder};
pub use limit::{MemoryLimit, Reservation, Reserve};
pub use listen::{Ended, Listener};
pub use purse::RESERVE_BYTES_MAX;
pub use put::{Put, PutError};
pub use queue::{Closed, Queue, QueueStatus};
pub use take::{Take, TakeBatch};
