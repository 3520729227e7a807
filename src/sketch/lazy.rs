//! `Lazy`: the distribution of independent permutations for a hash or two an element. The thought is that of Manasse's *On the
//! Efficient Determination of Most Near Neighbors*, chapter 4: compare the random numbers of elements bit by bit, and draw no bit
//! that is not looked at.
//!
//! In: the elements of a set that is not empty. Out: as many samples as are drawn. Normative:
//! `format-spec/hashing.md`.
//!
//! For each block of m samples an element draws in how many of them it has the leading "zero" that one in m
//! elements has, and in which: it *claims* those samples. Claims are settled by the bits that follow, the
//! extension, and those by a word of its own where they are equal. Every sample thus has an order of all elements,
//! and its winner is the first of the set: taking other elements away never changes it. A sample that nobody claims is
//! won by the tie words of all elements, for which they have to be looked at once more.
//!
//! What is drawn: for each element one word of 64 bits a block and one a claim, and of a block of w samples it claims w/m on
//! average. That is 1 bit for each element and sample at 128 samples and 4 bits at 32, where `Independent` draws 64; not the
//! quarter to third of a bit of the literature, which draws single bits, but words are what costs. In addition a word
//! for each element and unclaimed sample: `64 (1 - 1/m)^n` bits in sets of n elements, at 128 samples 59 for n = 10, 29 for 100
//! and 0.03 for 1,000.
//!
//! What it costs (`benches/sketch.rs`): at 128 samples it is as fast as `Independent` for sets of 5 elements, 1.2 times as
//! fast for 10, 2.3 times for 100, over 20 times for 1,000 and about 30 times for 10,000; at 32 samples 0.9, 1.2, 4, 7 and 8 times.
//! A single element takes it twice as long. `OnePermutation` is 1.7 times as fast as `Lazy` for 10 elements, 6 to 14
//! times for 100 and 5 to 8 times from 1,000 on.

use super::hash::{Keys, Purpose, mix, stir};
use crate::scheme::Scheme;

/// Most samples of a block (SAMPLE-8). In sets of a thousand elements nearly all are claimed.
const BLOCK: usize = 128;

/// Elements that are drawn for before their claims are looked at.
const CHUNK: usize = 128;

/// The sampler with its keys and tables made ready.
pub(crate) struct Lazy {
    element_key: u64,
    sample_keys: Vec<u64>,
    tie_keys: Vec<u64>,
    blocks: Vec<Block>,
}

/// Samples that an element draws its claims of together.
struct Block {
    key: u64,
    start: usize,
    width: usize,
    /// An element claims as many samples as there are thresholds that its word reaches.
    thresholds: Vec<u64>,
    /// The first three once more, less one. Those that are not there are never exceeded.
    below: [u64; 3],
}

/// What is known of the elements that were looked at. Working memory: it serves set after set.
#[derive(Default)]
pub(crate) struct Claims {
    best: Vec<Best>,
    /// Samples that were claimed with the extension 0, which elsewhere means that nobody claims them. As good as never
    /// are there any; but who knows the seed can make elements that do so.
    zeros: Vec<usize>,
    /// Made when they are needed: other samplers do without.
    chunk: Option<Box<Chunk>>,
    open: Option<Box<Open>>,
}

/// The best claims of a block: of each sample the greatest extension, and the hash of the element it belongs to. Arrays
/// of their full size, so that no place has to be checked.
struct Best {
    extensions: [u64; BLOCK],
    holders: [u64; BLOCK],
}

/// Elements on their way through a block.
struct Chunk {
    hashes: [u64; CHUNK],
    draws: [u64; CHUNK],
    /// Which of them claim one sample, two, and more.
    sorted: [[u8; CHUNK]; 3],
}

/// The samples of a block that nobody claims, and the least tie word of each so far.
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

    /// No claims yet.
    pub(crate) fn start(&self, claims: &mut Claims) {
        claims.zeros.clear();
        claims.best.resize_with(self.blocks.len(), Best::default);
        for (best, block) in claims.best.iter_mut().zip(&self.blocks) {
            best.extensions[..block.width].fill(0);
        }
    }

    /// Takes the claims of elements (SAMPLE-8, SAMPLE-9).
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

    /// Whether every sample is claimed: then elements that were looked at are needed no more.
    pub(crate) fn complete(&self, claims: &Claims) -> bool {
        self.unclaimed(claims) == 0
    }

    /// How many samples nobody claims.
    pub(crate) fn unclaimed(&self, claims: &Claims) -> usize {
        let open = self.blocks.iter().zip(&claims.best).map(|(block, best)| {
            let extensions = best.extensions[..block.width].iter().enumerate();
            let open = |place| !claims.zeros.contains(&(block.start + place));
            extensions.filter(|(place, extension)| **extension == 0 && open(*place)).count()
        });
        open.sum()
    }

    /// The samples (SAMPLE-9). `elements` are all that were absorbed, unless the claims are complete.
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

    /// Draws how many samples of a block each of the first `count` elements claims, and sorts them by it: so many claim
    /// one sample, two, and more. Without a branch, which nothing could foresee.
    #[inline(never)]
    fn draw(&mut self, block: &Block, count: usize) -> [usize; 3] {
        let [one, two, more] = &mut self.sorted;
        let [mut ones, mut twos, mut mores] = [0; 3];
        let hashed = self.draws.iter_mut().zip(&self.hashes);
        for (i, (draw, h)) in hashed.enumerate().take(count) {
            *draw = mix(h ^ block.key);
            let reaches = block.below.map(|below| usize::from(*draw > below));
            // None of the three counts is above i: the remainders only spare a check.
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

/// The claims of one block on their way to the best.
struct Race<'a> {
    block: &'a Block,
    best: &'a mut Best,
    zeros: &'a mut Vec<usize>,
    tie_keys: &'a [u64],
}

impl Race<'_> {
    /// The claims of a chunk's elements, of which so many claim one sample, two, and more (SAMPLE-8).
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

    /// The claims of an element by the letter of SAMPLE-8, however many they are.
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

    /// One claim. Which of two is better is a matter of chance, so that there is no branch on it; but there is on their
    /// being equal.
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

    /// A claim whose extension is the one that is held: that of an element which comes again, or 0, or, as good as never,
    /// another's (SAMPLE-9).
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
    /// Finds the samples of a block that nobody claims.
    fn find(&mut self, block: &Block, best: &Best, zeros: &[usize]) {
        self.count = 0;
        for (i, extension) in best.extensions[..block.width].iter().enumerate() {
            let claimed = !zeros.is_empty() && zeros.contains(&(block.start + i));
            self.places[self.count % BLOCK] = i as u8;
            self.count += usize::from(*extension == 0 && !claimed);
        }
        self.words[..self.count].fill(u64::MAX);
    }

    /// The least tie words, and whose they are (SAMPLE-9). Words of different elements differ. Sample by sample, so that
    /// what changes stays in registers.
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

/// `T_v = 2^64 Pr[c <= v]`, where c is how many of `width` samples an element claims, each with probability
/// 1/m; as far as that is possible (SAMPLE-8).
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
