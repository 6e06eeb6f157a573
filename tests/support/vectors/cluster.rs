//! What the recording shows of a cluster, in its own names.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A usage and its limit.
pub(crate) type Pair = [f64; 2];

/// Messages in and out, bytes in and out, a second.
pub(crate) type Rates = [f64; 4];

/// A broker, as it is reported in a round. What is not reported is zero, but for the bundles.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Broker {
    pub(crate) cpu: Option<Pair>,
    pub(crate) mem: Option<Pair>,
    pub(crate) dmem: Option<Pair>,
    pub(crate) bw_in: Option<Pair>,
    pub(crate) bw_out: Option<Pair>,
    /// Messages in and out, a second.
    pub(crate) rate: [f64; 2],
    /// Bytes in and out, a second.
    pub(crate) thr: [f64; 2],
    /// None: as in the round before.
    pub(crate) bundles: Option<Vec<String>>,
    /// Messages in and out a second, over a long time.
    pub(crate) long_rate: Option<Pair>,
    /// The same of bundles that were given to it and are not reported yet.
    pub(crate) preallocated: BTreeMap<String, Pair>,
}

/// What a round shows: all brokers, what is new about bundles, all bundles in their grace period.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct Shown {
    pub(crate) brokers: BTreeMap<String, Broker>,
    /// None: its data is gone.
    #[serde(default)]
    pub(crate) bundles: BTreeMap<String, Option<Rates>>,
    #[serde(default)]
    pub(crate) recent: Vec<String>,
}

/// What is known after some rounds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cluster {
    /// With the bundles of each.
    pub(crate) brokers: BTreeMap<String, Broker>,
    /// Bundles that there is data for.
    pub(crate) bundles: BTreeMap<String, Rates>,
    /// Bundles in their grace period.
    pub(crate) recent: Vec<String>,
}

impl Cluster {
    /// Takes over what a round shows. Who is not listed has left.
    pub(crate) fn show(&mut self, shown: Shown) {
        for (bundle, rates) in shown.bundles {
            match rates {
                Some(rates) => self.bundles.insert(bundle, rates),
                None => self.bundles.remove(&bundle),
            };
        }
        let mut before = std::mem::replace(&mut self.brokers, shown.brokers);
        for (name, broker) in &mut self.brokers {
            let earlier = before.remove(name).and_then(|earlier| earlier.bundles);
            broker.bundles = broker.bundles.take().or(earlier);
        }
        self.recent = shown.recent;
    }

    /// Whether some bundles come biggest first, by messages or by bytes.
    pub(crate) fn falls(&self, bundles: &[String]) -> bool {
        let rates = bundles.iter().filter_map(|name| self.bundles.get(name));
        let messages = rates.clone().map(|rates| rates[0] + rates[1]);
        let bytes = rates.map(|rates| rates[2] + rates[3]);
        messages.is_sorted_by(|a, b| a >= b) || bytes.is_sorted_by(|a, b| a >= b)
    }
}
