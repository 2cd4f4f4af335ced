//! Collective construction: every rank makes its part, and all check that they mean the same object.

use crate::distribution::{Distribution, Shape};
use crate::element::OpId;
use crate::element::{Access, Element, built_in_ops};
use crate::error::{ObjectName, Result};
use crate::memory::{self, Array, Storage};
use crate::message::ObjectId;
use crate::service::object::{Block, Object, ScalarFn};
use crate::world::Link;
use crate::{Error, Site, World};
use aurora_net::Rank;
use std::any::type_name;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

/// The short name of a type, without its path.
pub(crate) fn short<T>() -> &'static str {
    let name = type_name::<T>();
    name.split(['<', '(', '['])
        .next()
        .and_then(|path| path.rsplit("::").next())
        .filter(|n| !n.is_empty())
        .unwrap_or(name)
}

/// What makes an object a scalar.
#[derive(Default)]
pub(crate) struct ScalarPart {
    /// The encoded value, at home.
    pub(crate) value: Option<Vec<u8>>,
    /// What its home can compute.
    pub(crate) ops: Vec<(OpId, ScalarFn)>,
}

/// What this rank knows of an object that it constructs.
pub(crate) struct Plan {
    what: String,
    key: u64,
    pub(crate) dist: Distribution,
    refusal: Option<Error>,
    site: Site,
}

impl Plan {
    /// Checks what can be checked without the other ranks. What is wrong is kept: they have to hear of it too.
    pub(crate) fn vector<T: Element>(world: &World, shape: Shape, on: Option<Rank>, site: Site) -> Self {
        let mut refusal = None;
        let mut len =
            shape.checked_len().filter(|len| len.checked_mul(size_of::<T>()).is_some_and(|b| b <= isize::MAX as usize));
        if size_of::<T>() == 0 {
            refusal = Some(Error::ZeroSized { element: type_name::<T>().into(), site: site.clone() });
        } else if len.is_none() {
            refusal = Some(too_large::<T>(world.rank(), shape, usize::MAX, &site));
        }
        if let Some(rank) = on.filter(|rank| rank.index() >= world.size()) {
            refusal.get_or_insert(Error::NoSuchRank { rank, size: world.size(), site: site.clone() });
        }
        if refusal.is_some() {
            len = None;
        }
        let made = if len.is_some() { shape } else { Shape::Vector(0) };
        let dist = match on {
            Some(rank) if refusal.is_none() => Distribution::on(rank, made),
            _ => Distribution::block(made, world.size()),
        };
        // The ranks of one machine share its memory.
        let own = dist.range(world.rank()).len() * size_of::<T>();
        let together = if on.is_some() { 1 } else { world.link().together };
        let needed = own.saturating_mul(together);
        if memory::available().is_some_and(|available| needed > available) {
            refusal = Some(too_large::<T>(world.rank(), shape, needed, &site));
        }
        let placed = on.map_or(String::new(), |rank| format!(" on {rank}"));
        let what = format!("GVector<{}> of {shape}{placed}", short::<T>());
        let key = key_of(&("GVector", type_name::<T>(), size_of::<T>(), shape, on));
        Plan { what, key, dist, refusal, site }
    }

    /// A scalar at home on one rank.
    pub(crate) fn scalar(world: &World, value: &'static str, short: &str, home: Rank, site: Site) -> Self {
        let refusal = (home.index() >= world.size()).then(|| Error::NoSuchRank {
            rank: home,
            size: world.size(),
            site: site.clone(),
        });
        let what = format!("GScalar<{short}> on {home}");
        let dist = Distribution::block(Shape::Vector(0), world.size());
        Plan { what, key: key_of(&("GScalar", value, home)), dist, refusal, site }
    }

    /// This rank cannot make its part.
    pub(crate) fn refuse(&mut self, error: Error) {
        self.refusal.get_or_insert(error);
    }

    /// Whether this rank already knows that it cannot be.
    pub(crate) fn refused(&self) -> bool {
        self.refusal.is_some()
    }

    /// Collective. Registers the object and returns its number once all ranks have agreed on it.
    pub(crate) fn agree<T: Element>(
        self,
        world: &World,
        block: Vec<T>,
        scalar: Option<ScalarPart>,
    ) -> Result<(Link, ObjectId)> {
        let link = world.link().share();
        let id = link.next_object();
        let (size, len) = (world.size(), self.dist.len());
        let name = ObjectName { what: self.what.clone(), made_at: self.site.clone().clipped() };
        let ScalarPart { value: scalar, ops: scalar_ops } = scalar.unwrap_or_default();
        let storage: Arc<dyn Storage> = Arc::new(Array(block));
        link.tidy(|service, _| {
            let object = Object {
                name: name.clone(),
                dist: self.dist,
                block: Block::new(storage, size_of::<T>().max(1)),
                fresh: Arc::new(move || memory::zeroed::<T>(len)),
                scalar,
                scalar_ops: scalar_ops.into_iter().collect(),
                ops: built_in_ops::<T>().into_iter().collect::<BTreeMap<_, _>>(),
                access: Access::of::<T>(),
                ledger: service.ledger(),
                cache: Default::default(),
                made: vec![0; size],
                applied: 0,
                touched: None,
                pushed: 0,
                outstanding: vec![0; size],
                open: Vec::new(),
                parked: Default::default(),
                fault: None,
                dropped: vec![false; size],
                ends: vec![None; size],
            };
            service.objects.insert(id, object);
        });
        let met = link.meet(
            "a construction",
            format!("the construction of a {}", self.what),
            self.key,
            self.refusal,
            &self.site,
        );
        met.inspect_err(|_| link.tidy(|service, _| drop(service.objects.remove(&id))))?;
        Ok((link, id))
    }
}

/// The error of a machine that has no room for `needed` bytes.
pub(crate) fn too_large<T>(rank: Rank, shape: Shape, needed: usize, site: &Site) -> Error {
    Error::TooLarge {
        rank,
        shape: shape.to_string(),
        element: short::<T>().into(),
        needed,
        available: memory::available().unwrap_or(usize::MAX),
        site: site.clone(),
    }
}

fn key_of(what: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    what.hash(&mut hasher);
    hasher.finish()
}
