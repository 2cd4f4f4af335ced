//! The choice between our own datagrams and MPI for bulk data between nodes.

use crate::Error;
use crate::bootstrap::{Job, Launcher};
use crate::route::{Contact, Transport};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::time::Duration;

/// The carrier of long transfers between ranks of different nodes, if both ranks wait. Everything else goes by UDP.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bulk {
    /// If MPI has started the ranks on several nodes: the faster one, found by a short probe at the start. Otherwise,
    /// or if a route was requested: UDP.
    #[default]
    Auto,
    /// UDP.
    Udp,
    /// MPI's nonblocking point-to-point calls.
    Mpi,
}

impl fmt::Display for Bulk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Bulk::Auto => "auto",
            Bulk::Udp => "udp",
            Bulk::Mpi => "mpi",
        })
    }
}

/// The carrier of bulk data between the nodes of a job, and the reason for it.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct BulkInfo {
    /// The requested carrier.
    pub asked: Bulk,
    /// The shortest payload that MPI moves, in bytes; `None`: MPI moves none.
    pub mpi_from: Option<usize>,
    /// The results of the probe, if there was one, by length.
    pub probe: Vec<Probe>,
    /// The minimum number of rounds with each length. Fewer than three prove nothing: UDP is chosen.
    pub rounds: usize,
    /// The duration of the probe on all ranks.
    pub probed_for: Option<Duration>,
}

/// Measured times of one transfer from each node to the next, all at once: from the start until all had arrived.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Probe {
    /// Bytes of payload.
    pub bytes: usize,
    /// The shortest time by UDP.
    pub udp: Duration,
    /// The median time by MPI.
    pub mpi: Duration,
}

/// MPI is chosen only if it saves more than the fraction 1 / `NOTABLY` of UDP's time.
const NOTABLY: u32 = 20;

/// Fewer rounds prove nothing. If there is no time for more, the network is so slow that UDP reaches its line rate.
const ENOUGH: usize = 3;

impl Probe {
    /// True if MPI saves enough time: with MPI, data to a computing rank does not move.
    fn is_for_mpi(&self) -> bool {
        self.mpi + self.udp / NOTABLY < self.udp
    }
}

impl BulkInfo {
    /// The shortest payload for which a request to send pays.
    pub(crate) const WORTH_ASKING: usize = 64 << 10;

    pub(crate) fn without_probe(asked: Bulk, mpi_from: Option<usize>) -> Self {
        BulkInfo { asked, mpi_from, ..BulkInfo::default() }
    }

    /// The result of a probe. MPI moves payloads from length `n` on if it was faster with `n` and all longer ones.
    pub(crate) fn of_probe(probe: Vec<Probe>, rounds: usize, probed_for: Duration) -> Self {
        let for_mpi = probe.iter().rev().take_while(|probe| rounds >= ENOUGH && probe.is_for_mpi());
        let mpi_from = for_mpi.last().map(|probe| probe.bytes);
        BulkInfo { asked: Bulk::Auto, mpi_from, probe, rounds, probed_for: Some(probed_for) }
    }
}

/// Text such as `mpi from 65536 bytes on (asked for)`.
impl fmt::Display for BulkInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.mpi_from {
            Some(from) => write!(f, "mpi from {from} bytes on")?,
            None => f.write_str("udp")?,
        }
        match (self.asked, &self.probe[..]) {
            (Bulk::Udp | Bulk::Mpi, _) => f.write_str(" (asked for)"),
            (Bulk::Auto, []) if self.probed_for.is_some() => f.write_str(" (the network is too slow to probe)"),
            (Bulk::Auto, []) => Ok(()),
            (Bulk::Auto, probe) => {
                f.write_str(" (probed:")?;
                for (index, Probe { bytes, udp, mpi }) in probe.iter().enumerate() {
                    let comma = if index > 0 { "," } else { "" };
                    write!(f, "{comma} {bytes} bytes in {:.2} ms by udp, {:.2} by mpi", ms(udp), ms(mpi))?;
                }
                let rounds = if self.rounds == 1 { "round" } else { "rounds" };
                write!(f, "; {} {rounds} in {:.0} ms)", self.rounds, self.probed_for.as_ref().map_or(0.0, ms))
            }
        }
    }
}

fn ms(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The plan of this rank: MPI, UDP, or, with `Auto`, a probe. An error if MPI was requested and is not available.
pub(crate) fn plan(job: &Job, transport: &Transport) -> Result<Bulk, Error> {
    let is_mpi = job.launcher == Launcher::Mpi;
    match transport.bulk {
        Bulk::Mpi if !is_mpi => Err(Error::NoMpi { launcher: job.launcher }),
        Bulk::Auto if !is_mpi || transport.route.is_some() || job.nodes() == 1 => Ok(Bulk::Udp),
        plan => Ok(plan),
    }
}

/// Checks that all ranks have the same plan: with different plans, ranks would wait for each other.
pub(crate) fn agree(contacts: &[Contact]) -> Result<(), Error> {
    let first = contacts[0].bulk;
    match contacts.iter().position(|contact| contact.bulk != first) {
        None => Ok(()),
        Some(other) => Err(Error::BulkDiffers { first, rank: other.into(), other: contacts[other].bulk }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probe(bytes: usize, udp: u64, mpi: u64) -> Probe {
        Probe { bytes, udp: Duration::from_micros(udp), mpi: Duration::from_micros(mpi) }
    }

    fn from(probes: &[Probe]) -> Option<usize> {
        BulkInfo::of_probe(probes.to_vec(), ENOUGH, Duration::ZERO).mpi_from
    }

    #[test]
    fn mpi_has_to_be_faster_by_more_than_a_twentieth() {
        assert_eq!(from(&[]), None);
        assert_eq!(from(&[probe(100, 1000, 950), probe(200, 2000, 1900)]), None);
        assert_eq!(from(&[probe(100, 1000, 949), probe(200, 2000, 1899)]), Some(100));
        assert_eq!(from(&[probe(100, 1000, 2000), probe(200, 2000, 1000)]), Some(200), "from there on");
        assert_eq!(from(&[probe(100, 1000, 100), probe(200, 2000, 2000)]), None, "not beyond what was seen");
        let hasty = BulkInfo::of_probe(vec![probe(100, 1000, 100)], ENOUGH - 1, Duration::ZERO);
        assert_eq!(hasty.mpi_from, None, "twice is by chance");
    }

    #[test]
    fn it_says_what_was_found() {
        assert_eq!(BulkInfo::default().to_string(), "udp");
        assert_eq!(BulkInfo::without_probe(Bulk::Mpi, Some(65536)).to_string(), "mpi from 65536 bytes on (asked for)");
        let found =
            BulkInfo::of_probe(vec![probe(100, 1000, 100), probe(200, 2000, 150)], 4, Duration::from_millis(61));
        let text = "mpi from 100 bytes on (probed: 100 bytes in 1.00 ms by udp, 0.10 by mpi, 200 bytes in 2.00 ms by \
                    udp, 0.15 by mpi; 4 rounds in 61 ms)";
        assert_eq!(found.to_string(), text);
    }

    #[test]
    fn different_plans_are_an_error_on_all_ranks() {
        let contacts = |plans: &[Bulk]| -> Vec<Contact> {
            plans.iter().map(|bulk| Contact { bulk: *bulk, ..Contact::default() }).collect()
        };
        assert!(agree(&contacts(&[Bulk::Mpi; 3])).is_ok());
        let error = agree(&contacts(&[Bulk::Mpi, Bulk::Mpi, Bulk::Udp])).unwrap_err();
        assert!(matches!(error, Error::BulkDiffers { first: Bulk::Mpi, rank, other: Bulk::Udp } if rank == 2));
    }
}
