//! Whatever bytes are taken for a packet.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| aurora_net::fuzz::packet(data));
