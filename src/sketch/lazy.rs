//! `Lazy`: samples with the distribution of independent permutations, at the cost of about two hashes per element for
//! each block of up to 128 samples. After Manasse, *On the Efficient Determination of Most Near Neighbors*, chapter 4:
//! compare the random numbers of elements bit by bit, and draw only the bits that are compared.
//!
//! In: the elements of a set that is not empty. Out: the samples. Normative: `format-spec/hashing.md`.
//!
//! Samples form blocks. In a block, m is the reciprocal of the probability with which an element *claims* a sample.
//! For each block an element draws how many samples it claims, and which. Of two claims to a sample, the one with the
//! greater *extension* wins: these are the bits that follow in the random number. If the extensions are equal, a tie
//! word decides. So every sample has an order of all elements, and the first element of the set in this order wins the
//! sample. Removing other elements never changes the winner. A sample without a claim is won by the least tie word of
//! all elements, which requires a second pass over them.
//!
//! Random bits: an element draws one 64-bit word per block and one per claim, and it claims w/m samples of a block of
//! w on average. That is 1 bit per element and sample at 128 samples, and 4 bits at 32. `Independent` draws 64. The
//! literature needs only a quarter to a third of a bit, because it draws single bits. Here, each 64-bit word has its
//! cost, however many of its bits are used. Unclaimed samples need another word per element: `64 (1 - 1/m)^n` bits in
//! sets of n elements. At 128 samples that is 59 bits for n = 10, 29 for 100 and 0.03 for 1,000.
//!
//! Speed (`benches/sketch.rs`): compared with `Independent` at 128 samples, it is as fast for 5 elements, 1.2 times
//! as fast for 10, 2.3 times for 100, over 20 times for 1,000 and about 30 times for 10,000. At 32 samples it is 0.9,
//! 1.2, 4, 7 and 8 times as fast. For a single element it takes twice as long. `OnePermutation` is 1.7 times as fast
//! as `Lazy` for 10 elements, 6 to 14 times for 100 and 5 to 8 times from 1,000 on.

use super::hash::{Keys, Purpose, mix, stir};
use crate::scheme::Scheme;

/// Most samples of a block (SAMPLE-8). Sets of a thousand elements claim nearly all of them.
const BLOCK: usize = 128;

/// Elements whose claims are drawn before any claim is compared.
const CHUNK: usize = 128;

/// The sampler, with its keys and tables.
pub(crate) struct Lazy {
    element_key: u64,
    sample_keys: Vec<u64>,
    tie_keys: Vec<u64>,
    blocks: Vec<Block>,
}

/// A block: samples whose claims an element draws together.
struct Block {
    key: u64,
    start: usize,
    width: usize,
    /// An element claims as many samples as there are thresholds that its word reaches.
    thresholds: Vec<u64>,
    /// The first three thresholds less one. A missing threshold is `u64::MAX` here, which no word exceeds.
    below: [u64; 3],
}

/// The claims so far. Working memory, reused from set to set.
#[derive(Default)]
pub(crate) struct Claims {
    best: Vec<Best>,
    /// Samples that were claimed with the extension 0, which elsewhere means unclaimed. There are hardly ever any,
    /// but someone who knows the seed can construct such elements.
    zeros: Vec<usize>,
    /// Allocated on first use, since other samplers do not need it.
    chunk: Option<Box<Chunk>>,
    open: Option<Box<Open>>,
}

/// The best claims of a block: for each sample the greatest extension, and the hash of the element that has it. The
/// arrays have their full size, which avoids bounds checks.
struct Best {
    extensions: [u64; BLOCK],
    holders: [u64; BLOCK],
}

/// The elements of a chunk while a block is computed.
struct Chunk {
    hashes: [u64; CHUNK],
    draws: [u64; CHUNK],
    /// Which of them claim one sample, two, and more.
    sorted: [[u8; CHUNK]; 3],
}

/// The unclaimed samples of a block, and the least tie word of each so far.
struct Open {
    places: [u8; BLOCK],
    words: [u64; BLOCK],
    count: usize,
}

impl Default for Best {
    fn default() -> Best {
        Best { extensions: [0; BLOCK], holders: [0; BLOCK] }
    }
}

impl Default for Chunk {
    fn default() -> Chunk {
        Chunk { hashes: [0; CHUNK], draws: [0; CHUNK], sorted: [[0; CHUNK]; 3] }
    }
}

impl Default for Open {
    fn default() -> Open {
        Open { places: [0; BLOCK], words: [0; BLOCK], count: 0 }
    }
}

impl Lazy {
    pub(crate) fn new(scheme: &Scheme) -> Lazy {
        let drawn = scheme.drawn_samples() as usize;
        let all = |purpose| {
            let keys = Keys::new(scheme.seed, purpose);
            (0..drawn as u64).map(move |j| keys.key(j)).collect()
        };
        let m = drawn.clamp(2, BLOCK);
        let keys = Keys::new(scheme.seed, Purpose::Blocks);
        let block = |i| Block::new(keys.key(i as u64), i * m, m.min(drawn - i * m), m);
        Lazy {
            element_key: Keys::new(scheme.seed, Purpose::Elements).key(0),
            sample_keys: all(Purpose::Samples),
            tie_keys: all(Purpose::Ties),
            blocks: (0..drawn.div_ceil(m)).map(block).collect(),
        }
    }

    /// Removes all claims.
    pub(crate) fn start(&self, claims: &mut Claims) {
        claims.zeros.clear();
        claims.best.resize_with(self.blocks.len(), Best::default);
        for (best, block) in claims.best.iter_mut().zip(&self.blocks) {
            best.extensions[..block.width].fill(0);
        }
    }

    /// Adds the claims of elements (SAMPLE-8, SAMPLE-9).
    pub(crate) fn absorb(&self, elements: &[u64], claims: &mut Claims) {
        let Claims { best, zeros, chunk, .. } = claims;
        let chunk = chunk.get_or_insert_default();
        for elements in elements.chunks(CHUNK) {
            chunk.hash(elements, self.element_key);
            for (block, best) in self.blocks.iter().zip(&mut *best) {
                let counts = chunk.draw(block, elements.len());
                let tie_keys = &self.tie_keys[block.start..];
                Race { block, best, zeros, tie_keys }.run(chunk, counts);
            }
        }
    }

    /// Whether every sample is claimed. Then the elements so far are no longer needed.
    pub(crate) fn complete(&self, claims: &Claims) -> bool {
        self.unclaimed(claims) == 0
    }

    /// The number of unclaimed samples.
    pub(crate) fn unclaimed(&self, claims: &Claims) -> usize {
        let open = self.blocks.iter().zip(&claims.best).map(|(block, best)| {
            let extensions = best.extensions[..block.width].iter().enumerate();
            let open = |place| !claims.zeros.contains(&(block.start + place));
            extensions.filter(|(place, extension)| **extension == 0 && open(*place)).count()
        });
        open.sum()
    }

    /// Makes the samples (SAMPLE-9). `elements` are all that were added, unless every sample is claimed.
    pub(crate) fn finish(&self, elements: &[u64], claims: &mut Claims, samples: &mut [u64]) {
        let Claims { best, zeros, chunk, open } = claims;
        let (chunk, open) = (chunk.get_or_insert_default(), open.get_or_insert_default());
        for (block, best) in self.blocks.iter().zip(best) {
            let own = block.start..block.start + block.width;
            open.find(block, best, zeros);
            if open.count > 0 {
                for elements in elements.chunks(CHUNK) {
                    let hashes = chunk.hash(elements, self.element_key);
                    open.settle(hashes, &self.tie_keys[own.clone()], &mut best.holders);
                }
            }
            let keyed = samples[own.clone()].iter_mut().zip(&self.sample_keys[own]);
            for ((sample, key), holder) in keyed.zip(&best.holders) {
                *sample = mix(holder ^ key);
            }
        }
    }
}

impl Block {
    fn new(key: u64, start: usize, width: usize, m: usize) -> Block {
        let thresholds = thresholds(width, m);
        let below = [0, 1, 2].map(|v| thresholds.get(v).map_or(u64::MAX, |t| t - 1));
        Block { key, start, width, thresholds, below }
    }
}

impl Chunk {
    /// Hashes up to [`CHUNK`] elements.
    fn hash(&mut self, elements: &[u64], key: u64) -> &[u64] {
        for (h, x) in self.hashes.iter_mut().zip(elements) {
            *h = stir(x ^ key);
        }
        &self.hashes[..elements.len()]
    }

    /// Draws how many samples of a block each of the first `count` elements claims. Returns how many elements claim
    /// one sample, two, and more. Has no branches, since they would be unpredictable.
    #[inline(never)]
    fn draw(&mut self, block: &Block, count: usize) -> [usize; 3] {
        let [one, two, more] = &mut self.sorted;
        let [mut ones, mut twos, mut mores] = [0; 3];
        let hashed = self.draws.iter_mut().zip(&self.hashes);
        for (i, (draw, h)) in hashed.enumerate().take(count) {
            *draw = mix(h ^ block.key);
            let reaches = block.below.map(|below| usize::from(*draw > below));
            // None of the three counts exceeds i. The remainders only avoid bounds checks.
            one[ones % CHUNK] = i as u8;
            two[twos % CHUNK] = i as u8;
            more[mores % CHUNK] = i as u8;
            ones += reaches[0] - reaches[1];
            twos += reaches[1] - reaches[2];
            mores += reaches[2];
        }
        [ones, twos, mores]
    }
}

/// Compares the claims of one block with the best ones.
struct Race<'a> {
    block: &'a Block,
    best: &'a mut Best,
    zeros: &'a mut Vec<usize>,
    tie_keys: &'a [u64],
}

impl Race<'_> {
    /// Adds the claims of a chunk's elements, given how many claim one sample, two, and more (SAMPLE-8).
    #[inline(never)]
    fn run(&mut self, chunk: &Chunk, [ones, twos, mores]: [usize; 3]) {
        let of = |i: &u8| {
            let i = usize::from(*i) % CHUNK;
            (chunk.draws[i], chunk.hashes[i])
        };
        let [one, two, more] = &chunk.sorted;
        let width = self.block.width as u64;
        for (draw, h) in one[..ones].iter().map(of) {
            let (place, extension) = split(draw, 0, width);
            self.claim(place, extension, h);
        }
        for (draw, h) in two[..twos].iter().map(of) {
            let (first, extension) = split(draw, 0, width - 1);
            self.claim(first, extension, h);
            let (second, extension) = split(draw, 1, width);
            let second = if second == first { self.block.width - 1 } else { second };
            self.claim(second, extension, h);
        }
        for (draw, h) in more[..mores].iter().map(of) {
            self.claim_several(draw, h);
        }
    }

    /// Adds any number of claims of one element, exactly as SAMPLE-8 defines them.
    fn claim_several(&mut self, draw: u64, h: u64) {
        let count = self.block.thresholds.iter().take_while(|t| **t <= draw).count();
        let mut taken = 0_u128;
        for t in 0..count {
            let range = self.block.width - count + t + 1;
            let (mut place, extension) = split(draw, t as u64, range as u64);
            if taken >> place & 1 == 1 {
                place = range - 1;
            }
            taken |= 1 << place;
            self.claim(place, extension, h);
        }
    }

    /// Adds one claim. Which of two claims is better is random, so there is no branch on it. Equal claims are rare,
    /// so there is a branch on that.
    #[inline(always)]
    fn claim(&mut self, place: usize, extension: u64, h: u64) {
        let held = &mut self.best.extensions[place % BLOCK];
        let holder = &mut self.best.holders[place % BLOCK];
        if extension == *held {
            return self.tie(place, extension, h);
        }
        let wins = extension > *held;
        *held = if wins { extension } else { *held };
        *holder = if wins { h } else { *holder };
    }

    /// Settles a claim whose extension equals the best one (SAMPLE-9). It may be of a repeated element, both extensions
    /// may be 0, or, hardly ever, two elements have equal extensions.
    #[cold]
    fn tie(&mut self, place: usize, extension: u64, h: u64) {
        let holder = &mut self.best.holders[place % BLOCK];
        let sample = self.block.start + place;
        if extension == 0 && !self.zeros.contains(&sample) {
            self.zeros.push(sample);
            *holder = h;
        }
        let key = self.tie_keys[place];
        if mix(h ^ key) < mix(*holder ^ key) {
            *holder = h;
        }
    }
}

impl Open {
    /// Finds the unclaimed samples of a block.
    fn find(&mut self, block: &Block, best: &Best, zeros: &[usize]) {
        self.count = 0;
        for (i, extension) in best.extensions[..block.width].iter().enumerate() {
            let claimed = !zeros.is_empty() && zeros.contains(&(block.start + i));
            self.places[self.count % BLOCK] = i as u8;
            self.count += usize::from(*extension == 0 && !claimed);
        }
        self.words[..self.count].fill(u64::MAX);
    }

    /// The least tie words, and the elements that have them (SAMPLE-9). Words of different elements differ. The outer
    /// loop is over samples, so that what changes stays in registers.
    #[inline(never)]
    fn settle(&mut self, hashes: &[u64], tie_keys: &[u64], holders: &mut [u64; BLOCK]) {
        for (place, least) in self.places.iter().zip(&mut self.words).take(self.count) {
            let key = tie_keys[usize::from(*place)];
            let holder = &mut holders[usize::from(*place) % BLOCK];
            for h in hashes {
                let word = mix(h ^ key);
                *holder = if word <= *least { *h } else { *holder };
                *least = word.min(*least);
            }
        }
    }
}

/// Place and extension of an element's claim number `index` (SAMPLE-8).
#[inline(always)]
fn split(draw: u64, index: u64, range: u64) -> (usize, u64) {
    let z = u128::from(Keys::below(draw).key(index)) * u128::from(range);
    ((z >> 64) as usize, z as u64)
}

/// The thresholds `T_v = 2^64 Pr[c <= v]`. c is the number of samples, of `width`, that an element claims, each with
/// probability 1/m (SAMPLE-8). The list ends before the first v of probability 0.
fn thresholds(width: usize, m: usize) -> Vec<u64> {
    let (width, m) = (width as u128, m as u128);
    let mut probability = (0..width).fold(1_u128 << 96, |p, _| p * (m - 1) / m);
    let (mut sum, mut all) = (0, Vec::new());
    for v in 0..width {
        if probability == 0 {
            break;
        }
        sum += probability;
        all.push((sum >> 32) as u64);
        probability = probability * (width - v) / ((v + 1) * (m - 1));
    }
    all
}

#[cfg(test)]
#[path = "lazy_tests.rs"]
mod tests;
