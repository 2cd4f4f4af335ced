//! Fuzzes a connection.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| aurora_net::fuzz::connection(data));
