//! Channels that others have built.

use super::SIZE;
use super::run::Sides;

pub(super) const CROSSBEAM: &str = "crossbeam-channel";
pub(super) const FLUME: &str = "flume";

pub(super) fn crossbeam() -> Sides {
    let (sender, receiver) = crossbeam_channel::bounded(SIZE);
    Sides {
        put: Box::new(move || {
            let sender = sender.clone();
            Box::new(move |item| sender.send(item).unwrap())
        }),
        take: Box::new(move || receiver.recv().ok()),
    }
}

pub(super) fn flume() -> Sides {
    let (sender, receiver) = flume::bounded(SIZE);
    Sides {
        put: Box::new(move || {
            let sender = sender.clone();
            Box::new(move |item| sender.send(item).unwrap())
        }),
        take: Box::new(move || receiver.recv().ok()),
    }
}
