//! Messages of other builds, and messages at bad moments.

use crate::with_seeds;
use aurora_treadmarks::machine::{Interval, Machine, Malformed, Message, News, Page, Peer, Stamp};

const RANKS: usize = 3;
const PAGES: Page = 4;
const LEN: usize = 64;

fn machine(rank: usize) -> Machine {
    let mut machine = Machine::new(rank, RANKS);
    machine.grow_to(PAGES);
    machine
}

fn refused(machine: &Machine, from: Peer, message: Message) {
    let text = format!("{message:?}");
    assert_eq!(machine.clone().handle(from, message), Err(Malformed), "{text}");
}

fn news(rank: Peer, index: u32, time: &[u32], pages: &[Page]) -> News {
    let intervals = vec![Interval { time: time.to_vec(), pages: pages.to_vec() }];
    News { from: Stamp { rank, index }, intervals }
}

#[test]
fn messages_that_make_no_sense_are_refused() {
    let manager = machine(0);
    let arrive = |news| Message::Arrive { time: vec![0; RANKS], news };
    let right = arrive(news(1, 0, &[0, 1, 0], &[0, 3]));
    assert!(manager.clone().handle(1, right.clone()).is_ok());
    refused(&machine(1), 2, arrive(news(2, 0, &[0, 0, 1], &[0]))); // to another rank than the manager
    refused(&manager, 2, right.clone()); // of another rank
    refused(&manager, 0, right.clone()); // its own
    refused(&manager, RANKS as Peer, right.clone());
    refused(&manager, 1, Message::Arrive { time: vec![0; 2], news: news(1, 0, &[0, 1, 0], &[0]) });
    refused(&manager, 1, arrive(news(1, 1, &[0, 2, 0], &[0]))); // a gap
    refused(&manager, 1, arrive(news(1, 0, &[0, 2, 0], &[0]))); // another time
    refused(&manager, 1, arrive(news(1, 0, &[0, 1], &[0])));
    refused(&manager, 1, arrive(news(1, 0, &[0, 1, 0], &[3, 0])));
    refused(&manager, 1, arrive(news(1, 0, &[0, 1, 0], &[PAGES])));
    refused(&manager, 1, arrive(news(1, 0, &[0, 1, 0], &[])));
    let mut twice = manager.clone();
    twice.handle(1, right.clone()).expect("it makes sense");
    refused(&twice, 1, right);

    let mut waiting = machine(1);
    refused(&waiting, 0, Message::Depart { news: Vec::new() }); // it waits in no barrier
    waiting.barrier();
    refused(&waiting, 2, Message::Depart { news: Vec::new() });
    refused(&waiting, 0, Message::Depart { news: vec![news(1, 0, &[0, 1, 0], &[0])] }); // its own
    refused(&waiting, 0, Message::Grant { lock: 0, news: Vec::new() });

    let time = || vec![0; RANKS];
    refused(&manager, 1, Message::Acquire { lock: 1, time: time() }); // a lock of another manager
    refused(&manager, 1, Message::Acquire { lock: 0, time: vec![] });
    refused(&manager, 1, Message::Forward { lock: 1, rank: 2, time: time() }); // it has not had that lock
    refused(&manager, 1, Message::Forward { lock: 0, rank: 0, time: time() });
    refused(&manager, 1, Message::Forward { lock: 0, rank: 9, time: time() });
    let mut had = manager.clone();
    had.handle(1, Message::Acquire { lock: 0, time: time() }).expect("it makes sense");
    refused(&had, 1, Message::Acquire { lock: 0, time: time() }); // it has the lock
    let mut held = manager.clone();
    held.acquire(0);
    held.handle(1, Message::Acquire { lock: 0, time: time() }).expect("it makes sense");
    refused(&held, 1, Message::Forward { lock: 0, rank: 2, time: time() }); // rank 1 is next already

    let stamps = vec![Stamp { rank: 0, index: 0 }];
    refused(&manager, 1, Message::Want { page: 0, stamps: stamps.clone() }); // no such interval
    refused(&manager, 1, Message::Diffs { page: 0, diffs: Vec::new() }); // not requested
    let mut asking = machine(1);
    asking.barrier();
    asking.handle(0, Message::Depart { news: vec![news(0, 0, &[1, 0, 0], &[0])] }).expect("it makes sense");
    assert_eq!(asking.miss(0), [(0, Message::Want { page: 0, stamps })]);
    refused(&asking, 2, Message::Diffs { page: 0, diffs: Vec::new() });
    refused(&asking, 0, Message::Diffs { page: 1, diffs: Vec::new() });
    refused(&asking, 0, Message::Diffs { page: 0, diffs: Vec::new() });
}

/// A machine accepts a damaged message or refuses it. Neither the machine nor its program panics.
#[test]
fn damaged_messages_are_refused_or_taken() {
    with_seeds(60, |random| {
        let mut machines: Vec<_> = (0..RANKS).map(machine).collect();
        let mut memory = vec![vec![[0; LEN]; PAGES as usize]; RANKS];
        for _ in 0..4 {
            let mut flying = Vec::new();
            for (rank, machine) in machines.iter_mut().enumerate() {
                for _ in 0..random.u32(..4) {
                    let page = random.u32(..PAGES);
                    if machine.is_valid(page) {
                        machine.write(page, &memory[rank][page as usize]);
                        memory[rank][page as usize][4 * random.usize(..LEN / 4)] = random.u8(..);
                    }
                }
                let written: Vec<_> = machine.written().collect();
                written.into_iter().for_each(|page| machine.snapshot(page, &memory[rank][page as usize]));
                machine.close();
                flying.extend(machine.barrier().into_iter().map(|(to, message)| (rank, to, message)));
            }
            loop {
                while let Some((from, to, message)) = flying.pop() {
                    let mut bytes = postcard::to_allocvec(&message).expect("short");
                    damage(&mut bytes, random);
                    take_damaged(machines[usize::from(to)].clone(), from as Peer, &bytes);
                    let sent = machines[usize::from(to)].handle(from as Peer, message).expect("it makes sense");
                    flying.extend(sent.into_iter().map(|(next, message)| (usize::from(to), next, message)));
                }
                let of = |page: Page| (0..RANKS).find(|rank| !machines[*rank].is_valid(page)).map(|rank| (rank, page));
                let Some((rank, page)) = (0..PAGES).find_map(of) else {
                    break;
                };
                if machines[rank].is_fetching() {
                    let diffs = machines[rank].take(page);
                    diffs.iter().for_each(|diff| diff.apply(&mut memory[rank][page as usize]));
                } else {
                    flying.extend(machines[rank].miss(page).into_iter().map(|(to, message)| (rank, to, message)));
                }
            }
        }
    });
}

fn damage(bytes: &mut Vec<u8>, random: &mut fastrand::Rng) {
    for _ in 0..random.u32(1..3) {
        let at = random.usize(..=bytes.len());
        match random.u32(..4) {
            0 => bytes.truncate(at),
            1 => bytes.push(random.u8(..)),
            2 => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte = random.u8(..)),
            _ => bytes.iter_mut().skip(at).take(1).for_each(|byte| *byte ^= 1 << random.u32(..8)),
        }
    }
}

fn take_damaged(mut machine: Machine, from: Peer, bytes: &[u8]) {
    let Ok((message, _)) = postcard::take_from_bytes(bytes) else { return };
    if machine.handle(from, message).is_err() {
        return;
    }
    for page in (0..PAGES).filter(|page| !machine.is_valid(*page)).collect::<Vec<_>>() {
        if machine.asked().next().is_none() {
            if machine.is_fetching() {
                continue;
            }
            machine.miss(page);
        }
    }
}

/// The contents of written pages are copied before the interval is closed. A request may arrive in between.
#[test]
fn a_request_between_the_copies_and_the_close() {
    let (mut writer, mut reader) = (machine(0), machine(1));
    let mut third = machine(2);
    let mut meet = |writer: &mut Machine, reader: &mut Machine| {
        let arrivals = [(1, reader.barrier()), (2, third.barrier())];
        let mut left = writer.barrier();
        for (rank, sent) in arrivals {
            let (_, message) = sent.into_iter().next().expect("an arrival");
            left.extend(writer.handle(rank, message).expect("it makes sense"));
        }
        for (to, message) in left {
            let of = if to == 1 { &mut *reader } else { &mut third };
            of.handle(0, message).expect("it makes sense");
        }
    };
    let content = |values: [u8; 3]| {
        let mut page = [0; LEN];
        values.into_iter().enumerate().for_each(|(word, value)| page[4 * word] = value);
        page
    };
    let fetch = |writer: &mut Machine, reader: &mut Machine, page: &mut [u8; LEN]| {
        let (_, want) = reader.miss(0).into_iter().next().expect("the writer is asked");
        let (_, diffs) = writer.handle(1, want).expect("it makes sense").into_iter().next().expect("an answer");
        reader.handle(0, diffs).expect("it makes sense");
        reader.take(0).iter().for_each(|diff| diff.apply(page));
    };
    let mut seen = content([0; 3]);
    writer.write(0, &content([0, 0, 0]));
    writer.snapshot(0, &content([1, 0, 0]));
    writer.close();
    meet(&mut writer, &mut reader);
    writer.write(0, &content([1, 0, 0]));
    writer.snapshot(0, &content([1, 2, 0]));
    fetch(&mut writer, &mut reader, &mut seen);
    writer.close();
    meet(&mut writer, &mut reader);
    fetch(&mut writer, &mut reader, &mut seen);
    assert_eq!(seen, content([1, 2, 0]));
    writer.write(0, &content([1, 2, 0]));
    writer.snapshot(0, &content([1, 2, 3]));
    writer.close();
    meet(&mut writer, &mut reader);
    fetch(&mut writer, &mut reader, &mut seen);
    assert_eq!(seen, content([1, 2, 3]));
}
