//! Enumerates the files with one forged number: which fields of which file are set to which value.
//!
//! In: a whole file. Out: named changes of it. Each number is forged alone, and together with all fields of the same
//! name and value, for example in both superblocks, in manifest and segment header, or in a fence and the page below
//! it.

use crate::attacks::checksums;
use crate::forged::fields::{Field, Fields};
use crate::forged::values;

/// A file to change.
pub struct Base {
    pub name: String,
    pub bytes: Vec<u8>,
    pub fields: Vec<Field>,
}

/// A change: sets these fields to this value.
#[derive(Debug, Clone)]
pub struct Image {
    pub fields: Vec<usize>,
    pub value: u64,
}

impl Base {
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Base {
        let fields = Fields::new(&bytes).of_file();
        Base { name: name.into(), bytes, fields }
    }

    /// Returns all changes.
    pub fn images(&self) -> Vec<Image> {
        let mut images = Vec::new();
        for (i, field) in self.fields.iter().enumerate() {
            let namesakes = self.namesakes(field);
            for value in values::of(field, &self.fields, &self.bytes) {
                images.push(Image { fields: vec![i], value });
                if namesakes.len() > 1 && namesakes[0] == i {
                    images.push(Image { fields: namesakes.clone(), value });
                }
            }
        }
        images
    }

    /// Returns the fields with the same name and value.
    fn namesakes(&self, field: &Field) -> Vec<usize> {
        let (name, value) = (&field.name, field.value(&self.bytes));
        let same = |other: &Field| {
            other.name == *name && other.width == field.width && other.value(&self.bytes) == value
        };
        let all = self.fields.iter().enumerate();
        all.filter(|(_, other)| same(other)).map(|(i, _)| i).collect()
    }

    /// Returns the file with a change. All checksums are correct, except one that was itself changed.
    pub fn forged(&self, image: &Image) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for field in image.fields.iter().map(|i| &self.fields[*i]) {
            let value = image.value.to_le_bytes();
            bytes[field.at..field.at + field.width].copy_from_slice(&value[..field.width]);
        }
        if !self.fields[image.fields[0]].is_checksum() {
            checksums::file(&mut bytes);
        }
        bytes
    }

    /// Returns the name of a change for messages.
    pub fn label(&self, image: &Image) -> String {
        let Field { table, name, at, .. } = &self.fields[image.fields[0]];
        let others = image.fields.len() - 1;
        let file = &self.name;
        format!("{file}: {table}, {name} at {at} and {others} others = {:#x}", image.value)
    }
}
