//! Measures before a job starts whether UDP or MPI is faster between its nodes.
//!
//! The first rank of each node sends to the first rank of the next node, all at the same time, by UDP and by MPI
//! alternately. A round takes as long as the slowest rank. UDP is judged by its fastest round, MPI by its median, so
//! that MPI is not chosen by chance. All ranks know the same times and stop before the next rounds exceed the budget.

use super::Failure;
use super::seat::{ControlPlane, Job};
use crate::bulk::{BulkInfo, Probe};
use crate::endpoint::carrier::Carriage;
use crate::endpoint::{Endpoint, Nodes, Setup};
use crate::{Error, Handler, Loss, Node, Outbox, Payload, Placement, Rank, Received, Route, Transport, UdpTrouble};
use bytes::Bytes;
use std::time::{Duration, Instant};

const SIZES: [usize; 2] = [32 << 10, 128 << 10];

/// The maximum number of rounds with each length and carrier.
const MOST: usize = 9;

/// The time for all rounds. The next rounds' time is estimated from the earlier ones.
const BUDGET: Duration = Duration::from_millis(60);

/// Collective. Measures and decides.
pub(super) fn probe(job: &Job, control: &dyn ControlPlane, transport: Transport) -> Result<BulkInfo, Error> {
    let begun = Instant::now();
    let transport = Transport { route: Some(Route::Udp), ranks_per_node: None, ..transport };
    let setup = Setup::new(job, transport)?;
    let contacts = control.exchange(setup.contact())?;
    let nodes = Nodes { count: job.size, leaders: (0..job.size).map(Rank::new).collect() };
    let carriage = control.carrier().map(|carrier| Carriage { carrier, from: 1 });
    let carried = (BulkInfo::default(), carriage);
    let endpoint =
        setup.start(Prober::default(), &contacts, (Node::alone(job.rank), nodes), carried, control.alarm())?;
    let next = job.machines.iter().position(|rank| *rank == job.rank);
    let next = next.map(|at| job.machines[(at + 1) % job.machines.len()]);
    let mut course = Course { endpoint, control, me: job.rank, next, begun, round: 0 };
    let (probe, rounds) = course.run()?;
    course.endpoint.close();
    let [probed_for, _] = control.slowest([begun.elapsed(), Duration::ZERO]);
    Ok(BulkInfo::of_probe(probe, rounds, probed_for))
}

/// The time of a pair of rounds, and of all rounds so far.
#[derive(Clone, Copy, Debug)]
struct Pair {
    took: Duration,
    spent: Duration,
}

struct Course<'a> {
    endpoint: Endpoint<Prober>,
    control: &'a dyn ControlPlane,
    me: Rank,
    /// The rank to send to. A rank with `None` receives nothing either, but takes part in the synchronisation.
    next: Option<Rank>,
    begun: Instant,
    round: u32,
}

#[derive(Debug, Default)]
struct Times {
    udp: Vec<Duration>,
    mpi: Vec<Duration>,
}

impl Times {
    fn verdict(&mut self, bytes: usize) -> Option<Probe> {
        self.mpi.sort_unstable();
        let (udp, mpi) = (self.udp.iter().min()?, self.mpi.get(self.mpi.len() / 2)?);
        Some(Probe { bytes, udp: *udp, mpi: *mpi })
    }
}

impl Course<'_> {
    /// The results for the lengths that were measured in time, and the minimum number of rounds with each length.
    fn run(&mut self) -> Result<(Vec<Probe>, usize), Error> {
        let mut times = [Times::default(), Times::default()];
        // Opens the connections and lets them find the path's MTU.
        let mut last = (SIZES[0], self.pair(SIZES[0], &mut Times::default())?);
        'rounds: for _ in 0..MOST {
            for (bytes, times) in SIZES.into_iter().zip(&mut times) {
                let (before, Pair { took, spent }) = last;
                if spent + took.mul_f64(bytes as f64 / before as f64) > BUDGET {
                    break 'rounds;
                }
                last = (bytes, self.pair(bytes, times)?);
            }
        }
        let rounds = times.iter().map(|times| times.mpi.len()).min().unwrap_or_default();
        let probe = SIZES.into_iter().zip(&mut times).filter_map(|(bytes, times)| times.verdict(bytes));
        Ok((probe.collect(), rounds))
    }

    fn pair(&mut self, bytes: usize, times: &mut Times) -> Result<Pair, Error> {
        let (udp, _) = self.round(bytes, false)?;
        let (mpi, spent) = self.round(bytes, true)?;
        times.udp.push(udp);
        times.mpi.push(mpi);
        Ok(Pair { took: udp + mpi, spent })
    }

    fn round(&mut self, bytes: usize, by_mpi: bool) -> Result<(Duration, Duration), Error> {
        self.round += 1;
        let number = self.round;
        // Attends before the synchronisation, so that all ranks attend when the first rank sends.
        let attending = by_mpi.then(|| self.endpoint.attend()).flatten();
        self.control.slowest(Default::default());
        let begun = Instant::now();
        if let Some(next) = self.next {
            let payload = Payload::Bytes(Bytes::from(vec![0x5a; bytes]));
            self.endpoint.act(|_, out| out.send(next, number.to_le_bytes().to_vec(), payload));
            let lost = self.endpoint.wait(|prober, _| match prober.lost.clone() {
                None => (prober.rounds >= number).then_some(None),
                lost => Some(lost),
            });
            if let Some((lost, trouble)) = lost {
                let trouble = trouble.map_or_else(String::new, |trouble| format!(": {trouble}"));
                return Err(Failure::of(self.me, format_args!("{lost} is silent{trouble}")).into());
            }
        }
        drop(attending);
        let [took, spent] = self.control.slowest([begun.elapsed(), self.begun.elapsed()]);
        Ok((took, spent))
    }
}

/// Counts the rounds that have arrived. A round ends on all ranks before the next one starts.
#[derive(Debug, Default)]
struct Prober {
    rounds: u32,
    lost: Option<(Rank, Option<UdpTrouble>)>,
}

impl Handler for Prober {
    fn place(&mut self, _: Rank, _: &[u8], _: usize) -> Placement {
        Placement::Buffer
    }

    fn deliver(&mut self, _: Rank, number: &[u8], payload: Received, out: &mut Outbox) {
        self.rounds = number.try_into().map_or(self.rounds, u32::from_le_bytes);
        out.recycle(payload.into_vec());
    }

    fn peer_lost(&mut self, rank: Rank, loss: Loss, _: &mut Outbox) {
        self.lost = Some((rank, loss.trouble));
    }

    fn has_failed(&self) -> bool {
        self.lost.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(udp: &[u64], mpi: &[u64]) -> Option<(u64, u64)> {
        let ms = |times: &[u64]| times.iter().map(|ms| Duration::from_millis(*ms)).collect();
        let verdict = Times { udp: ms(udp), mpi: ms(mpi) }.verdict(7)?;
        Some((verdict.udp.as_millis() as u64, verdict.mpi.as_millis() as u64))
    }

    #[test]
    fn in_doubt_udp_is_the_faster_one() {
        assert_eq!(times(&[9, 5, 7], &[4, 6, 8]), Some((5, 6)));
        assert_eq!(times(&[9, 5], &[8, 4]), Some((5, 8)), "of two the slower one");
        assert_eq!(times(&[], &[]), None);
    }
}
