//! Transport between the ranks of an Aurora job. It knows bytes, ranks and transfers, but no shared vectors.
//!
//! A *job* has `size` equal *ranks*: threads, processes, or processes started by an MPI launcher ([`bootstrap`]). Each
//! rank uses its [`Seat`](bootstrap::Seat) to connect an [`Endpoint`] to all others. Endpoints send *transfers*: a
//! short header and a payload of any length, which arrive whole, once, intact, in no particular order. The library
//! above is a [`Handler`], which provides and receives the payloads.
//!
//! ```
//! use aurora_net::bootstrap::{Failure, Launch, Options, run};
//! use aurora_net::*;
//!
//! /// Collects greetings.
//! struct Guestbook(Vec<(Rank, Vec<u8>)>);
//!
//! impl Handler for Guestbook {
//!     fn place(&mut self, _: Rank, _: &[u8], _: usize) -> Placement {
//!         Placement::Buffer
//!     }
//!     fn deliver(&mut self, from: Rank, header: &[u8], _: Received, _: &mut Outbox) {
//!         self.0.push((from, header.to_vec()));
//!     }
//! }
//!
//! let greetings = run(Launch::Threads(3), Options::default(), |seat| {
//!     let endpoint = seat
//!         .connect(Guestbook(Vec::new()), Transport::default())
//!         .map_err(|error| error.into_failure(seat.rank()))?;
//!     endpoint.act(|_, out| {
//!         for to in seat.rank().others(seat.size()) {
//!             out.send(to, &b"hello"[..], Payload::Empty);
//!         }
//!     });
//!     let count = endpoint.wait(|book, _| (book.0.len() == 2).then_some(book.0.len()));
//!     seat.finish()?; // Until this returns, other ranks may need this rank's daemon.
//!     Ok(count)
//! });
//! assert_eq!(greetings, Ok(2));
//! ```
//!
//! | module | content |
//! |---|---|
//! | [`wire`] | packets and frames as bytes |
//! | [`proto`] | one end of a connection, without I/O |
//! | [`sim`] | a network in virtual time, for tests and measurements |
//! | `udp`, `shm`, `local` | the routes: datagrams, rings in shared memory, and a queue between threads |
//! | `shm` | also the memory shared by the ranks of a node ([`Node`], [`Segment`]) |
//! | `endpoint` | the I/O loop ([`Endpoint`]); `endpoint/rendezvous`: transfers by MPI |
//! | `bulk` | the choice between UDP and MPI ([`Bulk`]) |
//! | [`bootstrap`] | starting, connecting and ending the ranks |
//!
//! | word | meaning |
//! |---|---|
//! | node, node peers, leader | ranks that share memory; the other ranks of a node; its lowest rank |
//! | daemon, waiter | an endpoint's thread; a thread in [`Endpoint::wait`], which drives the endpoint |
//! | doorbell, lazy message, nudge | wakes a rank; wakes only a waiter; makes a rank read its lazy messages |
//! | buffer pool, mailbox | shared buffers handed over without a copy; repeated letters of one length |
//! | rendezvous, carrier | the agreement of both ends before a long transfer; the library that moves it: MPI |
//! | source | a descriptor, or a doorbell of the process's own threads, that a handler watches |
//! | stranger | a connection that has not proved yet that it belongs to the job |

pub mod bootstrap;
mod buffer;
mod bulk;
mod charge;
mod endpoint;
mod error;
#[doc(hidden)]
pub mod fuzz;
mod handler;
mod key;
mod limits;
mod local;
mod loss;
mod peer;
mod poller;
pub mod proto;
mod random;
mod rank;
mod route;
mod shm;
pub mod sim;
mod source;
mod spare;
mod strangers;
mod traffic;
mod udp;
pub mod wire;

pub use buffer::Buffer;
pub use bulk::{Bulk, BulkInfo, Probe};
pub use endpoint::{Attending, Endpoint};
pub use error::Error;
pub use handler::{Handler, MAX_HEADER, Outbox, Outgoing, Payload, Placement, Received, Token};
pub use loss::{Loss, UdpTrouble};
pub use proto::Network;
pub use random::{Random, mix};
pub use rank::Rank;
pub use route::{Route, Transport};
pub use shm::{
    BarrierEntry, BarrierMemory, BarrierState, LetterCount, MailboxReceiver, MailboxSender, Node, NodeBarrier, Segment,
    SharedBuffer, SharedView, Words,
};
pub use source::{Doorbell, Source};
pub use traffic::Traffic;
pub use udp::UdpInfo;
