//! For the tests of embedders: their hooks in a whole cluster of virtual time, on one thread.
//!
//! It is the cluster that deedbook itself is tested with: the same protocol, registry, log and
//! table as in production, where time passes only when the test says so and everything is drawn
//! from one seed. A test adds brokers with its own
//! [`OwnershipHandler`](crate::channel::OwnershipHandler), asks for commands, and makes go wrong
//! what will go wrong one day:
//!
//! | what | how |
//! | --- | --- |
//! | a process dies, or starts again | [`crash`](Cluster::crash), [`restart`](Cluster::restart) |
//! | it leaves in order | [`close`](Cluster::close), [`close_report`](Cluster::close_report) |
//! | it stands still, and wakes up as a zombie | [`pause`](Cluster::pause) |
//! | another process takes its name | [`replace`](Cluster::replace) |
//! | it cannot reach the log | [`cut_log`](Cluster::cut_log) |
//! | it cannot reach the registry | [`cut_registry`](Cluster::cut_registry) |
//! | its appends get lost | [`lose_appends`](Cluster::lose_appends) |
//! | its tail is late | [`slow_tail`](Cluster::slow_tail) |
//! | its machine sleeps | [`jump_clock`](Cluster::jump_clock) |
//! | its hooks are slow | [`set_hooks`](Cluster::set_hooks), or keep the completion |
//! | something of this by chance | [`Builder::faults`] |
//!
//! After each event the cluster checks what deedbook guarantees (two brokers never both say "mine",
//! fences grow, nobody waits for ever, ...); each `advance` fails with the trace once something
//! does not hold. [`come_to_rest`](Cluster::come_to_rest) ends all trouble and checks that everything
//! has healed.
//!
//! # Examples
//!
//! The embedder keeps topics open while it owns their bundle. After its process died and another
//! broker took over, exactly one process has them open.
//!
//! ```
//! use deedbook::channel::{Completion, OwnershipHandler};
//! use deedbook::ids::{BrokerId, BundleId, Fence, KeyRange};
//! use deedbook::protocol::{Action, Request};
//! use deedbook::testing::Cluster;
//! use std::sync::Arc;
//! use std::sync::atomic::{AtomicUsize, Ordering};
//! use std::time::Duration;
//!
//! /// Counts what is open in this process.
//! struct Topics(Arc<AtomicUsize>);
//!
//! impl OwnershipHandler for Topics {
//!     fn acquire(&self, _: &BundleId, _: Fence, done: Completion) {
//!         self.0.fetch_add(1, Ordering::Relaxed);
//!         done.done();
//!     }
//!     fn release(&self, _: &BundleId, _: Fence, _: Option<&BrokerId>, done: Completion) {
//!         self.0.fetch_sub(1, Ordering::Relaxed);
//!         done.done();
//!     }
//! }
//!
//! let (a, b): (BrokerId, BrokerId) = ("a:1".parse()?, "b:1".parse()?);
//! let open = Arc::new(AtomicUsize::new(0));
//! let opened_by_b = Arc::clone(&open);
//! let mut cluster = Cluster::builder(1)
//!     .handled_by(a.clone(), || Topics(Arc::default()))
//!     .handled_by(b.clone(), move || Topics(Arc::clone(&opened_by_b)))
//!     .build()?;
//! assert!(cluster.advance_until_ready(Duration::from_secs(10))?);
//!
//! let namespace: deedbook::ids::Namespace = "acme/orders".parse()?;
//! let bundle = BundleId::new(namespace.clone(), KeyRange::FULL);
//! cluster.command(&a, Request::CreateNamespace { namespace, cuts: None, expected: None })??;
//! let action = Action::Assign { destination: Some(a.clone()) };
//! cluster.command(&a, Request::Bundle { bundle: bundle.clone(), expected: None, action })??;
//! assert_eq!(cluster.owner(&bundle), Some(&a));
//!
//! cluster.crash(&a);
//! let served = |cluster: &Cluster| cluster.is_mine(&b, &bundle).is_some();
//! assert!(cluster.advance_until(Duration::from_secs(120), served)?);
//! assert_eq!(open.load(Ordering::Relaxed), 1);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use crate::sim::{
    Builder, Cluster, Delays, Failure, FaultKind, Faults, HookPlan, Outcome, Span, Violation,
};
