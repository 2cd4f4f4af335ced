//! Faults of objects and of the job: which ranks know of them, and which errors the program has received.

use super::{Core, Kernel};
use crate::Error;
use crate::error::Done;
use crate::ids::ObjectId;
use crate::kernel::message::{Message, encode_error};
use aurora_net::{Outbox, Payload, Rank};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Duration;

impl Kernel {
    /// Marks the whole job as failed, here and on every other rank. The first fault stays.
    pub(crate) fn fail_job(&mut self, error: Error, out: &mut Outbox) {
        self.core.fail_job(error, out);
        self.shut_if_failing();
    }

    /// Fails the job if this rank has given up a rank that holds a latch of one of its blocks.
    #[inline]
    pub(crate) fn none_given_up(&mut self, out: &mut Outbox) -> Done {
        let outcome = self.core.none_given_up(out);
        self.shut_if_failing();
        outcome
    }

    /// Marks the job as failed on this rank alone. The first fault stays.
    pub(crate) fn note_job_fault(&mut self, error: &Error) {
        if self.core.fault.is_none() {
            self.core.fault = Some(error.clone());
            self.core.watch.progress();
            self.shut_all();
        }
    }

    pub(crate) fn note_fault(&mut self, object: Option<ObjectId>, error: &Error, out: &mut Outbox) {
        match object {
            None => self.note_job_fault(error),
            Some(id) => drop(self.call(id, out, |_, cx| cx.note_fault(error))),
        }
    }

    /// Faults of objects that a barrier has brought: all ranks know them after it.
    pub(crate) fn learn_faults(&mut self, faults: Vec<(ObjectId, Error)>, out: &mut Outbox) {
        for (object, error) in faults {
            self.note_fault(Some(object), &error, out);
        }
    }

    /// A call, on this object or on none, returns an error to the program. `run` does not return it again.
    pub(crate) fn note_reported(&mut self, object: Option<ObjectId>, error: &Error) {
        let digest = digest_of(error);
        match object {
            Some(object) => {
                self.core.reported.insert((object, digest));
                if error.is_of_an_object() {
                    self.core.reported.insert((object, ANY_FAULT));
                }
            }
            None => self.core.reported.extend(self.objects.keys().map(|object| (*object, digest))),
        }
        let deferred = std::mem::take(&mut self.core.deferred);
        let is_news = |(of, error): &(ObjectId, Error)| {
            !self.core.knows(*of, error) && (object.is_some() || digest_of(error) != digest)
        };
        self.core.deferred = deferred.into_iter().filter(is_news).collect();
    }
}

impl Core {
    /// Fails the job in the call of an object: its kernel shuts all objects after that call. The first fault stays.
    pub(crate) fn fail_job(&mut self, error: Error, out: &mut Outbox) {
        if self.fault.is_some() {
            return;
        }
        self.fault = Some(error.clone());
        self.is_failing = true;
        self.watch.progress();
        self.report_fault(None, &error, out);
    }

    /// As [`Kernel::none_given_up`], in the call of an object.
    #[inline]
    pub(crate) fn none_given_up(&mut self, out: &mut Outbox) -> Done {
        match self.holder_timeout.given_up() {
            None => Ok(()),
            Some(lost) => self.fail_without(lost, out),
        }
    }

    #[cold]
    fn fail_without(&mut self, (rank, silent_for): (Rank, Duration), out: &mut Outbox) -> Done {
        self.fail_job(Error::PeerLost { rank, silent_for, trouble: None }, out);
        self.fault.clone().map_or(Ok(()), |fault| Err(Box::new(fault)))
    }

    pub(crate) fn report_fault(&mut self, object: Option<ObjectId>, error: &Error, out: &mut Outbox) {
        let payload = encode_error(error);
        for rank in self.others() {
            self.mail.say(out, rank, &Message::Fault { object }, Payload::Bytes(payload.clone().into()));
        }
    }

    /// Keeps an error of an object for the end of `run`, unless a call has returned it to the program.
    pub(crate) fn defer(&mut self, object: ObjectId, error: Error) {
        if !self.knows(object, &error) {
            self.deferred.push((object, error));
        }
    }

    pub(crate) fn take_deferred(&mut self) -> Option<Error> {
        std::mem::take(&mut self.deferred).into_iter().next().map(|(_, error)| error)
    }

    /// True if a call has returned this error of an object to the program, or another error that ended the object:
    /// ranks describe one fault with different errors.
    pub(crate) fn knows(&self, object: ObjectId, error: &Error) -> bool {
        self.reported.contains(&(object, digest_of(error)))
            || error.is_of_an_object() && self.reported.contains(&(object, ANY_FAULT))
    }
}

/// In place of a digest, for errors that ended their object.
const ANY_FAULT: u64 = 0;

fn digest_of(error: &Error) -> u64 {
    let mut hasher = DefaultHasher::new();
    error.to_string().hash(&mut hasher);
    hasher.finish()
}
