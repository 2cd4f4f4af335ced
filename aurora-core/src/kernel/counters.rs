//! The counters of a rank: its messages and waits, by object, line of the program and kind. A message is
//! counted once, in one [`Row`]. The tables of [`World::stats`](crate::World::stats) and
//! [`World::usage`](crate::World::usage) are sums of these rows.

use super::Kernel;
use super::watch::Blocked;
use crate::ids::ObjectId;
use crate::object::How;
use crate::stats::{Cost, Costs, Kind};
use crate::{ObjectName, Site};
use std::collections::BTreeMap;
use std::time::Duration;

/// The messages that one line of the program cost.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct Usage {
    /// Number of transfers sent.
    pub messages: u64,
    /// Number of bytes of payload sent.
    pub bytes: u64,
}

/// The reason of a message: the program's action on the object, and its line.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Reason {
    pub(crate) action: &'static str,
    pub(crate) site: Option<Site>,
    /// The kind under which the message is counted.
    pub(crate) kind: Kind,
}

impl Reason {
    pub(crate) fn new(action: &'static str, kind: Kind, site: &Site) -> Self {
        Reason { action, site: Some(site.clone()), kind }
    }
}

#[derive(Default)]
pub(crate) struct Counters {
    lines: Lines,
    /// `None`: the account of messages that belong to no object.
    objects: Sorted<Option<ObjectId>, Account>,
    /// The accounts of objects that all ranks have dropped, by name.
    past: BTreeMap<String, Account>,
}

type Account = Sorted<(Line, Kind), Row>;

/// Values in the order of their keys.
type Sorted<K, V> = Vec<(K, V)>;

fn find<K: Ord + Copy, V: Default>(values: &mut Sorted<K, V>, key: K) -> &mut V {
    let place = values.binary_search_by_key(&key, |(key, _)| *key).unwrap_or_else(|place| {
        values.insert(place, (key, V::default()));
        place
    });
    &mut values[place].1
}

/// The cost of messages and waits of one kind because of one line.
#[derive(Default)]
struct Row {
    cost: Cost,
    /// The part of the sent bytes that is not headers.
    payload: u64,
}

/// The number of a [`Reason`], from 1 on; 0: none.
type Line = usize;

/// The reasons of messages so far, in the order of their numbers.
#[derive(Default)]
struct Lines {
    known: Vec<Reason>,
    /// The numbers of reasons, by their lines in the source.
    buckets: [Vec<Line>; 32],
}

impl Lines {
    fn number(&mut self, reason: &Reason) -> Line {
        let line = reason.site.as_ref().map_or(0, |site| site.line() as usize);
        let bucket = &mut self.buckets[line % self.buckets.len()];
        if let Some(line) = bucket.iter().find(|line| self.known[**line - 1] == *reason) {
            return *line;
        }
        self.known.push(reason.clone());
        bucket.push(self.known.len());
        self.known.len()
    }
}

impl Counters {
    /// A message has been sent; `header` and `payload` in bytes.
    pub(crate) fn sent(&mut self, object: Option<ObjectId>, how: &How<'_>, header: usize, payload: usize) {
        let line = how.reason.map_or(0, |reason| self.lines.number(reason));
        let row = self.row(object, (line, how.kind));
        row.cost.messages += 1;
        row.cost.bytes += (header + payload) as u64;
        row.payload += payload as u64;
    }

    /// The calling thread was blocked.
    pub(crate) fn waited(&mut self, object: Option<ObjectId>, kind: Kind, waited: Duration) {
        let cost = &mut self.row(object, (0, kind)).cost;
        cost.waits += 1;
        cost.waiting += waited;
    }

    fn row(&mut self, object: Option<ObjectId>, key: (Line, Kind)) -> &mut Row {
        find(find(&mut self.objects, object), key)
    }

    /// All ranks have dropped an object: its rows are kept under its name.
    pub(crate) fn reap(&mut self, id: ObjectId, name: &ObjectName) {
        if let Ok(place) = self.objects.binary_search_by_key(&Some(id), |(object, _)| *object) {
            let past = self.past.entry(name.to_string()).or_default();
            for (key, row) in self.objects.remove(place).1 {
                let past = find(past, key);
                past.cost.add(&row.cost);
                past.payload += row.payload;
            }
        }
    }

    /// The rows of all accounts, by object name. An object whose construction has failed has none.
    fn accounts(&self, name: impl Fn(ObjectId) -> Option<String>) -> impl Iterator<Item = (Option<String>, &Account)> {
        let past = self.past.iter().map(|(name, account)| (Some(name.clone()), account));
        past.chain(self.objects.iter().map(move |(id, account)| (id.and_then(&name), account)))
    }

    /// The costs that belong to no object, and the costs of objects by name.
    pub(crate) fn costs(&self, name: impl Fn(ObjectId) -> Option<String>) -> (Costs, BTreeMap<String, Costs>) {
        let (mut job, mut objects) = (Costs::new(), BTreeMap::<_, Costs>::new());
        for (object, account) in self.accounts(name) {
            let costs = object.map_or(&mut job, |name| objects.entry(name).or_default());
            account.iter().for_each(|((_, kind), row)| costs.entry(*kind).or_default().add(&row.cost));
        }
        (job, objects)
    }

    /// The messages that were sent because of lines, by object name.
    pub(crate) fn usage(&self, name: impl Fn(ObjectId) -> Option<String>) -> BTreeMap<(Option<String>, Reason), Usage> {
        let mut lines = BTreeMap::<_, Usage>::new();
        for (object, account) in self.accounts(name) {
            for ((line, _), row) in account.iter().filter(|((line, _), _)| *line > 0) {
                let usage = lines.entry((object.clone(), self.lines.known[line - 1].clone())).or_default();
                usage.messages += row.cost.messages;
                usage.bytes += row.payload;
            }
        }
        lines
    }
}

impl Kernel {
    /// The object and the kind under which a wait is counted; `caller`: the object whose call waits.
    pub(crate) fn account(&self, wait: Blocked, caller: Option<ObjectId>) -> (Option<ObjectId>, Kind) {
        let object = wait.object();
        let kind = match wait {
            Blocked::Barrier(_) => return (caller, Kind::Barrier),
            Blocked::Pieces(_) => return (caller, Kind::Exchange),
            Blocked::Leave => Kind::End,
            Blocked::Clock => Kind::Control,
            Blocked::Calls { kind, .. } => kind,
            Blocked::Object(id, wait) => {
                self.objects.get(&id).map_or(Kind::Control, |entry| entry.machine.wait_kind(wait))
            }
        };
        (object, kind)
    }

    /// True if threads of the object need the cores during this wait.
    pub(crate) fn has_workers(&self, wait: Blocked) -> bool {
        let object = wait.object().and_then(|id| self.objects.get(&id));
        object.is_some_and(|entry| entry.machine.has_workers())
    }

    pub(crate) fn name_of(&self, id: ObjectId) -> Option<String> {
        self.objects.get(&id).map(|entry| entry.frame.name.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: usize = 5;

    #[test]
    fn what_an_object_has_cost_is_kept_under_its_name() {
        let name = ObjectName { what: "GVector<u64>".into(), made_at: Site::here() };
        let mut counters = Counters::default();
        let reason = Reason::new("at", Kind::Access, &Site::here());
        let put = Reason { action: "put", ..reason.clone() };
        let how = |kind, reason| How { kind, lazy: false, reason };
        for (id, bytes) in [(1, 10), (2, 20), (3, 30)] {
            counters.sent(Some(ObjectId(id)), &how(Kind::Access, Some(&reason)), HEADER, bytes);
        }
        counters.sent(Some(ObjectId(2)), &how(Kind::Access, Some(&put)), HEADER, 1);
        counters.sent(Some(ObjectId(3)), &how(Kind::Answer, None), HEADER, 8);
        counters.waited(Some(ObjectId(3)), Kind::Access, Duration::from_millis(5));
        counters.sent(None, &how(Kind::Barrier, None), HEADER, 2);
        // Two objects with one name are gone; of object 4 nothing is counted.
        [1, 3, 4].into_iter().for_each(|id| counters.reap(ObjectId(id), &name));
        let cost =
            |messages, bytes, waits, millis| Cost { messages, bytes, waits, waiting: Duration::from_millis(millis) };
        let gone: Costs = [(Kind::Access, cost(2, 50, 1, 5)), (Kind::Answer, cost(1, 13, 0, 0))].into();
        let second: Costs = [(Kind::Access, cost(2, 31, 0, 0))].into();
        let barrier: Costs = [(Kind::Barrier, cost(1, 7, 0, 0))].into();
        let (job, objects) = counters.costs(|id| Some(format!("{id:?}")));
        let names = [format!("{:?}", ObjectId(2)), name.to_string()];
        assert_eq!(objects, [(names[0].clone(), second), (names[1].clone(), gone.clone())].into());
        assert_eq!(job, barrier);
        let row = |name: &str, reason: &Reason, messages, bytes| {
            ((Some(name.into()), reason.clone()), Usage { messages, bytes })
        };
        let lines = counters.usage(|id| Some(format!("{id:?}")));
        assert_eq!(
            lines,
            [row(&names[0], &reason, 1, 20), row(&names[0], &put, 1, 1), row(&names[1], &reason, 2, 40)].into()
        );
        // An object that was never made counts to the job.
        let (job, objects) = counters.costs(|_| None);
        assert_eq!(objects, [(name.to_string(), gone)].into());
        assert_eq!(job[&Kind::Access], cost(2, 31, 0, 0));
    }
}
