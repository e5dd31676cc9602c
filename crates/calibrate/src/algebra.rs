//! Small dense systems of linear equations.

/// Solves a symmetric positive definite system in place, by elimination with the largest pivots.
pub(crate) fn solve(matrix: &mut [Vec<f64>], right: &mut [f64]) {
    let size = right.len();
    for column in 0..size {
        let pivot =
            (column..size).max_by(|&a, &b| matrix[a][column].abs().total_cmp(&matrix[b][column].abs()));
        let pivot = pivot.expect("there are rows left");
        matrix.swap(column, pivot);
        right.swap(column, pivot);
        let (above, below) = matrix.split_at_mut(column + 1);
        let pivot = &above[column];
        for (row, values) in (column + 1..size).zip(below) {
            let factor = values[column] / pivot[column];
            values.iter_mut().zip(pivot).skip(column).for_each(|(value, above)| *value -= factor * above);
            right[row] -= factor * right[column];
        }
    }
    for row in (0..size).rev() {
        let rest: f64 = (row + 1..size).map(|at| matrix[row][at] * right[at]).sum();
        right[row] = (right[row] - rest) / matrix[row][row];
    }
}

#[cfg(test)]
mod tests {
    use super::solve;

    #[test]
    fn system_with_a_zero_pivot_is_solved() {
        let mut matrix = [[0.0, 2.0, 1.0], [2.0, 1.0, 0.0], [1.0, 0.0, 3.0]].map(Vec::from);
        let mut right = [7.0, 4.0, 10.0];
        solve(&mut matrix, &mut right);
        for (found, expected) in right.into_iter().zip([1.0, 2.0, 3.0]) {
            assert!((found - expected).abs() < 1e-12, "{right:?}");
        }
    }
}
