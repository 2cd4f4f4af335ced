//! `aurora info`: the properties that the library has detected.

use crate::{Start, fail, line, say};
use aurora_apps::report::machine::{allowed_cores, cores};
use aurora_apps::report::profile;
use aurora_core::prelude::*;
use aurora_core::{BulkInfo, Route, UdpInfo};
use serde::Serialize;
use std::fmt::{self, Display, Formatter};
use std::process::ExitCode;

/// The properties to print.
#[derive(Debug, Serialize)]
struct Info {
    built_with_mpi: bool,
    /// The cores of rank 0's machine.
    cores: usize,
    /// The cores that the launcher lets rank 0 use.
    allowed_cores: usize,
    launcher: String,
    ranks: usize,
    nodes: usize,
    route: String,
    bulk: BulkInfo,
    udp: Option<Udp>,
}

/// Rank 0's socket.
#[derive(Debug, Serialize)]
struct Udp {
    address: String,
    receive_buffer: usize,
    send_buffer: usize,
    mtu: usize,
    mtu_limit: usize,
    gso_segments: usize,
    gro: bool,
    /// Advice for a better setting.
    advice: Option<String>,
}

impl Udp {
    fn of(info: &UdpInfo) -> Self {
        Udp {
            address: info.address.to_string(),
            receive_buffer: info.receive_buffer,
            send_buffer: info.send_buffer,
            mtu: info.mtu,
            mtu_limit: info.mtu_limit,
            gso_segments: info.gso_segments,
            gro: info.gro,
            advice: info.advice(),
        }
    }
}

impl Info {
    fn of(world: &World) -> Self {
        let about = world.about();
        Info {
            built_with_mpi: cfg!(feature = "mpi"),
            cores: cores(),
            allowed_cores: allowed_cores(),
            launcher: about.launcher.to_string(),
            ranks: world.size(),
            nodes: about.nodes,
            route: routes(&about.routes),
            bulk: about.bulk.clone(),
            udp: world.udp().as_ref().map(Udp::of),
        }
    }
}

impl Display for Info {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut line = |name: &str, value: &dyn Display| writeln!(f, "{name:18}{value}");
        line("version", &env!("CARGO_PKG_VERSION"))?;
        line("built with MPI", &yes_no(self.built_with_mpi))?;
        line("profile", &profile::HERE)?;
        line("cores", &self.cores)?;
        line("cores allowed", &self.allowed_cores)?;
        line("launcher", &self.launcher)?;
        line("ranks", &self.ranks)?;
        line("nodes", &self.nodes)?;
        line("route", &self.route)?;
        line("bulk data", &self.bulk)?;
        let Some(udp) = &self.udp else { return Ok(()) };
        line("address", &udp.address)?;
        line("receive buffer", &format_args!("{} bytes", udp.receive_buffer))?;
        line("send buffer", &format_args!("{} bytes", udp.send_buffer))?;
        line("MTU", &format_args!("{} to {} bytes in a datagram", udp.mtu, udp.mtu_limit))?;
        line("GSO", &format_args!("{} datagrams in a call", udp.gso_segments))?;
        line("GRO", &yes_no(udp.gro))?;
        udp.advice.as_ref().map_or(Ok(()), |advice| line("advice", advice))
    }
}

/// Starts a world and prints its properties.
pub fn show(start: Start) -> ExitCode {
    let Start { config, circumstances, json, starter } = start;
    let outcome = config.run(|world| Ok(world.is_root().then(|| Info::of(world))));
    let printed = match outcome {
        Ok(Some(info)) if json => say(&line(&circumstances, &info)),
        Ok(Some(info)) => say(&info.to_string()),
        Ok(None) => Ok(()),
        Err(error) => return fail(&error, starter),
    };
    printed.err().unwrap_or(ExitCode::SUCCESS)
}

fn routes(routes: &[Route]) -> String {
    match routes {
        [] => "none".into(),
        routes => routes.iter().map(Route::to_string).collect::<Vec<_>>().join(", "),
    }
}

fn yes_no(is: bool) -> &'static str {
    if is { "yes" } else { "no" }
}
