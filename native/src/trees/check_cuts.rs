//! Whether the cuts that a party is told to make are ones it agreed to: of nodes at the lowest level, each once, their
//! children numbered on, on the agreed cut points. `status` says of every node (trees x nodes) what it is.

use crate::trees::splits::BinSet;

pub const CUT: u8 = 1;
/// Above the lowest level, not cut.
pub const LEAF: u8 = 2;
pub const LOWEST: u8 = 3;
/// At the lowest level, already summed.
pub const ASKED: u8 = 4;

/// Nodes of several trees.
#[derive(Clone, Copy)]
pub struct Named<'a> {
    pub tree: &'a [i64],
    pub node: &'a [i64],
}

/// Cuts as they were told.
#[derive(Clone, Copy)]
pub struct Told<'a> {
    pub nodes: Named<'a>,
    pub child: &'a [i64],
    pub column: &'a [i32],
    pub bin: &'a [i32],
    pub missing_left: &'a [bool],
    pub left_bins: &'a [BinSet],
}

/// The columns as they were agreed.
#[derive(Clone, Copy)]
pub struct Agreed<'a> {
    pub n_values: &'a [i64],
    pub has_missing: &'a [bool],
    pub categorical: &'a [bool],
}

/// What is wrong with told cuts.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Wrong {
    Node = 1,
    Children = 2,
    Column = 3,
    Place = 4,
    Asked = 5,
    Leaves = 6,
}

fn places(status: &[u8], width: usize, named: Named, wanted: &[u8]) -> Option<Vec<usize>> {
    let mut seen = vec![false; status.len()];
    let mut out = Vec::with_capacity(named.tree.len());
    for (&tree, &node) in named.tree.iter().zip(named.node) {
        let inside = tree >= 0 && node >= 0 && (node as usize) < width && (tree as usize) < status.len() / width;
        let at = if inside { tree as usize * width + node as usize } else { return None };
        if seen[at] || !wanted.contains(&status[at]) {
            return None;
        }
        seen[at] = true;
        out.push(at);
    }
    Some(out)
}

/// Whether these nodes are there, each named once, and of a wanted kind; if so they become `becomes` (0: stay).
pub fn name(status: &mut [u8], width: usize, named: Named, wanted: &[u8], becomes: u8) -> bool {
    let Some(found) = places(status, width, named, wanted) else { return false };
    if becomes != 0 {
        found.into_iter().for_each(|at| status[at] = becomes);
    }
    true
}

/// Checks the cuts, then marks nodes and children; nothing is changed if one is wrong. `sizes` are nodes of each tree.
pub fn follow(status: &mut [u8], width: usize, sizes: &mut [i64], told: &Told, agreed: &Agreed) -> Result<(), Wrong> {
    let nodes = told.nodes;
    let found = places(status, width, nodes, &[LOWEST, ASKED]).ok_or(Wrong::Node)?;
    if nodes.tree.iter().zip(nodes.node).is_sorted_by(|a, b| a < b) {
        let mut next = sizes.to_vec();
        for (&tree, &child) in nodes.tree.iter().zip(told.child) {
            let next = &mut next[tree as usize];
            if child != *next || child as usize + 1 >= width {
                return Err(Wrong::Children);
            }
            *next += 2;
        }
        for i in 0..nodes.tree.len() {
            check_place(told, i, agreed)?;
        }
        status.iter_mut().filter(|s| **s >= LOWEST).for_each(|s| *s = LEAF);
        for (at, (&tree, &child)) in found.into_iter().zip(nodes.tree.iter().zip(told.child)) {
            status[at] = CUT;
            let at = tree as usize * width + child as usize;
            status[at..at + 2].fill(LOWEST);
        }
        sizes.copy_from_slice(&next);
        return Ok(());
    }
    Err(Wrong::Node)
}

/// What a party is told in one step: cuts to follow, if any, and nodes to be summed: such at the lowest level that were
/// not before or, if they are leaves, all there are.
pub fn follow_step(
    status: &mut [u8],
    width: usize,
    sizes: &mut [i64],
    told: Option<&Told>,
    agreed: &Agreed,
    nodes: Named,
    leaves: bool,
) -> Result<(), Wrong> {
    if let Some(told) = told {
        follow(status, width, sizes, told, agreed)?;
    }
    if leaves {
        let n_leaves = status.iter().filter(|&&s| s > CUT).count();
        let all = n_leaves == nodes.tree.len() && name(status, width, nodes, &[LEAF, LOWEST, ASKED], 0);
        return if all { Ok(()) } else { Err(Wrong::Leaves) };
    }
    let asked = !nodes.tree.is_empty() && name(status, width, nodes, &[LOWEST], ASKED);
    if asked { Ok(()) } else { Err(Wrong::Asked) }
}

fn check_place(told: &Told, i: usize, agreed: &Agreed) -> Result<(), Wrong> {
    let column = usize::try_from(told.column[i]).ok().filter(|&c| c < agreed.n_values.len()).ok_or(Wrong::Column)?;
    let (values, missing) = (agreed.n_values[column] as usize, agreed.has_missing[column]);
    let set = &told.left_bins[i];
    if agreed.categorical[column] {
        let most = up_to(values + usize::from(missing));
        let inside = set.iter().zip(most).all(|(&own, all)| own & !all == 0);
        return if told.bin[i] < 0 && inside { Ok(()) } else { Err(Wrong::Place) };
    }
    let bin = usize::try_from(told.bin[i]).ok().filter(|&b| b < values).ok_or(Wrong::Place)?;
    let mut expected = up_to(bin + 1);
    if missing && told.missing_left[i] {
        expected[values / 64] |= 1 << (values % 64);
    }
    if *set == expected { Ok(()) } else { Err(Wrong::Place) }
}

/// The set of the first `n` bins.
fn up_to(n: usize) -> BinSet {
    std::array::from_fn(|word| match n.saturating_sub(64 * word) {
        0 => 0,
        bits if bits >= 64 => u64::MAX,
        bits => (1 << bits) - 1,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const AGREED: Agreed = Agreed { n_values: &[4, 3], has_missing: &[true, true], categorical: &[false, true] };

    fn told(child: &[i64; 1], column: &[i32; 1], bin: &[i32; 1], set: u64) -> (Result<(), Wrong>, Vec<u8>) {
        let (mut status, mut sizes) = (vec![LOWEST, 0, 0, 0], vec![1]);
        let sets = [[set, 0, 0, 0]];
        let nodes = Named { tree: &[0], node: &[0] };
        let cuts = Told { nodes, child, column, bin, missing_left: &[true], left_bins: &sets };
        let result = follow(&mut status, 4, &mut sizes, &cuts, &AGREED);
        (result, status)
    }

    #[test]
    fn a_cut_on_the_grid_is_made() {
        let (result, status) = told(&[1], &[0], &[1], 0b1_0011);
        assert_eq!((result, status), (Ok(()), vec![CUT, LOWEST, LOWEST, 0]));
        assert_eq!(told(&[1], &[1], &[-1], 0b0101).0, Ok(()));
    }

    #[test]
    fn a_cut_that_was_not_agreed_changes_nothing() {
        for (child, column, bin, set, wrong) in [
            (2, 0, 1, 0b1_0011, Wrong::Children),
            (1, 2, 1, 0b1_0011, Wrong::Column),
            (1, -1, 1, 0b1_0011, Wrong::Column),
            (1, 0, 1, 0b1_0111, Wrong::Place),
            (1, 0, 4, 0b1_1111, Wrong::Place),
            (1, 0, -1, 0b1_0011, Wrong::Place),
            (1, 1, -1, 0b1_0000, Wrong::Place),
            (1, 1, 0, 0b0001, Wrong::Place),
        ] {
            let (result, status) = told(&[child], &[column], &[bin], set);
            assert_eq!((result, status), (Err(wrong), vec![LOWEST, 0, 0, 0]));
        }
    }

    #[test]
    fn a_step_asks_once_for_nodes_at_the_lowest_level_or_for_all_leaves() {
        let mut status = vec![CUT, LOWEST, LEAF, 0];
        let mut step = |node: &[i64], leaves| {
            let nodes = Named { tree: &vec![0; node.len()], node };
            follow_step(&mut status, 4, &mut [3], None, &AGREED, nodes, leaves)
        };
        assert_eq!(step(&[2], false), Err(Wrong::Asked));
        assert_eq!(step(&[], false), Err(Wrong::Asked));
        assert_eq!((step(&[1], false), step(&[1], false)), (Ok(()), Err(Wrong::Asked)));
        assert_eq!(step(&[1], true), Err(Wrong::Leaves));
        assert_eq!(step(&[1, 3], true), Err(Wrong::Leaves));
        assert_eq!(step(&[2, 1], true), Ok(()));
    }

    #[test]
    fn a_node_is_named_once_and_only_where_it_is() {
        let mut status = vec![CUT, LOWEST, LEAF, 0];
        let mut named = |node: &[i64], wanted: &[u8], becomes| {
            let tree = vec![0; node.len()];
            name(&mut status, 4, Named { tree: &tree, node }, wanted, becomes)
        };
        assert!(named(&[1, 2], &[LOWEST, LEAF], 0));
        assert!(!named(&[1, 1], &[LOWEST], 0));
        assert!(!named(&[3], &[LOWEST, LEAF], 0) && !named(&[4], &[LOWEST], 0) && !named(&[-1], &[LOWEST], 0));
        assert!(named(&[1], &[LOWEST], ASKED) && !named(&[1], &[LOWEST], ASKED));
    }
}
