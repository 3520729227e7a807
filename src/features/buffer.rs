//! A vector with initialised memory after its end.
//!
//! A caller that does not know how much it will write writes into [`Buffer::spare`], and then calls
//! [`Buffer::advance`] with the amount. Memory is initialised once, not for each text.

use std::ops::{Deref, DerefMut};

#[derive(Debug, Default)]
pub(super) struct Buffer<T> {
    all: Vec<T>,
    length: usize,
}

impl<T: Copy + Default> Buffer<T> {
    pub(super) fn clear(&mut self) {
        self.length = 0;
    }

    /// At least `room` elements after the end. Their values have no meaning.
    #[inline]
    pub(super) fn spare(&mut self, room: usize) -> &mut [T] {
        if self.all.len() - self.length < room {
            self.grow(room);
        }
        &mut self.all[self.length..]
    }

    #[cold]
    fn grow(&mut self, room: usize) {
        let enough = (self.length + room).max(2 * self.all.len());
        self.all.resize(enough, T::default());
    }

    /// Moves the end over the next `by` elements.
    ///
    /// # Panics
    /// If there are not that many elements after the end.
    #[inline]
    pub(super) fn advance(&mut self, by: usize) {
        assert!(by <= self.all.len() - self.length, "elements that are there");
        self.length += by;
    }

    #[inline]
    pub(super) fn push(&mut self, element: T) {
        self.extend_from_slice(&[element]);
    }

    #[inline]
    pub(super) fn extend_from_slice(&mut self, elements: &[T]) {
        self.spare(elements.len())[..elements.len()].copy_from_slice(elements);
        self.length += elements.len();
    }

    /// Appends a copy of a part of itself.
    pub(super) fn extend_from_within(&mut self, part: std::ops::Range<usize>) {
        let count = part.len();
        self.spare(count);
        self.all.copy_within(part, self.length);
        self.length += count;
    }

    /// Removes the last element, if there is one.
    pub(super) fn pop(&mut self) {
        self.length = self.length.saturating_sub(1);
    }

    /// Removes the first `count` elements and moves the others to the front.
    pub(super) fn drop_front(&mut self, count: usize) {
        let count = count.min(self.length);
        self.all.copy_within(count..self.length, 0);
        self.length -= count;
    }

    /// Keeps at most the first `length` elements.
    pub(super) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
    }
}

impl<T> Deref for Buffer<T> {
    type Target = [T];

    #[inline]
    fn deref(&self) -> &[T] {
        &self.all[..self.length]
    }
}

impl<T> DerefMut for Buffer<T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut [T] {
        &mut self.all[..self.length]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn is_a_vector() {
        let (mut buffer, mut vector) = (Buffer::default(), Vec::new());
        for i in 0..300_u32 {
            match i % 5 {
                0 => {
                    let room = (i % 7) as usize;
                    let spare = buffer.spare(room + 3);
                    spare[..room].fill(i);
                    buffer.advance(room);
                    vector.resize(vector.len() + room, i);
                }
                1 => {
                    buffer.push(i);
                    vector.push(i);
                    if i % 3 == 0 {
                        buffer.pop();
                        vector.pop();
                    }
                }
                2 => {
                    buffer.extend_from_slice(&[i, i + 1]);
                    vector.extend_from_slice(&[i, i + 1]);
                }
                3 => {
                    let part = vector.len() / 3..vector.len() / 2;
                    buffer.extend_from_within(part.clone());
                    vector.extend_from_within(part);
                }
                _ if i % 4 == 0 => {
                    buffer.drop_front(3);
                    vector.drain(..vector.len().min(3));
                }
                _ => {
                    buffer.truncate(200);
                    vector.truncate(200);
                }
            }
            assert_eq!(*buffer, *vector);
        }
        buffer.clear();
        buffer.pop();
        assert_eq!(*buffer, [0; 0]);
    }
}
