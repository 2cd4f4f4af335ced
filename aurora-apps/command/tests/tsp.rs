//! The search on ranks that are threads: the same optimum for any number of ranks, and damage is found.

use aurora_apps::implementation::Implementation;
use aurora_apps::job::{App, Job, defaults};
use aurora_apps::report::Report;
use aurora_apps::tsp::{Named, Tsp};
use aurora_core::prelude::*;
use clap::ValueEnum;
use std::path::PathBuf;
use tempfile::NamedTempFile;

fn run(ranks: usize, job: &Job<Tsp>) -> Vec<Report> {
    Config::threads(ranks)
        .run(|world| Tsp::run(world, job, &mut |_| ()))
        .unwrap_or_else(|error| panic!("{job:?} on {ranks} ranks: {error}"))
        .results
}

fn job(program: Tsp) -> Job<Tsp> {
    Job { reps: 1, seed: Some(17), ..Job::of(program) }
}

fn random(cities: usize) -> Tsp {
    Tsp { cities: Some(cities), ..defaults() }
}

const OURS: [Implementation; 3] = [Implementation::Aurora, Implementation::Naive, Implementation::Sequential];

#[test]
fn the_known_optima_on_any_number_of_ranks() {
    for &named in Named::value_variants() {
        for ranks in 1..=4 {
            let reports = run(ranks, &job(Tsp { instance: named, ..defaults() }));
            assert!(reports[0].verified, "{reports:?}");
            assert_eq!(reports[0].measures["length"], named.optimum() as usize, "{named:?} on {ranks} ranks");
            assert!(reports[0].measures["improvements"] >= 1);
        }
    }
}

#[test]
fn any_number_of_cities() {
    for ranks in 1..=4 {
        for cities in [1, 2, 3, 4, 5, 9] {
            let job = Job { implementations: OURS.into(), reps: 3, ..job(Tsp { chunk: 1, ..random(cities) }) };
            let reports = run(ranks, &job);
            assert!(reports.iter().all(|report| report.verified), "{reports:?}");
            assert_eq!((reports[0].size, reports[0].ranks), (cities, ranks));
            let lengths = reports.iter().map(|report| report.measures["length"]).collect::<Vec<_>>();
            assert!(lengths.iter().all(|length| *length == lengths[0]), "{lengths:?}");
        }
    }
}

#[test]
fn over_udp_and_with_few_parts_at_a_time() {
    let job = Job { implementations: OURS.into(), ..job(Tsp { instance: Named::Burma14, chunk: 1, ..defaults() }) };
    let report = Config::threads(3).route(aurora_core::Route::Udp).run(|world| Tsp::run(world, &job, &mut |_| ()));
    let report = report.expect("a report");
    assert!(report.results.iter().all(|report| report.verified && report.measures["length"] == 3323), "{report:?}");
}

#[test]
fn a_city_visited_twice_is_noticed() {
    for ranks in 1..=3 {
        for cities in [1, 2, 5] {
            let job = Job { damage: true, implementations: OURS.into(), ..job(random(cities)) };
            assert!(run(ranks, &job).iter().all(|report| !report.verified), "{cities} cities");
        }
    }
}

#[test]
fn a_report_tells_the_phases() {
    let reports = run(2, &job(Tsp { instance: Named::Burma14, ..defaults() }));
    let names: Vec<_> = reports[0].phases.iter().map(|phase| phase.name.as_str()).collect();
    assert_eq!(names, ["read distances", "read bound", "search", "collect tours"]);
}

/// A file for one test.
fn written(text: &str) -> NamedTempFile {
    let file = NamedTempFile::new().expect("a file");
    std::fs::write(&file, text).expect("it can be written");
    file
}

#[test]
fn a_file_is_read_by_rank_0() {
    let text = "NAME : square\nTYPE : TSP\nDIMENSION : 4\nEDGE_WEIGHT_TYPE : EUC_2D\nNODE_COORD_SECTION\n\
                1 0 0\n2 30 40\n3 30 0\n4 0 40\nEOF\n";
    let file = written(text);
    let reports = run(3, &job(Tsp { file: Some(file.path().into()), ..defaults() }));
    assert!(reports[0].verified);
    assert_eq!((reports[0].size, reports[0].measures["length"]), (4, 140));
}

#[test]
fn what_is_wrong_with_a_file_is_said_on_every_rank() {
    let file = written("TYPE : TSP\nDIMENSION : 3\nEDGE_WEIGHT_TYPE : ATT\n");
    for (path, words) in
        [(PathBuf::from(file.path()), "line 3: EDGE_WEIGHT_TYPE is ATT"), ("no/such.tsp".into(), "No such file")]
    {
        let job = job(Tsp { file: Some(path.clone()), ..defaults() });
        let ended = Config::threads(3).run(|world| {
            let error = Tsp::run(world, &job, &mut |_| ()).expect_err("it is refused").to_string();
            world.barrier()?;
            assert!(error.contains(words) && error.contains(&path.display().to_string()), "{error}");
            Ok(())
        });
        ended.expect("nobody panics");
    }
}
