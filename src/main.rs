//! The `presync` program.

fn main() {}
