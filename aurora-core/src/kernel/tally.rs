//! What was sent and waited for, by object and kind: what [`World::stats`](crate::World::stats) tells.

use super::Kernel;
use super::watch::Blocked;
use crate::error::ObjectName;
use crate::ids::ObjectId;
use crate::stats::{Cost, Costs, Kind, join};
use std::collections::BTreeMap;
use std::time::Duration;

/// The counters of a rank.
#[derive(Default)]
pub(crate) struct Tally {
    job: Account,
    /// In the order of their numbers.
    objects: Vec<(ObjectId, Box<Account>)>,
    /// Where the last one stands: the next message is most often of the same.
    last: usize,
    /// Of objects that are gone.
    past: BTreeMap<String, Costs>,
}

/// Costs, by [`Kind::index`].
#[derive(Default)]
struct Account([Cost; Kind::ALL.len()]);

impl Account {
    fn costs(&self) -> Costs {
        let cost = |kind: Kind| (kind, self.0[kind.index()]);
        Kind::ALL.map(cost).into_iter().filter(|(_, cost)| *cost != Cost::default()).collect()
    }
}

impl Tally {
    /// A message with so many bytes, its header included.
    pub(crate) fn sent(&mut self, object: Option<ObjectId>, kind: Kind, bytes: usize) {
        let cost = self.cost(object, kind);
        cost.messages += 1;
        cost.bytes += bytes as u64;
    }

    /// The calling thread was blocked.
    pub(crate) fn waited(&mut self, object: Option<ObjectId>, kind: Kind, waited: Duration) {
        let cost = self.cost(object, kind);
        cost.waits += 1;
        cost.waiting += waited;
    }

    fn cost(&mut self, object: Option<ObjectId>, kind: Kind) -> &mut Cost {
        let Some(id) = object else {
            return &mut self.job.0[kind.index()];
        };
        if self.objects.get(self.last).is_none_or(|(of, _)| *of != id) {
            self.last = self.objects.binary_search_by_key(&id, |(of, _)| *of).unwrap_or_else(|place| {
                self.objects.insert(place, (id, Box::default()));
                place
            });
        }
        &mut self.objects[self.last].1.0[kind.index()]
    }

    /// An object is gone: what it has cost is kept under its name.
    pub(crate) fn reap(&mut self, id: ObjectId, name: &ObjectName) {
        if let Ok(place) = self.objects.binary_search_by_key(&id, |(of, _)| *of) {
            let (_, account) = self.objects.remove(place);
            join(self.past.entry(name.to_string()).or_default(), &account.costs());
        }
    }

    /// What belongs to no object, and what belongs to each, by their names. What has come to nothing counts to the job.
    pub(crate) fn costs(&self, name: impl Fn(ObjectId) -> Option<String>) -> (Costs, BTreeMap<String, Costs>) {
        let (mut job, mut objects) = (self.job.costs(), self.past.clone());
        for (id, account) in &self.objects {
            let costs = account.costs();
            match name(*id) {
                Some(name) => join(objects.entry(name).or_default(), &costs),
                None => join(&mut job, &costs),
            }
        }
        (job, objects)
    }
}

impl Kernel {
    /// To whose account a wait goes; `caller`: the object whose call it is.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Site;

    #[test]
    fn what_an_object_has_cost_is_kept_under_its_name() {
        let name = ObjectName { what: "GVector<u64>".into(), made_at: Site::here() };
        let mut tally = Tally::default();
        for (id, bytes) in [(1, 10), (2, 20), (3, 30)] {
            tally.sent(Some(ObjectId(id)), Kind::Load, bytes);
        }
        tally.waited(Some(ObjectId(3)), Kind::Load, Duration::from_millis(5));
        tally.sent(None, Kind::Barrier, 7);
        // Two that are alike are gone, and the third was never made.
        tally.reap(ObjectId(1), &name);
        tally.reap(ObjectId(3), &name);
        let (job, objects) = tally.costs(|_| None);
        let cost =
            |messages, bytes, waits, millis| Cost { messages, bytes, waits, waiting: Duration::from_millis(millis) };
        assert_eq!(objects, [(name.to_string(), [(Kind::Load, cost(2, 40, 1, 5))].into())].into());
        assert_eq!(job, [(Kind::Load, cost(1, 20, 0, 0)), (Kind::Barrier, cost(1, 7, 0, 0))].into());
    }
}
