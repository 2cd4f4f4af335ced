//! Properties of any machines, runs and farms.

use aurora_super::model::{Configuration, Decimal, Error, Farm, Machines, Measurements, Review, Run, read};
use proptest::prelude::*;

/// Reference times of machines, up to 10^6 apart.
fn times() -> impl Strategy<Value = Vec<f64>> {
    prop::collection::vec((-3.0..3.0f64).prop_map(|power| 10f64.powf(power)), 1..6)
}

/// Machines, and the number of processors of each that are used: at least one in all.
fn used(most: u32) -> impl Strategy<Value = (Machines, Configuration)> {
    let counts = times().prop_flat_map(move |times| {
        let counts = prop::collection::vec(0..=most, times.len());
        (Just(times), counts).prop_filter("a processor", |(_, counts)| counts.iter().any(|count| *count > 0))
    });
    counts.prop_map(|(times, counts)| {
        let machines = Machines::from_times(times.iter().enumerate().map(|(index, time)| (format!("m{index}"), *time)));
        let text = counts.iter().enumerate().filter(|(_, count)| **count > 0);
        let text = text.map(|(index, count)| format!("m{index}={count}")).collect::<Vec<_>>().join(",");
        let machines = machines.expect("they can be");
        let configuration = machines.configuration(&text).expect("they exist");
        (machines, configuration)
    })
}

/// Assigns units directly: each processor by itself, one unit after the other.
fn one_by_one(units: u32, unit: f64, machines: &Machines, configuration: &Configuration, first_come: bool) -> f64 {
    let per_machine = machines.weights().iter().zip(configuration.processors());
    let times: Vec<f64> = per_machine.flat_map(|(weight, count)| vec![unit / weight; *count as usize]).collect();
    let mut handed = vec![0u32; times.len()];
    for _ in 0..units {
        let turn = |p: &usize| f64::from(handed[*p] + u32::from(!first_come)) * times[*p];
        let next = (0..times.len()).min_by(|a, b| turn(a).total_cmp(&turn(b))).expect("a processor");
        handed[next] += 1;
    }
    handed.iter().zip(&times).map(|(handed, time)| f64::from(*handed) * time).fold(0.0, f64::max)
}

proptest! {
    #[test]
    fn weights_are_in_0_1_and_the_fastest_has_1(times in times()) {
        let named = |of: fn(f64) -> f64| {
            let machines = times.iter().enumerate().map(|(index, time)| (index.to_string(), of(*time)));
            machines.collect::<Vec<_>>()
        };
        let by_times = Machines::from_times(named(|time| time)).unwrap();
        prop_assert!(by_times.weights().iter().all(|weight| *weight > 0.0 && *weight <= 1.0));
        prop_assert_eq!(by_times.weights().iter().copied().fold(0.0, f64::max), 1.0);
        let by_speeds = Machines::from_speeds(named(|time| 1.0 / time)).unwrap();
        for (a, b) in by_times.weights().iter().zip(by_speeds.weights()) {
            prop_assert!((a / b - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn heterogeneity_per_processor_is_a_mean((machines, configuration) in used(u32::MAX)) {
        let mean = machines.heterogeneity_per_processor(&configuration).unwrap();
        prop_assert!((0.0..1.0).contains(&mean));
        let machines_used = configuration.processors().iter().filter(|count| **count > 0).count() as f64;
        let of_machines = machines.heterogeneity(&configuration).unwrap();
        let total = configuration.total() as f64;
        prop_assert!((of_machines * machines_used - mean * total).abs() <= 1e-12 * total);
        prop_assert!((machines.power(&configuration).unwrap() - (1.0 - mean) * total).abs() <= 1e-12 * total);
    }

    #[test]
    fn ideal_before_earliest_completion_before_first_come((machines, configuration) in used(5), units in 1..200u32) {
        let farm = Farm::new(units.try_into().unwrap(), 0.7).unwrap();
        let makespans = farm.makespans(&machines, &configuration).unwrap();
        prop_assert!(makespans.ideal <= makespans.earliest_completion * (1.0 + 1e-12));
        prop_assert!(makespans.earliest_completion <= makespans.first_come);
        let by_hand = |first_come| one_by_one(units, 0.7, &machines, &configuration, first_come);
        prop_assert_eq!(makespans.first_come, by_hand(true));
        prop_assert_eq!(makespans.earliest_completion, by_hand(false));
    }

    #[test]
    fn no_assignment_is_completed_before_earliest_completion(
        (machines, configuration) in used(2), units in 1..40u32, choices in prop::collection::vec(any::<prop::sample::Index>(), 40),
    ) {
        let earliest = Farm::new(units.try_into().unwrap(), 1.0).unwrap().makespans(&machines, &configuration).unwrap();
        let per_machine = machines.weights().iter().zip(configuration.processors());
        let times: Vec<f64> = per_machine.flat_map(|(weight, count)| vec![1.0 / weight; *count as usize]).collect();
        let mut handed = vec![0u32; times.len()];
        choices[..units as usize].iter().for_each(|choice| handed[choice.index(times.len())] += 1);
        let completed = handed.iter().zip(&times).map(|(handed, time)| f64::from(*handed) * time).fold(0.0, f64::max);
        prop_assert!(earliest.earliest_completion <= completed);
    }

    #[test]
    fn a_prediction_from_a_run_s_own_efficiency_is_its_time((machines, configuration) in used(9), seconds in 1e-3..1e3f64) {
        let alone = |index| (0..machines.names().len()).map(|other| u32::from(other == index)).collect::<Vec<_>>();
        let references = machines.weights().iter().enumerate().map(|(index, weight)| Run::new(alone(index), 1.0 / weight));
        let measured = Run::new(configuration.processors(), seconds);
        let all: Vec<_> = if configuration.total() == 1 { references.collect() } else { references.chain([measured]).collect() };
        let table = Measurements::new(machines.names(), all).unwrap();
        for run in table.runs() {
            let prediction = table.predict(run.configuration(), table.efficiency(run)).unwrap();
            prop_assert!((prediction.seconds / run.seconds().value() - 1.0).abs() < 1e-12);
            prop_assert!((prediction.speedup / table.speedup(run) - 1.0).abs() < 1e-12);
        }
        for run in table.references() {
            prop_assert_eq!(table.efficiency(run).fraction(), 1.0);
        }
        if let Ok(curve) = table.curve(&configuration) {
            let efficiency = curve.efficiency(configuration.total()).fraction();
            prop_assert!(efficiency > 0.0 && efficiency <= 1.0);
        }
    }

    #[test]
    fn what_is_right_is_not_found_wrong((machines, configuration) in used(9), seconds in 1e-3..1e3f64, digits in 4..9usize) {
        prop_assume!(configuration.total() > 1);
        let mut text = format!("{} seconds speedup efficiency\n", machines.names().join(" "));
        let mut line = |counts: &[u32], time: f64| {
            let counts: String = counts.iter().map(|count| format!("{count} ")).collect();
            let speedup = 1.0 / time;
            let power: f64 = machines.weights().iter().zip(counts.split_whitespace()).map(|(w, n)| w * n.parse::<f64>().unwrap()).sum();
            text += &format!("{counts}{time:.digits$e} {speedup:.digits$e} {:.digits$e}\n", 100.0 * speedup / power);
        };
        for (index, weight) in machines.weights().iter().enumerate() {
            line(&(0..machines.names().len()).map(|other| u32::from(other == index)).collect::<Vec<_>>(), 1.0 / weight);
        }
        line(configuration.processors(), seconds);
        let review = Review::corrected(&read(&text).unwrap());
        prop_assert_eq!(review.findings, []);
    }

    #[test]
    fn any_text_is_a_table_or_an_error(text in "([ab=,#.\t\n \\[\\]{}\":0-9e-]|seconds|total|speedup|NaN|inf){0,60}") {
        if let Ok(table) = read(&text) {
            prop_assert!(table.runs().iter().all(|run| table.efficiency(run).fraction() > 0.0));
            let _ = Review::corrected(&table);
        }
        let machines = Machines::from_speeds([("a", 1.0), ("b", 2.0)]).unwrap();
        if let Ok(configuration) = machines.configuration(&text) {
            prop_assert_eq!(machines.configuration(&configuration.to_string()), Ok(configuration));
        }
    }

    #[test]
    fn a_number_means_the_digits_that_it_prints(value in 1e-30..1e30f64) {
        let table = Measurements::new(["a"], [Run::new([1], value)]).unwrap();
        let seconds: &Decimal = table.runs()[0].seconds();
        prop_assert_eq!(seconds.to_string().parse::<f64>(), Ok(value));
        prop_assert!(seconds.half_unit() > 0.0);
    }

    #[test]
    fn numbers_that_are_not_positive_are_refused(value in prop::num::f64::ANY) {
        let refused = matches!(Machines::from_speeds([("a", value)]), Err(Error::Number { .. }));
        prop_assert_eq!(refused, !(1e-60..=1e60).contains(&value));
    }
}
