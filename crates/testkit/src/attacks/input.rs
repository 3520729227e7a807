//! Numbers and bytes from the front of an input; zeros when it has ended.

/// What is left of an input.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    rest: &'a [u8],
}

impl<'a> Input<'a> {
    /// All of it.
    pub fn new(bytes: &'a [u8]) -> Input<'a> {
        Input { rest: bytes }
    }

    /// Whether nothing is left.
    pub fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    /// Everything that is left.
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

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.take::<1>()[0]
    }

    /// The next two bytes.
    pub fn short(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    /// The next four bytes.
    pub fn word(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    /// The next eight bytes.
    pub fn long(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}
