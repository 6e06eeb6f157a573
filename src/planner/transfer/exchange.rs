//! What one broker gives to another, and what it takes in return.

use super::config::Config;
use super::statistics::Reporter;
use crate::ids::{BrokerId, BundleId};
use crate::planner::draft::{Destination, Draft};
use crate::planner::{Amount, BundleLoad, Kept, Measure, Trigger};

/// After a swap the giver must have less than this share of the bytes that it had.
const SWAP_SHARE_MAX: f64 = 0.75;

/// Two brokers while bundles are chosen.
#[derive(Debug)]
pub(super) struct Exchange<'a, 'c> {
    config: &'c Config,
    top: Reporter<'a>,
    bottom: Reporter<'a>,
    /// Bytes a second of the giver.
    top_bytes: f64,
    /// Bytes a second of the taker.
    bottom_bytes: f64,
    /// What should go, in bytes a second.
    target: f64,
    gone: f64,
    come: f64,
    /// How far the taker's bundles were looked at for a swap.
    offered: usize,
}

/// A bundle with its load.
type Bundle<'a> = (&'a BundleId, &'a BundleLoad);

impl<'a, 'c> Exchange<'a, 'c> {
    pub(super) fn new(config: &'c Config, top: Reporter<'a>, bottom: Reporter<'a>) -> Self {
        let top_bytes = top.load.traffic.bytes();
        let half = (top.smoothed.usage - bottom.smoothed.usage) / 2.0;
        Self {
            config,
            top,
            bottom,
            top_bytes,
            bottom_bytes: bottom.load.traffic.bytes(),
            target: top_bytes * half / top.smoothed.usage,
            gone: 0.0,
            come: 0.0,
            offered: 0,
        }
    }

    /// Chooses bundles in the order of the report; the load that goes, none if no bundle does.
    ///
    /// The first bundle that is too big ends it, unless bundles of the taker in return make it fit.
    /// The last one of the report stays.
    pub(super) fn choose(&mut self, draft: &mut Draft<'a>) -> Option<f64> {
        let mut kept = Vec::new();
        let bundles = self.top.smoothed.top_bundles.as_deref().unwrap_or_default();
        let mut left = bundles.len();
        let mut bundles = bundles.iter();
        for bundle in bundles.by_ref() {
            if left == 1 {
                kept.push((bundle.clone(), Kept::LastReported));
                break;
            }
            match self.give(draft, bundle) {
                Ok(()) => left -= 1,
                Err(reason) => {
                    kept.push((bundle.clone(), reason));
                    if matches!(reason, Kept::TooBig { .. }) {
                        break;
                    }
                }
            }
        }
        kept.extend(bundles.map(|bundle| (bundle.clone(), Kept::NotReached)));
        if let Some(verdict) = draft.verdict(self.top.broker) {
            verdict.kept = kept;
            verdict.amount = Some(Amount {
                measure: Measure::Bytes,
                wanted: self.target,
                reached: self.gone,
            });
        }
        (self.gone > 0.0).then(|| self.load_gone())
    }

    /// What the taker gets in load.
    fn load_gone(&self) -> f64 {
        (self.gone - self.come) * self.top.smoothed.usage / self.top_bytes
    }

    fn give(&mut self, draft: &mut Draft<'a>, bundle: &'a BundleId) -> Result<(), Kept> {
        let to = self.config.transfer.then_some(self.bottom.broker);
        let (load, bytes) = admit(draft, self.top, to, bundle)?;
        let mut swapped = Vec::new();
        if self.gone - self.come + bytes > self.target {
            let fits = self.config.transfer && self.swap(draft, bytes, &mut swapped);
            if !fits {
                return Err(Kept::TooBig {
                    traffic: bytes,
                    remaining: self.target - (self.gone - self.come),
                    measure: Measure::Bytes,
                });
            }
        }
        let come: f64 = swapped
            .iter()
            .map(|(_, load)| load.short_term.bytes())
            .sum();
        if !swapped.is_empty() {
            let to = self.top.broker.clone();
            draft.trigger(self.bottom.broker, Trigger::InReturn { to });
        }
        for offer in swapped {
            self.take(draft, offer, Way::Back);
        }
        if self.config.count_swaps {
            self.come += come;
        }
        self.gone += bytes;
        self.take(draft, (bundle, load), Way::There);
        Ok(())
    }

    /// Looks for bundles of the taker that make up for one of so many bytes.
    fn swap(&mut self, draft: &mut Draft<'a>, bytes: f64, swapped: &mut Vec<Bundle<'a>>) -> bool {
        let mut top = self.top_bytes - self.gone + self.come - bytes;
        let mut bottom = self.bottom_bytes + self.gone - self.come + bytes;
        let offers = self.bottom.smoothed.top_bundles.as_deref();
        for bundle in offers.unwrap_or_default().iter().skip(self.offered) {
            self.offered += 1;
            let way = (self.bottom.broker, Some(self.top.broker));
            let offer = owned(self.bottom, bundle);
            let Ok(load) = offer.and_then(|load| draft.offer(way, bundle, load)) else {
                continue;
            };
            let bytes = load.short_term.bytes();
            let (top_after, bottom_after) = (top + bytes, bottom - bytes);
            if top_after < self.top_bytes && bottom_after < self.top_bytes {
                (top, bottom) = (top_after, bottom_after);
                swapped.push((bundle, load));
                if bottom <= top && top < self.top_bytes * SWAP_SHARE_MAX {
                    return true;
                }
            }
        }
        false
    }

    fn take(&self, draft: &mut Draft<'a>, bundle: Bundle<'a>, way: Way) {
        let (from, to) = match way {
            Way::There => (self.top, self.bottom),
            Way::Back => (self.bottom, self.top),
        };
        let gone = self.load_gone();
        let top_after = (self.top.smoothed.usage - gone).max(0.0) * 100.0;
        let bottom_after = (self.bottom.smoothed.usage + gone) * 100.0;
        let (from_score_after, to_score_after) = match way {
            Way::There => (top_after, bottom_after),
            Way::Back => (bottom_after, top_after),
        };
        let destination = Destination {
            broker: to.broker,
            from_score_after,
            to_score_after,
        };
        let destination = self.config.transfer.then_some(&destination);
        draft.take(bundle, from.broker, destination);
    }
}

/// From the giver to the taker, or in return.
#[derive(Clone, Copy)]
enum Way {
    There,
    Back,
}

/// The load and the bytes of a bundle that may move.
fn admit<'a>(
    draft: &mut Draft<'a>,
    owner: Reporter<'a>,
    to: Option<&'a BrokerId>,
    bundle: &'a BundleId,
) -> Result<(&'a BundleLoad, f64), Kept> {
    let load = draft.admit((owner.broker, to), bundle, owned(owner, bundle)?)?;
    let bytes = load.short_term.bytes();
    if bytes == 0.0 {
        return Err(Kept::Idle);
    }
    Ok((load, bytes))
}

/// What is known of a bundle that a broker reports, if it is the broker's.
fn owned<'a>(owner: Reporter<'a>, bundle: &BundleId) -> Result<Option<&'a BundleLoad>, Kept> {
    let load = owner.load.bundles.get(bundle).ok_or(Kept::Disputed)?;
    Ok(load.as_ref())
}
