//! One TCP connection between two ranks, over the network that Aurora uses.

use aurora_core::prelude::*;
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::time::Duration;

/// The maximum time that the two ranks may take to connect.
const PATIENCE: Duration = Duration::from_secs(10);

/// Collective. Connects the two ranks. The receiver announces the address at which it listens, and the sender the
/// address from which it connects.
pub fn connect(world: &World, from: usize, to: usize) -> Result<Option<TcpStream>> {
    let me = world.rank().index();
    let nowhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, 0));
    let listener = if me == to { Some(listen(world)?) } else { None };
    let place = world.broadcast(to, listener.as_ref().map_or(Ok(nowhere), TcpListener::local_addr)?)?;
    let caller = if me == from { Some(TcpStream::connect_timeout(&place, PATIENCE)?) } else { None };
    let calling = world.broadcast(from, caller.as_ref().map_or(Ok(nowhere), TcpStream::local_addr)?)?;
    let connection = listener.map(|listener| accept(&listener, calling)).transpose()?.or(caller);
    if let Some(connection) = &connection {
        connection.set_nodelay(true)?;
    }
    Ok(connection)
}

/// Listens on the network that reaches the other ranks. If there is no such network, the ranks are threads of this
/// process.
fn listen(world: &World) -> io::Result<TcpListener> {
    let here = world.udp().map_or(IpAddr::V4(Ipv4Addr::LOCALHOST), |udp| udp.address.ip());
    let listener = TcpListener::bind((here, 0))?;
    // The sender's connection has arrived already: without a limit, a missing connection would block for ever.
    set_socket_timeout(&listener, Timeout::Recv, Some(PATIENCE))?;
    Ok(listener)
}

/// Accepts the sender's connection and drops all others.
fn accept(listener: &TcpListener, calling: SocketAddr) -> io::Result<TcpStream> {
    loop {
        let (connection, from) = listener.accept().map_err(|error| match error.kind() {
            ErrorKind::WouldBlock => io::Error::new(
                ErrorKind::TimedOut,
                format!("the TCP connection of the sender, {calling}, has not arrived: is its address translated?"),
            ),
            _ => error,
        })?;
        if from == calling {
            return Ok(connection);
        }
    }
}
