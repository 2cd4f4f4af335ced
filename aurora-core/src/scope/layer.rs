//! An object on the scope layer, under one kernel: work that is early, in the wrong order, long, or panics.

use super::*;
use crate::ids::{CallId, ObjectId};
use crate::kernel::Kernel;
use crate::kernel::Reason;
use crate::kernel::message::{Header, Message, request, to_object};
use crate::object::{Call, Obstacle};
use crate::{ObjectName, Site};
use aurora_net::{Handler, Outbox, Payload, Received};

const OBJECT: ObjectId = ObjectId(1);

fn other() -> Rank {
    Rank::new(1)
}

/// A list of numbers, to which batches append theirs.
struct List {
    scopes: Scopes<Self>,
    numbers: Vec<u8>,
    /// Each batch is interrupted this often.
    interruptions: usize,
    /// The program has taken the list.
    is_taken: bool,
}

enum ListWork {
    Read,
    /// A batch that is interrupted this often.
    Append(usize),
}

impl Served for List {
    type Work = ListWork;
    type Batch = ();
    type Arrival = ();

    fn scopes(&self) -> &Scopes<Self> {
        &self.scopes
    }

    fn scopes_mut(&mut self) -> &mut Scopes<Self> {
        &mut self.scopes
    }

    fn attempt(&mut self, work: &mut Work<ListWork>, payload: &[u8], _: &mut Cx<'_>) -> Outcome {
        match &mut work.what {
            ListWork::Read => Outcome::Done(Ok(self.numbers.clone().into())),
            ListWork::Append(_) if self.is_taken => Outcome::Park,
            ListWork::Append(0) => {
                assert!(!payload.contains(&13), "an unlucky number");
                self.numbers.extend_from_slice(payload);
                Outcome::applied(Ok(()))
            }
            ListWork::Append(left) => {
                *left -= 1;
                Outcome::Interrupted
            }
        }
    }

    fn batch(&self, _: Rank, _: &Opening, (): ()) -> Result<ListWork, Malformed> {
        Ok(ListWork::Append(self.interruptions))
    }

    fn header(message: ScopeMessage<()>) -> impl Serialize {
        message
    }

    fn is_lent(&self) -> bool {
        self.is_taken
    }
}

impl SharedObject for List {
    fn deliver(&mut self, from: Rank, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        deliver(self, from, postcard::from_bytes(header).map_err(|_| Malformed)?, payload, cx)
    }

    fn request(&mut self, call: Call, header: &[u8], payload: Received, cx: &mut Cx<'_>) -> Result<(), Malformed> {
        let epoch = postcard::from_bytes(header).map_err(|_| Malformed)?;
        let (due, then) = (Due::After(Window::WHOLE, epoch), Then::Answer(call.id));
        work(self, Work { from: call.from, due, then, what: ListWork::Read }, payload, cx);
        Ok(())
    }

    answered_by_scopes!();
    worked_by_scopes!();
}

/// Rank 0 of two.
struct Node {
    kernel: Kernel,
    out: Outbox,
}

impl Node {
    fn new(interruptions: usize) -> Self {
        let (mut kernel, me) = (Kernel::new(Rank::new(0), 2, None), Rank::new(0));
        let list = List { scopes: Scopes::new(me, 2, false), numbers: Vec::new(), interruptions, is_taken: false };
        kernel.add(OBJECT, ObjectName { what: "list".into(), made_at: Site::here() }, list);
        Node { kernel, out: Outbox::default() }
    }

    fn on<R>(&mut self, action: impl FnOnce(&mut List, &mut Cx<'_>) -> R) -> R {
        self.kernel.with(OBJECT, &mut self.out, action).expect("it lives")
    }

    fn enter(&mut self) -> Entered {
        let epoch = self.on(|list, cx| list.enter(opening(), cx)).expect("the same scope");
        Entered::new(epoch, opening(), Reason::new("Append", Kind::Flush, &Site::here()), 2)
    }

    fn end(&mut self, scope: &Entered) {
        self.on(|list, cx| end_here(list, scope, None, cx));
    }

    /// Rank 1 has sent this batch.
    fn batch(&mut self, seq: u64, numbers: &[u8]) {
        self.message(ScopeMessage::Batch { epoch: 1, seq, opening: opening(), batch: () }, numbers);
    }

    /// Rank 1 has ended its scope.
    fn ended(&mut self, batches: u64) {
        self.message(ScopeMessage::End { epoch: 1, opening: opening(), batches, last: None, time: None }, &[]);
    }

    fn message(&mut self, message: ScopeMessage<()>, payload: &[u8]) {
        let header = to_object(OBJECT, &message).expect("short");
        self.kernel.deliver(other(), &header, Received::Bytes(payload.to_vec()), &mut self.out);
    }

    /// Rank 1, which has entered `epoch` scopes, asks for the numbers.
    fn ask(&mut self, epoch: Epoch) {
        let header = request(OBJECT, CallId(epoch), false, &epoch).expect("short");
        self.kernel.deliver(other(), &header, Received::Bytes(Vec::new()), &mut self.out);
    }

    /// The number of acknowledgements sent since the last call, and the answers: `None` if one is an error.
    fn sent(&mut self) -> (usize, Vec<Option<Vec<u8>>>) {
        let done = to_object(OBJECT, &ScopeMessage::<()>::BatchDone).expect("short");
        let (mut acknowledged, mut answers) = (0, Vec::new());
        for transfer in self.out.drain() {
            acknowledged += usize::from(transfer.header[..] == done[..]);
            if let Some(Header::Reply { refused, .. }) = Header::decode(&transfer.header) {
                let answer = if let Payload::Bytes(answer) = transfer.payload { answer.to_vec() } else { Vec::new() };
                answers.push((!refused).then_some(answer));
            }
        }
        (acknowledged, answers)
    }

    fn numbers(&mut self) -> Vec<u8> {
        self.on(|list, _| list.numbers.clone())
    }

    fn obstacle(&mut self) -> Obstacle {
        self.on(|list, _| {
            let Parked { work, .. } = list.scopes.parked.front().expect("something is parked");
            work::obstacle(list, work.from, work.due)
        })
    }
}

fn opening() -> Opening {
    Opening::new("Append", Kind::Flush, Rule::Ended, &Site::here())
}

#[test]
fn a_batch_waits_for_the_entry_of_its_receiver_and_for_the_batches_before_it() {
    let mut node = Node::new(0);
    node.batch(1, &[2]);
    node.batch(0, &[1]);
    assert_eq!((node.numbers(), node.sent().0), (vec![], 0));
    assert!(node.obstacle().by_itself, "the program of this rank has to enter");
    node.enter();
    assert_eq!((node.numbers(), node.sent().0), (vec![1, 2], 2));
}

#[test]
fn a_request_waits_for_the_scope_that_its_sender_has_entered() {
    let mut node = Node::new(0);
    let scope = node.enter();
    node.ask(1);
    node.ask(0);
    assert_eq!(node.sent().1, [Some(vec![])], "a rank that has entered no scope is served");
    node.batch(0, &[1]);
    node.end(&scope);
    let Obstacle { by_itself, behind } = node.obstacle();
    assert_eq!((by_itself, behind), (false, vec![other()]));
    node.ended(2);
    assert_eq!(node.sent().1, [], "a batch is on its way");
    node.batch(1, &[2]);
    assert_eq!(node.sent().1, [Some(vec![1, 2])]);
}

#[test]
fn work_waits_while_the_program_has_the_list() {
    let mut node = Node::new(0);
    node.enter();
    node.on(|list, _| list.is_taken = true);
    node.batch(0, &[1]);
    assert!(node.numbers().is_empty() && node.obstacle().by_itself);
    node.on(|list, _| (list.is_taken, list.scopes.has_changed) = (false, true));
    assert_eq!(node.numbers(), [1]);
}

#[test]
fn long_work_is_done_in_steps_between_which_others_have_their_turn() {
    let mut node = Node::new(2);
    node.enter();
    node.batch(0, &[1]);
    node.ask(0);
    assert_eq!((node.numbers(), node.sent()), (vec![], (0, vec![Some(vec![])])));
    for left in (0..2).rev() {
        let due = node.on(|list, _| list.poll_timeout()).expect("the rest follows soon");
        node.on(|list, cx| list.handle_timeout(due, cx));
        assert_eq!(node.numbers().is_empty(), left > 0);
    }
    assert_eq!((node.on(|list, _| list.poll_timeout()), node.sent().0), (None, 1));
}

#[test]
fn a_panic_in_a_batch_of_another_rank_poisons_the_object_and_answers_the_work_behind_it() {
    let mut node = Node::new(0);
    node.batch(0, &[13]);
    node.ask(1);
    node.enter();
    let fault = node.on(|_, cx| cx.sound());
    assert!(matches!(fault, Err(Error::Poisoned { ref behaviour, .. }) if behaviour.contains("Append")), "{fault:?}");
    assert_eq!(node.sent(), (0, vec![None]));
}

#[test]
fn an_owner_gets_eight_batches_ahead() {
    let mut node = Node::new(0);
    let mut scope = node.enter();
    let room = |node: &mut Node, scope: &Entered| {
        node.on(|list, cx| list.scopes.poll_room(other(), scope, cx)).map(|room| room.expect("it is sound"))
    };
    for _ in 0..8 {
        assert_eq!(room(&mut node, &scope), Some(()));
        node.on(|list, cx| send(list, &mut scope, other(), (), Payload::Empty, cx));
    }
    assert_eq!((room(&mut node, &scope), scope.sent[1]), (None, 8));
    node.message(ScopeMessage::BatchDone, &[]);
    assert_eq!(room(&mut node, &scope), Some(()));
}

#[test]
fn an_object_that_all_ranks_have_dropped_lives_until_its_work_is_done() {
    let mut node = Node::new(2);
    let scope = node.enter();
    node.end(&scope);
    node.batch(0, &[1]);
    node.ended(1);
    let notice = postcard::to_allocvec(&(1u64, Some(opening()))).expect("plain data");
    let dropped = Message::Dropped { object: OBJECT }.encode(&notice);
    node.kernel.deliver(other(), &dropped, Received::Bytes(Vec::new()), &mut node.out);
    node.kernel.drop_object(OBJECT, false, &mut node.out);
    for _ in 0..2 {
        assert!(node.kernel.objects.contains_key(&OBJECT));
        node.kernel.handle_timeout(Instant::now(), &mut node.out);
    }
    assert!(node.kernel.objects.is_empty() && node.kernel.core.fault.is_none());
    assert_eq!(node.sent().0, 1);
}
