// SPDX-License-Identifier: MIT
//! Tasks that wait for a partner: the cost of cancelling them, their memory, and the latency until they resume.

use crate::report::Report;
use crate::tasks::one_loop;
use crate::threads::{pin, spin};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};
use tokio::task::{yield_now, JoinHandle};
use tokio_util::sync::CancellationToken;

/// Spawns a future for each call of `wait`, and returns when all futures wait. On one thread, a future runs until it
/// waits before any other runs.
async fn start<F>(tasks: usize, mut wait: impl FnMut() -> F) -> Vec<JoinHandle<F::Output>>
where
    F: Future + Send + 'static,
    F::Output: Send,
{
    let waiting = Arc::new(AtomicUsize::new(0));
    let mut all = Vec::with_capacity(tasks);
    for _ in 0..tasks {
        let (waiting, wait) = (waiting.clone(), wait());
        all.push(tokio::spawn(async move {
            waiting.fetch_add(1, Relaxed);
            wait.await
        }));
    }
    while waiting.load(Relaxed) < tasks {
        yield_now().await;
    }
    all
}

/// Cancels the futures that `wait` makes, which do not end by themselves.
pub fn cancel<F>(tasks: usize, time: Duration, wait: impl Fn() -> F) -> Report
where
    F: Future + Send + 'static,
{
    let (mut cancelled, mut met) = (0, 0);
    let mut elapsed = Duration::ZERO;
    one_loop().block_on(async {
        let begin = Instant::now();
        while begin.elapsed() < time {
            let token = CancellationToken::new();
            let all = start(tasks, || {
                let (token, wait) = (token.clone(), wait());
                async move {
                    tokio::select! {
                        biased;
                        _ = token.cancelled() => true,
                        _ = wait => false,
                    }
                }
            });
            let all = all.await;
            let request = Instant::now();
            token.cancel();
            for each in all {
                match each.await.unwrap() {
                    true => cancelled += 1,
                    false => met += 1,
                }
            }
            elapsed += request.elapsed();
        }
    });
    Report::new(
        cancelled,
        elapsed,
        met == 0 && cancelled % tasks as u64 == 0,
    )
}

/// Measures the memory of the futures that `wait` makes. They end without an item when `close` is called.
pub fn memory<F>(tasks: usize, wait: impl FnMut() -> F, close: impl FnOnce()) -> Report
where
    F: Future<Output = Option<u64>> + Send + 'static,
{
    one_loop().block_on(async {
        let before = resident();
        let all = start(tasks, wait).await;
        let after = resident();
        close();
        let mut received = 0;
        for each in all {
            received += u64::from(each.await.unwrap().is_some());
        }
        Report::new(tasks as u64, Duration::ZERO, received == 0)
            .with("bytes", (after - before) as f64 / tasks as f64)
    })
}

/// Returns the resident memory in bytes.
fn resident() -> i64 {
    let text = std::fs::read_to_string("/proc/self/smaps_rollup").expect("Linux's /proc");
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("Rss:"))
        .expect("a line Rss:");
    line.trim_end_matches("kB")
        .trim()
        .parse::<i64>()
        .expect("a number of kB")
        * 1024
}

/// Returns the times from sending to resumption.
pub struct Samples {
    epoch: Instant,
    all: Vec<u64>,
    got: u64,
}

impl Samples {
    pub fn add(&mut self, sent: u64) {
        self.all.push(self.epoch.elapsed().as_nanos() as u64 - sent);
        self.got += sent;
    }
}

/// Returns the times at which to send, after a pause each, until the time is over.
pub struct Pulse {
    epoch: Instant,
    pause: Duration,
    time: Duration,
    elapsed: Duration,
    given: u64,
}

impl Pulse {
    pub async fn next(&mut self) -> Option<u64> {
        self.elapsed = self.epoch.elapsed();
        if self.elapsed >= self.time {
            return None;
        }
        if self.pause < Duration::from_micros(50) {
            spin(self.pause);
        } else {
            tokio::time::sleep(self.pause).await;
        }
        let now = self.epoch.elapsed().as_nanos() as u64;
        self.given += now;
        Some(now)
    }
}

/// `waits` receives on one loop the items that `comes` sends on another. Each loop is a runtime with a processor of its
/// own, because two workers of one runtime would run both tasks in turn on one processor.
pub fn latency<W, C>(
    pause: Duration,
    time: Duration,
    waits: impl FnOnce(Samples) -> W + Send,
    comes: impl FnOnce(Pulse) -> C + Send,
) -> Report
where
    W: Future<Output = Samples>,
    C: Future<Output = Pulse>,
{
    let epoch = Instant::now();
    let samples = Samples {
        epoch,
        all: Vec::new(),
        got: 0,
    };
    let pulse = Pulse {
        epoch,
        pause,
        time,
        elapsed: Duration::ZERO,
        given: 0,
    };
    thread::scope(|scope| {
        let samples = scope.spawn(move || {
            pin(0);
            one_loop().block_on(waits(samples))
        });
        let pulse = scope.spawn(move || {
            pin(1);
            one_loop().block_on(comes(pulse))
        });
        let pulse = pulse.join().expect("no task panics");
        let samples = samples.join().expect("no task panics");
        Report::of_samples(samples.all, pulse.elapsed, pulse.given == samples.got)
    })
}
