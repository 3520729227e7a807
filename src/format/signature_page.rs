//! Signature pages: the distinct signatures of a segment. Implements `format-spec/segment.md`.
//!
//! In: a verified page, or the signatures of a new one. Out: a checked view, or a payload. A page holds the first one
//! or two planes of all its signatures, followed by their other planes. So a scan reads only one or two of the b planes
//! of the signatures that it rejects early. A comparison touches one or two cache lines to reject a signature, and as
//! many again to accept it. All pages but the last hold the same number of signatures, so the place of a signature
//! follows from its id. A page is checked once, when it is read, and its words are used in place. A page does not say
//! which rows have its signatures.

use std::sync::Arc;

use byteorder::{ByteOrder, LittleEndian};
use zerocopy::little_endian::U32;

use super::bytes::{PutBytes, broken, index, position, round_up};
use super::page::{HEADER_BYTES, Page, PageKind};
use crate::error::Result;
use crate::kernel::{Row, Rows};
use crate::scheme::{CardinalityField, Scheme};
use crate::sketch::Signature;

const WHAT: &str = "signature page";

/// The size of the signatures of a scheme and of their pages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SignatureShape {
    words_per_plane: usize,
    /// The words in the first planes of a signature.
    first_words: usize,
    planes: usize,
    code_bits: usize,
    field: CardinalityField,
    /// The bits in the last word of a plane that no sample uses.
    spare: u64,
}

impl SignatureShape {
    /// The shape of the signatures of a scheme.
    pub fn of(scheme: &Scheme) -> SignatureShape {
        let used = scheme.samples % 64;
        SignatureShape {
            words_per_plane: scheme.words_per_plane(),
            first_words: scheme.first_words(),
            planes: scheme.bits.into(),
            code_bits: code_bits(scheme.cardinality),
            field: scheme.cardinality,
            spare: if used == 0 { 0 } else { u64::MAX.checked_shl(used).unwrap_or(0) },
        }
    }

    /// The number of words in a signature.
    pub fn words(self) -> usize {
        self.words_per_plane.saturating_mul(self.planes)
    }

    /// True if a signature of this shape could have these words and this code (SIG-3, SIG-5).
    pub fn fits(self, planes: &[u64], code: u32) -> bool {
        let mut last = planes.chunks_exact(self.words_per_plane.max(1)).filter_map(<[u64]>::last);
        let code_fits = match self.code_bits {
            32 => true,
            bits => code >> bits == 0,
        };
        planes.len() == self.words() && last.all(|word| word & self.spare == 0) && code_fits
    }

    /// The length of a payload with `count` signatures: their words, then their cardinality codes.
    pub fn payload_bytes(self, count: usize) -> usize {
        let words = self.words().saturating_mul(8).saturating_mul(count);
        words.saturating_add(self.code_bits.saturating_mul(count).div_ceil(8))
    }

    /// The offset and length of the first planes of signature `i` in a payload with `count` signatures, and of its
    /// other planes.
    pub fn place_in_page(self, i: u32, count: u32) -> ((usize, usize), (usize, usize)) {
        let one = self.first_words.saturating_mul(8);
        let others = self.words().saturating_mul(8).saturating_sub(one);
        let first = index(i).saturating_mul(one);
        let rest = index(count).saturating_mul(one).saturating_add(index(i).saturating_mul(others));
        ((first, one), (rest, others))
    }

    /// The number of signatures in every page but the last: as many as fit in 64 KiB (SIGP-1).
    pub fn per_page(self) -> u32 {
        let room = PageKind::Signatures.max_payload().saturating_mul(8);
        let each = self.words().saturating_mul(64).saturating_add(self.code_bits);
        u32::try_from(room.checked_div(each).unwrap_or(1)).unwrap_or(1).max(1)
    }

    /// The length of a page with `count` signatures.
    pub fn page_bytes(self, count: u32) -> u64 {
        position(round_up(HEADER_BYTES.saturating_add(self.payload_bytes(index(count)))))
    }

    /// The length of all pages of `ids` signatures.
    pub fn region_bytes(self, ids: u32) -> u64 {
        let per_page = self.per_page();
        let (full, left) = (ids.checked_div(per_page), ids.checked_rem(per_page));
        let full = u64::from(full.unwrap_or(0)).saturating_mul(self.page_bytes(per_page));
        match left.unwrap_or(0) {
            0 => full,
            left => full.saturating_add(self.page_bytes(left)),
        }
    }
}

/// Makes a signature from these words and this code. `None` if the scheme could not have made it or keeps sets.
#[cfg(any(test, feature = "internals"))]
pub fn signature(scheme: &Arc<Scheme>, planes: Box<[u64]>, code: u32) -> Option<Signature> {
    let fits = SignatureShape::of(scheme).fits(&planes, code) && !scheme.elements.are_kept();
    fits.then(|| Signature::from_planes(Arc::clone(scheme), planes, code, false, None))
}

/// The bits of a cardinality code in a page.
fn code_bits(field: CardinalityField) -> usize {
    match field {
        CardinalityField::None => 0,
        CardinalityField::Linear4 => 4,
        CardinalityField::Linear8 | CardinalityField::Log8 => 8,
        CardinalityField::Exact => 32,
    }
}

/// A checked signature page.
#[derive(Debug, Clone)]
pub struct SignaturePage {
    page: Page,
    shape: SignatureShape,
    count: usize,
}

impl SignaturePage {
    /// Checks a page of `count` signatures. `empty` is the place of the signature of the empty set, if the page has
    /// it.
    pub fn new(
        mut page: Page,
        shape: SignatureShape,
        count: u32,
        empty: Option<u32>,
    ) -> Result<SignaturePage> {
        let count = index(count);
        if page.payload().len() != shape.payload_bytes(count) || count == 0 {
            let detail = format!("its payload does not hold {count} signatures");
            return Err(broken(WHAT, "SIGP-1", 20, detail));
        }
        page.words_to_native(shape.words().saturating_mul(count));
        let page = SignaturePage { page, shape, count };
        page.check(empty.map(index))?;
        Ok(page)
    }

    /// SIGP-2 to SIGP-4: unused bits are zero, codes are possible, and the empty set is all zero.
    fn check(&self, empty: Option<usize>) -> Result<()> {
        let spare = self.shape.spare;
        if spare != 0 {
            let planes = self.words().chunks_exact(self.shape.words_per_plane.max(1));
            if planes.filter_map(|plane| plane.last()).any(|word| word & spare != 0) {
                return Err(broken(WHAT, "SIGP-2", 24, "bits past the last sample are not zero"));
            }
        }
        let half_used = self.shape.code_bits == 4 && self.count % 2 == 1;
        if half_used && self.page.payload().last().is_some_and(|byte| byte >> 4 != 0) {
            return Err(broken(WHAT, "SIGP-2", 24, "bits past the last code are not zero"));
        }
        let sized = self.shape.field.tells_size();
        let zero = |i: usize| self.code(i) == Some(0) && Some(i) != empty;
        if sized && (0..self.count).any(zero) {
            return Err(broken(WHAT, "SIGP-3", 24, "a set that is not empty has the size 0"));
        }
        if let Some(empty) = empty {
            let blank = self.planes(empty).is_some_and(|mut words| words.all(|word| word == 0));
            if !blank || self.code(empty) != Some(0) {
                return Err(broken(WHAT, "SIGP-4", 24, "the empty set is not all zero"));
            }
        }
        Ok(())
    }

    /// The number of signatures in the page.
    pub fn count(&self) -> usize {
        self.count
    }

    /// The memory that the page takes.
    pub fn memory(&self) -> usize {
        self.page.memory()
    }

    /// All signatures, for the kernels. The scheme must be the one that the shape was made from.
    pub fn rows<'a>(&'a self, scheme: &Scheme) -> Option<Rows<'a>> {
        let (first, rest) = self.halves();
        Rows::new(scheme, first, rest)
    }

    fn words(&self) -> &[u64] {
        let words = self.shape.words().saturating_mul(self.count);
        self.page.payload_words().get(..words).unwrap_or_default()
    }

    /// The first planes of all signatures, and the other planes. Signatures are in order in both.
    fn halves(&self) -> (&[u64], &[u64]) {
        let first = self.shape.first_words.saturating_mul(self.count);
        self.words().split_at_checked(first).unwrap_or_default()
    }

    /// Signature `i`, for the kernels. `None` past the last one.
    pub fn row(&self, i: usize) -> Option<Row<'_>> {
        let (first, rest) = self.halves();
        let one = self.shape.first_words;
        let others = self.shape.words().saturating_sub(one);
        let first = first.get(i.checked_mul(one)?..)?.get(..one)?;
        let rest = rest.get(i.checked_mul(others)?..)?.get(..others)?;
        Some((first, rest))
    }

    /// The words of signature `i`, plane by plane.
    fn planes(&self, i: usize) -> Option<impl Iterator<Item = u64>> {
        let (first, rest) = self.row(i)?;
        Some(first.iter().chain(rest).copied())
    }

    /// The cardinality code of signature `i` (SIG-5). `None` past the last one.
    pub fn code(&self, i: usize) -> Option<u32> {
        if i >= self.count {
            return None;
        }
        let start = self.shape.words().saturating_mul(8).saturating_mul(self.count);
        let codes = self.page.payload().get(start..)?;
        match self.shape.field {
            CardinalityField::None => Some(0),
            CardinalityField::Linear4 => {
                let half = |byte: &u8| if i.is_multiple_of(2) { byte & 15 } else { byte >> 4 };
                codes.get(i / 2).map(|byte| u32::from(half(byte)))
            }
            CardinalityField::Linear8 | CardinalityField::Log8 => {
                codes.get(i).map(|byte| u32::from(*byte))
            }
            CardinalityField::Exact => {
                let code = codes.get(i.checked_mul(4)?..)?.first_chunk::<4>()?;
                Some(LittleEndian::read_u32(code))
            }
        }
    }

    /// Copies the planes of signature `i` to `planes`. `None` past the last one.
    pub fn copy_planes(&self, i: usize, planes: &mut Vec<u64>) -> Option<()> {
        planes.clear();
        planes.extend(self.planes(i)?);
        Some(())
    }

    /// Signature `i`. The caller gives its elements if the scheme keeps sets. `None` past the last one.
    pub fn signature(
        &self,
        i: usize,
        scheme: &Arc<Scheme>,
        empty: bool,
        elements: Option<Arc<[u64]>>,
    ) -> Option<Signature> {
        let planes = self.planes(i)?.collect();
        Some(Signature::from_planes(Arc::clone(scheme), planes, self.code(i)?, empty, elements))
    }
}

/// Encodes the payload of a page with these signatures, each given as its planes and its code.
pub fn encode<'a>(
    shape: SignatureShape,
    signatures: impl ExactSizeIterator<Item = (&'a [u64], u32)> + Clone,
) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(shape.payload_bytes(signatures.len()));
    let mut push = |words: &[u64]| words.iter().for_each(|word| bytes.put_u64(*word));
    for (planes, _) in signatures.clone() {
        push(planes.get(..shape.first_words).unwrap_or_default());
    }
    for (planes, _) in signatures.clone() {
        push(planes.get(shape.first_words..).unwrap_or_default());
    }
    let codes = signatures.map(|(_, code)| U32::new(code).to_bytes());
    match shape.field {
        CardinalityField::None => {}
        CardinalityField::Linear4 => {
            for (i, [low, ..]) in codes.enumerate() {
                match bytes.last_mut() {
                    Some(last) if i % 2 == 1 => *last |= low << 4,
                    _ => bytes.push(low & 15),
                }
            }
        }
        CardinalityField::Linear8 | CardinalityField::Log8 => {
            codes.for_each(|[low, ..]| bytes.push(low));
        }
        CardinalityField::Exact => codes.for_each(|code| bytes.extend_from_slice(&code)),
    }
    bytes
}

#[cfg(test)]
#[path = "signature_page_tests.rs"]
mod tests;
