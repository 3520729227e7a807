//! An external merge sort of numbers.
//!
//! In: numbers in any order. Out: the same numbers in ascending order, in bounded memory. Runs are sorted in
//! memory, spilled, and merged.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::spill::{Spill, SpillPlace};
use crate::error::{Error, Result};
use crate::format::bytes::PutBytes;
use byteorder::{ByteOrder, LittleEndian};

/// Numbers per run. A run takes 8 MiB.
const RUN: usize = 1 << 20;

/// Numbers read back from a run at a time.
const READ: usize = 1 << 13;

/// Collects numbers and sorts them.
#[derive(Debug)]
pub struct SortedSpill {
    place: SpillPlace,
    open: Vec<u64>,
    runs: Vec<Spill>,
}

impl SortedSpill {
    /// Creates a sorter without numbers.
    pub fn new(place: &SpillPlace) -> SortedSpill {
        SortedSpill {
            place: SpillPlace { memory: 0, ..place.clone() },
            open: Vec::new(),
            runs: Vec::new(),
        }
    }

    /// Adds a number.
    pub fn push(&mut self, number: u64) -> Result<()> {
        self.open.push(number);
        if self.open.len() < RUN {
            return Ok(());
        }
        self.open.sort_unstable();
        let mut run = Spill::new(&self.place);
        let mut bytes = Vec::with_capacity(8 * READ);
        for numbers in self.open.chunks(READ) {
            bytes.clear();
            numbers.iter().for_each(|number| bytes.put_u64(*number));
            run.push(&bytes)?;
        }
        self.runs.push(run);
        self.open.clear();
        Ok(())
    }

    /// Visits all numbers in ascending order, until `visit` fails.
    pub fn drain<E: From<Error>>(
        mut self,
        visit: &mut dyn FnMut(u64) -> Result<(), E>,
    ) -> Result<(), E> {
        self.open.sort_unstable();
        if self.runs.is_empty() {
            return self.open.into_iter().try_for_each(visit);
        }
        let mut runs: Vec<Run<'_>> = self.runs.iter().map(Run::spilled).collect();
        runs.push(Run { numbers: self.open, at: 0, spill: None });
        let mut heap = BinaryHeap::with_capacity(runs.len());
        for (i, run) in runs.iter_mut().enumerate() {
            heap.extend(run.next()?.map(|number| Reverse((number, i))));
        }
        while let Some(Reverse((number, i))) = heap.pop() {
            visit(number)?;
            heap.extend(runs[i].next()?.map(|number| Reverse((number, i))));
        }
        Ok(())
    }
}

/// A sorted run that is being read.
struct Run<'a> {
    numbers: Vec<u64>,
    at: usize,
    /// The spill, and how many bytes of it were read. `None` if the run is in memory.
    spill: Option<(&'a Spill, u64)>,
}

impl<'a> Run<'a> {
    fn spilled(spill: &'a Spill) -> Run<'a> {
        Run { numbers: Vec::new(), at: 0, spill: Some((spill, 0)) }
    }

    fn next(&mut self) -> Result<Option<u64>> {
        if self.at == self.numbers.len() {
            let Some((spill, read)) = &mut self.spill else { return Ok(None) };
            let bytes = (spill.length() - *read).min(8 * READ as u64) as usize;
            let mut buffer = vec![0; bytes];
            spill.read(&mut buffer, *read)?;
            *read += bytes as u64;
            self.numbers.resize(bytes / 8, 0);
            LittleEndian::read_u64_into(&buffer, &mut self.numbers);
            self.at = 0;
        }
        let number = self.numbers.get(self.at).copied();
        self.at += 1;
        Ok(number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;

    #[test]
    fn numbers_come_out_sorted_with_and_without_spilling() {
        let directory = tempfile::tempdir().unwrap();
        let place =
            SpillPlace { directory: Some(Arc::new(directory.path().to_path_buf())), memory: 0 };
        for n in [0, 5, RUN as u64, 2 * RUN as u64 + 77] {
            let mut sorter = SortedSpill::new(&place);
            let numbers = (0..n).map(|i| i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 20);
            let mut expected: Vec<u64> = numbers.clone().collect();
            numbers.for_each(|n| sorter.push(n).unwrap());
            expected.sort_unstable();
            let mut sorted = Vec::new();
            let mut take = |n| {
                sorted.push(n);
                Ok(())
            };
            sorter.drain::<Error>(&mut take).unwrap();
            assert!(sorted == expected, "{n}");
        }
    }
}
