// SPDX-License-Identifier: MIT
//! The result of a run as a line of JSON.

use std::fmt;
use std::time::Duration;

/// The account of one thread or task.
#[derive(Default)]
pub struct Tally {
    /// Whether its service counts for fairness, even if it is 0.
    receives: bool,
    pub attempts: u64,
    pub meetings: u64,
    pub given: u64,
    pub got: u64,
    pub met_itself: bool,
}

impl Tally {
    pub fn of_receiver() -> Tally {
        Tally {
            receives: true,
            ..Tally::default()
        }
    }

    pub fn swap(&mut self, mine: u64, theirs: u64) {
        self.meetings += 1;
        self.given = self.given.wrapping_add(mine);
        self.got = self.got.wrapping_add(theirs);
        self.met_itself |= mine == theirs;
    }

    pub fn give(&mut self, item: u64) {
        self.meetings += 1;
        self.given = self.given.wrapping_add(item);
    }

    pub fn take(&mut self, item: u64) {
        self.meetings += 1;
        self.got = self.got.wrapping_add(item);
    }
}

pub struct Report {
    pub count: u64,
    pub conserved: bool,
    elapsed: Duration,
    ns: f64,
    more: String,
}

impl Report {
    pub fn new(count: u64, elapsed: Duration, conserved: bool) -> Report {
        let ns = elapsed.as_secs_f64() * 1e9 / count.max(1) as f64;
        Report {
            count,
            conserved,
            elapsed,
            ns,
            more: String::new(),
        }
    }

    pub fn with(mut self, name: &str, value: f64) -> Report {
        self.more += &format!(", \"{name}\": {value}");
        self
    }

    /// The result of meetings of two parties each.
    pub fn of_meetings(tallies: &[Tally], elapsed: Duration) -> Report {
        let meetings: u64 = tallies.iter().map(|each| each.meetings).sum();
        let given = tallies
            .iter()
            .fold(0, |sum: u64, each| sum.wrapping_add(each.given));
        let got = tallies
            .iter()
            .fold(0, |sum: u64, each| sum.wrapping_add(each.got));
        let conserved =
            meetings % 2 == 0 && given == got && !tallies.iter().any(|each| each.met_itself);
        Report::new(meetings / 2, elapsed, conserved)
    }

    /// The service of the least served receiver as a share of the most served receiver's.
    pub fn with_fairness(self, tallies: &[Tally]) -> Report {
        let served = || {
            tallies
                .iter()
                .filter(|each| each.receives)
                .map(|each| each.meetings)
        };
        let (least, most) = (served().min().unwrap_or(0), served().max().unwrap_or(0));
        self.with("fairness", least as f64 / most.max(1) as f64)
    }

    pub fn of_samples(mut samples: Vec<u64>, elapsed: Duration, conserved: bool) -> Report {
        let mut report = Report::new(samples.len() as u64, elapsed, conserved);
        if samples.is_empty() {
            return report;
        }
        samples.sort_unstable();
        report.ns = samples.iter().sum::<u64>() as f64 / samples.len() as f64;
        report
            .with("p50", samples[samples.len() / 2] as f64)
            .with("p99", samples[samples.len() * 99 / 100] as f64)
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{{\"count\": {}, \"seconds\": {:.6}, \"ns\": {:.3}, \"conserved\": {}{}}}",
            self.count,
            self.elapsed.as_secs_f64(),
            self.ns,
            self.conserved,
            self.more
        )
    }
}
