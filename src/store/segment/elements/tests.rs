//! Sets come back.
