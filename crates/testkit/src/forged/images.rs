//! All files with one forged number: which fields of which file are set to what.
//!
//! In: a whole file. Out: changes of it, each with a name. A number is forged alone, and together with all its
//! namesakes that said the same: both superblocks, manifest and segment headers, a fence and the page below it.

use crate::attacks::checksums;
use crate::forged::fields::{Field, Fields};
use crate::forged::values;

/// A file to be changed.
pub struct Base {
    pub name: String,
    pub bytes: Vec<u8>,
    pub fields: Vec<Field>,
}

/// A change: these fields say this.
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

    /// All changes.
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

    /// Those that have the same name and say the same.
    fn namesakes(&self, field: &Field) -> Vec<usize> {
        let (name, value) = (&field.name, field.value(&self.bytes));
        let same = |other: &Field| {
            other.name == *name && other.width == field.width && other.value(&self.bytes) == value
        };
        let all = self.fields.iter().enumerate();
        all.filter(|(_, other)| same(other)).map(|(i, _)| i).collect()
    }

    /// The file with a change, its checksums right but for one that was itself changed.
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

    /// What a change is called in a message.
    pub fn label(&self, image: &Image) -> String {
        let Field { table, name, at, .. } = &self.fields[image.fields[0]];
        let others = image.fields.len() - 1;
        let file = &self.name;
        format!("{file}: {table}, {name} at {at} and {others} others = {:#x}", image.value)
    }
}
