//! Fuzzes the decoder of packets.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| aurora_net::fuzz::packet(data));
