//! The counters that ranks report to rank 0 at the end of `run`, and their requests for the time of its clock.

use super::Kernel;
use crate::kernel::message::Message;
use crate::stats::Stats;
use crate::trace::Time;
use aurora_net::{Outbox, Payload, Rank};

/// The reports that rank 0 has received, and the answers of its clock.
#[derive(Default)]
pub(crate) struct Reports {
    /// On rank 0: the counters of the other ranks.
    pub(crate) counters: Vec<Stats>,
    /// On rank 0: the counters of all ranks have been printed.
    pub(crate) printed: bool,
    /// The shortest round trip to the clock of rank 0 so far, and the lead of that clock then, in ns.
    pub(crate) ahead: Option<(u64, i64)>,
    /// The number of answers of rank 0's clock.
    pub(crate) answers: u32,
}

impl Kernel {
    pub(crate) fn report(&mut self, stats: &Stats, out: &mut Outbox) {
        let payload = postcard::to_allocvec(stats).expect("counters are plain data");
        self.core.mail.say(out, Rank::new(0), &Message::Report, Payload::Bytes(payload.into()));
    }

    pub(crate) fn ask_time(&mut self, out: &mut Outbox) {
        self.core.mail.say(out, Rank::new(0), &Message::AskTime { sent: Time::now().nanos }, Payload::Empty);
    }

    /// The clock of rank 0 showed `there` between `sent` and now, most likely half way. A machine has one.
    pub(crate) fn time_answered(&mut self, sent: u64, there: u64, machine: u64) {
        let Time { nanos: now, machine: here } = Time::now();
        let round_trip = now.saturating_sub(sent);
        let ahead = if machine == here { 0 } else { (there as i64).wrapping_sub((sent + round_trip / 2) as i64) };
        let reports = &mut self.core.reports;
        reports.answers += 1;
        if reports.ahead.is_none_or(|(shortest, _)| round_trip < shortest) {
            reports.ahead = Some((round_trip, ahead));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quickest_answer_says_how_far_a_clock_is_ahead() {
        let mut kernel = Kernel::new(Rank::new(1), 2, None);
        let Time { nanos: now, machine } = Time::now();
        let second = 1_000_000_000;
        kernel.time_answered(now - 4 * second, now + 98 * second, machine ^ 1);
        let (_, ahead) = kernel.core.reports.ahead.expect("there was an answer");
        assert!((ahead - 100 * second as i64).abs() < second as i64, "{ahead}");
        // A slower answer does not count, a quicker one does.
        kernel.time_answered(now - 8 * second, now, machine ^ 1);
        assert_eq!(kernel.core.reports.ahead.map(|(_, ahead)| ahead), Some(ahead));
        kernel.time_answered(now - second, now + 99 * second, machine);
        assert_eq!(kernel.core.reports.ahead.map(|(_, ahead)| ahead), Some(0));
        assert_eq!(kernel.core.reports.answers, 3);
    }
}
