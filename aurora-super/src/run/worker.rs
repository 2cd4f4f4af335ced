//! The threads of a rank that run the code of the program.

use super::job::{Done, Job};
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
    more: Condvar,
}

#[derive(Default)]
struct Jobs {
    /// Blocks that others wait for.
    urgent: VecDeque<Job>,
    instructions: VecDeque<Job>,
    is_closed: bool,
}

impl Queue {
    fn jobs(&self) -> MutexGuard<'_, Jobs> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(super) fn push(&self, job: Job) {
        let mut jobs = self.jobs();
        if jobs.is_closed {
            return;
        }
        if job.is_urgent() { &mut jobs.urgent } else { &mut jobs.instructions }.push_back(job);
        drop(jobs);
        self.more.notify_one();
    }

    /// The next job; `None` at the end.
    fn take(&self) -> Option<Job> {
        let mut jobs = self.jobs();
        loop {
            if jobs.is_closed {
                return None;
            }
            if let Some(job) = jobs.urgent.pop_front() {
                return Some(job);
            }
            if let Some(job) = jobs.instructions.pop_front() {
                return Some(job);
            }
            jobs = self.more.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// No job runs from now on, and the threads end. Freeing the jobs may run code of the program, so it happens
    /// without the lock.
    pub(super) fn close(&self) {
        let mut jobs = self.jobs();
        jobs.is_closed = true;
        let dropped = (std::mem::take(&mut jobs.urgent), std::mem::take(&mut jobs.instructions));
        drop(jobs);
        self.more.notify_all();
        drop(dropped);
    }
}

/// The threads that run a queue's jobs.
pub(super) struct Workers {
    queue: Arc<Queue>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts threads. `done` takes the end of each job.
    ///
    /// # Errors
    /// The system has no more threads.
    pub(super) fn start(
        count: u32,
        queue: &Arc<Queue>,
        done: impl Fn(Done) + Clone + Send + 'static,
    ) -> std::io::Result<Self> {
        let mut workers = Workers { queue: queue.clone(), threads: Vec::new() };
        for worker in 0..count {
            let (queue, done) = (queue.clone(), done.clone());
            let run = move || {
                while let Some(job) = queue.take() {
                    done(job.run());
                }
            };
            workers.threads.push(Builder::new().name(format!("super-{worker}")).spawn(run)?);
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
