//! Super-programs in virtual time: the same dispatcher and nodes as anywhere else, and the papers' machines.

mod paper;
mod setting;

pub use paper::paper;
pub use setting::{Outcome, Setting, SettingError, Speeds, Transfers, Work};
