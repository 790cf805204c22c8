// SPDX-License-Identifier: MIT
//! Rust's rivals: unbuffered channels of crossbeam and flume, and tokio's channels, one for each couple.
//! ../README.md specifies the program and its workloads.

mod report;
mod selects;
mod tasks;
mod threads;
mod waits;

use report::Report;
use std::cell::RefCell;
use std::process::exit;
use std::time::Duration;
use tokio::sync::mpsc;
use waits::{Pulse, Samples};

struct Options {
    threads: usize,
    loops: usize,
    tasks: usize,
    channels: usize,
    patience: Duration,
    pause: Duration,
    seconds: Duration,
    warmup: Duration,
}

type Run = fn(&Options, Duration) -> Report;

const CROSSBEAM: &str = "crossbeam bounded(0)";
const SELECT: &str = "crossbeam select and reply channel";
const FLUME: &str = "flume bounded(0)";
const COUPLES: &str = "tokio mpsc per couple";

const RIVALS: &[(&str, &str, Run)] = &[
    (SELECT, "swap-threads", |o, time| {
        threads::swap(o.threads, None, time)
    }),
    (SELECT, "timed-threads", |o, time| {
        threads::swap(o.threads, Some(o.patience), time)
    }),
    (CROSSBEAM, "handoff-threads", |o, time| {
        threads::hand_off(crossbeam_channel::bounded(0), o.threads, time)
    }),
    (CROSSBEAM, "latency-threads", |o, time| {
        threads::latency(crossbeam_channel::bounded(0), o.pause, time)
    }),
    (FLUME, "handoff-threads", |o, time| {
        threads::hand_off(flume::bounded(0), o.threads, time)
    }),
    (FLUME, "latency-threads", |o, time| {
        threads::latency(flume::bounded(0), o.pause, time)
    }),
    (FLUME, "handoff-tasks", |o, time| {
        tasks::hand_off_by_flume(o.loops, o.tasks, time)
    }),
    (FLUME, "cancel-tasks", |o, time| {
        let (_keeps_it_open, receive) = flume::bounded::<u64>(0);
        waits::cancel(o.tasks, time, || {
            let receive = receive.clone();
            async move { receive.recv_async().await }
        })
    }),
    (FLUME, "latency-tasks", |o, time| {
        let (send, receive) = flume::bounded(0);
        let waits = |mut samples: Samples| async move {
            while let Ok(sent) = receive.recv_async().await {
                samples.add(sent);
            }
            samples
        };
        let comes = |mut pulse: Pulse| async move {
            while let Some(now) = pulse.next().await {
                send.send_async(now)
                    .await
                    .expect("the receiver outlives the sender");
            }
            pulse
        };
        waits::latency(o.pause, time, waits, comes)
    }),
    (FLUME, "memory-tasks", |o, _| {
        let (send, receive) = flume::bounded::<u64>(0);
        let wait = move || {
            let receive = receive.clone();
            async move { receive.recv_async().await.ok() }
        };
        waits::memory(o.tasks, wait, move || drop(send))
    }),
    (COUPLES, "swap-tasks", |o, time| {
        tasks::swap_by_couples(o.loops, o.tasks, time)
    }),
    (COUPLES, "handoff-tasks", |o, time| {
        tasks::hand_off_by_couples(o.loops, o.tasks, time)
    }),
    (COUPLES, "cancel-tasks", |o, time| {
        waits::cancel(o.tasks, time, || async {
            let (_keeps_it_open, mut receive) = mpsc::unbounded_channel::<u64>();
            receive.recv().await
        })
    }),
    (COUPLES, "latency-tasks", |o, time| {
        // The answer comes after the item was taken, so the sender never gets ahead.
        let (send, mut receive) = mpsc::unbounded_channel();
        let (answer, mut answers) = mpsc::unbounded_channel();
        let waits = |mut samples: Samples| async move {
            while let Some(sent) = receive.recv().await {
                samples.add(sent);
                answer.send(sent).expect("the sender waits for an answer");
            }
            samples
        };
        let comes = |mut pulse: Pulse| async move {
            while let Some(now) = pulse.next().await {
                send.send(now).expect("the receiver outlives the sender");
                answers.recv().await;
            }
            pulse
        };
        waits::latency(o.pause, time, waits, comes)
    }),
    (COUPLES, "memory-tasks", |o, _| {
        let senders = RefCell::new(Vec::new());
        let wait = || {
            let (send, mut receive) = mpsc::unbounded_channel::<u64>();
            senders.borrow_mut().push(send);
            async move { receive.recv().await }
        };
        waits::memory(o.tasks, wait, || senders.borrow_mut().clear())
    }),
    ("crossbeam select", "select-threads", |o, time| {
        selects::by_threads(o.threads, o.channels, time)
    }),
    (
        "tokio select, flume bounded(0)",
        "select-tasks",
        |o, time| selects::by_flume(o.loops, o.tasks, o.channels, time),
    ),
    (
        "tokio select, mpsc per couple",
        "select-tasks",
        |o, time| selects::by_couples(o.loops, o.tasks, o.channels, time),
    ),
];

/// Reports bad input and exits.
fn refuse(why: String) -> ! {
    eprintln!("rival: {why}");
    exit(2)
}

fn find(implementation: &str, workload: &str) -> Run {
    if !RIVALS.iter().any(|each| each.0 == implementation) {
        refuse(format!(
            "no implementation '{implementation}'; see: rival list"
        ));
    }
    match RIVALS
        .iter()
        .find(|each| (each.0, each.1) == (implementation, workload))
    {
        Some(&(_, _, run)) => run,
        None => refuse(format!(
            "no workload '{workload}' of {implementation}; see: rival list"
        )),
    }
}

fn parse(words: &[String]) -> Options {
    let mut options = Options {
        threads: 2,
        loops: 1,
        tasks: 2,
        channels: 2,
        patience: Duration::from_micros(100),
        pause: Duration::from_micros(20),
        seconds: Duration::from_millis(500),
        warmup: Duration::from_millis(100),
    };
    for pair in words.chunks(2) {
        let name = pair[0].as_str();
        let word = pair.get(1).map_or("", String::as_str);
        let bad = || -> ! { refuse(format!("bad number '{word}' after {name}")) };
        let whole = || match word.parse::<u32>() {
            Ok(value) if (1..=1_000_000_000).contains(&value) => value as usize,
            _ => bad(),
        };
        let micros = || Duration::from_micros(whole() as u64);
        let seconds = || match word.parse::<f64>() {
            Ok(value) if (0.0..=1e9).contains(&value) => Duration::from_secs_f64(value),
            _ => bad(),
        };
        match name {
            "--threads" => options.threads = whole(),
            "--loops" => options.loops = whole(),
            "--tasks" => options.tasks = whole(),
            "--channels" => options.channels = whole(),
            "--patience-us" => options.patience = micros(),
            "--pause-us" => options.pause = micros(),
            "--seconds" => options.seconds = seconds(),
            "--warmup" => options.warmup = seconds(),
            _ => refuse(format!("unknown option '{name}'")),
        }
        if name == "--seconds" && options.seconds.is_zero() {
            bad();
        }
    }
    options
}

fn check(workload: &str, options: &Options) {
    let parties = options.loops * options.tasks;
    if options.loops > 2 {
        refuse("--loops must be 1 or 2".into());
    }
    if ![2, 4].contains(&options.channels) {
        refuse("--channels must be 2 or 4".into());
    }
    if ["swap-tasks", "handoff-tasks", "select-tasks"].contains(&workload) && parties % 2 != 0 {
        refuse("each needs a partner: --loops x --tasks must be even".into());
    }
    let halves = ["handoff-threads", "select-threads"].contains(&workload);
    if options.threads < 2 || halves && options.threads % 2 != 0 {
        refuse("--threads must be at least 2, and even for hand-offs and select".into());
    }
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if words == ["list"] {
        for (implementation, workload, _) in RIVALS {
            println!("{implementation} {workload}");
        }
        return;
    }
    if words.len() < 2 {
        refuse("usage: rival IMPLEMENTATION WORKLOAD [--OPTION NUMBER]... | rival list".into());
    }
    let run = find(&words[0], &words[1]);
    let mut options = parse(&words[2..]);
    check(&words[1], &options);
    if words[1] == "memory-tasks" {
        options.warmup = Duration::ZERO; // memory that is already allocated does not grow
    }
    let conserved = options.warmup.is_zero() || run(&options, options.warmup).conserved;
    let measured = run(&options, options.seconds);
    if measured.count == 0 {
        eprintln!("rival: no swap or hand-off was completed; try a longer --seconds");
        exit(1);
    }
    println!("{measured}");
    exit(i32::from(!(conserved && measured.conserved)));
}
