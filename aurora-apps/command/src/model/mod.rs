//! `aurora model`: a table of runs on unequal machines, recomputed.

mod input;
mod table;

use crate::arguments::ModelArguments;
use crate::launch::speaks;
use crate::refusal::{Reason, Refusal};
use crate::table::Table;
use crate::{FAILED, circumstances, complain, line, say};
use aurora_apps::report::label::Labels;
use aurora_apps::report::model::{Farmed, Found, Machine, Model, Number, OnFarm, Origin, Predicted, Run};
use aurora_core::LaunchInfo;
use aurora_super::model::{Configuration, Efficiency, Farm, Measured};
use aurora_super::model::{Error, Measurements, PrintedWeights, Review, Warning};
use serde_json::to_value;
use std::num::NonZeroU32;
use std::process::ExitCode;

/// Reads the file and prints the model. No ranks are started. If a launcher has started ranks, one rank does this.
///
/// # Errors
/// An argument that does not fit the file.
pub fn show(arguments: &ModelArguments, starter: LaunchInfo) -> Result<ExitCode, Refusal> {
    if !speaks(starter) {
        return Ok(ExitCode::SUCCESS);
    }
    let (file, table) = match input::read(&arguments.file) {
        Ok(read) => read,
        Err(error) => {
            complain(error);
            return Ok(ExitCode::from(FAILED));
        }
    };
    let model = model(file, &table, arguments)?;
    let text =
        if arguments.json { line(&circumstances(Labels::default(), false), &model) } else { Table(&model).to_string() };
    Ok(say(&text).err().unwrap_or(ExitCode::SUCCESS))
}

fn model(file: String, printed: &Measurements, arguments: &ModelArguments) -> Result<Model, Refusal> {
    let review = if arguments.as_printed { Review::as_printed(printed) } else { Review::corrected(printed) };
    let table = &review.measurements;
    let machines = table.machines();
    let wanted =
        |text: &String| machines.configuration(text).map_err(|error| refusal("--predict <CONFIGURATION>", text, error));
    let wanted = arguments.predict.iter().map(wanted).collect::<Result<Vec<_>, _>>()?;
    let mut predictions = Vec::new();
    for to in &wanted {
        predictions.extend(predict(table, to, arguments.from.as_deref())?);
    }
    let farm = arguments.farm.and_then(NonZeroU32::new);
    let farm = farm.map(|units| farmed(table, units, arguments.unit_seconds, &wanted)).transpose()?;
    let run = |(index, printed)| run_of(&review, index, printed);
    let runs = printed.runs().iter().enumerate().map(run).collect::<Result<Vec<_>, _>>();
    let runs = runs.map_err(|error| refusal("<FILE>", &file, error))?;
    let printed_weights = table.printed_weights().map(PrintedWeights::weights).unwrap_or_default();
    let machine = |(index, run): (usize, &Measured)| Machine {
        name: machines.names()[index].clone(),
        seconds: run.seconds().value(),
        power_weight: machines.weights()[index],
        printed_power_weight: printed_weights.get(index).cloned(),
        agreement: review.weights[index],
    };
    Ok(Model {
        file,
        machines: table.references().enumerate().map(machine).collect(),
        runs,
        findings: review
            .findings
            .iter()
            .map(|finding| Found { text: finding.to_string(), finding: to_value(finding).unwrap_or_default() })
            .collect(),
        predictions,
        farm,
    })
}

fn run_of(review: &Review, index: usize, printed: &Measured) -> Result<Run, Error> {
    let table = &review.measurements;
    let (run, machines) = (&table.runs()[index], table.machines());
    Ok(Run {
        row: run.row(),
        processors: run.configuration().processors().into(),
        seconds: run.seconds().clone(),
        printed_seconds: Some(printed.seconds().clone()).filter(|seconds| seconds != run.seconds()),
        speedup: Number {
            recomputed: table.speedup(run),
            printed: run.printed_speedup().cloned(),
            agreement: review.speedups[index],
        },
        efficiency: Number {
            recomputed: table.efficiency(run).percent(),
            printed: run.printed_efficiency().cloned(),
            agreement: review.efficiencies[index],
        },
        heterogeneity: machines.heterogeneity(run.configuration())?,
        heterogeneity_per_processor: machines.heterogeneity_per_processor(run.configuration())?,
    })
}

/// The efficiency in per cent from which a prediction has a warning. Larger caches can make several processors a little
/// faster than their power.
const SUPERLINEAR: f64 = 110.0;

/// Predicts with the source that `--from` names, or with the nearest run and the curve.
fn predict(table: &Measurements, to: &Configuration, from: Option<&str>) -> Result<Vec<Predicted>, Refusal> {
    let machines = table.machines();
    let curve = || table.curve(to).map(|curve| (curve.efficiency(to.total()), Origin::Curve(curve)));
    let named = |run: &Measured| run.configuration().to_string();
    let origins: Result<Vec<(Efficiency, Origin)>, Error> = match from {
        None => {
            table.nearest(to).and_then(|run| Ok(vec![(table.efficiency(run), Origin::Nearest(named(run))), curve()?]))
        }
        Some("curve") => curve().map(|origin| vec![origin]),
        Some(percent) if percent.ends_with('%') => percent.parse().map(|efficiency| vec![(efficiency, Origin::Given)]),
        Some(text) if !text.contains('=') => {
            let example = machines.names().iter().take(2).map(|name| format!("{name}=2")).collect::<Vec<_>>().join(",");
            let (argument, value) = ("--from <ORIGIN>", Some(text.to_string()));
            return Err(Refusal { argument, value, reason: Reason::Origin { example } });
        }
        Some(text) => machines
            .configuration(text)
            .and_then(|measured| table.run(&measured))
            .map(|run| vec![(table.efficiency(run), Origin::Measured(named(run)))]),
    };
    let refused = |error| match from {
        Some(text) => refusal("--from <ORIGIN>", text, error),
        None => refusal("--predict <CONFIGURATION>", &to.to_string(), error),
    };
    let origins = origins.map_err(refused)?;
    let measured = table.run(to).ok().map(|run| run.seconds().value());
    let predicted = origins.into_iter().map(|(efficiency, from)| {
        let prediction = table.predict(to, efficiency).map_err(refused)?;
        let warnings = match &from {
            Origin::Given => Ok(Vec::new()),
            Origin::Curve(curve) => table.warnings(to, Some(curve)),
            Origin::Nearest(_) | Origin::Measured(_) => table.warnings(to, None),
        };
        let warnings = warnings.map_err(refused)?;
        let superlinear = (efficiency.percent() > SUPERLINEAR).then(|| {
            format!("an efficiency of {:.1} % is far above 100 %: check the times of the runs", efficiency.percent())
        });
        Ok(Predicted {
            configuration: to.to_string(),
            efficiency: efficiency.percent(),
            speedup: prediction.speedup,
            seconds: prediction.seconds,
            measured,
            from,
            warnings: warnings.iter().map(Warning::to_string).chain(superlinear).collect(),
        })
    });
    predicted.collect()
}

/// Schedules the farm on the configurations of the runs on more than one processor, and on the further
/// configurations that are wanted.
fn farmed(
    table: &Measurements,
    units: NonZeroU32,
    unit_seconds: Option<f64>,
    wanted: &[Configuration],
) -> Result<Farmed, Refusal> {
    let machines = table.machines();
    let own = |seconds: f64| {
        let farm = Farm::new(units, seconds);
        farm.map_err(|error| {
            let found = if let Error::Number { found, .. } = &error { found.clone() } else { seconds.to_string() };
            refusal("--unit-seconds <SECONDS>", &found, error)
        })
    };
    let farm = unit_seconds.map_or_else(|| Ok(Farm::of(table, units)), own)?;
    let parallel = table.runs().iter().filter(|run| run.configuration().total() > 1);
    let measured = parallel.map(|run| (run.configuration(), Some(run.seconds().value())));
    let others = wanted.iter().filter(|configuration| table.run(configuration).is_err());
    let on = |(configuration, seconds): (&Configuration, Option<f64>)| {
        let makespans = farm.makespans(machines, configuration);
        Ok(OnFarm {
            configuration: configuration.to_string(),
            measured: seconds.filter(|_| unit_seconds.is_none()),
            makespans: makespans.map_err(|error| refusal("--farm <UNITS>", &units.to_string(), error))?,
        })
    };
    let fastest = machines.names().iter().zip(machines.weights()).find(|(_, weight)| **weight == 1.0);
    Ok(Farmed {
        units: units.get(),
        unit_seconds: farm.unit_seconds(),
        fastest: fastest.map(|(name, _)| name.clone()).unwrap_or_default(),
        configurations: measured.chain(others.map(|other| (other, None))).map(on).collect::<Result<_, _>>()?,
    })
}

fn refusal(argument: &'static str, value: &str, error: Error) -> Refusal {
    Refusal { argument, value: Some(value.into()), reason: Reason::Model(error.into()) }
}
