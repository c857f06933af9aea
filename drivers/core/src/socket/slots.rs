//! Who waits for which operation, and results that nobody took yet: a vector beside the machine, indexed by its slots.

use crate::sync::Wakes;
use std::task::Waker;
use zlink_proto::id::OperationId;
use zlink_proto::transport::{Outcome, Settled};

/// One entry for each operation whose future lives.
#[derive(Default)]
pub(crate) struct Slots {
    entries: Vec<Entry>,
}

#[derive(Default)]
enum Entry {
    #[default]
    Free,
    Waiting(OperationId, Waker),
    Done(OperationId, Outcome),
}

impl Entry {
    fn is_of(&self, operation: OperationId) -> bool {
        match self {
            Self::Free => false,
            Self::Waiting(known, _) | Self::Done(known, _) => *known == operation,
        }
    }
}

impl Slots {
    /// The operation was submitted and waits; in the section that submitted it.
    pub(crate) fn register(&mut self, operation: OperationId, waker: &Waker) {
        let place = operation.slot as usize;
        if place >= self.entries.len() {
            self.entries.resize_with(place + 1, Entry::default);
        }
        self.entries[place] = Entry::Waiting(operation, waker.clone());
    }

    /// Keeps a result and wakes who waits for it. A result that nobody waits for comes back.
    pub(crate) fn settle(&mut self, settled: Settled, wakes: &mut Wakes) -> Option<Settled> {
        let Settled { operation, outcome } = settled;
        match self.entries.get_mut(operation.slot as usize) {
            Some(entry @ Entry::Waiting(..)) if entry.is_of(operation) => {
                let waiting = std::mem::replace(entry, Entry::Done(operation, outcome));
                if let Entry::Waiting(_, waker) = waiting {
                    wakes.push(waker);
                }
                None
            }
            Some(Entry::Free | Entry::Waiting(..) | Entry::Done(..)) | None => {
                Some(Settled { operation, outcome })
            }
        }
    }

    /// The result, or a renewed wait for it.
    pub(crate) fn poll(&mut self, operation: OperationId, waker: &Waker) -> Option<Outcome> {
        let entry = self.entries.get_mut(operation.slot as usize)?;
        match entry {
            Entry::Waiting(known, place) if *known == operation => {
                place.clone_from(waker);
                None
            }
            Entry::Done(known, _) if *known == operation => match std::mem::take(entry) {
                Entry::Done(_, outcome) => Some(outcome),
                Entry::Free | Entry::Waiting(..) => None,
            },
            Entry::Free | Entry::Waiting(..) | Entry::Done(..) => None,
        }
    }

    /// The caller lost interest. True if there was a result: its place in the machine is still to be collected.
    pub(crate) fn forget(&mut self, operation: OperationId) -> bool {
        let Some(entry) = self.entries.get_mut(operation.slot as usize) else { return false };
        match entry {
            Entry::Waiting(known, _) if *known == operation => {
                *entry = Entry::Free;
                false
            }
            Entry::Done(known, _) if *known == operation => {
                *entry = Entry::Free;
                true
            }
            Entry::Free | Entry::Waiting(..) | Entry::Done(..) => false,
        }
    }
}
