//! A map next to the vector.

use super::{Program, Writers};
use aurora_core::ops::Sum;
use aurora_core::{GMap, Result, World};
use aurora_suite::{check, mix};
use std::collections::BTreeMap;

/// So few that the same keys are used again.
const KEYS: u64 = 90;

/// A map, its expected contents, and the ranks that may write without a barrier.
pub struct Map {
    m: GMap<u64, u64>,
    model: BTreeMap<u64, u64>,
    unordered: Writers,
}

impl Map {
    pub fn new(world: &World) -> Result<Self> {
        Ok(Map { m: GMap::new(world)?, model: BTreeMap::new(), unordered: Writers::None })
    }
}

impl Program<'_> {
    pub fn map(&mut self) -> Result<()> {
        match self.shared.below(7) {
            0 | 1 => self.map_one_sided(),
            2 | 3 => self.map_release(),
            4 => self.map_owners(),
            5 => {
                self.map.m.clear()?;
                self.map.model.clear();
                self.map.unordered = Writers::None;
                Ok(())
            }
            _ => self.map_look(),
        }
    }

    /// Some keys, each with true if this rank writes it.
    fn keys(&mut self) -> Vec<(u64, bool)> {
        let (p, me, every) = (self.world.size() as u64, self.world.rank().index() as u64, 1 + self.shared.below(9));
        let draw = self.shared.bits();
        let keys = (0..KEYS).filter(|key| mix(draw ^ key).is_multiple_of(every as u64));
        keys.map(|key| (key, key % p == me)).collect()
    }

    fn order_map(&mut self, unless: Writers) -> Result<()> {
        if ![Writers::None, unless].contains(&self.map.unordered) {
            self.map.unordered = Writers::None;
            self.world.barrier()?;
        }
        Ok(())
    }

    /// Each rank writes its own class of keys, one by one.
    fn map_one_sided(&mut self) -> Result<()> {
        self.order_map(Writers::Classes)?;
        let (keys, how) = (self.keys(), self.shared.below(3));
        let Map { m, model, .. } = &mut self.map;
        for (key, mine) in keys {
            let before = model.get(&key).copied();
            match how {
                0 => drop(model.insert(key, mix(key))),
                1 => drop(model.remove(&key)),
                _ => drop(model.insert(key, before.map_or(7, |value| value.wrapping_add(7)))),
            }
            if mine {
                match how {
                    0 => check::equal("replaced", m.insert(key, mix(key))?, before)?,
                    1 => check::equal("removed", m.remove(&key)?, before)?,
                    _ => m.update(&key, Sum, 7)?,
                }
                check::equal("contained", m.contains(&key)?, how != 1)?;
            }
        }
        self.map.unordered = Writers::Classes;
        Ok(())
    }

    /// Each rank inserts and updates its own keys, or all ranks update all of them.
    fn map_release(&mut self) -> Result<()> {
        let by_all = self.shared.below(2) == 0;
        if by_all {
            self.order_map(Writers::Owners)?;
        }
        let (keys, ranks, checked) = (self.keys(), self.world.size() as u64, self.shared.below(2) == 0);
        let Map { m, model, unordered } = &mut self.map;
        *unordered = Writers::None;
        let mut scope = m.release_c_with(Sum)?;
        for (key, mine) in keys {
            if by_all {
                let value = model.get(&key).map_or(3 * ranks, |value| value.wrapping_add(3 * ranks));
                model.insert(key, value);
                scope.update(&key, 3)?;
            } else {
                model.insert(key, key + 5);
                if mine {
                    scope.insert(key, key)?;
                    scope.update(&key, 5)?;
                }
            }
        }
        if checked { scope.finish() } else { Ok(()) }
    }

    /// Each rank changes or removes some of the entries that it owns.
    fn map_owners(&mut self) -> Result<()> {
        self.order_map(Writers::Owners)?;
        let (key, removes) = (self.shared.bits(), self.shared.below(2) == 0);
        let is_chosen = |other: &u64| mix(key ^ other).is_multiple_of(3);
        let Map { m, model, .. } = &mut self.map;
        let mut own = m.owner_computes_mut()?;
        if removes {
            model.retain(|key, _| !is_chosen(key));
            own.retain(|key, _| !is_chosen(key));
        } else {
            model.iter_mut().filter(|(key, _)| is_chosen(key)).for_each(|(_, value)| *value ^= key);
            own.iter_mut().filter(|(key, _)| is_chosen(key)).for_each(|(_, value)| *value ^= key);
        }
        drop(own);
        self.map.unordered = Writers::Owners;
        Ok(())
    }

    pub fn map_look(&mut self) -> Result<()> {
        let how = self.shared.below(4);
        if how > 1 {
            // `len` and `collect` order all ranks.
            self.order_map(Writers::None)?;
        }
        let Map { m, model, .. } = &self.map;
        match how {
            0 => check::equal("length", m.global_len()?, model.len())?,
            1 => {
                if let Some(all) = m.gather_to(self.shared.below(self.world.size()))? {
                    check::equal("all entries", all.into_iter().collect::<BTreeMap<_, _>>(), model.clone())?;
                }
            }
            2 => {
                let keys: Vec<u64> = (0..KEYS).collect();
                let values = keys.iter().map(|key| model.get(key).copied()).collect::<Vec<_>>();
                check::equal("values", m.get_many(&keys)?, values)?;
                self.world.barrier()?;
            }
            _ => {
                let key = self.speed.below(KEYS as usize) as u64;
                check::equal("value", m.get(&key)?, model.get(&key).copied())?;
                for (key, value) in m.owner_computes()?.iter() {
                    check::equal("own entry", Some(value), model.get(key))?;
                }
                self.world.barrier()?;
            }
        }
        self.map.unordered = Writers::None;
        Ok(())
    }
}
