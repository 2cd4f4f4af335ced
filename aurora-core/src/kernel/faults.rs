//! What has failed, which ranks hear of it, and whether the program has.

use super::{Core, Kernel};
use crate::Error;
use crate::ids::ObjectId;
use crate::kernel::message::{Message, encode_error};
use crate::object::Until;
use aurora_net::{Outbox, Payload};
use std::hash::{DefaultHasher, Hash, Hasher};

impl Kernel {
    /// Marks the whole job as failed, here and on every other rank. The first fault stays.
    pub(crate) fn fail_job(&mut self, error: Error, out: &mut Outbox) {
        self.core.fail_job(error, out);
        self.shut_if_failing();
    }

    /// Whether this rank has waited in vain for one that holds the latch of one of its blocks; then the job has failed.
    pub(crate) fn none_given_up(&mut self, out: &mut Outbox) -> Result<(), Error> {
        let outcome = self.core.none_given_up(out);
        self.shut_if_failing();
        outcome
    }

    /// Marks the job as failed on this rank alone; false if it was before.
    pub(crate) fn note_job_fault(&mut self, error: &Error) -> bool {
        if self.core.fault.is_some() {
            return false;
        }
        self.core.fault = Some(error.clone());
        self.core.watch.progress();
        self.shut_all();
        true
    }

    /// Another rank says what has failed.
    pub(crate) fn note_fault(&mut self, object: Option<ObjectId>, error: &Error, out: &mut Outbox) {
        match object {
            None => drop(self.note_job_fault(error)),
            Some(id) => drop(self.call(id, out, |_, cx| cx.note_fault(error))),
        }
    }

    /// What a barrier has told of faulty objects: known to all ranks after it, whichever way the word came.
    pub(crate) fn learn_faults(&mut self, faults: Vec<(ObjectId, Error)>, out: &mut Outbox) {
        for (object, error) in faults {
            self.note_fault(Some(object), &error, out);
        }
    }

    /// A call, on this object or on none, returns an error to the program, which need not hear of it again.
    pub(crate) fn has_told(&mut self, object: Option<ObjectId>, error: &Error) {
        let digest = digest_of(error);
        match object {
            Some(object) => {
                self.core.told.insert((object, digest));
                if error.is_of_an_object() {
                    self.core.told.insert((object, ANY_FAULT));
                }
            }
            None => self.core.told.extend(self.objects.keys().map(|object| (*object, digest))),
        }
        let deferred = std::mem::take(&mut self.core.deferred);
        let is_news = |(of, error): &(ObjectId, Error)| {
            !self.core.knows(*of, error) && (object.is_some() || digest_of(error) != digest)
        };
        self.core.deferred = deferred.into_iter().filter(is_news).collect();
    }
}

impl Core {
    /// The job has failed, in the call of an object: its kernel shuts all of them when that call is over. The first
    /// fault stays.
    pub(crate) fn fail_job(&mut self, error: Error, out: &mut Outbox) {
        if self.fault.is_some() {
            return;
        }
        self.fault = Some(error.clone());
        self.is_failing = true;
        self.watch.progress();
        self.tell_fault(None, &error, out);
    }

    /// Whether this rank has waited in vain for one that holds the latch of one of its blocks; then the job has failed.
    pub(crate) fn none_given_up(&mut self, out: &mut Outbox) -> Result<(), Error> {
        let Some((rank, silent_for)) = self.holder_timeout.given_up() else {
            return Ok(());
        };
        self.fail_job(Error::PeerLost { rank, silent_for }, out);
        self.fault.clone().map_or(Ok(()), Err)
    }

    /// Tells all other ranks what has failed.
    pub(crate) fn tell_fault(&mut self, object: Option<ObjectId>, error: &Error, out: &mut Outbox) {
        let payload = encode_error(error);
        for rank in self.others() {
            self.mail.say(out, rank, &Message::Fault { object }, Payload::Bytes(payload.clone().into()));
        }
    }

    /// Keeps an error of an object for the end of `run`, unless the program has heard of it.
    pub(crate) fn defer(&mut self, object: ObjectId, error: Error) {
        if !self.knows(object, &error) {
            self.deferred.push((object, error));
        }
    }

    /// What nobody has heard of.
    pub(crate) fn take_deferred(&mut self) -> Option<Error> {
        std::mem::take(&mut self.deferred).into_iter().next().map(|(_, error)| error)
    }

    /// Whether the program has heard of this error of an object, or of another that is its end as well: ranks do not
    /// all find the same words for what is wrong.
    pub(crate) fn knows(&self, object: ObjectId, error: &Error) -> bool {
        self.told.contains(&(object, digest_of(error)))
            || error.is_of_an_object() && self.told.contains(&(object, ANY_FAULT))
    }

    /// Whether the calling thread waits for the end of scopes of an object: then it hears what becomes of its writes.
    pub(crate) fn waits_for_end_of(&self, object: ObjectId) -> bool {
        let wait = self.watch.waiting().and_then(|waiting| waiting.wait.wait());
        wait.is_some_and(|(of, wait)| of == object && wait.until == Until::Ended)
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
