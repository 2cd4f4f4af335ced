//! Blocks of other nodes: one rank of this node receives each block, installs it in the node cache or forwards it.

use super::arrival::Loading;
use super::cache::{Change, Replica};
use super::memory::A_CACHE;
use super::protocol::{Load, LoadLoan, LoadMessage};
use crate::ids::Epoch;
use crate::kernel::Reason;
use crate::kernel::message::malformed;
use crate::memory::Shortage;
use crate::object::{Cx, Loan, Place};
use crate::vector::batch::Batch;
use crate::vector::core::VectorCore;
use crate::window::{Window, common};
use crate::{Error, Kind, Site};
use aurora_net::{Payload, Rank, Received};

/// The result of a step with a block that this rank may receive for its node.
enum Outcome {
    /// The block is in its slot, in this version.
    Installed(u64),
    /// The block, in this version, has to be forwarded: its slot is not free.
    Forward(u64),
    /// Nothing is left to do.
    Settled,
}

impl Load {
    /// Once all ranks have announced a load: installs or forwards the complete blocks that this rank receives for its
    /// node. Returns true if all blocks of other nodes can be read here.
    pub(crate) fn install_all(
        &mut self,
        core: &mut VectorCore,
        epoch: Epoch,
        site: &Site,
        cx: &mut Cx<'_>,
    ) -> Result<bool, Error> {
        let me = cx.me();
        if core.block().home().is_none() || core.ledger().find(epoch).is_none() {
            return Ok(true);
        }
        let (mut installed, mut to_forward) = (Vec::new(), Vec::new());
        let incomplete: Vec<Rank> = self.arrivals.incomplete(epoch, cx.others());
        let window = core.ledger().scope_of(epoch).0;
        for owner in self.owners_elsewhere(core, me, window).into_iter().filter(|owner| !incomplete.contains(owner)) {
            let done = self.install(core, owner, (epoch, window));
            match done.map_err(|shortage| cx.no_memory(shortage, A_CACHE, site))? {
                Outcome::Installed(version) => installed.push((owner.index() as u32, version)),
                Outcome::Forward(version) => to_forward.push((owner, version)),
                Outcome::Settled => {}
            }
        }
        if !installed.is_empty() || !to_forward.is_empty() {
            self.tell_node_peers(core, epoch, &installed, &to_forward, cx);
        }
        Ok(self.receivers_awaited(core, epoch).is_empty())
    }

    fn tell_node_peers(
        &mut self,
        core: &mut VectorCore,
        epoch: Epoch,
        installed: &[(u32, u64)],
        to_forward: &[(Rank, u64)],
        cx: &mut Cx<'_>,
    ) {
        let (me, nodes) = (cx.me(), core.nodes().clone());
        let site = core.ledger().find(epoch).and_then(|record| record.mine.as_ref()).map(|mine| mine.site.clone());
        let reason = Reason { action: "ReadCache", site, kind: Kind::Load };
        let peers = nodes.with(me).iter().copied().filter(|peer| *peer != me);
        for peer in peers {
            if !installed.is_empty() {
                let list = postcard::to_allocvec(installed).expect("pairs of numbers");
                LoadMessage::Installed { epoch }.send(&reason, peer, Payload::Bytes(list.into()), cx);
            }
            for (owner, version) in to_forward {
                let message = LoadMessage::Forward { epoch, owner: *owner, version: *version };
                let place = core.within(*owner, core.ledger().scope_of(epoch).0);
                let payload = self.lend_copy(epoch, place, cx);
                message.send(&reason, peer, payload, cx);
            }
        }
    }

    /// The node peers that have neither installed nor forwarded a block that this rank needs.
    pub(crate) fn receivers_awaited(&self, core: &VectorCore, epoch: Epoch) -> Vec<Rank> {
        if core.block().home().is_none() || core.ledger().find(epoch).is_none() {
            return Vec::new();
        }
        let (me, load) = (core.ledger().me(), (epoch, core.ledger().scope_of(epoch).0));
        let mut missing = self.owners_elsewhere(core, me, load.1);
        missing.retain(|owner| !self.has_from_other_node(core, *owner, load));
        missing.into_iter().map(|owner| core.nodes().receiver(owner, me)).collect()
    }

    pub(crate) fn installed(&mut self, core: &mut VectorCore, from: Rank, epoch: Epoch, list: &[u8], cx: &mut Cx<'_>) {
        let (me, size) = (cx.me(), cx.size());
        let Ok(list) = postcard::from_bytes::<Vec<(u32, u64)>>(list) else {
            return cx.fail_job(malformed(from));
        };
        let nodes = core.nodes().clone();
        for (owner, version) in list {
            let owner = Rank::new(owner as usize);
            if owner.index() >= size || !nodes.receives(owner, from) || !nodes.same_node(from, me) {
                return cx.fail_job(malformed(from));
            }
            if let Some(home) = core.block_mut().home_mut() {
                home.cache.note_installed(owner, version, epoch);
            }
        }
    }

    pub(crate) fn place_forward(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        (epoch, owner): (Epoch, Rank),
        len: usize,
        cx: &Cx<'_>,
    ) -> Place {
        let (me, size) = (cx.me(), cx.size());
        if !cx.is_sound() {
            // The object may be faulty because there is no memory for this.
            return Place::Discard;
        };
        if owner.index() >= size || !core.nodes().receives(owner, from) || !core.nodes().same_node(from, me) {
            return Place::Buffer;
        }
        let window = core.ledger().scope_of(epoch).0;
        let place = core.within(owner, window);
        let expected = core.ledger().find(epoch).is_some() && self.cache.may_load(epoch);
        if len != place.len() || !expected || self.loading(core, (epoch, window)).is_none() {
            return Place::Buffer;
        }
        Place::At(self.loans.add(LoadLoan::In { epoch, base: place.start, len }))
    }

    pub(crate) fn forwarded(
        &mut self,
        core: &mut VectorCore,
        from: Rank,
        (epoch, owner): (Epoch, Rank),
        version: u64,
        payload: Received,
        cx: &mut Cx<'_>,
    ) {
        let Received::Placed(token) = payload else {
            return cx.fail_job(malformed(from));
        };
        if !matches!(self.loans.end(Loan::of(token)), Some(LoadLoan::In { .. })) {
            return;
        }
        let site = core.ledger().find(epoch).and_then(|record| record.mine.as_ref()).map(|mine| mine.site.clone());
        let load = (epoch, core.ledger().scope_of(epoch).0);
        let Some((replica, site)) = self.cache.find_loading(load).zip(site) else {
            return;
        };
        replica.have[owner.index()] = version;
        if let Some(shortage) = replica.short.clone() {
            cx.no_memory(shortage, A_CACHE, &site);
        }
    }

    /// The copy that is loaded for an epoch. `None`: another rank has begun to load a different part.
    pub(crate) fn loading(&mut self, core: &VectorCore, load: (Epoch, Window)) -> Option<&mut Replica> {
        let (size, len) = (core.nodes().size(), load.1.range(core.dist().len()).len());
        self.cache.loading(load, size, len * core.block().element, || core.fresh(len))
    }

    /// The owners on other nodes whose blocks overlap a window.
    fn owners_elsewhere(&self, core: &VectorCore, me: Rank, window: Window) -> Vec<Rank> {
        let others = me.others(core.nodes().size());
        others.filter(|owner| !core.nodes().same_node(*owner, me) && !core.within(*owner, window).is_empty()).collect()
    }

    pub(super) fn arrival(&self, owner: Rank, epoch: Epoch) -> &Loading {
        self.arrivals.find(epoch, owner).expect("a load is remembered until it is complete")
    }

    /// True if the final version of a block of another node is in its slot.
    pub(crate) fn is_installed(&self, core: &VectorCore, owner: Rank, (epoch, window): (Epoch, Window)) -> bool {
        let version = self.arrival(owner, epoch).final_version();
        core.block().slots(window).is_some_and(|home| home.cache.installed(owner) == version)
    }

    /// True if the final version of the block can be read here: in its slot, or in a copy of this rank's own.
    fn has_from_other_node(&self, core: &VectorCore, owner: Rank, load: (Epoch, Window)) -> bool {
        let version = self.arrival(owner, load.0).final_version();
        self.is_installed(core, owner, load) || self.cache.find_block(load, owner, version).is_some()
    }

    /// If this rank receives this block and has not done so yet: installs it, or completes it in this rank's copy.
    fn install(
        &mut self,
        core: &mut VectorCore,
        owner: Rank,
        (epoch, window): (Epoch, Window),
    ) -> Result<Outcome, Shortage> {
        if self.is_installed(core, owner, (epoch, window)) {
            return Ok(Outcome::Settled);
        }
        let Some(home) = core.block_mut().home_mut() else {
            return Ok(Outcome::Settled);
        };
        let Some(slot) = home.cache.slot(owner) else {
            return Ok(Outcome::Settled);
        };
        let (done, landed) = (slot.settle(epoch), slot.is_open_for(epoch));
        match done {
            true => Ok(Outcome::Settled),
            false if landed || core.block().slots(window).is_some_and(|home| home.is_free_for(epoch)) => {
                self.write_slot(core, owner, epoch)
            }
            false => self.complete_copy(core, owner, (epoch, window)),
        }
    }

    /// Installs a block. No rank reads its slot.
    fn write_slot(&mut self, core: &mut VectorCore, owner: Rank, epoch: Epoch) -> Result<Outcome, Shortage> {
        let base = self.arrival(owner, epoch).announced.version;
        let (version, bytes) = (self.arrival(owner, epoch).final_version(), core.within(owner, Window::WHOLE));
        let changes = self.changes(core, owner, (epoch, Window::WHOLE));
        let home = core.block_mut().home_mut().expect("it has a slot there");
        let is_base = home.cache.installed(owner) == base;
        let slot = home.cache.slot(owner).expect("only a block that has a slot is installed");
        if !is_base && !slot.is_open_for(epoch) {
            let copy = self.cache.find_block((epoch, Window::WHOLE), owner, base);
            slot.write(0, &copy.expect("a block that is not in its slot is in a copy")[bytes]);
        }
        for (at, bytes) in changes {
            slot.write(at, &bytes);
        }
        if let Some(shortage) = slot.short() {
            return Err(shortage.clone());
        }
        home.cache.note_installed(owner, version, epoch);
        Ok(Outcome::Installed(version))
    }

    /// Completes a block in this rank's copy. A block of an earlier load is in its slot, or was forwarded and kept.
    fn complete_copy(
        &mut self,
        core: &mut VectorCore,
        owner: Rank,
        (epoch, window): (Epoch, Window),
    ) -> Result<Outcome, Shortage> {
        let arrival = self.arrival(owner, epoch);
        let (base, pushed, version) = (arrival.announced.version, arrival.pushed, arrival.final_version());
        let bytes = core.within(owner, window);
        if !pushed && (version == base || !window.is_whole()) {
            return Ok(Outcome::Settled);
        }
        let changes = self.changes(core, owner, (epoch, window));
        self.loading(core, (epoch, window));
        let kept = self.cache.ensure_block(epoch, owner, base, bytes.clone());
        let replica = self.cache.find_loading((epoch, window)).expect("all agree about the window");
        if !kept {
            let home = core.block().home().filter(|home| home.cache.installed(owner) == base);
            let place = home.expect("a block that is in no copy is in its slot").part(bytes.clone());
            replica.write(bytes.start, place.bytes());
        }
        for (at, change) in changes {
            replica.write(bytes.start + at, &change);
        }
        replica.have[owner.index()] = version;
        replica.short.clone().map_or(Ok(Outcome::Forward(version)), Err)
    }

    /// The corrections of the part of a block that lies in a window.
    pub(crate) fn changes(&self, core: &VectorCore, owner: Rank, (epoch, window): (Epoch, Window)) -> Vec<Change> {
        let (element, block) = (core.block().element, core.dist().range(owner));
        let shown = common(&block, &window.range(core.dist().len()));
        let shown = shown.start - block.start..shown.end - block.start;
        let correction = self.arrival(owner, epoch).correction.as_ref();
        let changes = correction.map_or(Vec::new(), |(_, changes)| {
            Batch::parse(changes, element, block.len()).expect("checked when it came").runs(element)
        });
        let within = changes.into_iter().filter(|(run, _)| shown.start <= run.start && run.end <= shown.end);
        within.map(|(run, bytes)| ((run.start - shown.start) * element, bytes.to_vec())).collect()
    }
}
