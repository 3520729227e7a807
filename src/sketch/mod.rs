//! Sketching: from sets to signatures.
//!
//! In: sets of 64-bit elements. Out: [`Signature`]s of a few dozen bytes, whose agreement tells how similar the sets
//! are. Each sampler has a file; [`Sketcher`] is the interface to all of them. This module must not know what
//! agreement means, nor how signatures are stored or searched.

mod agreement;
mod distinct;
mod document;
mod donors;
mod elements;
mod every_bin;
mod hash;
mod hash_bitmap;
mod independent;
mod lazy;
mod members;
mod numbers;
mod one_hot;
mod one_permutation;
mod order;
mod permutation;
mod set_size;
mod shared_donors;
mod sign_projection;
mod signature;
mod signature_bytes;
mod sketcher;
mod slot_values;
mod stream;
mod weighted;
mod weights;

pub(crate) use document::Document;
pub use elements::intersection_size;
pub(crate) use order::{MAGNITUDES, OrderCounts};
pub use shared_donors::SharedDonors;
pub use signature::{Signature, Signatures};
pub use sketcher::Sketcher;
pub use slot_values::SlotReader;
pub use stream::Stream;
