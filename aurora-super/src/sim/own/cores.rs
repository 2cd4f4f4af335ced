//! The cores of a node, and the work that they owe.

use super::super::profile::Profile;
use crate::execute::Task;
use std::collections::VecDeque;

/// The cores of a node. They run instructions one after the other, and also do the work of blocks that the node sends
/// and receives.
///
/// The work of a block is owed at first. An idle core does it; otherwise the next instruction that begins does it
/// before its own work.
#[derive(Clone, Debug)]
pub(super) struct Cores {
    count: u32,
    profile: Profile,
    /// Instructions that wait for a core.
    queue: VecDeque<Task>,
    running: Vec<Running>,
    owed: f64,
    /// The time up to which `owed` is correct.
    now: f64,
    /// The number of instructions that wait for operands, since when, and the work that idle cores could have done
    /// before.
    waiting: u32,
    since: f64,
    waited: f64,
}

/// An instruction on a core.
#[derive(Clone, Copy, Debug)]
pub(super) struct Running {
    pub(super) task: Task,
    start: f64,
    /// The owed work that it does before its own work, which is `work`.
    owed: f64,
    pub(super) work: f64,
    pub(super) end: f64,
}

/// The work that a lost node did not complete.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(super) struct Broken {
    /// The work done on instructions that it did not finish.
    pub(super) computed: f64,
    /// The owed work that it did not do.
    pub(super) unpaid: f64,
}

impl Running {
    /// Returns the time that its own work takes.
    pub(super) fn time(&self) -> f64 {
        let all = self.owed + self.work;
        if all > 0.0 { (self.end - self.start) * self.work / all } else { 0.0 }
    }
}

impl Cores {
    pub(super) fn new(count: u32, profile: Profile) -> Self {
        let (queue, running) = (VecDeque::new(), Vec::new());
        Cores { count, profile, queue, running, owed: 0.0, now: 0.0, waiting: 0, since: 0.0, waited: 0.0 }
    }

    /// Adds the work of a block.
    pub(super) fn charge(&mut self, now: f64, units: f64) {
        self.pay(now);
        self.owed += units;
    }

    /// Returns the time at which work that is charged now will be done, if a core is idle.
    pub(super) fn paid_at(&self, now: f64) -> f64 {
        self.profile.end(now, self.owed)
    }

    /// Adds an instruction to run.
    pub(super) fn push(&mut self, task: Task) {
        self.queue.push_back(task);
    }

    /// Begins the next instruction, if there is one and a free core. `work` returns the work of an instruction.
    pub(super) fn begin(&mut self, now: f64, work: impl Fn(Task) -> f64) -> Option<Running> {
        if self.running.len() >= self.count as usize {
            return None;
        }
        let task = self.queue.pop_front()?;
        self.pay(now);
        let (owed, work) = (std::mem::take(&mut self.owed), work(task));
        let running = Running { task, start: now, owed, work, end: self.profile.end(now, owed + work) };
        self.running.push(running);
        Some(running)
    }

    /// Ends an instruction that has run.
    pub(super) fn end(&mut self, now: f64, task: Task) -> Running {
        self.pay(now);
        let at = self.running.iter().position(|running| running.task == task).expect("it runs");
        self.running.swap_remove(at)
    }

    /// Ends all work, because the node is lost.
    pub(super) fn lose(&mut self, now: f64) -> Broken {
        self.pay(now);
        let mut broken = Broken { unpaid: std::mem::take(&mut self.owed), ..Broken::default() };
        for running in self.running.drain(..) {
            let done = self.profile.work(running.start, now);
            broken.computed += (done - running.owed).max(0.0);
            broken.unpaid += (running.owed - done).max(0.0);
        }
        self.queue.clear();
        self.waiting = 0;
        broken
    }

    /// Returns the time at which all owed work is done, if no instruction follows.
    pub(super) fn rest(&self) -> f64 {
        if self.owed > 0.0 { self.profile.end(self.now, self.owed) } else { 0.0 }
    }

    /// Returns the work that the node can do until a time.
    pub(super) fn capacity(&self, until: f64) -> f64 {
        f64::from(self.count) * self.profile.work(0.0, until)
    }

    /// Records that from now on `waiting` instructions wait for operands.
    #[inline]
    pub(super) fn wait(&mut self, now: f64, waiting: u32) {
        if waiting != self.waiting {
            self.note_waiting(now);
            self.waiting = waiting;
        }
    }

    /// Returns the work that idle cores could have done while instructions waited for operands. Each of these keeps one
    /// core waiting.
    pub(super) fn waited(&self) -> f64 {
        self.waited
    }

    /// Deducts the owed work that an idle core has done by now.
    fn pay(&mut self, now: f64) {
        self.note_waiting(now);
        self.owed = self.owed_at(now);
        self.now = now;
    }

    /// Returns the work that is owed at a time from `self.now` on, if nothing is charged until then.
    fn owed_at(&self, at: f64) -> f64 {
        if self.owed > 0.0 && self.running.len() < self.count as usize {
            (self.owed - self.profile.work(self.now, at)).max(0.0)
        } else {
            self.owed
        }
    }

    fn note_waiting(&mut self, now: f64) {
        let idle = self.count - self.running.len() as u32;
        let waiting = self.waiting.min(idle);
        if waiting > 0 && now > self.since {
            let each = self.profile.work(self.since, now);
            let paid = self.owed_at(self.since) - self.owed_at(now);
            // An idle core that waits for nothing pays first.
            let paid_by_waiting = (paid - f64::from(idle - waiting) * each).max(0.0);
            self.waited += f64::from(waiting) * each - paid_by_waiting;
        }
        self.since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Instruction;
    use crate::data::Privilege;

    fn task(k: u32) -> Task {
        let instruction = Instruction { group: 0, k };
        Task { instruction, privilege: Privilege::Write, result_at: 0, attempt: 0, joins: false }
    }

    fn ends(cores: &mut Cores, now: f64) -> Vec<f64> {
        std::iter::from_fn(|| cores.begin(now, |_| 100.0)).map(|running| running.end).collect()
    }

    #[test]
    fn instructions_wait_for_a_core() {
        let mut cores = Cores::new(2, Profile::steady(2.0));
        (0..3).for_each(|k| cores.push(task(k)));
        assert_eq!(ends(&mut cores, 0.0), [50.0, 50.0]);
        cores.end(50.0, task(1));
        assert_eq!(ends(&mut cores, 50.0), [100.0]);
        assert_eq!(cores.capacity(10.0), 40.0);
    }

    #[test]
    fn the_next_instruction_pays_what_is_owed() {
        let mut cores = Cores::new(1, Profile::steady(1.0));
        cores.push(task(0));
        ends(&mut cores, 0.0);
        cores.charge(30.0, 20.0);
        let ran = cores.end(100.0, task(0));
        assert_eq!((ran.time(), cores.rest()), (100.0, 120.0));
        cores.push(task(1));
        assert_eq!(ends(&mut cores, 100.0), [220.0]);
        assert_eq!(cores.end(220.0, task(1)).time(), 100.0);
    }

    #[test]
    fn an_idle_core_pays_meanwhile() {
        let mut cores = Cores::new(2, Profile::steady(1.0));
        cores.push(task(0));
        ends(&mut cores, 0.0);
        cores.charge(10.0, 50.0);
        assert_eq!(cores.rest(), 60.0);
        cores.push(task(1));
        assert_eq!(ends(&mut cores, 30.0), [160.0]);
    }

    #[test]
    fn a_core_that_pays_does_not_wait() {
        let mut cores = Cores::new(2, Profile::steady(2.0));
        cores.wait(0.0, 2);
        // Both cores wait until 10. Then one of them pays 6 units in 3, and both wait again until 20.
        cores.charge(10.0, 6.0);
        cores.wait(20.0, 1);
        assert_eq!(cores.waited(), 40.0 + 40.0 - 6.0);
        // One instruction waits. The other core pays.
        cores.charge(20.0, 6.0);
        cores.wait(30.0, 0);
        assert_eq!(cores.waited(), 74.0 + 20.0);
        // A core that runs does not wait.
        (0..2).for_each(|k| cores.push(task(k)));
        ends(&mut cores, 30.0);
        cores.wait(30.0, 3);
        cores.end(80.0, task(0));
        cores.wait(90.0, 0);
        assert_eq!(cores.waited(), 94.0 + 20.0);
    }

    #[test]
    fn a_lost_node_has_done_a_part() {
        let mut cores = Cores::new(1, Profile::steady(1.0));
        cores.charge(0.0, 30.0);
        (0..2).for_each(|k| cores.push(task(k)));
        assert_eq!(ends(&mut cores, 0.0), [130.0]);
        cores.charge(5.0, 7.0);
        assert_eq!(cores.clone().lose(50.0), Broken { computed: 20.0, unpaid: 7.0 });
        assert_eq!(cores.lose(10.0), Broken { computed: 0.0, unpaid: 27.0 });
    }
}
