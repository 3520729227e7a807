//! The serialized form of a comparison: the similarity with its error, and the measures that need set sizes if those
//! are known.

use serde::ser::{Serialize, SerializeStruct, Serializer};

use super::Comparison;

impl Serialize for Comparison {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut fields = serializer.serialize_struct("Comparison", 7)?;
        fields.serialize_field("measure", self.measure().name())?;
        fields.serialize_field("similarity", &self.similarity())?;
        fields.serialize_field("exact", &self.is_exact())?;
        fields.serialize_field("equal_samples", &self.equal_samples())?;
        fields.serialize_field("intersection", &self.intersection().ok())?;
        fields.serialize_field("containment_of_first", &self.containment_of_first().ok())?;
        fields.serialize_field("containment_of_second", &self.containment_of_second().ok())?;
        fields.end()
    }
}
