//! Support of the integration tests.
