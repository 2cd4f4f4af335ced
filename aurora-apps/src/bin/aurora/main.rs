//! The `aurora` command.
fn main() {}
