//! The speed of a node over time.

/// The speed of a node: a step function of time.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Profile {
    /// The start of each step, and the units of work in a unit of time from then on. The first step starts at 0; the
    /// starts ascend.
    steps: Vec<(f64, f64)>,
}

impl Profile {
    /// Creates a profile with the same speed at all times.
    pub(super) fn steady(speed: f64) -> Self {
        Profile { steps: vec![(0.0, speed)] }
    }

    /// Sets the speed from `at` until the next step.
    pub(super) fn change(&mut self, at: f64, speed: f64) {
        let place = self.steps.partition_point(|(from, _)| *from <= at);
        self.steps.insert(place, (at, speed));
    }

    /// Returns the work that is done from one time to another.
    pub(super) fn work(&self, from: f64, to: f64) -> f64 {
        if let [(_, speed)] = self.steps[..] {
            return speed * (to - from);
        }
        self.spans(from).map(|(start, end, speed)| speed * (end.min(to) - start).max(0.0)).sum()
    }

    /// Returns the time at which `work` that begins at `start` is done.
    pub(super) fn end(&self, start: f64, work: f64) -> f64 {
        let mut left = work;
        for (start, end, speed) in self.spans(start) {
            let done = start + left / speed;
            if done <= end {
                return done;
            }
            left -= speed * (end - start);
        }
        unreachable!("the last step has no end")
    }

    /// Returns the steps from a time on: start, end and speed.
    fn spans(&self, from: f64) -> impl Iterator<Item = (f64, f64, f64)> + '_ {
        let first = self.steps.partition_point(|(step, _)| *step <= from) - 1;
        let ends = self.steps[first + 1..].iter().map(|(step, _)| *step).chain([f64::INFINITY]);
        self.steps[first..].iter().zip(ends).map(move |((start, speed), end)| (start.max(from), end, *speed))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_slow_down_in_the_middle() {
        let mut profile = Profile::steady(2.0);
        profile.change(20.0, 4.0);
        profile.change(10.0, 1.0);
        assert_eq!(profile.work(5.0, 25.0), 10.0 + 10.0 + 20.0);
        assert_eq!(profile.end(5.0, 10.0), 10.0);
        assert_eq!(profile.end(5.0, 15.0), 15.0);
        assert_eq!(profile.end(5.0, 40.0), 25.0);
        assert_eq!(profile.end(30.0, 8.0), 32.0);
        assert_eq!(Profile::steady(3.0).end(1.0, 6.0), 3.0);
    }

    #[test]
    fn of_two_changes_at_one_time_the_later_holds() {
        let mut profile = Profile::steady(1.0);
        profile.change(10.0, 5.0);
        profile.change(10.0, 2.0);
        assert_eq!((profile.work(0.0, 20.0), profile.end(0.0, 30.0)), (30.0, 20.0));
    }

    proptest! {
        #[test]
        fn the_end_is_when_the_work_is_done(
            changes in prop::collection::vec((0.0..100.0f64, 0.1..10.0f64), 0..6),
            start in 0.0..120.0f64,
            work in 0.0..500.0f64,
        ) {
            let mut profile = Profile::steady(1.5);
            changes.into_iter().for_each(|(at, speed)| profile.change(at, speed));
            let end = profile.end(start, work);
            prop_assert!(end >= start);
            prop_assert!((profile.work(start, end) - work).abs() < 1e-9);
        }
    }
}
