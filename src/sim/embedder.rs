//! What the tests of an embedder ask of a cluster: commands and look-ups that are waited for, in
//! virtual time, and who owns what.

use super::cluster::{Cluster, Outcome};
use super::failure::Failure;
use crate::channel::{
    CommandError, CommandResult, LookUpError, LookUpResult, command_result, look_up_result,
};
use crate::ids::{BrokerId, BundleId};
use crate::protocol::{Mine, Request};
use crate::state::Record;
use std::time::Duration;

impl Cluster {
    /// Whether a broker takes commands now.
    #[must_use]
    pub fn is_ready(&self, broker: &BrokerId) -> bool {
        self.running(broker).is_some_and(|id| {
            let node = self.node(id);
            node.protocol.is_ready(node.clock.local(self.now()))
        })
    }

    /// Lets time pass until every broker that runs takes commands and knows of all others, but no
    /// longer than `limit`; says whether that came.
    ///
    /// # Errors
    ///
    /// As [`Cluster::advance`].
    pub fn advance_until_ready(&mut self, limit: Duration) -> Result<bool, Box<Failure>> {
        self.advance_until(limit, |cluster| {
            let count = cluster.running_brokers().count();
            let knows_all = |broker: &BrokerId| {
                let members = cluster.protocol(broker).and_then(|p| p.members());
                members.is_some_and(|members| members.sessions().len() >= count)
            };
            let mut brokers = cluster.running_brokers();
            brokers.all(|broker| cluster.is_ready(broker) && knows_all(broker))
        })
    }

    /// Gives a broker a command and lets time pass until it has ended, as
    /// [`channel`](crate::channel) would say it.
    ///
    /// # Errors
    ///
    /// As [`Cluster::advance`].
    pub fn command(
        &mut self,
        broker: &BrokerId,
        request: Request,
    ) -> Result<CommandResult, Box<Failure>> {
        let outcome = self.wait_for(broker, request)?;
        Ok(match outcome {
            Some(Outcome::Answered(answer)) => command_result(answer),
            Some(Outcome::Lost) => Err(CommandError::Closed),
            None => Err(CommandError::TimedOut { last_seen: None }),
        })
    }

    /// Asks a broker who serves a bundle or a key, and lets time pass until that is known, as
    /// [`channel`](crate::channel) would say it.
    ///
    /// # Errors
    ///
    /// As [`Cluster::advance`].
    pub fn look_up(
        &mut self,
        broker: &BrokerId,
        request: Request,
    ) -> Result<LookUpResult, Box<Failure>> {
        let outcome = self.wait_for(broker, request)?;
        Ok(match outcome {
            Some(Outcome::Answered(answer)) => look_up_result(answer),
            Some(Outcome::Lost) => Err(LookUpError::Closed),
            None => Err(LookUpError::TimedOut { last_seen: None }),
        })
    }

    /// A broker that stands still answers nothing: there is a limit for whoever waits for it.
    fn wait_for(
        &mut self,
        broker: &BrokerId,
        request: Request,
    ) -> Result<Option<Outcome>, Box<Failure>> {
        let limit = self.config.command_limit.max(self.config.lookup_limit) * 2;
        let ticket = self.ask(broker, request);
        self.advance_until(limit, |cluster| cluster.outcome(ticket).is_some())?;
        Ok(self.outcome(ticket).cloned())
    }

    /// The broker that owns a bundle, as the whole log says.
    #[must_use]
    pub fn owner(&self, bundle: &BundleId) -> Option<&BrokerId> {
        match &self.table().get(bundle)?.record {
            Record::Owned { owner } => Some(&owner.broker),
            _ => None,
        }
    }

    /// What a broker's [`is_mine`](crate::channel::Channel::is_mine) says now; none if it does not
    /// run.
    #[must_use]
    pub fn mine(&self, broker: &BrokerId, bundle: &BundleId) -> Option<Mine> {
        let node = self.node(self.running(broker)?);
        Some(node.protocol.is_mine(node.clock.local(self.now()), bundle))
    }
}
