//! One TCP connection between two ranks, over the network that Aurora uses.

use aurora_core::prelude::*;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// How long the two may take to find each other.
const PATIENCE: Duration = Duration::from_secs(10);

/// Collective. Connects the two: the receiver listens, and tells where, and a word by which the sender is known.
pub fn connect(world: &World, from: usize, to: usize) -> Result<Option<TcpStream>> {
    let me = world.rank().index();
    let listener = if me == to { Some(listen(world)?) } else { None };
    let contact = match &listener {
        Some(listener) => (listener.local_addr()?, RandomState::new().build_hasher().finish()),
        None => (SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), 0),
    };
    let contact = world.broadcast(to, contact)?;
    let connection = match listener {
        Some(listener) => Some(accept(&listener, contact.1)?),
        None if me == from => Some(call(contact)?),
        None => None,
    };
    if let Some(connection) = &connection {
        connection.set_nodelay(true)?;
    }
    world.barrier()?;
    Ok(connection)
}

/// On the network that reaches the other ranks; where there is none, they are threads of this process.
fn listen(world: &World) -> io::Result<TcpListener> {
    let here = world.udp().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |udp| udp.address.ip());
    let listener = TcpListener::bind((here, 0))?;
    // So that waiting for a sender that fails ends.
    set_socket_timeout(&listener, Timeout::Recv, Some(PATIENCE))?;
    Ok(listener)
}

fn call((address, word): (SocketAddr, u64)) -> io::Result<TcpStream> {
    let mut connection = TcpStream::connect_timeout(&address, PATIENCE)?;
    connection.write_all(&word.to_le_bytes())?;
    Ok(connection)
}

/// The first connection that says the word.
fn accept(listener: &TcpListener, word: u64) -> io::Result<TcpStream> {
    loop {
        let (connection, _) = listener.accept().map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => {
                io::Error::new(ErrorKind::TimedOut, "the sender has not opened its TCP connection")
            }
            _ => error,
        })?;
        if let Some(connection) = greet(connection, word) {
            return Ok(connection);
        }
    }
}

/// None for a stranger.
fn greet(mut connection: TcpStream, word: u64) -> Option<TcpStream> {
    let mut said = [0; size_of::<u64>()];
    connection.set_read_timeout(Some(PATIENCE)).ok()?;
    connection.read_exact(&mut said).ok()?;
    connection.set_read_timeout(None).ok()?;
    (u64::from_le_bytes(said) == word).then_some(connection)
}
