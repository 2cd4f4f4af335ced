//! The ranks that an epoch waits for, and the time at which it is `settled`.

use super::ledger::REMEMBERED;
use super::*;
use crate::ids::Epoch;
use crate::window::Window;
use crate::{Kind, Site};
use aurora_net::Rank;

const FIRST: Epoch = 1;

fn scope(rule: Rule) -> Opening {
    Opening::new("Scope", Kind::Control, rule, &Site::here())
}

fn of_four(rule: Rule) -> Ledger {
    let mut ledger = Ledger::new(Rank::new(1), 4);
    assert_eq!(ledger.enter(scope(rule)).ok(), Some(FIRST));
    ledger
}

/// The ranks whose turn it is, and the ranks that rank 3 waits for.
fn state(ledger: &Ledger) -> (Vec<usize>, Vec<usize>) {
    let ranks = (0..4).map(Rank::new);
    let turns = ranks.filter(|rank| ledger.may_apply_from(FIRST, *rank)).map(Rank::index).collect();
    let mut awaited: Vec<_> = ledger.awaited_before(FIRST, Rank::new(3)).map(Rank::index).collect();
    awaited.sort_unstable();
    (turns, awaited)
}

#[test]
fn in_order_each_rank_waits_for_those_before_it() {
    let mut ledger = of_four(Rule::EndedInOrder);
    assert_eq!(state(&ledger), (vec![0], vec![0, 1, 2]));
    // An ended scope is not awaited any more, but its batches have to be applied.
    let record = ledger.record(FIRST);
    (record.from[0].complete, record.from[0].batches) = (true, 2);
    assert_eq!(state(&ledger), (vec![0], vec![1, 2]));
    ledger.record(FIRST).from[0].applied = 2;
    assert_eq!(state(&ledger), (vec![0, 1], vec![1, 2]));
    ledger.record(FIRST).from[2].complete = true;
    assert_eq!(state(&ledger), (vec![0, 1], vec![1]));
    ledger.record(FIRST).mine_complete = true;
    assert_eq!(state(&ledger), (vec![0, 1, 2, 3], vec![]));
}

#[test]
fn else_nobody_waits_for_a_turn() {
    let ledger = of_four(Rule::Ended);
    assert_eq!(state(&ledger), (vec![0, 1, 2, 3], vec![]));
    assert!(ledger.may_apply_from(FIRST + 1, Rank::new(3)), "no such scope is known yet");
}

fn halo(width: usize) -> Opening {
    scope(Rule::Neighbours).with(format!(" ({width})"))
}

/// The ledger of a rank without neighbours that has entered halos of these widths.
fn alone(widths: impl IntoIterator<Item = usize>) -> Ledger {
    let mut ledger = Ledger::new(Rank::new(0), 3);
    for width in widths {
        let epoch = ledger.enter(halo(width)).expect("nobody has said anything else");
        let record = ledger.record(epoch);
        record.mine_complete = true;
        record.from.iter_mut().for_each(|arrival| arrival.complete = true);
        assert_eq!(ledger.try_settle().map(|(settled, _)| settled), Some(epoch));
        ledger.forget(epoch);
    }
    ledger
}

#[test]
fn what_others_open_instead_of_a_halo_that_is_over_disagrees() {
    let mut ledger = alone([1, 2, 3]);
    let release = scope(Rule::Ended);
    for (epoch, width) in [(1, 1), (2, 2), (3, 3)] {
        let (rank, mine) = ledger.opened(Rank::new(2), epoch, &release).expect_err("a disagreement");
        assert!(rank == 0 && mine.agrees_with(&halo(width)), "{mine:?}");
    }
    assert!(ledger.opened(Rank::new(2), 4, &release).is_ok());
}

#[test]
fn few_of_them_are_remembered() {
    let mut ledger = alone((0..500).map(|width| width % 7));
    assert!(ledger.without_some.len() <= REMEMBERED && ledger.records.is_empty());
    let release = scope(Rule::Ended);
    let (_, mine) = ledger.opened(Rank::new(1), 3, &release).expect_err("a disagreement");
    assert!(mine.rule == Rule::Neighbours);
}

fn opening(rule: Rule, start: usize, end: usize) -> Opening {
    scope(rule).of(Window::of(&(start..end), 10))
}

/// The ledger of rank 0 of two, which has entered these scopes.
fn entered(openings: &[Opening]) -> Ledger {
    let mut ledger = Ledger::new(Rank::new(0), 2);
    openings.iter().for_each(|opening| drop(ledger.enter(opening.clone())));
    ledger
}

/// All ranks do their part of an epoch.
fn complete(ledger: &mut Ledger, epoch: Epoch) {
    let record = ledger.record(epoch);
    record.mine_complete = true;
    record.from[1].complete = true;
}

#[test]
fn a_scope_of_another_part_is_settled_while_one_is_open() {
    let (left, right) = (opening(Rule::Ended, 0, 5), opening(Rule::Announced, 5, 10));
    let mut ledger = entered(&[left.clone(), right, opening(Rule::Ended, 4, 6)]);
    assert!(ledger.try_settle().is_none());
    complete(&mut ledger, 3);
    assert!(ledger.try_settle().is_none(), "it overlaps both");
    complete(&mut ledger, 2);
    assert_eq!(ledger.try_settle(), Some((2, Rule::Announced)));
    assert!(ledger.is_settled(2) && !ledger.is_settled(1) && ledger.settled == 0 && ledger.ahead() == 1);
    assert_eq!((ledger.pending(left.window, 2), ledger.pending(Window::of(&(5..7), 10), 2)), (Some(1), None));
    assert_eq!(ledger.predecessor(), 2);
    assert!(ledger.may_apply(1) && !ledger.may_apply(2) && !ledger.may_apply(3));
    complete(&mut ledger, 1);
    assert_eq!(ledger.try_settle(), Some((1, Rule::Ended)));
    assert_eq!((ledger.settled, ledger.ahead()), (2, 1));
    assert_eq!(ledger.in_the_way(Window::WHOLE, 3).collect::<Vec<_>>(), [3]);
    assert_eq!(ledger.try_settle(), Some((3, Rule::Ended)));
}

#[test]
fn loads_are_settled_in_their_order() {
    let mut ledger = entered(&[opening(Rule::Announced, 0, 5), opening(Rule::Announced, 5, 10)]);
    complete(&mut ledger, 2);
    assert!(ledger.try_settle().is_none());
    complete(&mut ledger, 1);
    assert_eq!(ledger.try_settle().map(|settled| settled.0), Some(1));
    assert_eq!(ledger.try_settle().map(|settled| settled.0), Some(2));
}

#[test]
fn a_scope_that_nobody_has_named_may_be_of_any_part() {
    let mut ledger = entered(&[]);
    assert_eq!(ledger.pending(Window::of(&(0..1), 10), 1), Some(1));
    let theirs = opening(Rule::Ended, 5, 10);
    ledger.opened(Rank::new(1), 1, &theirs).expect("we have opened nothing");
    assert_eq!(ledger.pending(Window::of(&(0..1), 10), 1), None);
    assert_eq!(ledger.pending(Window::of(&(0..6), 10), 1), Some(1));
}
