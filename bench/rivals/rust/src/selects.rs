// SPDX-License-Identifier: MIT
//! Receivers that select from several channels. Senders send to the channels in rotation.

use crate::report::{Report, Tally};
use crate::tasks::Meeting;
use crate::threads;
use crossbeam_channel as crossbeam;
use std::iter::repeat_with;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tokio::sync::mpsc;

fn only_2_or_4() -> ! {
    unreachable!("--channels is 2 or 4")
}

/// None if all senders are gone.
fn receive(from: &[crossbeam::Receiver<u64>]) -> Option<u64> {
    match from {
        [a, b] => crossbeam::select! {
            recv(a) -> item => item.ok(),
            recv(b) -> item => item.ok(),
        },
        [a, b, c, d] => crossbeam::select! {
            recv(a) -> item => item.ok(),
            recv(b) -> item => item.ok(),
            recv(c) -> item => item.ok(),
            recv(d) -> item => item.ok(),
        },
        _ => only_2_or_4(),
    }
}

pub fn by_threads(threads: usize, channels: usize, time: Duration) -> Report {
    let (send, from): (Vec<_>, Vec<_>) =
        repeat_with(|| crossbeam::bounded(0)).take(channels).unzip();
    let step = threads as u64;
    threads::of_senders_and_receivers(threads, time, (send, from), |me, (send, from), over| {
        if me % 2 == 0 {
            drop(from);
            let mut tally = Tally::default();
            let mut item = me as u64 + 1;
            let mut turns = (0..channels).cycle().skip(me / 2 % channels);
            while !over.load(Relaxed) {
                let turn = turns.next().expect("no end");
                send[turn].send(item).expect("receivers outlive senders");
                tally.give(item);
                item += step; // so that all items differ
            }
            tally
        } else {
            drop(send);
            let mut tally = Tally::of_receiver();
            while let Some(item) = receive(&from) {
                tally.take(item);
            }
            tally
        }
    })
}

/// flume's channels lose no item if `select!` drops a wait: an item that has come for it stays in the channel for
/// another receiver. So a sender may go on before its item is received.
async fn receive_by_flume(from: &[flume::Receiver<u64>]) -> Option<u64> {
    match from {
        [a, b] => tokio::select! {
            Ok(item) = a.recv_async() => Some(item),
            Ok(item) = b.recv_async() => Some(item),
            else => None,
        },
        [a, b, c, d] => tokio::select! {
            Ok(item) = a.recv_async() => Some(item),
            Ok(item) = b.recv_async() => Some(item),
            Ok(item) = c.recv_async() => Some(item),
            Ok(item) = d.recv_async() => Some(item),
            else => None,
        },
        _ => only_2_or_4(),
    }
}

pub fn by_flume(loops: usize, tasks: usize, channels: usize, time: Duration) -> Report {
    let mut meeting = Meeting::new(loops);
    let (send, from): (Vec<_>, Vec<_>) = repeat_with(|| flume::bounded(0)).take(channels).unzip();
    let step = (loops * tasks) as u64;
    for first in 0..step / 2 {
        let (send, from, clock) = (send.clone(), from.clone(), meeting.clock.clone());
        meeting.add(async move {
            let mut tally = Tally::default();
            let mut item = first;
            let mut turns = (0..channels).cycle().skip(first as usize % channels);
            while !clock.is_over() {
                let turn = turns.next().expect("no end");
                send[turn]
                    .send_async(item)
                    .await
                    .expect("receivers outlive senders");
                tally.give(item);
                item += step; // so that all items differ
            }
            tally
        });
        meeting.add(async move {
            let mut tally = Tally::of_receiver();
            while let Some(item) = receive_by_flume(&from).await {
                tally.take(item);
            }
            tally
        });
    }
    drop((send, from));
    meeting.run(time)
}

async fn receive_by_mpsc(from: &mut [mpsc::Receiver<u64>]) -> Option<u64> {
    match from {
        [a, b] => tokio::select! {
            Some(item) = a.recv() => Some(item),
            Some(item) = b.recv() => Some(item),
            else => None,
        },
        [a, b, c, d] => tokio::select! {
            Some(item) = a.recv() => Some(item),
            Some(item) = b.recv() => Some(item),
            Some(item) = c.recv() => Some(item),
            Some(item) = d.recv() => Some(item),
            else => None,
        },
        _ => only_2_or_4(),
    }
}

/// tokio's channels have one receiver and room for at least one item. So each couple has channels of its own. This does
/// less than channels for all tasks: there is no search for a partner, and a sender waits only if the channel still
/// holds its item of the last rotation.
pub fn by_couples(loops: usize, tasks: usize, channels: usize, time: Duration) -> Report {
    let mut meeting = Meeting::new(loops);
    let step = (loops * tasks) as u64;
    for first in 0..step / 2 {
        let (send, mut from): (Vec<_>, Vec<_>) =
            repeat_with(|| mpsc::channel(1)).take(channels).unzip();
        let clock = meeting.clock.clone();
        meeting.add(async move {
            let mut tally = Tally::default();
            let mut item = first;
            let mut turns = (0..channels).cycle();
            while !clock.is_over() {
                let turn = turns.next().expect("no end");
                send[turn]
                    .send(item)
                    .await
                    .expect("the receiver outlives the sender");
                tally.give(item);
                item += step; // so that all items differ
            }
            tally
        });
        meeting.add(async move {
            let mut tally = Tally::of_receiver();
            while let Some(item) = receive_by_mpsc(&mut from).await {
                tally.take(item);
            }
            tally
        });
    }
    meeting.run(time)
}
