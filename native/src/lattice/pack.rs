//! Residues as 27 bits each, eight in 27 bytes, the lowest bits first.

/// Bytes of so many residues; they come in eights, what is missing is zero.
pub fn packed_len(residues: usize) -> usize {
    residues.div_ceil(8) * 27
}

/// Packs residues below 2^27 into as many bytes as `packed_len` says.
pub fn pack(residues: &[u32], out: &mut [u8]) {
    assert_eq!(out.len(), packed_len(residues.len()));
    let (eights, rest) = residues.as_chunks::<8>();
    let (out, last) = out.split_at_mut(27 * eights.len());
    for (eight, out) in eights.iter().zip(out.as_chunks_mut().0) {
        *out = pack_eight(eight);
    }
    if !rest.is_empty() {
        let mut eight = [0; 8];
        eight[..rest.len()].copy_from_slice(rest);
        last.copy_from_slice(&pack_eight(&eight));
    }
}

fn pack_eight(eight: &[u32; 8]) -> [u8; 27] {
    let v = eight.map(u64::from);
    let mut out = [0; 27];
    out[..8].copy_from_slice(&(v[0] | v[1] << 27 | v[2] << 54).to_le_bytes());
    out[8..16].copy_from_slice(&(v[2] >> 10 | v[3] << 17 | v[4] << 44).to_le_bytes());
    out[16..24].copy_from_slice(&(v[4] >> 20 | v[5] << 7 | v[6] << 34 | v[7] << 61).to_le_bytes());
    out[24..].copy_from_slice(&(v[7] >> 3).to_le_bytes()[..3]);
    out
}

/// Unpacks residues modulo p; false if one is not below p, or what fills up the last eight is not zero.
#[must_use]
pub fn unpack(bytes: &[u8], p: u32, out: &mut [u32]) -> bool {
    assert_eq!(bytes.len(), packed_len(out.len()));
    let mut largest = 0;
    let (eights, rest) = out.as_chunks_mut::<8>();
    let (bytes, last) = bytes.split_at(27 * eights.len());
    for (eight, bytes) in eights.iter_mut().zip(bytes.as_chunks().0) {
        *eight = unpack_eight(bytes);
        largest = eight.iter().fold(largest, |a, &b| a.max(b));
    }
    if !rest.is_empty() {
        let eight = unpack_eight(last.try_into().expect("one more eight"));
        rest.copy_from_slice(&eight[..rest.len()]);
        largest = rest.iter().fold(largest, |a, &b| a.max(b));
        return largest < p && eight[rest.len()..].iter().all(|&x| x == 0);
    }
    largest < p
}

fn unpack_eight(bytes: &[u8; 27]) -> [u32; 8] {
    const MASK: u64 = (1 << 27) - 1;
    let word = |i: usize| u64::from_le_bytes(bytes[i..i + 8].try_into().expect("eight bytes"));
    let (a, b, c, d) = (word(0), word(8), word(16), word(19) >> 40);
    let v = [a, a >> 27, a >> 54 | b << 10, b >> 17, b >> 44 | c << 20, c >> 7, c >> 34, c >> 61 | d << 3];
    v.map(|x| (x & MASK) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_packed_comes_out_again() {
        let p = 133_513_217;
        for n in [1usize, 7, 8, 9, 64, 1000] {
            let residues: Vec<u32> = (0..n as u64).map(|i| (i * 98_765_432_123 % u64::from(p)) as u32).collect();
            let mut bytes = vec![0; packed_len(n)];
            pack(&residues, &mut bytes);
            let mut out = vec![0; n];
            assert!(unpack(&bytes, p, &mut out));
            assert_eq!(out, residues);
        }
    }

    #[test]
    fn residues_that_are_none_and_a_filled_up_end_are_refused() {
        let p = 133_513_217;
        let mut bytes = vec![0; packed_len(9)];
        let mut out = vec![0; 9];
        for (value, fits) in [(p - 1, true), (p, false), ((1 << 27) - 1, false)] {
            for at in [0, 7, 8] {
                let mut residues = vec![0; 9];
                residues[at] = value;
                pack(&residues, &mut bytes);
                assert_eq!(unpack(&bytes, p, &mut out), fits);
            }
        }
        pack(&[0; 9], &mut bytes);
        bytes[53] = 1;
        assert!(!unpack(&bytes, p, &mut out));
    }
}
