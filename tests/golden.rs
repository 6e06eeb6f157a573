//! Bytes that version 1 wrote are still read, and today's writer still writes them.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "tests may stop at the first surprise"
)]

mod support;

use deedbook::ids::{BrokerId, BundleId, Epoch, Holder, Position, SessionToken};
use deedbook::log::codec::{self, Dictionary};
use deedbook::log::{Member, Payload};
use deedbook::state::{Body, Change, Entry, Record};
use std::collections::BTreeMap;
use std::sync::Arc;
use support::{bundle, create, cuts, delete, end};

const CODEC: &str = include_str!("golden/v1/codec.txt");

/// The lines of the file that are no comments: a name, and bytes.
fn golden() -> BTreeMap<&'static str, Vec<u8>> {
    let lines = CODEC
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    let case = |line: &'static str| {
        let (name, hex) = line.split_once(": ").unwrap();
        let digits: Vec<u32> = hex.chars().filter_map(|c| c.to_digit(16)).collect();
        let bytes = digits
            .chunks(2)
            .map(|pair| u8::try_from(pair[0] * 16 + pair[1]).unwrap());
        (name, bytes.collect())
    };
    let cases: BTreeMap<_, _> = lines.clone().map(case).collect();
    assert_eq!(cases.len(), lines.count(), "a name stands there twice");
    cases
}

fn a() -> BrokerId {
    BrokerId::new("a:1").unwrap()
}

fn b() -> BrokerId {
    BrokerId::new("b:1").unwrap()
}

fn a7() -> Holder {
    Holder::new(a(), SessionToken::new(7))
}

fn member(member: Member) -> Payload {
    Payload::Member(member)
}

fn entry(session: u64, counter: u64, epoch: Option<u64>, body: Body) -> Payload {
    Payload::Entry(Arc::new(Entry {
        author: Holder::new(a(), SessionToken::new(session)),
        counter,
        epoch: epoch.map(Epoch::new),
        body,
    }))
}

fn change(bundle: BundleId, expected: u64, next: Option<Record>) -> Body {
    Body::Changes(vec![Change {
        bundle,
        expected: Position::new(expected),
        next,
    }])
}

/// What the lines of payloads that stand alone mean.
fn alone() -> Vec<(&'static str, Payload)> {
    let session = SessionToken::new;
    let entry7 = |epoch, body| entry(7, 1, epoch, body);
    let raise = Body::RaiseRules { version: 2 };
    let mut all = vec![
        ("opened", member(Member::Opened)),
        ("joined", member(Member::Joined { broker: a() })),
        (
            "draining",
            member(Member::Draining {
                session: session(250),
            }),
        ),
        (
            "left",
            member(Member::Left {
                session: session(251),
            }),
        ),
        (
            "elected",
            member(Member::Elected {
                session: session(65535),
            }),
        ),
        (
            "resigned",
            member(Member::Resigned {
                epoch: Epoch::new(65536),
            }),
        ),
        ("leader-started", entry7(Some(9), Body::LeaderStarted)),
        ("raise-rules", entry(u64::from(u32::MAX), 2, Some(9), raise)),
        (
            "create-whole",
            entry(1 << 32, 1, None, create("t/n", &[], 0)),
        ),
        (
            "create-cut",
            entry7(None, create("t/n", &[1, 1 << 31], u64::MAX)),
        ),
        ("delete", entry7(None, delete("t/n"))),
        ("end", entry7(Some(9), end("t/n"))),
        ("changes-none", entry7(None, Body::Changes(vec![]))),
        (
            "remove",
            entry7(Some(9), change(bundle(0, u32::MAX), 50, None)),
        ),
    ];
    let becomes = |record| entry7(None, change(bundle(0, u32::MAX), 50, Some(record)));
    all.extend(records().map(|(name, record)| (name, becomes(record))));
    all
}

/// What the lines that change a bundle make of it.
fn records() -> impl Iterator<Item = (&'static str, Record)> {
    let split = |source, at: &[u32]| Record::Splitting {
        source,
        cuts: cuts(at),
    };
    let release = |destination| Record::Releasing {
        source: a7(),
        destination,
    };
    let records = [
        ("free", Record::Free),
        ("assigning", Record::Assigning { destination: b() }),
        ("owned", Record::Owned { owner: a7() }),
        ("releasing", release(None)),
        ("releasing-to", release(Some(b()))),
        ("splitting-nobody", split(None, &[16])),
        ("splitting", split(Some(a7()), &[16, 32])),
        ("deleted", Record::Deleted),
    ];
    records.into_iter()
}

/// What the lines of one segment mean.
fn segment() -> Vec<(&'static str, Payload)> {
    let half = || bundle(0, 1 << 31);
    let release = Record::Releasing {
        source: a7(),
        destination: None,
    };
    let assign = Record::Assigning { destination: b() };
    vec![
        (
            "segment-1",
            entry(7, 1, None, change(half(), 50, Some(release))),
        ),
        (
            "segment-2",
            entry(7, 2, None, change(half(), 51, Some(Record::Free))),
        ),
        (
            "segment-3",
            entry(7, 3, None, change(half(), 52, Some(assign))),
        ),
    ]
}

#[test]
fn payloads_that_stand_alone_are_written_and_read_as_ever() {
    let golden = golden();
    for (name, payload) in alone() {
        let bytes = &golden[name];
        assert_eq!(
            codec::encode(&payload).as_ref(),
            Ok(bytes),
            "{name} is written otherwise"
        );
        assert_eq!(
            codec::decode(bytes),
            Ok(payload),
            "{name} is read otherwise"
        );
    }
}

#[test]
fn payloads_of_a_segment_are_written_and_read_as_ever() {
    let golden = golden();
    let (mut writer, mut reader) = (Dictionary::default(), Dictionary::default());
    for (name, payload) in segment() {
        let bytes = &golden[name];
        assert_eq!(
            writer.encode(&payload).as_ref(),
            Ok(bytes),
            "{name} is written otherwise"
        );
        assert_eq!(
            reader.decode(bytes),
            Ok(payload),
            "{name} is read otherwise"
        );
    }
}

#[test]
fn every_line_of_the_file_is_tested() {
    let tested = alone().len() + segment().len();
    assert_eq!(golden().len(), tested);
}
