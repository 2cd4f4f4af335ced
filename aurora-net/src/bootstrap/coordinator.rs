//! The coordinator: the decisions of the control plane, as plain values without threads or sockets.

use super::Failure;
use crate::Rank;
use crate::route::Contact;
use serde::{Deserialize, Serialize};

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Report {
    Contact(Contact),
    /// The rank needs no other rank any more. It serves the other ranks until all have finished.
    Finished,
    /// The rank has failed, or knows that another rank has failed.
    Failed(Failure),
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) enum Notice {
    Contacts(Vec<Contact>),
    Finished,
    Failed(Failure),
}

#[derive(Debug)]
pub(crate) struct Coordinator {
    contacts: Vec<Option<Contact>>,
    finished: Vec<bool>,
    failure: Option<Failure>,
}

impl Coordinator {
    pub fn new(size: usize) -> Self {
        Coordinator { contacts: vec![None; size], finished: vec![false; size], failure: None }
    }

    /// The failure to report for the job: the first one reported by the rank that failed, otherwise the first one.
    pub fn failure(&self) -> Option<&Failure> {
        self.failure.as_ref()
    }

    /// Handles a report. Returns the notices to send.
    pub fn handle(&mut self, from: Rank, report: Report) -> Vec<(Rank, Notice)> {
        match report {
            Report::Contact(contact) => {
                self.contacts[from.index()] = Some(contact);
                if self.contacts.iter().any(Option::is_none) {
                    return Vec::new();
                }
                let contacts = self.contacts.iter_mut().filter_map(Option::take).collect();
                self.tell_all(&Notice::Contacts(contacts))
            }
            Report::Finished => {
                self.finished[from.index()] = true;
                if self.finished.iter().all(|finished| *finished) {
                    self.tell_all(&Notice::Finished)
                } else {
                    Vec::new()
                }
            }
            Report::Failed(failure) => self.fail(from, failure),
        }
    }

    fn fail(&mut self, from: Rank, failure: Failure) -> Vec<(Rank, Notice)> {
        let known = self.failure.as_ref();
        let first = known.is_none();
        if first || (failure.origin && known.is_some_and(|known| !known.origin)) {
            self.failure = Some(failure.clone());
        }
        if !first {
            return Vec::new();
        }
        let notice = Notice::Failed(failure.heard());
        let mut notices = self.tell_all(&notice);
        notices.retain(|(to, _)| *to != from);
        notices
    }

    fn tell_all(&self, notice: &Notice) -> Vec<(Rank, Notice)> {
        (0..self.finished.len()).map(|rank| (Rank::new(rank), notice.clone())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(index: usize) -> Rank {
        Rank::new(index)
    }

    #[test]
    fn contacts_go_out_when_all_are_in_and_may_be_exchanged_again() {
        let mut coordinator = Coordinator::new(2);
        for _ in 0..2 {
            assert!(coordinator.handle(rank(1), Report::Contact(Contact::default())).is_empty());
            let notices = coordinator.handle(rank(0), Report::Contact(Contact::default()));
            assert!(matches!(&notices[..], [(_, Notice::Contacts(c)), (_, Notice::Contacts(_))] if c.len() == 2));
        }
    }

    #[test]
    fn all_other_ranks_get_one_notice_of_a_failure_and_the_origin_is_kept() {
        let mut coordinator = Coordinator::new(3);
        let original = Failure::of(rank(2), "lost");
        let notices = coordinator.handle(rank(1), Report::Failed(original.heard()));
        let notified: Vec<usize> = notices.iter().map(|(to, _)| to.index()).collect();
        assert_eq!(notified, [0, 2]);
        assert!(coordinator.handle(rank(2), Report::Failed(original.clone())).is_empty());
        assert!(coordinator.handle(rank(0), Report::Failed(Failure::of(rank(0), "later"))).is_empty());
        assert_eq!(coordinator.failure(), Some(&original));
    }

    #[test]
    fn finished_is_said_when_all_are() {
        let mut coordinator = Coordinator::new(2);
        assert!(coordinator.handle(rank(0), Report::Finished).is_empty());
        assert_eq!(coordinator.handle(rank(1), Report::Finished).len(), 2);
    }
}
