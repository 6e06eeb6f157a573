//! Any lines into the reader of ownership events, and what it makes of them up to a new log.

use deedbook::foreign::{Audit, Event, Founding, RuleSet, read};
use deedbook::ids::{BrokerId, Holder, Position, SessionToken};
use deedbook::state::pulsar::Brokers;
use deedbook::state::{Entry, State};
use deedbook::table::Table;
use std::collections::BTreeMap;

/// Rounds of a founding: a namespace, its assignments, its owners, what is in flight.
const ROUNDS: usize = 4;

/// The bytes as the lines of a file.
pub(crate) fn check(data: &[u8]) {
    let lines = data.split(|&byte| byte == b'\n');
    let events: Vec<_> = lines.filter_map(read_one).collect();
    for rules in RuleSet::ALL {
        for brokers in [Brokers::Checked, Brokers::Unchecked] {
            check_audit(&events, Audit::new(rules).with_brokers(brokers));
        }
    }
}

/// An event is written as it is read, and read as it was written.
fn read_one(json: &[u8]) -> Option<Event> {
    match read(&mut serde_json::Deserializer::from_slice(json)) {
        Ok((event, _)) => {
            let text = serde_json::to_string(&event).unwrap();
            let (again, notes) = read(&mut serde_json::Deserializer::from_str(&text)).unwrap();
            assert_eq!((&again, notes), (&event, vec![]), "{text}");
            Some(event)
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            None
        }
    }
}

fn check_audit(events: &[Event], mut audit: Audit) {
    for (number, event) in (1..).zip(events) {
        let before = audit.get(&event.bundle).cloned();
        match audit.apply(number, event) {
            Ok(()) => {
                let now = audit.get(&event.bundle);
                let gone = audit.rules() == RuleSet::Native
                    && event
                        .observed
                        .as_ref()
                        .is_some_and(|o| o.record.state == State::Init);
                let expected = event.observed.as_ref().filter(|_| !gone);
                assert_eq!(now.map(|held| &held.observed), expected);
            }
            Err(why) => {
                assert!(!why.to_string().is_empty() && !why.name().is_empty());
                assert_eq!(audit.get(&event.bundle), before.as_ref());
            }
        }
    }
    assert_eq!(audit.rows().count(), audit.row_count());
    let native = audit.rules() == RuleSet::Native;
    for namespace in audit.namespaces() {
        let overlaps = audit.coverage(namespace).overlaps;
        assert!(!native || overlaps.is_empty(), "{namespace}: {overlaps:?}");
    }
    assert_eq!(audit.differences(&audit.clone()).count(), 0);
    check_founding(&audit);
}

/// What can be founded is accepted, entry by entry, and is whole.
fn check_founding(audit: &Audit) {
    let Ok(founding) = Founding::new(audit) else {
        return;
    };
    let sessions: BTreeMap<BrokerId, SessionToken> = founding
        .holders()
        .into_iter()
        .zip((2..).map(SessionToken::new))
        .collect();
    // Nobody has two sessions at once.
    let importer: BrokerId = "importer".parse().unwrap();
    let session = sessions.get(&importer).copied();
    let session = session.unwrap_or(SessionToken::new(1));
    let mut table = Table::default();
    let mut position = Position::ZERO;
    for _ in 0..=ROUNDS {
        for (author, body) in founding.entries(&table, &sessions) {
            position = position.next();
            let author = match author {
                Some(broker) => Holder::new(broker.clone(), sessions[&broker]),
                None => Holder::new(importer.clone(), session),
            };
            let entry = Entry {
                author,
                counter: position.get(),
                epoch: None,
                body,
            };
            let applied = table.apply(position, &entry).unwrap().unwrap();
            assert!(applied.outcome.is_ok(), "{applied:?}");
        }
    }
    assert!(founding.entries(&table, &sessions).is_empty());
    assert_eq!(table.row_count(), founding.bundle_count());
    table.check_whole().unwrap();
}
