//! Guides: which behaviour to choose, and where to find what other systems call otherwise.
//!
//! | page | for whom |
//! |---|---|
//! | [`which_behaviour`] | has a loop over a shared object and wants it fast |
//! | [`for_mpi_users`] | has written message passing |
//! | [`for_pgas_users`] | comes from Global Arrays, Chapel, OpenSHMEM, UPC++ or Lamellar |

#[doc = include_str!("which_behaviour.md")]
pub mod which_behaviour {}

#[doc = include_str!("for_mpi_users.md")]
pub mod for_mpi_users {}

#[doc = include_str!("for_pgas_users.md")]
pub mod for_pgas_users {}
