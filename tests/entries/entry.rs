//! Any bytes into the codec: what is read is what would be written, alone and in a run.

use super::bytes::Bytes;
use deedbook::log::codec::{self, Dictionary};

/// The bytes as one payload that stands alone, and as a run of payloads that share their names,
/// each behind its length in two bytes.
pub(crate) fn check(data: &[u8]) {
    if let Ok(payload) = codec::decode(data) {
        assert_eq!(
            codec::encode(&payload).as_deref(),
            Ok(data),
            "{payload:?} has a second spelling"
        );
    }
    check_run(Bytes::new(data));
}

fn check_run(mut bytes: Bytes<'_>) {
    let (mut reader, mut writer) = (Dictionary::default(), Dictionary::default());
    while !bytes.is_empty() {
        let chunk = bytes.chunk();
        // What is refused leaves no trace: the writer, which never saw it, stays in step.
        if let Ok(payload) = reader.decode(chunk) {
            assert_eq!(
                writer.encode(&payload).as_deref(),
                Ok(chunk),
                "{payload:?} has a second spelling, or the names are out of step"
            );
        }
        assert_eq!(
            format!("{:?}", reader.mark()),
            format!("{:?}", writer.mark()),
            "reader and writer count other names"
        );
    }
}
