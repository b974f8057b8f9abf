//! The bytes of a pack, aligned so that numbers can be read where they lie.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::AnyBitPattern;

/// A run of bytes that starts on a multiple of sixteen.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct AlignedBytes {
    words: Vec<u128>,
    length: usize,
}

impl AlignedBytes {
    /// So many zeros, to be filled in place.
    pub fn zeroed(length: usize) -> Self {
        Self {
            words: vec![0; length.div_ceil(size_of::<u128>())],
            length,
        }
    }
}

impl AlignedBytes {
    /// The same of a length that somebody claims; `None` where there is not so much memory.
    pub fn try_zeroed(length: usize) -> Option<Self> {
        let count = length.div_ceil(size_of::<u128>());
        let mut words = Vec::new();
        words.try_reserve_exact(count).ok()?;
        words.resize(count, 0);
        Some(Self { words, length })
    }
}

impl From<&[u8]> for AlignedBytes {
    fn from(bytes: &[u8]) -> Self {
        let mut aligned = Self::zeroed(bytes.len());
        aligned.copy_from_slice(bytes);
        aligned
    }
}

impl Deref for AlignedBytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.length]
    }
}

impl DerefMut for AlignedBytes {
    fn deref_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.length]
    }
}

/// Where numbers of one type lie in a pack.
#[derive(Debug, PartialEq, Eq)]
pub struct Place<T> {
    /// Offset of the first byte.
    pub at: usize,
    /// How many numbers.
    pub count: usize,
    of: PhantomData<T>,
}

impl<T> Clone for Place<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Place<T> {}

impl<T: AnyBitPattern + bytemuck::NoUninit> Place<T> {
    /// `count` numbers from offset `at`, which is a multiple of their size.
    pub fn new(at: usize, count: usize) -> Self {
        Self {
            at,
            count,
            of: PhantomData,
        }
    }

    /// Offset behind the last byte.
    pub fn end(&self) -> usize {
        self.at + self.count * size_of::<T>()
    }

    /// The numbers.
    pub fn of<'a>(&self, bytes: &'a AlignedBytes) -> &'a [T] {
        bytemuck::cast_slice(&bytes[self.at..self.end()])
    }

    /// The numbers, to be written.
    pub fn of_mut<'a>(&self, bytes: &'a mut AlignedBytes) -> &'a mut [T] {
        let range = self.at..self.end();
        bytemuck::cast_slice_mut(&mut bytes[range])
    }
}

#[cfg(target_endian = "big")]
compile_error!("packs hold little-endian numbers and are read in place");
