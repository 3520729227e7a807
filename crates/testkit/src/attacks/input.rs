//! Takes numbers and bytes from the front of an input, and zeros after its end.

/// The unread part of an input.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    /// Starts at the beginning of the input.
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { rest: bytes }
    }

    /// Returns whether the input is used up.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Returns everything that is left.
    pub fn rest(&self) -> &'a [u8] {
        self.rest
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (taken, rest) = self.rest.split_at(N.min(self.rest.len()));
        self.rest = rest;
        let mut bytes = [0; N];
        bytes[..taken.len()].copy_from_slice(taken);
        bytes
    }

    /// Takes the next byte.
    pub fn byte(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    /// Takes the next two bytes.
    pub fn short(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    /// Takes the next four bytes.
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    /// Takes the next eight bytes.
    pub fn long(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}
