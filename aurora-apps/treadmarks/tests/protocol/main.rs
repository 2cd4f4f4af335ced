//! The protocol: all schedules of small programs, random programs, the access patterns of the DSM studies.

mod exhaustive;
mod hostile;
mod messages;
mod patterns;
mod random;
