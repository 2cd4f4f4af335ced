//! A stream by one TCP connection between the two ranks' processes, over the network that Aurora uses.

use super::prelude::*;
use super::stream::{FROM, TO};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// How long the two may take to find each other.
const PATIENCE: Duration = Duration::from_secs(10);

/// By blocking reads and writes of everything at once.
pub struct Tcp {
    me: usize,
    /// Of the two ranks that have a part in it.
    connection: Option<TcpStream>,
    bytes: Vec<u8>,
}

impl Tcp {
    /// Collective. Connects the two.
    pub fn new(world: &World, bytes: usize) -> Result<Self> {
        let me = world.rank().index();
        let connection = connect(world, me)?;
        Ok(Tcp { me, bytes: vec![0; if connection.is_some() { bytes } else { 0 }], connection })
    }
}

impl Contestant for Tcp {
    fn repetition(&mut self, round: Round, watch: &mut Watch<'_>) -> Result<u64> {
        let Some(connection) = &mut self.connection else {
            watch.serve()?;
            return Ok(0);
        };
        if self.me == FROM {
            round.fill(&mut self.bytes, 0);
            watch.measure(|| Ok(connection.write_all(&self.bytes)?))?;
            return Ok(0);
        }
        watch.measure(|| Ok(connection.read_exact(&mut self.bytes)?))?;
        Ok(round.wrong(&self.bytes, 0))
    }
}

/// Collective. The receiver listens, and a shared scalar tells the sender where, and a word by which it is known.
fn connect(world: &World, me: usize) -> Result<Option<TcpStream>> {
    let listener = if me == TO { Some(listen(world)?) } else { None };
    let contact = match &listener {
        Some(listener) => (listener.local_addr()?, RandomState::new().build_hasher().finish()),
        None => (SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0)), 0),
    };
    let contact = GScalar::new(world, TO, contact)?;
    let connection = match listener {
        Some(listener) => Some(accept(&listener, contact.get()?.1)?),
        None if me == FROM => Some(call(contact.get()?)?),
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
    listener.set_nonblocking(true)?;
    Ok(listener)
}

fn call((address, word): (SocketAddr, u64)) -> io::Result<TcpStream> {
    let mut connection = TcpStream::connect_timeout(&address, PATIENCE)?;
    connection.write_all(&word.to_le_bytes())?;
    Ok(connection)
}

/// The first connection that says the word.
fn accept(listener: &TcpListener, word: u64) -> io::Result<TcpStream> {
    let until = Instant::now() + PATIENCE;
    loop {
        match listener.accept() {
            Ok((connection, _)) => {
                if let Some(connection) = greet(connection, word) {
                    return Ok(connection);
                }
            }
            Err(error) if error.kind() != ErrorKind::WouldBlock => return Err(error),
            Err(_) if Instant::now() > until => {
                return Err(io::Error::new(ErrorKind::TimedOut, "the sender has not opened its TCP connection"));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(1)),
        }
    }
}

/// None for a stranger.
fn greet(mut connection: TcpStream, word: u64) -> Option<TcpStream> {
    let mut said = [0; size_of::<u64>()];
    connection.set_nonblocking(false).ok()?;
    connection.set_read_timeout(Some(PATIENCE)).ok()?;
    connection.read_exact(&mut said).ok()?;
    connection.set_read_timeout(None).ok()?;
    (u64::from_le_bytes(said) == word).then_some(connection)
}
