//! The runs in a file: checked figures, and their circumstances.

use super::circumstances::{Circumstances, SCHEMA};
use super::farm::Farm;
use super::figures::Figures;
use super::model::Model;
use super::report::Report;
use super::simulation::Simulation;
use serde::Deserialize;
use serde_json::{Value, from_value};

/// One JSON object: implementations that took turns in one job.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The file as the user named it.
    pub file: String,
    /// The line on which the object begins, from 1 on.
    pub line: usize,
    /// The object as it was read. Two equal objects are one run.
    pub object: Value,
    /// The circumstances of the run.
    pub circumstances: Circumstances,
    /// The figures.
    pub what: What,
}

/// The figures of a run, by their kind.
#[derive(Clone, Debug)]
pub enum What {
    /// Figures of an application or of one operation, by each implementation.
    Results(Vec<Report>),
    /// Figures of a super-program in virtual time.
    Simulation(Box<Simulation>),
    /// Figures of a super-program on ranks, with its simulations.
    Farm(Box<Farm>),
    /// The model of unequal machines.
    Model(Box<Model>),
}

impl Recorded {
    /// Returns the figures of each implementation; none of a super-program or a model.
    pub fn results(&self) -> &[Report] {
        match &self.what {
            What::Results(results) => results,
            What::Simulation(_) | What::Farm(_) | What::Model(_) => &[],
        }
    }

    /// Returns whether the run is of a super-program in virtual time.
    pub fn is_simulation(&self) -> bool {
        matches!(self.what, What::Simulation(_))
    }

    /// Returns whether the figures are those of the model of unequal machines.
    pub fn is_model(&self) -> bool {
        matches!(self.what, What::Model(_))
    }

    /// Returns whether the figures are of an application or of one operation.
    pub fn is_measured(&self) -> bool {
        matches!(self.what, What::Results(_))
    }
}

/// Reads a run from the object at `line`. Returns `None` for an object of another kind.
///
/// # Errors
/// The missing or wrong part.
pub fn recorded(file: &str, line: usize, object: Value) -> Result<Option<Recorded>, String> {
    if !object.is_object() {
        return Ok(None);
    }
    // Checked first, because another form may contain anything.
    if let Some(found) = object.get("schema").and_then(Value::as_u64).filter(|schema| *schema > SCHEMA.into()) {
        return Err(format!("it has the form {found} of a later version, and this one reads up to {SCHEMA}"));
    }
    let circumstances = Circumstances::deserialize(&object).map_err(|error| error.to_string())?;
    let results = match object.get("results") {
        Some(Value::Array(results)) if results.is_empty() => return Err("it has no results".into()),
        Some(Value::Array(results)) => Value::from(results.clone()),
        Some(_) => return Err("its `results` are no list".into()),
        // An object of one implementation alone is a run too.
        None => vec![object.clone()].into(),
    };
    let has = |name: &str| results.get(0).is_some_and(|first| first.get(name).is_some());
    let what = if object.get("policies").is_some() {
        let farm: Farm = from_value(object.clone()).map_err(|error| error.to_string())?;
        if let Some(flaw) = farm.flaw() {
            return Err(flaw.into());
        }
        Ok(What::Farm(Box::new(farm)))
    } else if ["machines", "predictions"].iter().any(|part| object.get(part).is_some()) {
        Ok(What::Model(Box::new(Model::of(&object)?)))
    } else if has("app") {
        from_value(results).map(What::Results)
    } else if has("bench") {
        from_value(results).map(|of: Vec<Figures>| What::Results(of.into_iter().map(Report::from).collect()))
    } else if has("policy") {
        Simulation::deserialize(&object).map(|simulation| What::Simulation(Box::new(simulation)))
    } else {
        return Ok(None);
    };
    let what = what.map_err(|error| error.to_string())?;
    Ok(Some(Recorded { file: file.into(), line, object, circumstances, what }))
}
