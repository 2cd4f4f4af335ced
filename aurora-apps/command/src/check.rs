//! `aurora check`: a program of the user's under the race detector.

use crate::launch::speaks;
use crate::run::{RunArguments, unstarted};
use crate::table::count;
use crate::values::seconds;
use crate::{FAILED, complain};
use aurora_core::LaunchInfo;
use clap::Args;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::process::{Child, ExitCode, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

#[derive(Args, Debug)]
pub struct CheckArguments {
    /// Kill the program after so long, and fail [default: never]
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub limit: Option<Duration>,
    #[command(flatten)]
    pub run: RunArguments,
}

/// Notices of the library, by words that stand in each.
#[derive(Clone, Copy, Default, Debug)]
struct Heard {
    /// Jobs that came to their end while the detector was at work.
    jobs: usize,
    races: bool,
    possible: usize,
    forgotten: bool,
}

impl Heard {
    fn hear(&mut self, line: &str) {
        self.jobs += usize::from(line.contains("aurora: the race detector has watched"));
        self.races |= line.contains("a race for ");
        self.possible += usize::from(line.contains("aurora: a possible race"));
        self.forgotten |= line.contains("a race may be missed (AURORA_CHECK=1)");
    }

    /// Whether all is well, and a sentence about it.
    fn verdict(self, status: ExitStatus) -> (bool, String) {
        if self.races {
            return (false, "a race".into());
        }
        if !status.success() {
            return (false, format!("the program has failed ({status}); no race was found before"));
        }
        if self.possible > 0 {
            return (false, format!("{}, and no certain one", count(self.possible, "possible race")));
        }
        match (self.jobs, self.forgotten) {
            (0, _) => {
                let why = "no job has ended that the race detector watched; does the program call `aurora_core::run`, \
                           and not `Config::check(false)`?";
                (false, format!("nothing was checked: {why}"))
            }
            (jobs, true) => (true, format!("no race in {}, though some may be missed", count(jobs, "job"))),
            (jobs, false) => (true, format!("no race in {}", count(jobs, "job"))),
        }
    }
}

/// Runs the program with `AURORA_CHECK=1` and says on stderr how that went. It fails if the program does, if there is a
/// race or a possible one, or if nothing was checked.
pub fn show(arguments: &CheckArguments, starter: LaunchInfo) -> ExitCode {
    match starter {
        LaunchInfo::Alone => check(arguments).unwrap_or_else(|why| {
            complain(why);
            ExitCode::from(FAILED)
        }),
        _ if speaks(starter) => {
            complain(
                "aurora check starts ranks by itself: call it without mpirun, and with `--launcher mpirun` if need be",
            );
            ExitCode::from(FAILED)
        }
        _ => ExitCode::from(FAILED),
    }
}

fn check(arguments: &CheckArguments) -> Result<ExitCode, String> {
    let mut command = arguments.run.command(&[("AURORA_CHECK", "1")]);
    let mut child = command.stderr(Stdio::piped()).spawn().map_err(|error| unstarted(&command, &error))?;
    let heard = child.stderr.take().map(|stderr| thread::spawn(|| passed_on(stderr)));
    let status = end_of(&mut child, arguments.limit).map_err(|error| error.to_string())?;
    let Some(status) = status else {
        let limit = arguments.limit.unwrap_or_default().as_secs_f64();
        return Err(format!("aurora check: the program has not ended after {limit} s and was killed (--limit)"));
    };
    let heard = heard.and_then(|heard| heard.join().ok()).unwrap_or_default();
    let (is_well, verdict) = heard.verdict(status);
    // Nothing can be done about a closed terminal.
    let _ = io::stderr().write_all(format!("aurora check: {verdict}\n").as_bytes());
    Ok(if is_well { ExitCode::SUCCESS } else { ExitCode::from(FAILED) })
}

/// Passes on all that a program says on stderr, line by line, and remembers what the library said.
fn passed_on(stderr: impl Read) -> Heard {
    let (mut heard, mut lines, mut line) = (Heard::default(), BufReader::new(stderr), Vec::new());
    while lines.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
        heard.hear(&String::from_utf8_lossy(&line));
        let _ = io::stderr().write_all(&line);
        line.clear();
    }
    heard
}

/// How a process has ended; none if it was killed after `limit`. The ranks that it has started end with it.
pub fn end_of(child: &mut Child, limit: Option<Duration>) -> io::Result<Option<ExitStatus>> {
    let Some(limit) = limit else { return child.wait().map(Some) };
    let deadline = Instant::now() + limit;
    while Instant::now() < deadline {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        thread::sleep(Duration::from_millis(5));
    }
    child.kill()?;
    child.wait().map(|_| None)
}
