//! Potentials of cities (Held and Karp 1970): a potential that is added to a city's distances changes the length of
//! every round trip by the same amount, and can make the cheapest spanning tree similar to a round trip.

use super::Instance;

/// The factor by which distances are scaled, so that potentials are whole numbers and all ranks find the same values.
pub(super) const SCALE: i64 = 64;

const ROUNDS: usize = 200;

/// Distances with potentials.
#[derive(Clone, Debug)]
pub(super) struct Costs {
    cities: usize,
    /// A row for each city.
    costs: Vec<i64>,
    /// The difference between the cost of a round trip and [`SCALE`] times its length.
    shift: i64,
}

impl Costs {
    /// Searches potentials, and takes those for which the cheapest 1-tree is the most expensive one found. A 1-tree is
    /// a spanning tree of all cities but 0, and the two cheapest legs from city 0.
    pub(super) fn new(instance: &Instance) -> Self {
        let n = instance.cities();
        let mut best = Costs::with(instance, &vec![0; n]);
        if n < 4 {
            return best;
        }
        let mean = instance.distances().iter().map(|d| i64::from(*d)).sum::<i64>() / (n * n) as i64;
        let (mut potentials, mut at_best) = (vec![0; n], i64::MIN);
        // Each step is a thirtieth shorter than the last.
        let mut step = (mean * SCALE / 4).max(1);
        for _ in 0..ROUNDS {
            let costs = Costs::with(instance, &potentials);
            let (tree, legs) = costs.one_tree();
            if tree - costs.shift > at_best {
                at_best = tree - costs.shift;
                best = costs;
            }
            for (potential, legs) in potentials.iter_mut().zip(legs) {
                *potential += step * (legs - 2);
            }
            step = (step * 29 / 30).max(1);
        }
        best
    }

    fn with(instance: &Instance, potentials: &[i64]) -> Self {
        let n = instance.cities();
        let cost = |k: usize| SCALE * i64::from(instance.distances()[k]) + potentials[k / n] + potentials[k % n];
        Costs { cities: n, costs: (0..n * n).map(cost).collect(), shift: 2 * potentials.iter().sum::<i64>() }
    }

    pub(super) fn cities(&self) -> usize {
        self.cities
    }

    /// Returns the cost of the leg between two cities.
    #[inline]
    pub(super) fn leg(&self, from: usize, to: usize) -> i64 {
        self.costs[from * self.cities + to]
    }

    /// Returns the length of a round trip with this cost.
    pub(super) fn length(&self, cost: i64) -> u32 {
        debug_assert_eq!((cost - self.shift) % SCALE, 0);
        ((cost - self.shift) / SCALE) as u32
    }

    /// Returns whether a round trip that costs at least `cost` is at least as long as `length`.
    #[inline]
    pub(super) fn reaches(&self, cost: i64, length: u32) -> bool {
        cost - self.shift > SCALE * (i64::from(length) - 1)
    }

    /// Returns the cost of the cheapest tree that spans the cities of a set, and joins both ends to the set: no path
    /// through all of them from one end to the other is cheaper.
    pub(super) fn tree(&self, ends: [usize; 2], mut set: u64) -> i64 {
        let mut nearest = [i64::MAX; super::MOST_CITIES];
        let mut cheapest = [i64::MAX; 2];
        let cities = |mut set: u64| {
            std::iter::from_fn(move || {
                let city = (set != 0).then(|| set.trailing_zeros() as usize)?;
                set &= set - 1;
                Some(city)
            })
        };
        for city in cities(set) {
            for (cheapest, end) in cheapest.iter_mut().zip(ends) {
                *cheapest = (*cheapest).min(self.leg(end, city));
            }
        }
        let mut sum = cheapest[0] + cheapest[1];
        let mut last = set.trailing_zeros() as usize;
        set &= set - 1;
        while set != 0 {
            let mut next = (i64::MAX, 0);
            for city in cities(set) {
                nearest[city] = nearest[city].min(self.leg(last, city));
                next = next.min((nearest[city], city));
            }
            sum += next.0;
            last = next.1;
            set &= !(1 << last);
        }
        sum
    }

    /// Returns the cost of the cheapest 1-tree, and the number of its legs at each city.
    fn one_tree(&self) -> (i64, Vec<i64>) {
        let n = self.cities;
        let (mut legs, mut sum) = (vec![0; n], 0);
        let mut nearest: Vec<_> = (0..n).map(|city| (self.leg(1, city), 1)).collect();
        let mut outside: Vec<usize> = (2..n).collect();
        while let Some(at) = (0..outside.len()).min_by_key(|at| nearest[outside[*at]]) {
            let city = outside.swap_remove(at);
            let (cost, from) = nearest[city];
            sum += cost;
            legs[city] += 1;
            legs[from] += 1;
            for &other in &outside {
                nearest[other] = nearest[other].min((self.leg(city, other), city));
            }
        }
        let mut from_0: Vec<_> = (1..n).map(|city| (self.leg(0, city), city)).collect();
        from_0.sort_unstable();
        for (cost, city) in &from_0[..2] {
            sum += cost;
            legs[*city] += 1;
        }
        legs[0] = 2;
        (sum, legs)
    }
}
