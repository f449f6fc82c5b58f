//! Sums by group of integers that nobody has sealed.

use crate::math::threads;

/// Columns of a node that are summed together.
const TOGETHER: usize = 16;

/// Columns x rows of codes, and groups of each column; a code that is not below the column's width is in no group.
#[derive(Clone, Copy)]
pub struct Groups<'a> {
    pub codes: &'a [u8],
    pub n_rows: usize,
    pub widths: &'a [i64],
}

/// Rows of each node: `rows[starts[i]..starts[i + 1]]`.
#[derive(Clone, Copy)]
pub struct Nodes<'a> {
    pub rows: &'a [i64],
    pub starts: &'a [i64],
}

/// Nodes x groups x channels of sums of values (rows x channels).
pub fn sums(groups: Groups, nodes: Nodes, values: &[i64], channels: usize, n_threads: usize) -> Vec<i64> {
    let n_groups = groups.widths.iter().sum::<i64>() as usize;
    let mut out = vec![0; (nodes.starts.len() - 1) * n_groups * channels];
    let mut items = vec![];
    let mut rest = &mut out[..];
    for span in nodes.starts.windows(2) {
        let rows = &nodes.rows[span[0] as usize..span[1] as usize];
        for first in (0..groups.widths.len()).step_by(TOGETHER) {
            let columns = first..groups.widths.len().min(first + TOGETHER);
            let width = groups.widths[columns.clone()].iter().sum::<i64>() as usize;
            let (here, later) = rest.split_at_mut(width * channels);
            items.push((rows, columns, here));
            rest = later;
        }
    }
    threads::for_each(n_threads, items, |(rows, columns, mut out)| {
        for column in columns {
            let width = groups.widths[column] as usize;
            let (here, later) = std::mem::take(&mut out).split_at_mut(width * channels);
            let codes = &groups.codes[column * groups.n_rows..(column + 1) * groups.n_rows];
            match channels {
                2 => add::<2>(here, codes, rows, values),
                _ => add_any(here, codes, rows, values, channels),
            }
            out = later;
        }
    });
    out
}

fn add<const CHANNELS: usize>(out: &mut [i64], codes: &[u8], rows: &[i64], values: &[i64]) {
    let (out, values) = (out.as_chunks_mut::<CHANNELS>().0, values.as_chunks::<CHANNELS>().0);
    for &row in rows {
        if let Some(sums) = out.get_mut(usize::from(codes[row as usize])) {
            sums.iter_mut().zip(&values[row as usize]).for_each(|(sum, &x)| *sum = sum.wrapping_add(x));
        }
    }
}

fn add_any(out: &mut [i64], codes: &[u8], rows: &[i64], values: &[i64], channels: usize) {
    for &row in rows {
        let group = usize::from(codes[row as usize]) * channels;
        if let Some(sums) = out.get_mut(group..group + channels) {
            let values = &values[row as usize * channels..(row as usize + 1) * channels];
            sums.iter_mut().zip(values).for_each(|(sum, &x)| *sum = sum.wrapping_add(x));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_added_to_their_groups_node_by_node_and_codes_beyond_them_left_out() {
        let codes: Vec<u8> = (0..20 * 50).map(|i| (i * 7 % 11) as u8).collect();
        let widths: Vec<i64> = (0..20).map(|c| 1 + c % 9).collect();
        let (rows, starts): (Vec<i64>, Vec<i64>) = ((0..60).map(|i| i * 13 % 50).collect(), vec![0, 25, 25, 60]);
        let groups = Groups { codes: &codes, n_rows: 50, widths: &widths };
        let nodes = Nodes { rows: &rows, starts: &starts };
        for channels in 1..4 {
            let values: Vec<i64> = (0..50 * channels as i64).map(|i| i * i - 900).collect();
            for n_threads in [1, 2] {
                let found = sums(groups, nodes, &values, channels, n_threads);
                let mut at = 0;
                for span in starts.windows(2) {
                    for (column, &width) in widths.iter().enumerate() {
                        for group in 0..width {
                            for channel in 0..channels {
                                let here = |r: &&i64| i64::from(codes[column * 50 + **r as usize]) == group;
                                let chosen = rows[span[0] as usize..span[1] as usize].iter().filter(here);
                                let wanted: i64 = chosen.map(|&r| values[r as usize * channels + channel]).sum();
                                assert_eq!(found[at], wanted);
                                at += 1;
                            }
                        }
                    }
                }
                assert_eq!(at, found.len());
            }
        }
    }
}
