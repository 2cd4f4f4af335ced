//! What has failed, which ranks hear of it, and whether the program has.

use super::Service;
use super::watch::What;
use crate::Error;
use crate::ids::ObjectId;
use crate::kernel::message::{Message, encode_error};
use crate::vector::object::Object;
use aurora_net::{Outbox, Payload};
use std::hash::{DefaultHasher, Hash, Hasher};

impl Service {
    /// Marks an object or the whole job as failed, here and on every other rank. The first fault stays.
    pub(crate) fn fail(&mut self, object: Option<ObjectId>, error: Error, out: &mut Outbox) {
        if self.note_fault(object, &error, out) {
            let payload = encode_error(&error);
            for rank in self.others() {
                self.mail.post(out, rank, &Message::Fault { object }, Payload::Bytes(payload.clone().into()));
            }
        }
    }

    /// Marks a failure on this rank alone; false if there was one before.
    pub(crate) fn note_fault(&mut self, object: Option<ObjectId>, error: &Error, out: &mut Outbox) -> bool {
        let place = match object {
            None => Some(&mut self.fault),
            Some(id) => self.objects.get_mut(&id).map(|object| &mut object.fault),
        };
        let Some(place) = place.filter(|place| place.is_none()) else {
            return false;
        };
        *place = Some(error.clone());
        if let Some(id) = object
            && (self.has_dropped_writes(id) || matches!(error, Error::Conflict { .. }))
        {
            self.defer(id, error.clone());
        }
        self.watch.progress();
        match object {
            Some(id) => self.advance(id, out),
            None => self.refresh_all(),
        }
        true
    }

    /// What a rendezvous has told of faulty objects: known to all ranks after it, whichever way the word came.
    pub(crate) fn learn_faults(&mut self, faults: Vec<(ObjectId, Error)>, out: &mut Outbox) {
        for (object, error) in faults {
            self.note_fault(Some(object), &error, out);
        }
    }

    /// Keeps an error of an object for the end of `run`, unless the program has heard of it.
    pub(crate) fn defer(&mut self, object: ObjectId, error: Error) {
        if !self.knows(object, &error) {
            self.deferred.push((object, error));
        }
    }

    /// What has ended an object, if anything has, as the error of a call.
    pub(crate) fn sound(&self, id: ObjectId) -> Result<(), Error> {
        self.objects.get(&id).map_or(Ok(()), Object::sound)
    }

    /// What nobody has heard of.
    pub(crate) fn take_deferred(&mut self) -> Option<Error> {
        std::mem::take(&mut self.deferred).into_iter().next().map(|(_, error)| error)
    }

    /// A call, on this object or on none, returns an error to the program, which need not hear of it again.
    pub(crate) fn has_told(&mut self, object: Option<ObjectId>, error: &Error) {
        let digest = digest_of(error);
        match object {
            Some(object) => {
                self.told.insert((object, digest));
                if error.is_of_an_object() {
                    self.told.insert((object, ANY_FAULT));
                }
            }
            None => self.told.extend(self.objects.keys().map(|object| (*object, digest))),
        }
        let deferred = std::mem::take(&mut self.deferred);
        let is_news = |(of, error): &(ObjectId, Error)| {
            !self.knows(*of, error) && (object.is_some() || digest_of(error) != digest)
        };
        self.deferred = deferred.into_iter().filter(is_news).collect();
    }

    /// Whether the program has heard of this error of an object, or of another that is its end as well: ranks do not all find the same
    /// words for what is wrong.
    pub(crate) fn knows(&self, object: ObjectId, error: &Error) -> bool {
        self.told.contains(&(object, digest_of(error)))
            || error.is_of_an_object() && self.told.contains(&(object, ANY_FAULT))
    }

    /// Whether a ReleaseC has been dropped whose writes are lost if the object fails now, and nobody waits to hear of it.
    pub(crate) fn has_dropped_writes(&self, id: ObjectId) -> bool {
        let hears = [What::Settle { object: id }, What::Lead { object: id }];
        let heard = self.watch.waiting().is_some_and(|waiting| hears.contains(&waiting.what));
        !heard && self.objects.get(&id).is_some_and(|object| object.ledger.has_ended_writes())
    }
}

/// In place of what it says, for errors that are the end of their object.
const ANY_FAULT: u64 = 0;

/// The same for errors that say the same.
fn digest_of(error: &Error) -> u64 {
    let mut hasher = DefaultHasher::new();
    error.to_string().hash(&mut hasher);
    hasher.finish()
}
