// SPDX-License-Identifier: MIT
//! Tasks that meet on tokio's runtimes. One loop is a current_thread runtime, two loops are a multi_thread runtime with
//! two workers. (Two current_thread runtimes sleep too early: a meeting across them takes 50 us.)

use crate::report::{Report, Tally};
use crate::threads::pin;
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::mpsc;
use tokio::task::yield_now;

/// Without the I/O driver, which has nothing to do, a runtime is woken by a futex.
pub fn one_loop() -> Runtime {
    Builder::new_current_thread()
        .enable_time()
        .build()
        .expect("a runtime")
}

fn two_loops() -> Runtime {
    let next = AtomicUsize::new(0);
    Builder::new_multi_thread()
        .worker_threads(2)
        .on_thread_start(move || pin(next.fetch_add(1, Relaxed) % 2))
        .build()
        .expect("a runtime")
}

/// Tells tasks when to begin and when to end.
#[derive(Default)]
pub struct Clock {
    begun: AtomicBool,
    over: AtomicBool,
}

impl Clock {
    async fn begins(&self) {
        while !self.begun.load(Relaxed) {
            yield_now().await;
        }
    }

    pub fn is_over(&self) -> bool {
        self.over.load(Relaxed)
    }
}

pub struct Meeting {
    loops: usize,
    pub clock: Arc<Clock>,
    tasks: Vec<Pin<Box<dyn Future<Output = Tally> + Send>>>,
}

impl Meeting {
    pub fn new(loops: usize) -> Meeting {
        Meeting {
            loops,
            clock: Arc::default(),
            tasks: Vec::new(),
        }
    }

    /// `task` must end soon after the clock says so.
    pub fn add(&mut self, task: impl Future<Output = Tally> + Send + 'static) {
        let clock = self.clock.clone();
        // On one loop, no task runs before all are spawned.
        let early = self.loops > 1;
        self.tasks.push(Box::pin(async move {
            if early {
                clock.begins().await;
            }
            task.await
        }));
    }

    pub fn run(self, time: Duration) -> Report {
        let Meeting {
            loops,
            clock,
            tasks,
        } = self;
        let ready = Barrier::new(2);
        thread::scope(|scope| {
            let running = scope.spawn(|| {
                pin(0);
                let runtime = if loops == 1 { one_loop() } else { two_loops() };
                runtime.block_on(async {
                    let all: Vec<_> = tasks.into_iter().map(tokio::spawn).collect();
                    ready.wait();
                    let mut tallies = Vec::with_capacity(all.len());
                    for each in all {
                        tallies.push(each.await.expect("no task panics"));
                    }
                    tallies
                })
            });
            ready.wait();
            clock.begun.store(true, Relaxed);
            let begin = Instant::now();
            thread::sleep(time);
            let elapsed = begin.elapsed();
            clock.over.store(true, Relaxed);
            let tallies = running.join().expect("no task panics");
            Report::of_meetings(&tallies, elapsed).with_fairness(&tallies)
        })
    }
}

pub fn hand_off_by_flume(loops: usize, tasks: usize, time: Duration) -> Report {
    let mut meeting = Meeting::new(loops);
    let (send, receive) = flume::bounded(0);
    let step = (loops * tasks) as u64;
    for first in 0..step / 2 {
        let (send, receive, clock) = (send.clone(), receive.clone(), meeting.clock.clone());
        meeting.add(async move {
            let mut tally = Tally::default();
            let mut item = first;
            while !clock.is_over() {
                send.send_async(item)
                    .await
                    .expect("receivers outlive senders");
                tally.give(item);
                item += step; // so that all items differ
            }
            tally
        });
        meeting.add(async move {
            let mut tally = Tally::of_receiver();
            while let Ok(item) = receive.recv_async().await {
                tally.take(item);
            }
            tally
        });
    }
    drop((send, receive));
    meeting.run(time)
}

/// tokio's channels have one receiver and room for at least one item. So this does less than one unbuffered channel for
/// all tasks: there is no search for a partner, and a sender does not wait until its item is taken.
pub fn hand_off_by_couples(loops: usize, tasks: usize, time: Duration) -> Report {
    let mut meeting = Meeting::new(loops);
    let step = (loops * tasks) as u64;
    for first in 0..step / 2 {
        let (send, mut receive) = mpsc::channel(1);
        let clock = meeting.clock.clone();
        meeting.add(async move {
            let mut tally = Tally::default();
            let mut item = first;
            while !clock.is_over() {
                send.send(item)
                    .await
                    .expect("the receiver outlives the sender");
                tally.give(item);
                item += step; // so that all items differ
            }
            tally
        });
        meeting.add(async move {
            let mut tally = Tally::of_receiver();
            while let Some(item) = receive.recv().await {
                tally.take(item);
            }
            tally
        });
    }
    meeting.run(time)
}

/// Two channels for each couple. Both parties wait for the other's item before they send their next item, so no channel
/// ever holds more than one item. Therefore the channels need no bound, and they are faster without one.
pub fn swap_by_couples(loops: usize, tasks: usize, time: Duration) -> Report {
    let mut meeting = Meeting::new(loops);
    let step = (loops * tasks) as u64;
    for first in 0..step / 2 {
        let (to_other, from_one) = mpsc::unbounded_channel();
        let (to_one, from_other) = mpsc::unbounded_channel();
        let clock = meeting.clock.clone();
        meeting.add(swaps(to_other, from_other, first, step, move || {
            clock.is_over()
        }));
        meeting.add(swaps(to_one, from_one, first + step / 2, step, || false));
    }
    meeting.run(time)
}

/// Ends between two swaps, because the time is over or because its partner has ended.
async fn swaps(
    send: mpsc::UnboundedSender<u64>,
    mut receive: mpsc::UnboundedReceiver<u64>,
    mut item: u64,
    step: u64,
    ends: impl Fn() -> bool,
) -> Tally {
    let mut tally = Tally::of_receiver();
    while !ends() && send.send(item).is_ok() {
        match receive.recv().await {
            Some(theirs) => tally.swap(item, theirs),
            None => break,
        }
        item += step; // so that all items differ
    }
    tally
}
