// SPDX-License-Identifier: MIT
//! Threads that meet in one channel. They are pinned only to measure latency.

use crate::report::{Report, Tally};
use crossbeam_channel as crossbeam;
use nix::sched::{sched_setaffinity, CpuSet};
use nix::unistd::Pid;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

/// Without permission to pin, or a second processor, the figures are noisier but still valid.
pub fn pin(processor: usize) {
    let mut only = CpuSet::new();
    let _ = only
        .set(processor)
        .and_then(|()| sched_setaffinity(Pid::from_raw(0), &only));
}

/// A crossbeam channel goes one way. The first party sends; the second receives, and answers through the first party's
/// own channel.
struct Swap {
    offers: (crossbeam::Sender<Offer>, crossbeam::Receiver<Offer>),
    replies: Vec<(crossbeam::Sender<u64>, crossbeam::Receiver<u64>)>,
}

struct Offer {
    item: u64,
    from: usize,
}

impl Swap {
    fn new(threads: usize) -> Swap {
        let replies = (0..threads).map(|_| crossbeam::bounded(1)).collect();
        Swap {
            offers: crossbeam::bounded(0),
            replies,
        }
    }

    fn swap(&self, me: usize, item: u64, patience: Option<Duration>) -> Option<u64> {
        let (send, receive) = &self.offers;
        let offer = Offer { item, from: me };
        match patience {
            None => crossbeam::select! {
                send(send, offer) -> sent => self.reply(me, sent.is_ok()),
                recv(receive) -> offer => self.answer(offer.ok()?, item),
            },
            Some(patience) => crossbeam::select! {
                send(send, offer) -> sent => self.reply(me, sent.is_ok()),
                recv(receive) -> offer => self.answer(offer.ok()?, item),
                default(patience) => None,
            },
        }
    }

    fn reply(&self, me: usize, sent: bool) -> Option<u64> {
        sent.then(|| self.replies[me].1.recv().ok()).flatten()
    }

    fn answer(&self, offer: Offer, item: u64) -> Option<u64> {
        self.replies[offer.from].0.send(item).ok()?;
        Some(offer.item)
    }
}

pub fn swap(threads: usize, patience: Option<Duration>, time: Duration) -> Report {
    let meeting = Swap::new(threads);
    let over = AtomicBool::new(false);
    let running = AtomicUsize::new(threads);
    let start = Barrier::new(threads + 1);
    let party = |me: usize| {
        let mut tally = Tally::of_receiver();
        let mut item = me as u64 + 1;
        start.wait();
        while !over.load(Relaxed) {
            tally.attempts += 1;
            if let Some(theirs) = meeting.swap(me, item, patience) {
                tally.swap(item, theirs);
                item += threads as u64 + 1; // so that all items differ
            }
        }
        running.fetch_sub(1, Relaxed);
        tally
    };
    let (elapsed, mut tallies) = thread::scope(|scope| {
        let party = &party;
        let all: Vec<_> = (0..threads)
            .map(|me| scope.spawn(move || party(me)))
            .collect();
        let elapsed = run(&start, &over, time);
        // Serves the parties that are left without a partner.
        let mut last = Tally::default();
        while running.load(Relaxed) != 0 {
            if let Ok(offer) = meeting.offers.1.recv_timeout(Duration::from_millis(1)) {
                last.meetings += 1;
                last.got += meeting.answer(offer, 0).unwrap_or(0);
            }
        }
        let mut tallies: Vec<_> = all.into_iter().map(|each| each.join().unwrap()).collect();
        tallies.push(last);
        (elapsed, tallies)
    });
    let report = Report::of_meetings(&tallies, elapsed);
    tallies.pop();
    if patience.is_none() {
        return report.with_fairness(&tallies);
    }
    let sum = |of: fn(&Tally) -> u64| tallies.iter().map(of).sum::<u64>() as f64;
    report.with(
        "success",
        sum(|each| each.meetings) / sum(|each| each.attempts),
    )
}

fn run(start: &Barrier, over: &AtomicBool, time: Duration) -> Duration {
    start.wait();
    let begin = Instant::now();
    thread::sleep(time);
    let elapsed = begin.elapsed();
    over.store(true, Relaxed);
    elapsed
}

/// The two ends of a channel of any library.
pub trait Give: Clone + Send {
    fn give(&self, item: u64);
}

pub trait Take: Clone + Send {
    /// None if all senders are gone.
    fn take(&self) -> Option<u64>;
}

impl Give for crossbeam::Sender<u64> {
    fn give(&self, item: u64) {
        self.send(item).expect("receivers outlive senders");
    }
}

impl Take for crossbeam::Receiver<u64> {
    fn take(&self) -> Option<u64> {
        self.recv().ok()
    }
}

impl Give for flume::Sender<u64> {
    fn give(&self, item: u64) {
        self.send(item).expect("receivers outlive senders");
    }
}

impl Take for flume::Receiver<u64> {
    fn take(&self) -> Option<u64> {
        self.recv().ok()
    }
}

pub fn hand_off(ends: (impl Give, impl Take), threads: usize, time: Duration) -> Report {
    of_senders_and_receivers(threads, time, ends, |me, (send, receive), over| {
        if me % 2 == 0 {
            let mut tally = Tally::default();
            drop(receive);
            let mut item = me as u64 + 1;
            while !over.load(Relaxed) {
                send.give(item);
                tally.give(item);
                item += threads as u64; // so that all items differ
            }
            tally
        } else {
            let mut tally = Tally::of_receiver();
            drop(send);
            while let Some(item) = receive.take() {
                tally.take(item);
            }
            tally
        }
    })
}

/// Each thread has clones of both ends. Those with even numbers must send, the others receive.
pub fn of_senders_and_receivers<Ends: Clone + Send>(
    threads: usize,
    time: Duration,
    ends: Ends,
    party: impl Fn(usize, Ends, &AtomicBool) -> Tally + Sync,
) -> Report {
    let over = AtomicBool::new(false);
    let start = Barrier::new(threads + 1);
    let (elapsed, tallies) = thread::scope(|scope| {
        let (start, over, party) = (&start, &over, &party);
        let all: Vec<_> = (0..threads)
            .map(|me| {
                let ends = ends.clone();
                scope.spawn(move || {
                    start.wait();
                    party(me, ends, over)
                })
            })
            .collect();
        drop(ends);
        let elapsed = run(start, over, time);
        (
            elapsed,
            all.into_iter()
                .map(|each| each.join().unwrap())
                .collect::<Vec<_>>(),
        )
    });
    Report::of_meetings(&tallies, elapsed).with_fairness(&tallies)
}

pub fn latency(ends: (impl Give, impl Take), pause: Duration, time: Duration) -> Report {
    let (send, receive) = ends;
    let epoch = Instant::now();
    let nanos = move || epoch.elapsed().as_nanos() as u64;
    thread::scope(|scope| {
        let waits = scope.spawn(move || {
            pin(0);
            let (mut samples, mut got) = (Vec::new(), 0);
            while let Some(sent) = receive.take() {
                samples.push(nanos() - sent);
                got += sent;
            }
            (samples, got)
        });
        let comes = scope.spawn(move || {
            pin(1);
            let mut given = 0;
            let begin = Instant::now();
            while begin.elapsed() < time {
                if pause < Duration::from_micros(50) {
                    spin(pause);
                } else {
                    thread::sleep(pause);
                }
                let now = nanos();
                given += now;
                send.give(now);
            }
            (begin.elapsed(), given)
        });
        let (elapsed, given) = comes.join().unwrap();
        let (samples, got) = waits.join().unwrap();
        Report::of_samples(samples, elapsed, given == got)
    })
}

pub fn spin(pause: Duration) {
    let begin = Instant::now();
    while begin.elapsed() < pause {
        std::hint::spin_loop();
    }
}
