//! Which segments to merge, and when the file is worth rewriting. The whole policy is here.
//!
//! Segments are merged in tiers: whenever [`FAN_IN`] of them are of similar size, they become one of the
//! next size. So a row is rewritten about once for each factor of four that the database grows, and there
//! are about a dozen segments at any size. A segment of which more than half is hidden is rewritten alone.

/// Segments of similar size that are merged into one.
pub const FAN_IN: usize = 4;

/// A segment counts as being of the same size as another up to this factor.
const SIMILAR: u64 = 4;

/// Most segments before the smallest ones are merged whatever their sizes.
pub const MOST_SEGMENTS: usize = 12;

/// Sizes below this are all the same: tiny segments are merged whatever their proportions.
const SMALLEST: u64 = 4096;

/// A file is worth rewriting above this size.
const VACUUM_BYTES: u64 = 64 << 20;

/// What the policy looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// All rows.
    pub rows: u32,
    /// Rows that are not hidden.
    pub live_rows: u32,
}

/// The places of the segments to merge into one; none if all is well.
pub fn choose(segments: &[Size]) -> Vec<usize> {
    if let Some(i) = segments.iter().position(|s| s.live_rows < s.rows / 2 && s.rows > 64) {
        return vec![i];
    }
    let mut order: Vec<usize> = (0..segments.len()).collect();
    let size = |i: &usize| u64::from(segments[*i].live_rows).max(SMALLEST);
    order.sort_by_key(size);
    // The largest run of segments of similar size that starts at a small one.
    for start in 0..order.len() {
        let limit = size(&order[start]) * SIMILAR;
        let run = order[start..].iter().take_while(|i| size(i) < limit).count();
        if run >= FAN_IN {
            return order[start..start + run].to_vec();
        }
    }
    if segments.len() > MOST_SEGMENTS {
        order.truncate(segments.len() - MOST_SEGMENTS + 1);
        return order;
    }
    Vec::new()
}

/// Whether so many dead bytes of a file are worth a vacuum.
pub fn wants_vacuum(file_bytes: u64, dead_bytes: u64) -> bool {
    file_bytes > VACUUM_BYTES && dead_bytes > file_bytes / 2
}

#[cfg(test)]
mod tests {
    use super::*;

    fn live(rows: u32) -> Size {
        Size { rows, live_rows: rows }
    }

    #[test]
    fn similar_segments_are_merged_and_others_left_alone() {
        assert_eq!(choose(&[]), []);
        assert_eq!(choose(&[live(1_000_000), live(60_000), live(60_000), live(60_000)]), []);
        let sizes = [live(1_000_000), live(60_000), live(60_000), live(60_000), live(61_000)];
        assert_eq!(choose(&sizes), [1, 2, 3, 4]);
        assert_eq!(choose(&[live(1), live(2), live(3), live(4000), live(100_000)]), [0, 1, 2, 3]);
    }

    #[test]
    fn a_segment_that_is_mostly_hidden_is_rewritten() {
        let hollow = Size { rows: 1000, live_rows: 400 };
        assert_eq!(choose(&[live(90_000), hollow]), [1]);
    }

    /// A database that grows to 100 M rows by checkpoints of 65,536 has at most a dozen segments at any
    /// time, and rewrites each row a few times only.
    #[test]
    fn growth_keeps_segments_and_rewriting_few() {
        let (mut segments, mut rewritten, mut most) = (Vec::new(), 0_u64, 0);
        let checkpoints = 1526;
        for _ in 0..checkpoints {
            segments.push(live(65_536));
            loop {
                let chosen = choose(&segments);
                if chosen.is_empty() {
                    break;
                }
                let rows: u32 = chosen.iter().map(|i| segments[*i].rows).sum();
                rewritten += u64::from(rows);
                let mut i = 0;
                segments.retain(|_| {
                    i += 1;
                    !chosen.contains(&(i - 1))
                });
                segments.push(live(rows));
            }
            most = most.max(segments.len());
        }
        assert!(most <= MOST_SEGMENTS, "{most}");
        let times = rewritten as f64 / (f64::from(checkpoints) * 65_536.0);
        assert!(times < 6.0, "{times}");
    }
}
