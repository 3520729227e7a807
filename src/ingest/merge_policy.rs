//! The merge policy: which segments to merge, and when to vacuum.
//!
//! In: the sizes of segments. Out: the segments to merge. The policy is size-tiered: [`FAN_IN`] or more segments of
//! similar size become one. So a row is rewritten about once for each factor of four that the database grows, and
//! there are at most about a dozen segments. A segment with tombstones for more than half of its rows is rewritten
//! alone.

/// The fewest segments of similar size that are merged.
pub const FAN_IN: usize = 4;

/// Sizes are similar if they differ by less than this factor.
const SIMILAR: u64 = 4;

/// With more segments than this, the smallest ones are merged whatever their sizes.
pub const MOST_SEGMENTS: usize = 12;

/// Segments with fewer rows count as this large, so that tiny segments are always similar.
const SMALLEST: u64 = 4096;

/// Smaller files are never vacuumed in the background.
const VACUUM_BYTES: u64 = 64 << 20;

/// The size of a segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// All rows, with and without tombstones.
    pub rows: u32,
    /// Rows without tombstones.
    pub live_rows: u32,
}

/// Chooses the segments to merge into one, by their positions. Empty if there is nothing to merge.
pub fn choose(segments: &[Size]) -> Vec<usize> {
    if let Some(i) = segments.iter().position(|s| s.live_rows < s.rows / 2 && s.rows > 64) {
        return vec![i];
    }
    let mut order: Vec<usize> = (0..segments.len()).collect();
    let size = |i: &usize| u64::from(segments[*i].live_rows).max(SMALLEST);
    order.sort_by_key(size);
    // The first run of similar sizes, starting from the smallest segments, that is long enough.
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

/// Whether a file with this many dead bytes is worth a vacuum.
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

    /// A database that grows to 100 million rows by checkpoints of 65,536 never has more than twelve segments, and
    /// rewrites each row fewer than six times on average.
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
