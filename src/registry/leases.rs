//! Leases in memory, members in the log: the registry of the embedded engines.

use super::{Error, Registry};
use crate::clock::{Clock, Tick};
use crate::ids::{BrokerId, Epoch, Position, SessionToken};
use crate::log::{AppendError, Doubt, Member, MemberLog, Members};
use crate::sync::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// The registry of a cluster whose brokers share one process and one log.
///
/// Who comes and goes is written into the log, so that its position is the token or the epoch.
/// Leases run by the clock of this process; a session that was not renewed in time ends at the next
/// call.
///
/// # Examples
///
/// ```
/// use deedbook::clock::ManualClock;
/// use deedbook::ids::LogId;
/// use deedbook::log::MemoryLog;
/// use deedbook::registry::{LogRegistry, Registry};
/// use std::sync::Arc;
/// use std::time::Duration;
///
/// let clock = Arc::new(ManualClock::default());
/// let log = Arc::new(MemoryLog::new(LogId::new(1), clock.clone()));
/// let registry = LogRegistry::new(log, clock.clone(), Duration::from_secs(10));
/// let session = registry.register(&"broker-1:8080".parse().unwrap())?;
/// clock.advance(Duration::from_secs(11));
/// assert!(registry.renew(session).is_err()); // too late, for good
/// # Ok::<(), deedbook::registry::Error>(())
/// ```
#[derive(Debug)]
pub struct LogRegistry {
    log: Arc<dyn MemberLog>,
    clock: Arc<dyn Clock>,
    ttl: Duration,
    /// Guards leases and members; held while a membership record is written, so that records and
    /// leases agree. The log's own lock is taken inside it, never the other way round.
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    members: Members,
    leases: BTreeMap<SessionToken, Tick>,
}

impl LogRegistry {
    /// A registry without members over a log that was just opened for writing, which ended all
    /// earlier sessions.
    #[must_use]
    pub fn new(log: Arc<dyn MemberLog>, clock: Arc<dyn Clock>, ttl: Duration) -> Self {
        Self {
            log,
            clock,
            ttl,
            state: Mutex::new(State::default()),
        }
    }

    /// Writes a membership record and takes it in.
    fn write(&self, state: &mut State, member: Member) -> Result<Position, Error> {
        let answer = self.log.append_member(member.clone()).wait();
        let appended = answer
            .map_err(|_| AppendError::Unknown(Doubt::NoAnswer))
            .and_then(|result| result)?;
        state.members.apply(appended.position, &member);
        Ok(appended.position)
    }

    /// Ends the sessions whose leases have run out.
    fn expire(&self, state: &mut State) -> Result<(), Error> {
        let now = self.clock.now();
        let over: Vec<SessionToken> = state
            .leases
            .iter()
            .filter(|(_, end)| **end <= now)
            .map(|(token, _)| *token)
            .collect();
        for session in over {
            self.write(state, Member::Left { session })?;
            state.leases.remove(&session);
        }
        Ok(())
    }

    /// The state after expiry, or the reason why the session is not in it.
    fn check(&self, state: &mut State, session: SessionToken) -> Result<(), Error> {
        self.expire(state)?;
        if state.members.is_alive(session) {
            Ok(())
        } else {
            Err(Error::SessionLost { session })
        }
    }
}

impl Registry for LogRegistry {
    fn ttl(&self) -> Duration {
        self.ttl
    }

    fn register(&self, broker: &BrokerId) -> Result<SessionToken, Error> {
        let state = &mut *self.state.lock();
        self.expire(state)?;
        if let Some(earlier) = state.members.session_of(broker) {
            state.leases.remove(&earlier);
        }
        let end = self.clock.now().after(self.ttl);
        let position = self.write(
            state,
            Member::Joined {
                broker: broker.clone(),
            },
        )?;
        let session = SessionToken::at(position);
        state.leases.insert(session, end);
        Ok(session)
    }

    fn renew(&self, session: SessionToken) -> Result<(), Error> {
        let state = &mut *self.state.lock();
        self.check(state, session)?;
        state
            .leases
            .insert(session, self.clock.now().after(self.ttl));
        Ok(())
    }

    fn members(&self) -> Result<Members, Error> {
        let state = &mut *self.state.lock();
        self.expire(state)?;
        Ok(state.members.clone())
    }

    fn campaign(&self, session: SessionToken) -> Result<Option<Epoch>, Error> {
        let state = &mut *self.state.lock();
        self.check(state, session)?;
        if state.members.leader().is_some() {
            return Ok(None);
        }
        self.write(state, Member::Elected { session })
            .map(|position| Some(Epoch::at(position)))
    }

    fn drain(&self, session: SessionToken) -> Result<(), Error> {
        let state = &mut *self.state.lock();
        self.check(state, session)?;
        self.write(state, Member::Draining { session }).map(|_| ())
    }

    fn resign(&self, epoch: Epoch) -> Result<(), Error> {
        let state = &mut *self.state.lock();
        if state
            .members
            .leader()
            .is_some_and(|leader| leader.epoch == epoch)
        {
            self.write(state, Member::Resigned { epoch })?;
        }
        Ok(())
    }

    fn leave(&self, session: SessionToken) -> Result<(), Error> {
        let state = &mut *self.state.lock();
        if state.members.is_alive(session) {
            self.write(state, Member::Left { session })?;
            state.leases.remove(&session);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::ManualClock;
    use crate::ids::LogId;
    use crate::log::MemoryLog;

    fn registry() -> (LogRegistry, ManualClock) {
        let clock = ManualClock::default();
        let log = MemoryLog::new(LogId::new(1), Arc::new(clock.clone()));
        let registry = LogRegistry::new(
            Arc::new(log),
            Arc::new(clock.clone()),
            Duration::from_secs(10),
        );
        (registry, clock)
    }

    fn broker(name: &str) -> BrokerId {
        BrokerId::new(name).unwrap()
    }

    #[test]
    fn one_leader_at_a_time_and_epochs_grow() {
        let (registry, clock) = registry();
        let a = registry.register(&broker("a")).unwrap();
        let b = registry.register(&broker("b")).unwrap();
        let first = registry.campaign(a).unwrap().unwrap();
        assert_eq!(registry.campaign(b), Ok(None));
        clock.advance(Duration::from_secs(6));
        registry.renew(b).unwrap();
        clock.advance(Duration::from_secs(6));
        let second = registry.campaign(b).unwrap().unwrap();
        assert!(second > first);
        assert_eq!(registry.renew(a), Err(Error::SessionLost { session: a }));
    }

    #[test]
    fn registering_again_ends_the_earlier_session_and_its_lease() {
        let (registry, clock) = registry();
        let first = registry.register(&broker("a")).unwrap();
        let second = registry.register(&broker("a")).unwrap();
        assert!(second > first);
        assert_eq!(
            registry.renew(first),
            Err(Error::SessionLost { session: first })
        );
        clock.advance(Duration::from_secs(9));
        assert_eq!(registry.renew(second), Ok(()));
    }

    #[test]
    fn resigning_makes_room_for_the_next() {
        let (registry, _) = registry();
        let a = registry.register(&broker("a")).unwrap();
        let epoch = registry.campaign(a).unwrap().unwrap();
        registry.resign(epoch).unwrap();
        assert_eq!(registry.members().unwrap().leader(), None);
        registry.resign(epoch).unwrap();
        assert!(registry.campaign(a).unwrap().unwrap() > epoch);
        registry.leave(a).unwrap();
        assert!(registry.members().unwrap().sessions().is_empty());
    }
}
