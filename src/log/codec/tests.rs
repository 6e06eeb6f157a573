//! What the codec promises: all of it comes back, one spelling only, and nothing hostile gets far.

use super::*;
use crate::ids::{Cuts, Epoch, Holder, Position, SessionToken};
use crate::log::Member;
use crate::state::{Body, CHANGES_MAX, Change, Entry, PARTS_MAX, Record};
use bincode1::Options;
use proptest::collection::{btree_set, vec};
use proptest::option;
use proptest::prelude::*;
use std::sync::Arc;

// Values of all kinds.

fn number() -> impl Strategy<Value = u64> {
    // Every width that a stored number can have, and their edges.
    prop_oneof![
        0..=252_u64,
        65_530..=65_540_u64,
        u64::from(u32::MAX) - 3..=u64::from(u32::MAX) + 3,
        u64::MAX - 3..=u64::MAX,
        any::<u64>(),
    ]
}

fn broker() -> impl Strategy<Value = BrokerId> {
    let name = prop_oneof!["[abc]", "[!-~]{1,255}", "[äöü€]{1,80}"];
    name.prop_map(|name| BrokerId::new(name).unwrap())
}

fn namespace() -> impl Strategy<Value = Namespace> {
    let name = prop_oneof!["[ab]/[ab]", "[a-zA-Z0-9-]{1,127}/[a-zA-Z0-9-]{1,127}"];
    name.prop_map(|name| Namespace::new(name).unwrap())
}

fn bundle() -> impl Strategy<Value = BundleId> {
    let range = (any::<u32>(), any::<u32>())
        .prop_filter_map("empty", |(a, b)| KeyRange::new(a.min(b), a.max(b)).ok());
    (namespace(), prop_oneof![Just(KeyRange::FULL), range])
        .prop_map(|(namespace, range)| BundleId::new(namespace, range))
}

fn holder() -> impl Strategy<Value = Holder> {
    (broker(), number())
        .prop_map(|(broker, session)| Holder::new(broker, SessionToken::new(session)))
}

fn cuts() -> impl Strategy<Value = Cuts> {
    btree_set(any::<u32>(), 1..9)
        .prop_map(|cuts| Cuts::new(cuts.into_iter().collect::<Vec<_>>()).unwrap())
}

fn record() -> impl Strategy<Value = Record> {
    prop_oneof![
        Just(Record::Free),
        broker().prop_map(|destination| Record::Assigning { destination }),
        holder().prop_map(|owner| Record::Owned { owner }),
        (holder(), option::of(broker())).prop_map(|(source, destination)| Record::Releasing {
            source,
            destination
        }),
        (option::of(holder()), cuts())
            .prop_map(|(source, cuts)| Record::Splitting { source, cuts }),
        Just(Record::Deleted),
    ]
}

fn change() -> impl Strategy<Value = Change> {
    (bundle(), number(), option::of(record())).prop_map(|(bundle, expected, next)| Change {
        bundle,
        expected: Position::new(expected),
        next,
    })
}

fn body() -> impl Strategy<Value = Body> {
    prop_oneof![
        4 => vec(change(), 0..5).prop_map(Body::Changes),
        1 => (namespace(), option::of(cuts()), number()).prop_map(|(namespace, cuts, applied)| {
            Body::CreateNamespace { namespace, cuts, applied: Position::new(applied) }
        }),
        1 => (namespace(), number()).prop_map(|(namespace, applied)| {
            Body::DeleteNamespace { namespace, applied: Position::new(applied) }
        }),
        1 => namespace().prop_map(|namespace| Body::EndNamespace { namespace }),
        1 => Just(Body::LeaderStarted),
        1 => any::<u32>().prop_map(|version| Body::RaiseRules { version }),
    ]
}

fn payload() -> impl Strategy<Value = Payload> {
    let entry = (holder(), number(), option::of(number()), body()).prop_map(
        |(author, counter, epoch, body)| Entry {
            author,
            counter,
            epoch: epoch.map(Epoch::new),
            body,
        },
    );
    let session = || number().prop_map(SessionToken::new);
    let member = prop_oneof![
        Just(Member::Opened),
        broker().prop_map(|broker| Member::Joined { broker }),
        session().prop_map(|session| Member::Draining { session }),
        session().prop_map(|session| Member::Left { session }),
        session().prop_map(|session| Member::Elected { session }),
        number().prop_map(|epoch| Member::Resigned {
            epoch: Epoch::new(epoch)
        }),
    ];
    prop_oneof![
        4 => entry.prop_map(|entry| Payload::Entry(Arc::new(entry))),
        1 => member.prop_map(Payload::Member),
    ]
}

/// What may be done to bytes.
fn edits() -> impl Strategy<Value = Vec<(prop::sample::Index, u8, u8)>> {
    vec((any::<prop::sample::Index>(), any::<u8>(), 0..5_u8), 1..4)
}

fn edited(mut bytes: Vec<u8>, edits: Vec<(prop::sample::Index, u8, u8)>) -> Vec<u8> {
    for (index, byte, kind) in edits {
        let at = index.index(bytes.len().max(1)).min(bytes.len());
        match kind {
            0 => bytes.insert(at, byte),
            1 => bytes.truncate(at),
            _ if at == bytes.len() => bytes.push(byte),
            2 => _ = bytes.remove(at),
            // Where it is a number, the same in more bytes than it needs.
            3 => _ = bytes.splice(at..=at, [251, bytes[at], 0]),
            _ => bytes[at] = byte,
        }
    }
    bytes
}

/// Some bytes of a stored value, and what may be done to them.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let bytes = payload().prop_map(|payload| encode(&payload).unwrap());
    let edited = (bytes, edits()).prop_map(|(bytes, edits)| edited(bytes, edits));
    prop_oneof![4 => edited, 1 => vec(any::<u8>(), 0..64), 1 => vec(0..4_u8, 0..32)]
}

// An older implementation of the same format.

fn second_opinion() -> impl Options {
    bincode1::DefaultOptions::new()
        .with_little_endian()
        .with_varint_encoding()
        .reject_trailing_bytes()
        .with_limit(8 * ENTRY_BYTES_MAX as u64)
}

/// What the older implementation makes of bytes; as here, one spelling only.
fn second_decode(bytes: &[u8]) -> Option<StoredRecordV1> {
    let stored: StoredRecordV1 = second_opinion().deserialize(bytes).ok()?;
    let again = second_opinion().serialize(&stored).ok()?;
    (again == bytes).then_some(stored)
}

/// Whether it is an entry of changes that splits nothing.
fn is_plain(payload: &Payload) -> bool {
    let splits = |change: &Change| matches!(change.next, Some(Record::Splitting { .. }));
    match payload {
        Payload::Entry(entry) => match &entry.body {
            Body::Changes(changes) => !changes.iter().any(splits),
            _ => false,
        },
        Payload::Member(_) => false,
    }
}

proptest! {
    #[test]
    fn a_payload_that_stands_alone_comes_back(payload in payload()) {
        let bytes = encode(&payload).unwrap();
        prop_assert_eq!(decode(&bytes).unwrap(), payload);
    }

    #[test]
    fn a_run_of_payloads_comes_back(payloads in vec(payload(), 1..12)) {
        let (mut writer, mut reader) = (Dictionary::default(), Dictionary::default());
        for payload in payloads {
            let bytes = writer.encode(&payload).unwrap();
            prop_assert_eq!(reader.decode(&bytes).unwrap(), payload.clone());
            // Said again, it introduces nothing.
            let again = writer.encode(&payload).unwrap();
            prop_assert_eq!(again.first(), Some(&0));
            prop_assert_eq!(reader.decode(&again).unwrap(), payload);
        }
    }

    #[test]
    fn what_is_rolled_back_was_never_said(
        (first, lost, next) in (payload(), payload(), payload())
    ) {
        let mut straight = Dictionary::default();
        let mut bent = Dictionary::default();
        prop_assert_eq!(straight.encode(&first).unwrap(), bent.encode(&first).unwrap());
        let mark = bent.mark();
        bent.encode(&lost).unwrap();
        bent.roll_back(mark);
        prop_assert_eq!(straight.encode(&next).unwrap(), bent.encode(&next).unwrap());
    }

    #[test]
    fn what_is_read_is_what_would_be_written(bytes in damaged()) {
        if let Ok(payload) = decode(&bytes) {
            prop_assert_eq!(encode(&payload).unwrap(), bytes);
        }
    }

    #[test]
    fn what_fails_to_be_read_leaves_no_trace(
        (first, bytes, next) in (payload(), damaged(), payload())
    ) {
        let (mut writer, mut reader) = (Dictionary::default(), Dictionary::default());
        reader.decode(&writer.encode(&first).unwrap()).unwrap();
        if reader.decode(&bytes).is_err() {
            prop_assert_eq!(reader.decode(&writer.encode(&next).unwrap()).unwrap(), next);
        }
    }

    #[test]
    fn the_short_way_leads_where_the_whole_way_leads((payload, edits) in (payload(), edits())) {
        let mut dictionary = Dictionary::default();
        dictionary.encode(&payload).unwrap();
        dictionary.take_introduced();
        let bytes = dictionary.encode(&payload).unwrap();
        let short = plain::read(&dictionary, &bytes);
        prop_assert_eq!(short.is_some(), is_plain(&payload));
        let mut whole = Vec::new();
        dictionary.encode_any(&payload, &mut whole).unwrap();
        prop_assert_eq!(&bytes, &whole);
        for bytes in [bytes.clone(), edited(bytes, edits)] {
            let short = plain::read(&dictionary, &bytes).map(Arc::new);
            let whole = dictionary.decode_any(&bytes);
            match short {
                Some(entry) => prop_assert_eq!(whole, Ok(Payload::Entry(entry))),
                None => prop_assert!(!whole.is_ok_and(|payload| is_plain(&payload))),
            }
        }
    }

    #[test]
    fn an_older_implementation_writes_the_same_bytes(payload in payload()) {
        let mut dictionary = Dictionary::default();
        let stored = dictionary.store(&payload);
        let introduced = std::mem::take(&mut dictionary.introduced);
        let stored = StoredRecordV1 { introduced, payload: stored };
        prop_assert_eq!(second_opinion().serialize(&stored).unwrap(), encode(&payload).unwrap());
    }

    #[test]
    fn an_older_implementation_comes_to_the_same_verdict(bytes in damaged()) {
        let ours = from_bytes::<StoredRecordV1>(&bytes).ok().map(|stored| format!("{stored:?}"));
        let theirs = second_decode(&bytes).map(|stored| format!("{stored:?}"));
        prop_assert_eq!(ours, theirs);
    }
}

// Hostile bytes, one by one.

fn joined(name: &str) -> Payload {
    Payload::Member(Member::Joined {
        broker: BrokerId::new(name).unwrap(),
    })
}

/// One name introduced, then `Joined` (tag 2) of number 0.
fn joined_bytes() -> Vec<u8> {
    vec![1, 0, 1, b'a', 2, 0]
}

#[test]
fn the_example_below_is_what_is_written() {
    assert_eq!(encode(&joined("a")).unwrap(), joined_bytes());
}

#[test]
fn a_length_of_two_to_the_sixtieth_is_refused_at_once() {
    let mut bytes = vec![253];
    bytes.extend((1_u64 << 60).to_le_bytes());
    assert_eq!(decode(&bytes), Err(Error::Malformed));
    // The same as the length of a name.
    let name = [&[1, 0][..], &bytes].concat();
    assert_eq!(decode(&name), Err(Error::Malformed));
}

#[test]
fn bytes_behind_the_value_are_refused() {
    let bytes = [&joined_bytes()[..], &[0]].concat();
    assert_eq!(decode(&bytes), Err(Error::Trailing { extra: 1 }));
}

#[test]
fn every_cut_is_refused() {
    let bytes = joined_bytes();
    for len in 0..bytes.len() {
        assert_eq!(decode(&bytes[..len]), Err(Error::Malformed), "{len} bytes");
    }
}

#[test]
fn a_number_that_takes_more_bytes_than_it_needs_is_refused() {
    for long in [
        &[251, 0, 0][..],
        &[252, 0, 0, 0, 0],
        &[253, 0, 0, 0, 0, 0, 0, 0, 0],
    ] {
        let bytes = [&[1, 0, 1, b'a', 2][..], long].concat();
        assert!(
            matches!(decode(&bytes), Err(Error::NotCanonical | Error::Malformed)),
            "{long:?}"
        );
    }
}

#[test]
fn the_short_way_takes_a_number_in_no_more_bytes_than_it_needs() {
    let mut dictionary = Dictionary::default();
    let author = Holder::new(BrokerId::new("a").unwrap(), SessionToken::new(1));
    for counter in [250, 0xffff, 0xffff_ffff_u64] {
        let payload = Payload::Entry(Arc::new(Entry {
            author: author.clone(),
            counter,
            epoch: None,
            body: Body::Changes(Vec::new()),
        }));
        dictionary.encode(&payload).unwrap();
        dictionary.take_introduced();
        let bytes = dictionary.encode(&payload).unwrap();
        assert!(plain::read(&dictionary, &bytes).is_some());
        // No names, an entry, its author and session; no epoch, changes, none of them.
        let (before, after) = (&bytes[..4], &bytes[bytes.len() - 3..]);
        for (mark, width) in [(251, 2), (252, 4), (253, 8)] {
            let number = &counter.to_le_bytes()[..width];
            let wider = [before, &[mark], number, after].concat();
            if wider.len() > bytes.len() {
                assert_eq!(plain::read(&dictionary, &wider), None, "{wider:?}");
                assert_eq!(dictionary.decode(&wider), Err(Error::NotCanonical));
            }
        }
    }
}

#[test]
fn an_unknown_variant_is_refused() {
    // Payloads have the tags 0 to 6, names 0 to 2.
    assert_eq!(decode(&[0, 7]), Err(Error::Malformed));
    assert_eq!(decode(&[1, 3, 1, b'a', 1]), Err(Error::Malformed));
}

#[test]
fn an_unknown_number_is_refused() {
    assert_eq!(decode(&[0, 2, 0]), Err(Error::UnknownName { number: 0 }));
    assert_eq!(
        decode(&[1, 0, 1, b'a', 2, 1]),
        Err(Error::UnknownName { number: 1 })
    );
}

#[test]
fn a_name_that_was_introduced_before_is_refused() {
    let mut reader = Dictionary::default();
    assert_eq!(reader.decode(&joined_bytes()), Ok(joined("a")));
    assert_eq!(reader.decode(&joined_bytes()), Err(Error::NotCanonical));
    assert_eq!(
        decode(&[2, 0, 1, b'a', 0, 1, b'a', 2, 0]),
        Err(Error::NotCanonical)
    );
}

/// A snapshot takes in names without a payload to hold them against.
#[test]
fn a_name_that_stands_twice_in_one_list_is_refused() {
    let a = || StoredName::Broker("a".to_owned());
    let mut reader = Dictionary::default();
    assert_eq!(reader.take_in(vec![a(), a()]), Err(Error::NotCanonical));
}

#[test]
fn a_name_that_nothing_uses_is_refused() {
    assert_eq!(
        decode(&[2, 0, 1, b'a', 0, 1, b'b', 2, 0]),
        Err(Error::NotCanonical)
    );
    assert_eq!(
        decode(&[2, 0, 1, b'b', 0, 1, b'a', 2, 1]),
        Err(Error::NotCanonical)
    );
}

#[test]
fn a_name_that_breaks_the_rules_is_refused() {
    assert!(matches!(decode(&[1, 0, 0, 2, 0]), Err(Error::Name(_))));
    assert!(matches!(
        decode(&[1, 0, 1, b' ', 2, 0]),
        Err(Error::Name(_))
    ));
    // No UTF-8.
    assert_eq!(decode(&[1, 0, 1, 0xff, 2, 0]), Err(Error::Malformed));
}

// What is written can be read: a log that took an entry must never meet it as damage.

fn entry(body: Body) -> Payload {
    Payload::Entry(Arc::new(Entry {
        author: Holder::new(BrokerId::new("a").unwrap(), SessionToken::new(1)),
        counter: 1,
        epoch: None,
        body,
    }))
}

fn split(cuts: impl Iterator<Item = u32>) -> Change {
    let cuts = Cuts::new(cuts.collect::<Vec<_>>()).unwrap();
    Change {
        bundle: BundleId::new(Namespace::new("t/n").unwrap(), KeyRange::FULL),
        expected: Position::new(1),
        next: Some(Record::Splitting { source: None, cuts }),
    }
}

#[test]
fn the_largest_entries_come_back() {
    // As many parts as there may be, and small numbers that take one byte each.
    let parts = u32::try_from(PARTS_MAX).unwrap();
    let widest = Body::Changes(vec![split(1..parts)]);
    let unload = Change {
        next: None,
        ..split(1..2)
    };
    let most = Body::Changes(vec![unload; CHANGES_MAX]);
    let densest = Body::Changes(vec![split(1..=250); CHANGES_MAX]);
    // Close to the limit in bytes, three for most cuts.
    let cuts = || 1..60_000_u32;
    let heaviest = Body::Changes(vec![split(cuts()); 5]);
    for body in [widest, most, densest, heaviest] {
        let payload = entry(body);
        let bytes = encode(&payload).unwrap();
        assert_eq!(
            decode(&bytes).as_ref(),
            Ok(&payload),
            "{} bytes",
            bytes.len()
        );
    }
}

#[test]
fn what_cannot_be_read_is_not_written() {
    let parts = u32::try_from(PARTS_MAX).unwrap();
    let cuts = vec![split(1..parts + 1)];
    let count = PARTS_MAX;
    let error = Error::TooMany {
        what: "cuts",
        count,
        max: PARTS_MAX - 1,
    };
    assert_eq!(encode(&entry(Body::Changes(cuts))), Err(error));

    let unload = Change {
        next: None,
        ..split(1..2)
    };
    let changes = vec![unload; CHANGES_MAX + 1];
    let count = changes.len();
    let error = Error::TooMany {
        what: "changes",
        count,
        max: CHANGES_MAX,
    };
    assert_eq!(encode(&entry(Body::Changes(changes))), Err(error));

    let changes = vec![split(1..60_000); 7];
    let refused = encode(&entry(Body::Changes(changes)));
    assert!(
        matches!(refused, Err(Error::TooLarge { .. })),
        "{:?}",
        refused.map(|b| b.len())
    );
}

#[test]
fn an_entry_that_is_too_large_introduces_nothing() {
    let mut writer = Dictionary::default();
    let large = entry(Body::Changes(vec![split(1..60_000); 7]));
    writer.encode(&large).unwrap_err();
    assert_eq!(writer.encode(&joined("a")).unwrap(), joined_bytes());
}
