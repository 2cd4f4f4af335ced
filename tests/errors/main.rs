//! Every error that a program can run into, provoked: what each rank is told, on every route.

mod arguments;
mod budget;
mod construction;
mod copies;
mod ended;
mod environment;
mod guards;
mod late;
mod leaked;
mod mismatch;
mod poisoned;
mod provoke;
mod stream;
mod stuck;
mod user;
