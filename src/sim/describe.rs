//! Inputs and effects in a few words, for the trace.

use crate::ids::BundleId;
use crate::log::{Payload, TailItem};
use crate::protocol::{Effect, Hook, Input, RegistryAnswer, Request};
use crate::state::{Body, Change, Entry};
use std::fmt;

/// Shows an entry.
pub(super) struct Wrote<'a>(pub(super) &'a Entry);

impl fmt::Display for Wrote<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let entry = self.0;
        write!(f, "{} by {}", entry.id(), entry.author.broker)?;
        if let Some(epoch) = entry.epoch {
            write!(f, " epoch {epoch}")?;
        }
        match &entry.body {
            Body::Changes(changes) => {
                for Change {
                    bundle,
                    expected,
                    next,
                } in changes
                {
                    match next {
                        Some(next) => write!(f, ": {bundle} @{expected} => {next}")?,
                        None => write!(f, ": {bundle} @{expected} => removed")?,
                    }
                }
                Ok(())
            }
            Body::CreateNamespace { namespace, .. } => write!(f, ": create {namespace}"),
            Body::DeleteNamespace { namespace, .. } => write!(f, ": delete {namespace}"),
            Body::EndNamespace { namespace } => write!(f, ": end {namespace}"),
            Body::LeaderStarted => write!(f, ": leads"),
            Body::RaiseRules { version } => write!(f, ": rules {version}"),
        }
    }
}

/// Shows what happens to a broker.
pub(super) struct Got<'a>(pub(super) &'a Input);

impl fmt::Display for Got<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Input::Tail(TailItem::Payload { position, payload }) => match payload {
                Payload::Entry(entry) => write!(f, "< read {position} {}", entry.id()),
                Payload::Member(member) => write!(f, "< read {position} {member:?}"),
            },
            Input::Tail(TailItem::CaughtUp { next }) => write!(f, "< caught up at {next}"),
            Input::Jumped(table) => write!(f, "< jumped to {}", table.next()),
            Input::ReadFailed => write!(f, "< cannot read on"),
            Input::Appended { id, result } => match result {
                Ok(appended) => write!(f, "< appended {id} at {}", appended.position),
                Err(error) => write!(f, "< append of {id}: {error}"),
            },
            Input::Registry(answer) => registry(f, answer),
            Input::Ask {
                ticket, request, ..
            } => write!(f, "< ask {} {}", ticket.0, Asked(request)),
            Input::HookDone { id, result } => write!(f, "< hook {} {result:?}", id.0),
            Input::Close { .. } => write!(f, "< close"),
            Input::Wake => write!(f, "< wake"),
        }
    }
}

fn registry(f: &mut fmt::Formatter<'_>, answer: &RegistryAnswer) -> fmt::Result {
    match answer {
        RegistryAnswer::Registered { result, .. } => match result {
            Ok(session) => write!(f, "< registered as {session}"),
            Err(error) => write!(f, "< registering failed: {error}"),
        },
        RegistryAnswer::Renewed {
            session, result, ..
        } => match result {
            Ok(()) => write!(f, "< renewed {session}"),
            Err(error) => write!(f, "< renewing {session} failed: {error}"),
        },
        RegistryAnswer::Members { request, result } => match result {
            Ok(members) => {
                write!(f, "< members {request}:")?;
                for (session, info) in members.sessions() {
                    let draining = if info.draining { " draining" } else { "" };
                    write!(f, " {}#{session}{draining}", info.broker)?;
                }
                match members.leader() {
                    Some(leader) => write!(f, ", {} leads as {}", leader.session, leader.epoch),
                    None => write!(f, ", nobody leads"),
                }
            }
            Err(error) => write!(f, "< members {request}: {error}"),
        },
        RegistryAnswer::Campaigned { session, result } => {
            write!(f, "< campaign of {session}: {result:?}")
        }
    }
}

/// Shows a request.
pub(super) struct Asked<'a>(pub(super) &'a Request);

impl fmt::Display for Asked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Request::CreateNamespace { namespace, .. } => write!(f, "create {namespace}"),
            Request::DeleteNamespace { namespace, .. } => write!(f, "delete {namespace}"),
            Request::Drain { broker, .. } => write!(f, "drain {broker}"),
            Request::Bundle { bundle, action, .. } => write!(f, "{bundle} {action:?}"),
            Request::Owner { bundle } => write!(f, "owner of {bundle}"),
            Request::Locate { namespace, key } => write!(f, "locate {namespace} {key:#010x}"),
        }
    }
}

/// Shows what a broker wants done.
pub(super) struct Wants<'a>(pub(super) &'a Effect);

impl fmt::Display for Wants<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Effect::Append { entry, .. } => write!(f, "> append {}", Wrote(entry)),
            Effect::Register => write!(f, "> register"),
            Effect::Renew(session) => write!(f, "> renew {session}"),
            Effect::ListMembers { request } => write!(f, "> members {request}"),
            Effect::Campaign(session) => write!(f, "> campaign {session}"),
            Effect::Drain(session) => write!(f, "> drain {session}"),
            Effect::Resign(epoch) => write!(f, "> resign {epoch}"),
            Effect::Leave(session) => write!(f, "> leave {session}"),
            Effect::RunHook { id, hook } => write!(f, "> hook {} {}", id.0, Ran(hook)),
            Effect::Answer { ticket, answer } => write!(f, "> answer {} {answer:?}", ticket.0),
            Effect::Applied(applied) => match &applied.outcome {
                Ok(_) => write!(f, "> applied {}", applied.position),
                Err(rejection) => write!(f, "> rejected {}: {rejection}", applied.position),
            },
            Effect::Jumped { horizon, changes } => {
                write!(f, "> jumped to {horizon}, {} changes", changes.len())
            }
            Effect::Closed(report) => write!(f, "> closed, left {}", report.left.len()),
        }
    }
}

/// Shows a hook.
pub(super) struct Ran<'a>(pub(super) &'a Hook);

impl fmt::Display for Ran<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Hook::Acquire { bundle, fence } => write!(f, "acquire {bundle} fence {fence}"),
            Hook::Release {
                bundle,
                fence,
                destination,
            } => {
                write!(f, "release {bundle} fence {fence}")?;
                match destination {
                    Some(destination) => write!(f, " to {destination}"),
                    None => Ok(()),
                }
            }
            Hook::Split {
                bundle,
                fence,
                children,
            } => {
                write!(f, "split {bundle} fence {fence} into")?;
                children
                    .iter()
                    .map(BundleId::range)
                    .try_for_each(|range| write!(f, " {range}"))
            }
        }
    }
}
