//! The search: depth first, nearest cities first. It skips every beginning that cannot lead to a tour shorter than the
//! shortest known tour.

use super::Instance;
use super::potential::Costs;
use aurora_core::ops::Min;
use aurora_core::prelude::*;
use serde::{Deserialize, Serialize};
use std::cell::Cell;

/// The length of the shortest tour that any rank has found.
pub trait Bound {
    /// Returns the length, as far as this rank knows.
    ///
    /// # Errors
    /// The error that ended the job.
    fn length(&self) -> Result<u32>;

    /// Reports that this rank has found a tour of this length.
    ///
    /// # Errors
    /// The error that ended the job.
    fn improve(&self, length: u32) -> Result<()>;
}

/// The bound of one rank alone.
impl Bound for Cell<u32> {
    fn length(&self) -> Result<u32> {
        Ok(self.get())
    }

    fn improve(&self, length: u32) -> Result<()> {
        self.set(self.get().min(length));
        Ok(())
    }
}

/// The bound without a behaviour: each access asks the owner.
impl Bound for GScalar<u32> {
    fn length(&self) -> Result<u32> {
        self.get()
    }

    fn improve(&self, length: u32) -> Result<()> {
        self.fetch_min(length).map(drop)
    }
}

/// The bound under ReadMostly: reading is local, and improving does not wait.
impl Bound for ReadMostly<'_, u32, Min> {
    fn length(&self) -> Result<u32> {
        self.get()
    }

    fn improve(&self, length: u32) -> Result<()> {
        self.offer(length)
    }
}

/// A round trip and its length.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Tour {
    /// The length.
    pub length: u32,
    /// The cities, numbered from 0, in order.
    pub cities: Vec<u8>,
}

impl Tour {
    /// Returns the value for no tour yet.
    pub fn none() -> Self {
        Tour { length: u32::MAX, cities: Vec::new() }
    }
}

/// The shorter of two tours; if both have the same length, the tour whose cities come first.
#[derive(Debug)]
pub struct Best;

impl Op<Tour> for Best {
    fn apply(current: Tour, operand: Tour) -> Tour {
        if (operand.length, &operand.cities) < (current.length, &current.cities) { operand } else { current }
    }
}

/// A search through some of the tours of an instance.
///
/// A tour goes through city 1 before city 2: the other half of the tours are these tours backwards.
pub struct Search<'b, B> {
    costs: Costs,
    /// For each city, the other cities by their distance, nearest first.
    order: Vec<Vec<u8>>,
    bound: &'b B,
    /// The shortest tour that this search has found.
    pub best: Tour,
    /// The number of examined beginnings of tours.
    pub nodes: u64,
    /// The number of improvements of the bound by this search.
    pub improvements: u64,
}

impl<'b, B: Bound> Search<'b, B> {
    /// Makes a search of `instance`.
    pub fn new(instance: &Instance, bound: &'b B) -> Self {
        let costs = Costs::new(instance);
        let n = costs.cities();
        let by_cost = |from: usize| {
            let mut cities: Vec<u8> = (0..n as u8).filter(|to| usize::from(*to) != from).collect();
            cities.sort_by_key(|to| (costs.leg(from, usize::from(*to)), *to));
            cities
        };
        let order = (0..n).map(by_cost).collect();
        Search { costs, order, bound, best: Tour::none(), nodes: 0, improvements: 0 }
    }

    /// Returns the number of parts into which the tours are divided, by their first cities.
    pub fn parts(&self) -> u64 {
        let n = self.costs.cities() as u64;
        if n < 4 { 1 } else { (n - 1) * (n - 2) }
    }

    /// Searches one part.
    ///
    /// # Errors
    /// The errors of the bound.
    pub fn part(&mut self, number: u64) -> Result<()> {
        let n = self.costs.cities();
        if n < 4 {
            return self.found((0..n as u8).collect());
        }
        let (first, second) = (number as usize / (n - 2), number as usize % (n - 2));
        let first = self.order[0][first];
        let mut others = self.order[usize::from(first)].iter().filter(|city| **city != 0);
        let Some(&second) = others.nth(second) else {
            return Ok(());
        };
        let mut path = vec![0, first, second];
        let visited = path.iter().fold(0, |set, city| set | 1 << city);
        if is_backwards(second, visited) || is_backwards(first, 1 | 1 << first) {
            return Ok(());
        }
        let cost = self.costs.leg(0, usize::from(first)) + self.costs.leg(usize::from(first), usize::from(second));
        self.extend(&mut path, visited, cost)
    }

    fn extend(&mut self, path: &mut Vec<u8>, visited: u64, cost: i64) -> Result<()> {
        self.nodes += 1;
        let n = self.costs.cities();
        let last = usize::from(path[path.len() - 1]);
        let bound = self.bound.length()?;
        if path.len() == n {
            let length = self.costs.length(cost + self.costs.leg(last, 0));
            return if length < bound { self.found(path.clone()) } else { Ok(()) };
        }
        let rest = !visited & (u64::MAX >> (64 - n));
        if self.costs.reaches(cost + self.costs.tree([last, 0], rest), bound) {
            return Ok(());
        }
        for at in 0..n - 1 {
            let city = self.order[last][at];
            let with = visited | 1 << city;
            if with == visited || is_backwards(city, visited) {
                continue;
            }
            path.push(city);
            self.extend(path, with, cost + self.costs.leg(last, usize::from(city)))?;
            path.pop();
        }
        Ok(())
    }

    /// Reports a tour that is shorter than those known.
    fn found(&mut self, cities: Vec<u8>) -> Result<()> {
        let legs = cities.iter().zip(cities.iter().cycle().skip(1));
        let cost = legs.map(|(a, b)| self.costs.leg(usize::from(*a), usize::from(*b))).sum();
        // With one city the leg goes from the city to itself and has no length.
        let length = if cities.len() > 1 { self.costs.length(cost) } else { 0 };
        if length < self.best.length {
            self.best = Tour { length, cities };
        }
        self.improvements += 1;
        self.bound.improve(length)
    }
}

/// Returns whether a tour that goes on to this city reaches city 2 before city 1.
fn is_backwards(city: u8, visited: u64) -> bool {
    city == 2 && visited & 0b10 == 0
}

/// Finds the shortest tour, on one rank alone.
///
/// # Errors
/// None.
pub fn sequential(instance: &Instance) -> Result<Tour> {
    let bound = Cell::new(u32::MAX);
    let mut search = Search::new(instance, &bound);
    for part in 0..search.parts() {
        search.part(part)?;
    }
    Ok(search.best)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tsp::Named;
    use clap::ValueEnum;

    /// Returns the length of the shortest tour by trying all tours.
    fn by_trying_all(instance: &Instance) -> u32 {
        fn permutations(path: &mut Vec<u8>, n: usize, shortest: &mut u32, instance: &Instance) {
            if path.len() == n {
                *shortest = (*shortest).min(instance.length(path).expect("a tour"));
            }
            for city in 0..n as u8 {
                if !path.contains(&city) {
                    path.push(city);
                    permutations(path, n, shortest, instance);
                    path.pop();
                }
            }
        }
        let mut shortest = u32::MAX;
        permutations(&mut vec![0], instance.cities(), &mut shortest, instance);
        shortest
    }

    #[test]
    fn finds_what_trying_all_finds() {
        for cities in 1..=8 {
            for seed in 0..10 {
                let instance = Instance::random(cities, seed);
                let tour = sequential(&instance).unwrap();
                assert_eq!(instance.length(&tour.cities), Some(tour.length), "{cities} cities, seed {seed}");
                assert_eq!(tour.length, by_trying_all(&instance), "{cities} cities, seed {seed}");
            }
        }
    }

    #[test]
    fn finds_the_known_optima() {
        for &named in Named::value_variants() {
            let instance = named.instance();
            let tour = sequential(&instance).unwrap();
            assert_eq!((tour.length, instance.length(&tour.cities)), (named.optimum(), Some(tour.length)), "{named:?}");
        }
    }

    #[test]
    fn cities_in_one_place_and_far_away() {
        let same = Instance::new(9, |_, _| 0);
        assert_eq!(sequential(&same).unwrap().length, 0);
        let far = Instance::new(6, |_, _| (1 << 24) - 1);
        assert_eq!(sequential(&far).unwrap().length, 6 * ((1 << 24) - 1));
    }
}
