//! What ranks tell rank 0 besides the program's own: their counters at the end, and asking it what time it is.

use super::Kernel;
use crate::kernel::message::{Message, malformed};
use crate::stats::Stats;
use crate::trace::Time;
use aurora_net::{Outbox, Payload, Rank};

/// What has been told.
#[derive(Default)]
pub(crate) struct Telling {
    /// To rank 0: the counters of the others.
    pub(crate) reports: Vec<Stats>,
    /// By rank 0: the counters of all have been printed.
    pub(crate) printed: bool,
    /// By rank 0: the least time between question and answer so far, and how far its clock was ahead of ours then, in
    /// nanoseconds.
    pub(crate) ahead: Option<(u64, i64)>,
    /// Answers so far.
    pub(crate) answers: u32,
}

impl Kernel {
    /// Tells rank 0 this rank's counters.
    pub(crate) fn report(&mut self, stats: &Stats, out: &mut Outbox) {
        let payload = postcard::to_allocvec(stats).expect("counters are plain data");
        self.core.mail.say(out, Rank::new(0), &Message::Report, Payload::Bytes(payload.into()));
    }

    pub(crate) fn reported(&mut self, from: Rank, report: &[u8], out: &mut Outbox) {
        match postcard::from_bytes(report) {
            Ok(stats) => self.core.telling.reports.push(stats),
            Err(_) => self.fail_job(malformed(from), out),
        }
    }

    /// Asks rank 0 what time it is there.
    pub(crate) fn ask_time(&mut self, out: &mut Outbox) {
        self.core.mail.say(out, Rank::new(0), &Message::AskTime { sent: Time::now().nanos }, Payload::Empty);
    }

    pub(crate) fn tell_time(&mut self, to: Rank, sent: u64, out: &mut Outbox) {
        let Time { nanos: here, machine } = Time::now();
        self.core.mail.say(out, to, &Message::Time { sent, here, machine }, Payload::Empty);
    }

    /// Rank 0's clock said `there` at some moment between our `sent` and now: most likely half way. Two processes of
    /// one machine have the same clock.
    pub(crate) fn heard_time(&mut self, sent: u64, there: u64, machine: u64) {
        let Time { nanos: now, machine: here } = Time::now();
        let round_trip = now.saturating_sub(sent);
        let ahead = if machine == here { 0 } else { (there as i64).wrapping_sub((sent + round_trip / 2) as i64) };
        self.core.telling.answers += 1;
        if self.core.telling.ahead.is_none_or(|(least, _)| round_trip < least) {
            self.core.telling.ahead = Some((round_trip, ahead));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_answer_tells_how_far_a_clock_is_ahead() {
        let mut kernel = Kernel::new(Rank::new(1), 2, None);
        let Time { nanos: now, machine } = Time::now();
        let second = 1_000_000_000;
        kernel.heard_time(now - 4 * second, now + 98 * second, machine ^ 1);
        let (_, ahead) = kernel.core.telling.ahead.expect("told");
        assert!((ahead - 100 * second as i64).abs() < second as i64, "{ahead}");
        // A slower one is not looked at, a quicker one is.
        kernel.heard_time(now - 8 * second, now, machine ^ 1);
        assert_eq!(kernel.core.telling.ahead.map(|(_, ahead)| ahead), Some(ahead));
        kernel.heard_time(now - second, now + 99 * second, machine);
        assert_eq!(kernel.core.telling.ahead.map(|(_, ahead)| ahead), Some(0));
        assert_eq!(kernel.core.telling.answers, 3);
    }
}
