//! `aurora info`: what the library has detected.

use crate::{fail, say};
use aurora_core::prelude::*;
use serde::Serialize;
use std::process::ExitCode;

/// What there is to tell.
#[derive(Debug, Serialize)]
struct Info {
    version: &'static str,
    mpi: bool,
    cores: usize,
    ranks: usize,
}

/// Starts a world, asks it and prints the answer.
pub fn show(config: Config, json: bool) -> ExitCode {
    let outcome = config.run(|world| {
        let info = Info {
            version: env!("CARGO_PKG_VERSION"),
            mpi: cfg!(feature = "mpi"),
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            ranks: world.size(),
        };
        Ok(world.is_root().then_some(info))
    });
    match outcome {
        Ok(Some(info)) => say(&if json { line(&info) } else { table(&info) }),
        Ok(None) => {}
        Err(error) => return fail(&error),
    }
    ExitCode::SUCCESS
}

fn line(info: &Info) -> String {
    serde_json::to_string(info).map_or_else(|error| error.to_string(), |json| json + "\n")
}

fn table(info: &Info) -> String {
    format!(
        "version          {}\nbuilt with MPI   {}\ncores            {}\nranks            {}\n",
        info.version, info.mpi, info.cores, info.ranks,
    )
}
