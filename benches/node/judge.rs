//! What makes a row complete, and whether Aurora reaches what it is to.

use crate::job::Said;
use crate::row::{BEST_MPI, Figure, Pick, Reach, Row};
use aurora_apps::report::Spread;
use serde::Deserialize;
use serde_json::Value;

/// A row with everything that it must have, in its unit.
#[derive(Clone, Debug)]
pub struct Measured {
    pub ours: Spread,
    pub beside: Option<Beside>,
    /// The share of the cores that the job took.
    pub busy: f64,
}

/// What a row stands beside.
#[derive(Clone, Debug)]
pub struct Beside {
    pub who: String,
    pub spread: Spread,
}

/// Takes what a row's job has said for a row, if nothing is missing.
///
/// # Errors
/// All that is missing or cannot be.
pub fn complete(row: &Row, said: &Said) -> Result<Measured, Vec<String>> {
    let ours = find(said, row.job.ranks, row.ours).map(|spread| row.unit.of(spread));
    let beside = row.beside.map(|pick| fastest(said, row, pick)).transpose();
    let busy =
        said.busy.filter(|busy| (0.0..=1.0).contains(busy)).ok_or("the CPU share of the job is not known".into());
    match (ours, beside, busy) {
        (Ok(ours), Ok(beside), Ok(busy)) => Ok(Measured { ours, beside, busy }),
        (ours, beside, busy) => Err([ours.err(), beside.err(), busy.err()].into_iter().flatten().collect()),
    }
}

/// What a row stands beside: of several that are meant the one that takes least.
fn fastest(said: &Said, row: &Row, pick: Pick) -> Result<Beside, String> {
    let one = |pick: Pick| {
        let spread = row.unit.of(find(said, row.job.ranks, pick)?);
        Ok(Beside { who: pick.kind.unwrap_or(pick.implementation).into(), spread })
    };
    if pick.implementation != BEST_MPI {
        return one(pick);
    }
    let all = row.job.implementations().filter(|name| name.starts_with("mpi-"));
    let all = all.map(|implementation| one(Pick { implementation, ..pick })).collect::<Result<Vec<_>, String>>()?;
    let best = all.into_iter().min_by(|one, other| one.spread.median.total_cmp(&other.spread.median));
    best.ok_or("its job has no implementation of MPI".into())
}

/// What the job has said of an implementation, and of a kind.
pub fn result(said: &Said, pick: Pick) -> Option<&Value> {
    let is_it = |result: &&Value| {
        let kind = result["memory"].as_str().or(result["access"].as_str());
        result["impl"] == pick.implementation && kind == pick.kind
    };
    said.results.iter().find(is_it)
}

/// A figure that the job has said, if nothing is wrong with it.
///
/// # Errors
/// What is.
pub fn find(said: &Said, ranks: usize, pick: Pick) -> Result<Spread, String> {
    let who = pick.kind.unwrap_or(pick.implementation);
    let result = result(said, pick).ok_or_else(|| format!("no figures of {who}"))?;
    if result["verified"] != true {
        return Err(format!("{who} has brought wrong bytes"));
    }
    if result["reps"] != said.reps || result["ranks"] != ranks {
        return Err(format!("{who} was repeated {} times on {} ranks", result["reps"], result["ranks"]));
    }
    let named = |name: &str| {
        let spread = Spread::deserialize(&result[name]).map_err(|error| format!("{who} says no {name}: {error}"))?;
        match 0.0 <= spread.min && spread.is_in_order() {
            true => Ok(spread),
            false => Err(format!("{who} has no min, median and max of {name}: {spread}")),
        }
    };
    match pick.figure {
        Figure::Named(name) => named(name),
        Figure::SharingByComputing => {
            let (sharing, all) = (named("sharing_seconds")?, named("seconds")?);
            // The rest of a repetition that takes as long as most is what it computes.
            let computing = all.median - sharing.median;
            Ok(sharing.map(|seconds| seconds / computing))
        }
    }
}

impl Row {
    /// What is to be reached, in words.
    pub fn goal(&self) -> String {
        let unit = self.unit.name();
        match self.reach {
            Reach::AtMost(most) => format!("<= {most} {unit}"),
            Reach::AtLeast(least) => format!(">= {least} {unit}"),
            Reach::OfBeside(1.0) => "faster".into(),
            Reach::OfBeside(times) => format!("<= {times} x"),
            Reach::Nothing => "-".into(),
        }
    }

    /// Whether it is reached; none if nobody has said what.
    pub fn is_reached(&self, measured: &Measured) -> Option<bool> {
        let ours = measured.ours.median;
        match self.reach {
            Reach::AtMost(most) => Some(ours <= most),
            Reach::AtLeast(least) => Some(ours >= least),
            Reach::OfBeside(times) => {
                Some(measured.beside.as_ref().is_some_and(|beside| ours <= times * beside.spread.median))
            }
            Reach::Nothing => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::ROWS;
    use serde_json::json;

    fn row(name: &str) -> Row {
        ROWS.into_iter().find(|row| row.name == name).expect("a row")
    }

    fn said(ours: f64, theirs: f64) -> Said {
        let spread = |value: f64| json!({ "min": value, "median": value, "max": value });
        let of = |name: &str, value: f64| {
            json!({
                "impl": name, "verified": true, "reps": 10, "ranks": 2, "memory": null,
                "ready_seconds": spread(value), "with_read_seconds": spread(value),
            })
        };
        Said { results: vec![of("aurora", ours), of("mpi-collective", theirs)], reps: 10, busy: Some(0.5) }
    }

    fn flaw(change: impl Fn(&mut Said)) -> String {
        let mut said = said(1e-6, 1e-3);
        change(&mut said);
        complete(&row("load-4"), &said).expect_err("not complete").join("; ")
    }

    #[test]
    fn a_row_has_all_its_figures_and_the_share_of_the_cores() {
        assert!(complete(&row("load-4"), &said(1e-6, 1e-3)).is_ok());
        assert!(flaw(|said| said.busy = None).contains("CPU share"));
        assert!(flaw(|said| said.results.truncate(1)).contains("no figures of mpi-collective"));
        assert!(flaw(|said| said.results[1]["verified"] = json!(false)).contains("mpi-collective has brought wrong"));
        assert!(flaw(|said| said.results[0]["reps"] = json!(3)).contains("repeated 3 times on 2 ranks"));
        assert!(flaw(|said| said.results[0]["ranks"] = json!(4)).contains("repeated 10 times on 4 ranks"));
        assert!(flaw(|said| said.results[0]["ready_seconds"] = json!(null)).contains("aurora says no ready_seconds"));
        assert!(flaw(|said| said.results[0]["ready_seconds"]["max"] = json!(0.0)).contains("no min, median and max"));
    }

    #[test]
    fn what_is_to_be_reached_can_be_missed() {
        let reached = |name, ours, theirs| {
            let row = row(name);
            row.is_reached(&complete(&row, &said(ours, theirs)).expect("complete"))
        };
        assert_eq!(reached("load-4", 5.0e-6, 1.0), Some(true));
        assert_eq!(reached("load-4", 5.1e-6, 1.0), Some(false));
        assert_eq!(reached("read-4", 0.59, 1.0), Some(true));
        assert_eq!(reached("read-4", 0.61, 1.0), Some(false));
    }

    #[test]
    fn the_best_of_mpi_is_the_one_with_the_least_median() {
        let row = row("diffusion-1000");
        let spread = |value: f64| json!({ "min": value, "median": value, "max": value });
        let of = |name: &str, value: f64| json!({ "impl": name, "verified": true, "reps": 10, "ranks": 2, "seconds": spread(value) });
        let with = |names: [(&str, f64); 3]| {
            let results = names.into_iter().map(|(name, value)| of(name, value)).collect();
            complete(&row, &Said { results, reps: 10, busy: Some(0.5) })
        };
        let measured = with([("aurora", 2e-3), ("mpi-collective", 3e-3), ("mpi-isend", 1e-3)]).expect("complete");
        let beside = measured.beside.as_ref().expect("one of them");
        assert_eq!((&beside.who[..], beside.spread.median), ("mpi-isend", 1.0));
        assert_eq!(row.is_reached(&measured), Some(false));
        let flaw =
            with([("aurora", 2e-3), ("mpi-collective", 3e-3), ("sequential", 1e-3)]).expect_err("one is missing");
        assert_eq!(flaw, ["no figures of mpi-isend"]);
    }

    #[test]
    fn names_are_given_once() {
        for (number, row) in ROWS.iter().enumerate() {
            assert!(ROWS[..number].iter().all(|other| other.name != row.name), "{}", row.name);
        }
    }
}
