//! The job: every rank carries out what the driver wants of rank 0.

use super::case::{Variant, Work, variants};
use super::line::{Answer, Order};
use super::stage::Stage;
use aurora_core::prelude::*;
use std::io::{self, BufRead, Write};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

/// How long the job may take to end when its driver has gone: more than the rest of what it does, unless it hangs.
const GRACE: Duration = Duration::from_secs(10);

/// Between two lines that say no more than that it goes on.
const BUSY: Duration = Duration::from_secs(1);

/// Rank 0's connection with the driver.
pub struct Line<W> {
    orders: Receiver<String>,
    answers: W,
    said_busy: Instant,
}

impl Line<io::Stdout> {
    /// Stdin and stdout of this process. It ends with its stdin, even in the midst of something that does not end: who
    /// was interrupted has left it behind.
    pub fn of_process() -> Self {
        let (say, orders) = mpsc::channel();
        thread::spawn(move || {
            for line in io::stdin().lock().lines().map_while(Result::ok) {
                if say.send(line).is_err() {
                    return;
                }
            }
            drop(say);
            thread::sleep(GRACE);
            std::process::exit(1);
        });
        Line::new(orders, io::stdout())
    }
}

impl<W: Write> Line<W> {
    /// Orders from there, answers to there.
    pub fn new(orders: Receiver<String>, answers: W) -> Self {
        Line { orders, answers, said_busy: Instant::now() }
    }

    fn say(&mut self, answer: &Answer) -> Result<()> {
        let said = writeln!(self.answers, "{answer}").and_then(|()| self.answers.flush());
        said.map_err(|error| Error::user(error))
    }

    /// That somebody does not listen any more shows when it matters.
    fn say_busy(&mut self) {
        if self.said_busy.elapsed() >= BUSY {
            let _ = self.say(&Answer::Busy);
            self.said_busy = Instant::now();
        }
    }

    /// The next order for one of `known`, and its number; none when there are no more.
    fn next(&mut self, known: &[Variant]) -> Result<Option<(usize, u64)>> {
        while let Ok(line) = self.orders.recv() {
            let order = Order::parse(&line).and_then(|Order { id, iterations }| {
                let number = known.iter().position(|variant| variant.id() == id);
                Ok((number.ok_or_else(|| format!("there is no '{id}'"))?, iterations))
            });
            match order {
                Ok(order) => return Ok(Some(order)),
                Err(why) => self.say(&Answer::Refused(why))?,
            }
        }
        Ok(None)
    }
}

/// Collective. Carries out orders until there are no more; rank 0 has the `line` to the driver. With `damage` all that
/// is moved is wrong, to show that this is seen.
///
/// # Errors
/// Whatever ended the job.
pub fn serve<W: Write>(world: &World, mut line: Option<Line<W>>, damage: bool) -> Result<()> {
    let known = variants(world.size());
    let mut orders = Orders::new(world)?;
    let mut current: Option<(usize, Stage<'_>)> = None;
    if let Some(line) = &mut line {
        line.say(&Answer::Ready(world.size()))?;
    }
    loop {
        let order = match &mut line {
            Some(line) => line.next(&known)?,
            None => None,
        };
        let Some((number, iterations)) = orders.agree(order)? else { return Ok(()) };
        // What was measured before does not keep its memory.
        let kept = current.take().filter(|(kept, _)| *kept == number);
        let (_, stage) = match kept {
            Some(kept) => current.insert(kept),
            None => current.insert((number, Stage::new(world, known[number], damage)?)),
        };
        let took = stage.run(iterations, &mut || line.iter_mut().for_each(Line::say_busy))?;
        if let Some(line) = &mut line {
            line.say(&match known[number].case.work {
                _ if took.wrong > 0.0 => Answer::Wrong(took.wrong as u64),
                Work::LoadAndRead(_) => Answer::Took(Duration::from_secs_f64(took.with_read)),
                _ => Answer::Took(Duration::from_secs_f64(took.seconds)),
            })?;
        }
    }
}

/// How all ranks hear of rank 0's orders.
struct Orders {
    /// On rank 0: the number of a variant, or none, and how often.
    written: GVector<u64>,
}

/// In the place of a number.
const END: u64 = u64::MAX;

impl Orders {
    /// Collective.
    fn new(world: &World) -> Result<Self> {
        Ok(Orders { written: GVector::on(world, 0, 2)? })
    }

    /// Collective. Rank 0's order, on all ranks; theirs do not count.
    fn agree(&mut self, order: Option<(usize, u64)>) -> Result<Option<(usize, u64)>> {
        {
            let mut mine = self.written.owner_computes_mut()?;
            if let [number, iterations] = mine.local_mut() {
                (*number, *iterations) = order.map_or((END, 0), |(number, iterations)| (number as u64, iterations));
            }
            mine.finish()?;
        }
        let read = self.written.read_cache()?;
        Ok(Some((read[0], read[1]))
            .filter(|(number, _)| *number != END)
            .map(|(number, times)| (number as usize, times)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    /// What a job of two threads answers.
    fn answers(orders: &[&str], damage: bool) -> Vec<Answer> {
        let (say, receiver) = mpsc::channel();
        orders.iter().for_each(|order| say.send((*order).to_string()).expect("it is open"));
        drop(say);
        let line = Mutex::new(Some(receiver));
        let heard = Mutex::new(Vec::new());
        let job = Config::threads(2).run(|world| {
            if !world.is_root() {
                return serve(world, None::<Line<Vec<u8>>>, damage);
            }
            let orders = line.lock().expect("nobody panics").take().expect("there is one root");
            serve(world, Some(Line::new(orders, &mut *heard.lock().expect("nobody panics"))), damage)
        });
        job.expect("the job ends well");
        let text = String::from_utf8(heard.into_inner().expect("nobody panics")).expect("text");
        let answers = text.lines().map(|line| Answer::parse(line).expect("ours").expect("an answer"));
        answers.filter(|answer| *answer != Answer::Busy).collect()
    }

    fn took(answer: &Answer) -> bool {
        matches!(answer, Answer::Took(time) if !time.is_zero())
    }

    #[test]
    fn orders_are_carried_out_one_after_the_other() {
        let said = answers(
            &[
                "barrier/2ranks/aurora 100",
                "barrier/2ranks/aurora 1",
                "read_cache/64KiB/2ranks/aurora 2",
                "read_cache/64KiB-and-read/2ranks/aurora 1",
                "barrier/2ranks/aurora 1",
            ],
            false,
        );
        assert_eq!(said[0], Answer::Ready(2));
        assert!(said.len() == 6 && said[1..].iter().all(took), "{said:?}");
    }

    #[test]
    fn what_cannot_be_done_is_refused_and_the_job_goes_on() {
        let said = answers(&["barrier/3ranks/aurora 1", "barrier", "barrier/2ranks/aurora 1"], false);
        assert!(matches!(&said[1], Answer::Refused(why) if why.contains("barrier/3ranks/aurora")), "{said:?}");
        assert!(matches!(&said[2], Answer::Refused(_)), "{said:?}");
        assert!(took(&said[3]), "{said:?}");
    }

    #[test]
    fn what_is_wrong_is_told_instead_of_a_time() {
        let orders = [
            "read_cache/64KiB/2ranks/aurora 1",
            "updates/1M-elements-in-order/2ranks/aurora 1",
            "reads/1M-elements-gather-iter/2ranks/aurora 1",
            "psrs/1M-keys/2ranks/aurora 1",
            "barrier/2ranks/aurora 5",
        ];
        let said = answers(&orders, true);
        assert_eq!(said.len(), 1 + orders.len(), "{said:?}");
        assert!(said[1..].iter().all(|answer| matches!(answer, Answer::Wrong(count) if *count > 0)), "{said:?}");
    }
}
