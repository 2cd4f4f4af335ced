//! Memory for copies of vectors: how much a rank may spend on one, taking it, and telling all that there is none.

use crate::behaviour::read_cache::cache::STEP;
use crate::ids::ObjectId;
use crate::kernel::Service;
use crate::memory::Shortage;
use crate::window::Window;
use crate::{Error, Site};
use aurora_net::Outbox;

impl Service {
    /// Whether this rank may spend as much on the copy of a ReadCache as that takes. Where all is shared it takes nothing.
    pub(crate) fn admit_cache(
        &mut self,
        id: ObjectId,
        window: Window,
        site: &Site,
        out: &mut Outbox,
    ) -> Result<(), Error> {
        let apart = self.is_apart(id);
        let object = self.objects.get_mut(&id).expect("an object lives as long as its handle");
        let (epoch, len) = (object.ledger.epoch + 1, object.dist.len());
        let bytes = window.range(len).len() * object.block.element;
        let (bytes, untaken) = match object.block.home() {
            _ if !window.is_whole() => {
                let part = if apart { object.part(epoch, window) } else { None };
                part.map_or((0, 0), |part| (bytes, part.replica.untaken()))
            }
            Some(home) => home.guests.size(),
            None => (bytes, object.loading(epoch).untaken()),
        };
        self.admit_copy(id, "a ReadCache", (bytes, untaken), site, out)
    }

    /// Whether this rank may make a copy of so many bytes, so many of which the system has not given yet. If not, the object is at
    /// fault on all ranks.
    pub(crate) fn admit_copy(
        &mut self,
        id: ObjectId,
        purpose: &str,
        (bytes, untaken): (usize, usize),
        site: &Site,
        out: &mut Outbox,
    ) -> Result<(), Error> {
        self.budget.admit(bytes, untaken).map_err(|limit| {
            let object = Box::new(self.objects[&id].name.clone());
            let (rank, purpose, site) = (self.me, purpose.into(), site.clone());
            let error = Error::CacheLimit { rank, purpose, object, asked: bytes, limit, site };
            self.fail(Some(id), error.clone(), out);
            error
        })
    }

    /// Takes some memory for the next ReadCache, while earlier scopes are over; false once all is taken.
    pub(crate) fn take_cache(
        &mut self,
        id: ObjectId,
        window: Window,
        site: &Site,
        out: &mut Outbox,
    ) -> Result<bool, Error> {
        let apart = self.is_apart(id);
        let object = self.objects.get_mut(&id).expect("an object lives as long as its handle");
        let epoch = object.ledger.epoch + 1;
        let taken = match object.block.home() {
            _ if !window.is_whole() => {
                let part = if apart { object.part(epoch, window) } else { None };
                part.map_or(Ok(false), |part| part.replica.take())
            }
            // Most likely it needs no copy: only our share of the places for other nodes' blocks.
            Some(home) => home.guests.take(STEP),
            None => object.loading(epoch).take(),
        };
        taken.map_err(|shortage| self.no_cache(id, shortage, site, out))
    }

    /// Whether some rank does not share this one's memory: where all do, the copy of a part most likely needs none.
    fn is_apart(&self, id: ObjectId) -> bool {
        self.objects.get(&id).is_some_and(|object| object.nodes.mates(self.me).len() < self.size)
    }

    /// This rank has no memory for its copy: nobody can have one.
    pub(crate) fn no_cache(&mut self, id: ObjectId, shortage: Shortage, site: &Site, out: &mut Outbox) -> Error {
        let name = self.objects[&id].name.clone();
        let error = shortage.error(self.me, "a ReadCache", name, site);
        self.fail(Some(id), error.clone(), out);
        error
    }
}
