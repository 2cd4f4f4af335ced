//! Decides whether two builds differ, or their difference is noise.

use aurora_apps::report::Spread;
use std::fmt;

/// The smallest difference that counts, however quiet the machine is.
pub const LEAST: f64 = 0.03;

/// The values of a row in one turn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Turn {
    /// The old build's values, before and after the run of the new build.
    pub old: [f64; 2],
    /// The new build's value.
    pub new: f64,
}

/// The result of a row's turns.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Judgement {
    /// All runs of the old build.
    pub old: Spread,
    /// All runs of the new build.
    pub new: Spread,
    /// The median over all turns of new / old. A machine that slows down from turn to turn does not change it.
    pub ratio: f64,
    /// The maximum over all turns of the relative difference of the old build's two runs, as part of the smaller value.
    pub own: f64,
    /// The conclusion.
    pub verdict: Verdict,
}

/// The conclusion about the new build.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The difference is within the noise.
    Same,
    /// The new build is better than the old build.
    Faster,
    /// The new build is worse than the old build.
    Slower,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Same => "same",
            Verdict::Faster => "faster",
            Verdict::Slower => "slower",
        })
    }
}

impl Judgement {
    /// Judges a row's turns; `more_is_better` is true for rates.
    pub fn of(turns: &[Turn], more_is_better: bool) -> Self {
        let ratio = |turn: &Turn| times(turn.new, turn.old.iter().sum::<f64>() / 2.0);
        let apart = |turn: &Turn| times(turn.old[0].max(turn.old[1]), turn.old[0].min(turn.old[1])) - 1.0;
        let ratio = Spread::of(turns.iter().map(ratio)).median;
        let own = turns.iter().map(apart).fold(0.0, f64::max);
        let noise = 1.0 + own.max(LEAST);
        let worse = if more_is_better { 1.0 / ratio } else { ratio };
        let verdict = match worse {
            _ if worse > noise => Verdict::Slower,
            _ if worse < 1.0 / noise => Verdict::Faster,
            _ => Verdict::Same,
        };
        Judgement {
            old: Spread::of(turns.iter().flat_map(|turn| turn.old)),
            new: Spread::of(turns.iter().map(|turn| turn.new)),
            ratio,
            own,
            verdict,
        }
    }
}

/// The ratio of a value to `base`. Two zeros have the ratio 1.
fn times(figure: f64, base: f64) -> f64 {
    if figure == base { 1.0 } else { figure / base }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Five turns; in the third the old build's second run takes `own` longer than the first.
    fn judged(own: f64, new: f64, more_is_better: bool) -> Judgement {
        let mut turns = [Turn { old: [100.0, 100.0], new }; 5];
        turns[2].old[1] = 100.0 * (1.0 + own);
        Judgement::of(&turns, more_is_better)
    }

    fn verdict(own: f64, new: f64) -> Verdict {
        judged(own, new, false).verdict
    }

    #[test]
    fn what_is_further_from_the_old_build_than_that_is_from_itself_is_a_difference() {
        assert_eq!(verdict(0.02, 110.0), Verdict::Slower);
        assert_eq!(verdict(0.15, 110.0), Verdict::Same);
        assert_eq!(verdict(0.15, 116.0), Verdict::Slower);
        assert_eq!(verdict(0.02, 90.0), Verdict::Faster);
        assert_eq!(verdict(0.15, 90.0), Verdict::Same);
        assert_eq!(verdict(0.15, 86.0), Verdict::Faster);
    }

    #[test]
    fn on_a_quiet_machine_three_per_cent_are_none() {
        assert_eq!((verdict(0.0, 102.9), verdict(0.0, 103.1)), (Verdict::Same, Verdict::Slower));
        assert_eq!((verdict(0.0, 97.2), verdict(0.0, 96.9)), (Verdict::Same, Verdict::Faster));
    }

    #[test]
    fn of_a_rate_more_is_better() {
        let verdict = |new| judged(0.02, new, true).verdict;
        assert_eq!((verdict(110.0), verdict(90.0)), (Verdict::Faster, Verdict::Slower));
        assert_eq!(verdict(102.0), Verdict::Same);
    }

    #[test]
    fn a_machine_that_grows_slower_from_turn_to_turn_is_not_the_builds_doing() {
        let turn = |by: f64| Turn { old: [100.0 * by, 101.0 * by], new: 100.5 * by };
        let judgement = Judgement::of(&[1.0, 1.2, 1.5, 2.0, 3.0].map(turn), false);
        assert_eq!((judgement.verdict, judgement.old.max), (Verdict::Same, 303.0));
        assert!((judgement.ratio - 1.0).abs() < 1e-9 && (judgement.own - 0.01).abs() < 1e-9, "{judgement:?}");
    }

    #[test]
    fn one_turn_of_five_that_was_disturbed_decides_nothing() {
        let mut turns = [Turn { old: [100.0, 101.0], new: 100.0 }; 5];
        turns[1].new = 300.0;
        assert_eq!(Judgement::of(&turns, false).verdict, Verdict::Same);
    }

    #[test]
    fn nothing_is_as_much_as_nothing() {
        let of = |old, new| Judgement::of(&[Turn { old: [old; 2], new }], false).verdict;
        assert_eq!((of(0.0, 0.0), of(0.0, 1.0), of(1.0, 0.0)), (Verdict::Same, Verdict::Slower, Verdict::Faster));
    }
}
