//! The farm on threads, and its simulation against the model.

use super::simulation::{predicted, simulated};
use super::{Farm, run};
use crate::report;
use aurora_core::Config;
use aurora_super::Policy;

fn on(ranks: usize, job: &Farm) -> report::farm::Farm {
    Config::threads(ranks)
        .run(|world| run(world, job, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{job:?} on {ranks} ranks: {error}"))
}

#[test]
fn each_instruction_runs_once_by_every_policy() {
    let policies = Policy::ALL.map(|(_, policy)| policy).to_vec();
    let job = Farm { units: 7, steps: 3, unit_seconds: 0.003, drawn: true, policies, reps: 2, ..Farm::default() };
    for ranks in [1, 2, 3, 5] {
        for known_speeds in [false, true] {
            let report = on(ranks, &Farm { known_speeds, ..job.clone() });
            assert!(report.verified && report.policies.len() == 7, "{report:?}");
            for of in &report.policies {
                assert_eq!(of.by_rank.iter().map(|rank| rank.instructions).sum::<u64>(), 21, "{of:?}");
                // No rank can sleep less than it has to.
                let speeds: f64 = report.speeds.iter().sum();
                assert!(of.seconds.max * speeds >= report.sequential_seconds * 0.999, "{report:?}");
                assert!(of.simulated_seconds.min > 0.0 && of.imbalance.max < 1.0, "{of:?}");
            }
        }
    }
}

#[test]
fn a_wrong_result_is_found() {
    let job = Farm { units: 3, unit_seconds: 0.001, reps: 1, policies: vec![Policy::TAIL], ..Farm::default() };
    assert!(on(2, &job).verified);
    assert!(!on(2, &Farm { damage: true, ..job }).verified);
}

#[test]
fn ranks_with_different_jobs_are_told() {
    let job = |rank: usize| Farm { unit_seconds: 0.001 * (rank + 1) as f64, reps: 1, ..Farm::default() };
    let error = Config::threads(3).run(|world| run(world, &job(world.rank().index() / 2), &mut |_| ())).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("all ranks need the same arguments") && text.contains("rank 2 has Farm"), "{text}");
}

/// The two rules of the model are policies of the runtime, whose dispatcher the simulation runs.
#[test]
fn simulated_policies_reach_the_predictions_of_the_model() {
    let job = Farm::default();
    let speeds = job.relative_speeds(12);
    let model = predicted(&job, &speeds).unwrap();
    let part = |seconds: f64| format!("{:.4}", seconds / 3.6);
    // 44.87, 31.20 and 27.48 s of 265.19 s.
    assert_eq!([model.first_come, model.earliest_completion, model.ideal].map(part), ["0.1692", "0.1177", "0.1036"]);
    for known_speeds in [false, true] {
        let job = Farm { known_speeds, ..job.clone() };
        let makespan = |policy| simulated(&job, &speeds, policy, 1).unwrap().makespan / 1e6;
        let [first_come, earliest] = [makespan(Policy::R), makespan(Policy::ECT)];
        assert!((1.0..1.05).contains(&(first_come / model.first_come)), "{known_speeds}: {first_come}");
        assert!((1.0..1.05).contains(&(earliest / model.earliest_completion)), "{known_speeds}: {earliest}");
    }
}

#[test]
fn slow_ranks_get_fewer_units_once_their_times_are_known() {
    let job = Farm { unit_seconds: 0.05, reps: 1, policies: vec![Policy::S, Policy::ECT], ..Farm::default() };
    let report = on(12, &job);
    let slow = |at: usize| {
        let ranks = report.policies[at].by_rank.iter().zip(&report.speeds).filter(|(_, speed)| **speed < 0.5);
        ranks.map(|(rank, _)| rank.instructions).sum::<u64>()
    };
    assert_eq!(slow(0), 9, "{report:?}");
    assert!(slow(1) < 9, "{report:?}");
    assert!(report.policies[1].seconds.min >= report.model.earliest_completion, "{report:?}");
}
