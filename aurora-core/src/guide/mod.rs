//! Guides: chapters of the book, which stand in `docs/src` of the repository.
//!
//! | page | for |
//! |---|---|
//! | [`which_behaviour`] | a loop over a shared object that is to be fast |
//! | [`memory_model`] | two ranks that use one element |
//! | [`for_mpi_users`] | programmers of message passing |
//! | [`for_pgas_users`] | users of Global Arrays, Chapel, OpenSHMEM, UPC++ or Lamellar |

// The files are links to the chapters. Each chapter defines its links at its end, for the book. A definition above the
// chapter goes before it: here links lead to items.

/// [owner_computes]: crate::GVector::owner_computes
/// [owner_computes_mut]: crate::GVector::owner_computes_mut
/// [read_cache]: crate::GVector::read_cache
/// [read_cache_blocks]: crate::GVector::read_cache_blocks
/// [halo_cache]: crate::GVector::halo_cache
/// [halo_cache_mut]: crate::GVector::halo_cache_mut
/// [periodic]: crate::Halo::periodic
/// [batched_reads]: crate::GVector::batched_reads
/// [release_c]: crate::GVector::release_c
/// [release_c_with]: crate::GVector::release_c_with
/// [accumulate]: crate::GVector::accumulate
/// [accumulate_in_order]: crate::GVector::accumulate_in_order
/// [read_cache_release_c]: crate::GVector::read_cache_release_c
/// [release_alone]: crate::GVector::release_alone
/// [paged]: crate::GVector::paged
/// [paged_mut]: crate::GVector::paged_mut
/// [slice]: crate::GVector::slice
/// [split_at_mut]: crate::GVector::split_at_mut
/// [distmemcpy]: crate::distmemcpy
/// [all_reduce]: crate::World::all_reduce
/// [broadcast]: crate::World::broadcast
/// [GMap]: crate::GMap
/// [GScalar]: crate::GScalar::fetch_add
/// [read_mostly_with]: crate::GScalar::read_mostly_with
///
#[doc = include_str!("which_behaviour.md")]
pub mod which_behaviour {}

/// [check]: crate::Config::check
///
#[doc = include_str!("memory_model.md")]
pub mod memory_model {}

/// [run]: crate::run
/// [read_cache]: crate::GVector::read_cache
/// [read_cache_blocks]: crate::GVector::read_cache_blocks
/// [release_c]: crate::GVector::release_c
/// [release_alone]: crate::GVector::release_alone
/// [halo_cache]: crate::GVector::halo_cache
/// [accumulate]: crate::GVector::accumulate
/// [batched_reads]: crate::GVector::batched_reads
/// [distmemcpy]: crate::distmemcpy_many
/// [Op]: crate::Op
/// [bulk]: crate::Config::bulk
///
#[doc = include_str!("for_mpi_users.md")]
pub mod for_mpi_users {}

/// [GMap]: crate::GMap
/// [paged]: crate::GVector::paged_mut
///
#[doc = include_str!("for_pgas_users.md")]
pub mod for_pgas_users {}
