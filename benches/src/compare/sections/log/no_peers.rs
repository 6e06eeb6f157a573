//! Nobody else takes part.

use super::Work;
use crate::compare::{Setting, Subject};

pub(super) fn one_at_a_time(_: &Setting, _: &Work) -> Vec<Subject> {
    Vec::new()
}

pub(super) fn many_threads(_: &Setting, _: &Work) -> Vec<Subject> {
    Vec::new()
}

pub(super) fn in_flight(_: &Setting) -> Vec<Subject> {
    Vec::new()
}

pub(super) fn batches(_: &Setting, _: &Work, _: usize) -> Vec<Subject> {
    Vec::new()
}

pub(super) fn unsynced(_: &Setting, _: &Work) -> Vec<Subject> {
    Vec::new()
}
