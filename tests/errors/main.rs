//! Every error that a program can run into, provoked: what each rank is told, on every route.

mod accumulate;
mod arguments;
mod budget;
mod checking;
mod construction;
mod copies;
mod denied;
mod ended;
mod environment;
mod gather;
mod guards;
mod halo;
mod handled;
mod late;
mod leaked;
mod mismatch;
mod order;
mod pairs;
mod poisoned;
mod provoke;
mod scalar_ops;
mod scalars;
mod slices;
mod stream;
mod stuck;
mod user;
