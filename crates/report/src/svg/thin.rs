//! Reduces points without a visible change of the picture.

/// Returns the indices of the points of a line to keep: the first, lowest, highest and last in each column of pixels,
/// which cover the same pixels as all of them. Cost: one pass.
pub(crate) fn line(points: &[(f64, f64)], enough: usize) -> Vec<usize> {
    if points.len() <= enough {
        return (0..points.len()).collect();
    }
    let mut kept = Vec::new();
    let mut start = 0;
    while start < points.len() {
        let column = points[start].0.floor();
        let run = points[start..].iter().take_while(|point| point.0.floor() == column).count();
        let all = start..start + run;
        let height = |at: &usize, other: &usize| points[*at].1.total_cmp(&points[*other].1);
        let lowest = all.clone().min_by(height).unwrap_or(start);
        let highest = all.clone().max_by(height).unwrap_or(start);
        let mut of_column = [start, lowest, highest, start + run - 1];
        of_column.sort_unstable();
        kept.extend(of_column);
        start += run;
    }
    kept.dedup();
    kept
}

/// Returns the indices of single points to keep: one for each cell of a grid, coarsened until at most `enough` are
/// left.
pub(crate) fn scatter(points: &[(f64, f64)], enough: usize) -> Vec<usize> {
    let mut kept: Vec<usize> = (0..points.len()).collect();
    let mut cell = 1.0;
    while kept.len() > enough {
        let key = |at: &usize| ((points[*at].0 / cell).floor() as i64, (points[*at].1 / cell).floor() as i64);
        kept.sort_by_key(|at| (key(at), *at));
        kept.dedup_by_key(|at| key(at));
        cell *= 1.5;
    }
    kept.sort_unstable();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinned_line_keeps_its_ends_and_peak() {
        let mut points: Vec<(f64, f64)> =
            (0..100_000).map(|n| (f64::from(n) / 200.0, f64::from(n % 7))).collect();
        points[54_321].1 = 1000.0;
        let kept = line(&points, 1000);
        assert!(kept.len() <= 4 * 501, "{}", kept.len());
        assert_eq!((kept[0], *kept.last().unwrap()), (0, 99_999));
        assert!(kept.contains(&54_321));
        assert!(kept.is_sorted());
    }

    #[test]
    fn thinned_scatter_is_within_the_limit() {
        let points: Vec<(f64, f64)> = (0..50_000).map(|n| (f64::from(n % 701), f64::from(n % 311))).collect();
        assert!((500..=4000).contains(&scatter(&points, 4000).len()));
        assert_eq!(scatter(&points[..10], 4000).len(), 10);
        assert_eq!(scatter(&vec![(1.0, 1.0); 5000], 4000), [0]);
    }
}
