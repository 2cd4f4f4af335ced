//! The record of a dispatcher: a fresh dispatcher that gets the same reports gives the same orders.

use super::granted::Granted;
use crate::dispatch::{Order, Report};
use crate::{Dispatch, Node};

/// The reports and orders of one launch.
pub(super) struct Log {
    fresh: Dispatch<Granted>,
    heard: Vec<Entry>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum Entry {
    Report(Node, Report),
    Order(Node, Order),
}

impl Log {
    pub(super) fn of(dispatch: &Dispatch<Granted>) -> Self {
        Log { fresh: dispatch.clone(), heard: Vec::new() }
    }

    pub(super) fn handled(&mut self, from: Node, report: &Report) {
        self.heard.push(Entry::Report(from, report.clone()));
    }

    pub(super) fn ordered(&mut self, order: Option<&(Node, Order)>) {
        self.heard.extend(order.map(|(to, order)| Entry::Order(*to, order.clone())));
    }

    /// Gives the reports to a fresh dispatcher, and returns both lists of orders, encoded.
    pub(super) fn replay(self) -> [Vec<u8>; 2] {
        let Log { mut fresh, heard } = self;
        let (mut recorded, mut given) = (Vec::new(), Vec::new());
        let mut give = |fresh: &mut Dispatch<Granted>| given.extend(std::iter::from_fn(|| fresh.poll()));
        for entry in heard {
            match entry {
                Entry::Report(from, report) => fresh.handle(from, report),
                Entry::Order(to, order) => recorded.push((to, order)),
            }
            give(&mut fresh);
        }
        [recorded, given].map(|orders| postcard::to_allocvec(&orders).expect("orders can be encoded"))
    }
}
