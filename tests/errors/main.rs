//! Every error that a program can run into, provoked: what each rank is told, on every route.

mod arguments;
mod checking;
mod construction;
mod copies;
mod denied;
mod ended;
mod environment;
mod guards;
mod handled;
mod late;
mod leaked;
mod mismatch;
mod order;
mod pairs;
mod poisoned;
mod provoke;
mod stuck;
mod user;
