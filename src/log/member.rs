//! Members as the log's own order knows them: who registered, who left, who leads.

use crate::ids::{BrokerId, Epoch, Holder, Position, SessionToken};
use std::collections::BTreeMap;

/// A membership record. Where it stands is the token or the epoch that it gives out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Member {
    /// The log was opened for writing: all earlier sessions and epochs are over.
    Opened,
    /// A broker registered; an earlier session of its own is over.
    Joined {
        /// The broker.
        broker: BrokerId,
    },
    /// A session is about to leave: it is no destination any more.
    Draining {
        /// The session.
        session: SessionToken,
    },
    /// A session is over, and with it its leadership.
    Left {
        /// The session.
        session: SessionToken,
    },
    /// A session leads from here on.
    Elected {
        /// The session.
        session: SessionToken,
    },
    /// A leader gave up.
    Resigned {
        /// Its epoch.
        epoch: Epoch,
    },
}

/// One living session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberInfo {
    /// Whose it is.
    pub broker: BrokerId,
    /// Whether it is about to leave.
    pub draining: bool,
}

/// Who leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leader {
    /// Its term.
    pub epoch: Epoch,
    /// Its session.
    pub session: SessionToken,
}

/// The fold of membership records: who is alive and who leads, at one place of the log.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Members {
    sessions: BTreeMap<SessionToken, MemberInfo>,
    leader: Option<Leader>,
    /// The newest record that was taken in.
    newest: Position,
}

impl Members {
    /// The living sessions by token.
    #[must_use]
    pub fn sessions(&self) -> &BTreeMap<SessionToken, MemberInfo> {
        &self.sessions
    }

    /// Where the newest record stands that is in it; zero if there is none. Whoever has read the
    /// log up to there knows what the members had done before.
    #[must_use]
    pub fn newest(&self) -> Position {
        self.newest
    }

    /// Who leads.
    #[must_use]
    pub fn leader(&self) -> Option<Leader> {
        self.leader
    }

    /// Whether the session is alive.
    #[must_use]
    pub fn is_alive(&self, session: SessionToken) -> bool {
        self.sessions.contains_key(&session)
    }

    /// The living session of a broker.
    #[must_use]
    pub fn session_of(&self, broker: &BrokerId) -> Option<SessionToken> {
        self.sessions
            .iter()
            .find(|(_, info)| info.broker == *broker)
            .map(|(token, _)| *token)
    }

    /// Who leads, by name.
    #[must_use]
    pub fn leader_holder(&self) -> Option<(Epoch, Holder)> {
        let leader = self.leader?;
        let info = self.sessions.get(&leader.session)?;
        Some((
            leader.epoch,
            Holder::new(info.broker.clone(), leader.session),
        ))
    }

    /// Takes in the record at `position`.
    pub fn apply(&mut self, position: Position, member: &Member) {
        self.newest = position;
        match member {
            Member::Opened => {
                self.sessions.clear();
                self.leader = None;
            }
            Member::Joined { broker } => {
                if let Some(earlier) = self.session_of(broker) {
                    self.end(earlier);
                }
                let info = MemberInfo {
                    broker: broker.clone(),
                    draining: false,
                };
                self.sessions.insert(SessionToken::at(position), info);
            }
            Member::Draining { session } => {
                if let Some(info) = self.sessions.get_mut(session) {
                    info.draining = true;
                }
            }
            Member::Left { session } => self.end(*session),
            Member::Elected { session } => {
                if self.is_alive(*session) {
                    self.leader = Some(Leader {
                        epoch: Epoch::at(position),
                        session: *session,
                    });
                }
            }
            Member::Resigned { epoch } => self.leader = self.leader.filter(|l| l.epoch != *epoch),
        }
    }

    fn end(&mut self, session: SessionToken) {
        self.sessions.remove(&session);
        self.leader = self.leader.filter(|leader| leader.session != session);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broker(name: &str) -> BrokerId {
        BrokerId::new(name).unwrap()
    }

    #[test]
    fn a_session_ends_with_the_next_one_of_its_broker_and_takes_its_leadership_along() {
        let mut members = Members::default();
        members.apply(
            Position::new(1),
            &Member::Joined {
                broker: broker("a"),
            },
        );
        members.apply(
            Position::new(2),
            &Member::Elected {
                session: SessionToken::new(1),
            },
        );
        assert_eq!(members.leader().unwrap().epoch, Epoch::new(2));
        members.apply(
            Position::new(3),
            &Member::Joined {
                broker: broker("a"),
            },
        );
        assert_eq!(members.session_of(&broker("a")), Some(SessionToken::new(3)));
        assert!(!members.is_alive(SessionToken::new(1)));
        assert_eq!(members.leader(), None);
    }

    #[test]
    fn only_the_living_can_be_elected() {
        let mut members = Members::default();
        members.apply(
            Position::new(2),
            &Member::Elected {
                session: SessionToken::new(1),
            },
        );
        assert_eq!(members.leader(), None);
    }

    #[test]
    fn opening_ends_all() {
        let mut members = Members::default();
        members.apply(
            Position::new(1),
            &Member::Joined {
                broker: broker("a"),
            },
        );
        members.apply(Position::new(2), &Member::Opened);
        assert_eq!((members.sessions().len(), members.leader()), (0, None));
        assert_eq!(members.newest(), Position::new(2));
    }
}
