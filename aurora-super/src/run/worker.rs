//! The threads of a rank that run the code of the program.

use super::job::{Done, Job, free};
use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Jobs of one rank. The rank's object pushes jobs, and its threads take them.
///
/// A channel would leak the threads: each thread keeps the object alive, the object would keep the sender, and the
/// threads end only when the sender is dropped.
#[derive(Default)]
pub(super) struct Queue {
    jobs: Mutex<Jobs>,
    for_workers: Condvar,
    for_helper: Condvar,
}

#[derive(Default)]
struct Jobs {
    /// Jobs for which another rank or an instruction waits.
    urgent: VecDeque<Job>,
    instructions: VecDeque<Job>,
    /// The number of workers that wait for a job.
    idle: usize,
    is_closed: bool,
}

/// A thread of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Role {
    /// It takes all jobs, urgent ones first.
    Worker,
    /// It takes urgent jobs only, so that a long instruction delays no grant and no block.
    Helper,
}

impl Queue {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a job. After [`close`](Self::close) no thread runs it.
    pub(super) fn push(&self, job: Job) {
        let mut jobs = self.jobs();
        let has_idle = jobs.idle > jobs.urgent.len() + jobs.instructions.len();
        let wakes = if job.is_urgent() && !has_idle { &self.for_helper } else { &self.for_workers };
        if job.is_urgent() { &mut jobs.urgent } else { &mut jobs.instructions }.push_back(job);
        drop(jobs);
        wakes.notify_one();
    }

    /// The next job; `None` at the end.
    fn take(&self, role: Role) -> Option<Job> {
        let mut jobs = self.jobs();
        loop {
            if jobs.is_closed {
                return None;
            }
            if let Some(job) = jobs.urgent.pop_front() {
                return Some(job);
            }
            jobs = match role {
                Role::Worker => {
                    if let Some(job) = jobs.instructions.pop_front() {
                        return Some(job);
                    }
                    jobs.idle += 1;
                    let mut jobs = self.for_workers.wait(jobs).unwrap_or_else(PoisonError::into_inner);
                    jobs.idle -= 1;
                    jobs
                }
                Role::Helper => self.for_helper.wait(jobs).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }

    /// No job begins from now on, and the threads end.
    pub(super) fn close(&self) {
        self.jobs().is_closed = true;
        self.for_workers.notify_all();
        self.for_helper.notify_all();
    }

    /// Discards the jobs that no thread runs. It may run code of the program, so it is called outside all locks.
    pub(super) fn clear(&self) {
        let mut jobs = self.jobs();
        let left: Vec<Job> =
            [std::mem::take(&mut jobs.urgent), std::mem::take(&mut jobs.instructions)].into_iter().flatten().collect();
        drop(jobs);
        left.into_iter().for_each(Job::discard);
    }
}

/// The threads that run a queue's jobs.
pub(super) struct Workers {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts `count` workers and the helper. `done` takes the end of each job, unless the super-program is over.
    ///
    /// # Errors
    /// The system has no more threads.
    pub(super) fn start(
        count: u32,
        queue: &Arc<Queue>,
        done: impl Fn(&mut Option<Done>) + Clone + Send + 'static,
    ) -> std::io::Result<Self> {
        let mut workers = Workers { queue: queue.clone(), threads: Vec::new() };
        for thread in 0..=count {
            let (queue, done) = (queue.clone(), done.clone());
            let role = if thread == count { Role::Helper } else { Role::Worker };
            let run = move || {
                while let Some(job) = queue.take(role) {
                    let mut ended = Some(job.run());
                    done(&mut ended);
                    free(ended);
                }
                queue.clear();
            };
            workers.threads.push(Builder::new().name(format!("super-{thread}")).spawn(run)?);
        }
        Ok(workers)
    }

    /// Ends the threads, and waits until each has completed its job. `drop` does not wait.
    pub(super) fn join(mut self) {
        self.queue.close();
        for thread in self.threads.drain(..) {
            // A panic of the program is the end of a job, and no panic of the thread.
            let _ended = thread.join();
        }
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.queue.close();
    }
}
