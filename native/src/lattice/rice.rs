//! Golomb-Rice codes of signed integers, for the answers of `proof`: each integer has one code, and nothing else is read.
//!
//! An integer x becomes u = 2 x, or -2 x - 1 where it is negative; then come the lowest bits of u, lowest first, as many ones as the
//! rest of u says, and a zero. Codes lie one after the other in a fixed number of bytes; what they leave empty is zero.

/// The rest of u is at most this: codes end, and integers are small, whatever was sent.
pub const MOST_ONES: u32 = 31;

/// Writes codes from the lowest bit of the first byte on.
#[derive(Default)]
pub struct Writer {
    bytes: Vec<u8>,
    word: u64,
    filled: u32,
}

impl Writer {
    /// The codes of these integers with so many lowest bits; false if one is too large.
    pub fn put(&mut self, values: &[i32], low: u32) -> bool {
        values.iter().all(|&x| {
            let u = ((x << 1) ^ (x >> 31)) as u32;
            let ones = u >> low;
            if ones > MOST_ONES {
                return false;
            }
            let code = u64::from(u & ((1 << low) - 1)) | ((1u64 << ones) - 1) << low;
            self.word |= code << self.filled;
            self.filled += low + ones + 1;
            let whole = self.filled / 8;
            self.bytes.extend_from_slice(&self.word.to_le_bytes()[..whole as usize]);
            self.word >>= 8 * whole;
            self.filled %= 8;
            true
        })
    }

    /// All codes, and zeros up to this length; none if they are longer.
    pub fn finish(mut self, length: usize) -> Option<Vec<u8>> {
        if self.filled > 0 {
            self.bytes.push(self.word as u8);
        }
        (self.bytes.len() <= length).then(|| {
            self.bytes.resize(length, 0);
            self.bytes
        })
    }
}

/// Reads codes from the lowest bit of the first byte on.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes, at: 0 }
    }

    /// The next bits, at least 57 of them; zeros behind the end.
    fn ahead(&self) -> u64 {
        let mut word = [0; 8];
        let rest = self.bytes.get(self.at / 8..).unwrap_or_default();
        let some = rest.len().min(8);
        word[..some].copy_from_slice(&rest[..some]);
        u64::from_le_bytes(word) >> (self.at % 8)
    }

    /// So many integers; none if the bytes end before, or a code is longer than one may be.
    pub fn take(&mut self, count: usize, low: u32) -> Option<Vec<i32>> {
        let mut values = Vec::with_capacity(count);
        for _ in 0..count {
            let word = self.ahead();
            let ones = (word >> low).trailing_ones();
            self.at += (low + ones + 1) as usize;
            if ones > MOST_ONES || self.at > 8 * self.bytes.len() {
                return None;
            }
            let u = (ones << low | (word as u32 & ((1 << low) - 1))) as i32;
            values.push((u >> 1) ^ -(u & 1));
        }
        Some(values)
    }

    /// Whether nothing but zeros is left.
    pub fn is_done(&self) -> bool {
        let (whole, bits) = (self.at / 8, self.at % 8);
        let rest = &self.bytes[whole.min(self.bytes.len())..];
        rest.first().is_none_or(|&first| first >> bits == 0) && rest.iter().skip(1).all(|&byte| byte == 0)
    }
}

#[cfg(test)]
mod tests {
    use super::super::random::{Stream, Use, system_seed};
    use super::*;

    fn written(parts: &[(&[i32], u32)], length: usize) -> Option<Vec<u8>> {
        let mut writer = Writer::default();
        parts.iter().all(|(values, low)| writer.put(values, *low)).then(|| writer.finish(length))?
    }

    fn read(bytes: &[u8], counts: &[(usize, u32)]) -> Option<Vec<Vec<i32>>> {
        let mut reader = Reader::new(bytes);
        let found: Option<Vec<_>> = counts.iter().map(|&(count, low)| reader.take(count, low)).collect();
        found.filter(|_| reader.is_done())
    }

    #[test]
    fn what_is_written_is_read() {
        let (wide, narrow) = ([0, -1, 1, 2047, -2048, 32767, -32768], [0, -1, 1, 15, -16]);
        for length in [40, 60] {
            let bytes = written(&[(&wide, 11), (&narrow, 0)], length).unwrap();
            assert_eq!(bytes.len(), length);
            assert_eq!(read(&bytes, &[(7, 11), (5, 0)]).unwrap(), [wide.to_vec(), narrow.to_vec()]);
        }
        assert_eq!(written(&[(&wide, 11)], 4), None, "no room");
        assert_eq!(written(&[(&[32768], 11)], 40), None, "too large");
        assert_eq!(written(&[(&[-17], 0)], 40), None, "too large");
    }

    #[test]
    fn a_code_is_as_the_first_lines_say() {
        // 5 is 10: lowest two bits 2, rest 2; -1 is 1; 0 is 0.
        assert_eq!(written(&[(&[5, -1, 0], 2)], 2).unwrap(), [0b0010_1110, 0b0000_0000]);
        assert_eq!(written(&[(&[5, 1], 0)], 2).unwrap(), [0b1111_1111, 0b0001_1011]);
    }

    #[test]
    fn bytes_that_are_read_are_the_only_ones_for_what_they_say() {
        let mut own = Stream::new(&system_seed(), Use::Secret, 0);
        let (mut taken, counts) = (0, [(8usize, 3u32), (9, 0)]);
        for round in 0..200_000u32 {
            // Random bytes, and random bytes that end in zeros, of every length up to 16.
            let mut bytes = own.draw(16)[..round as usize % 17].to_vec();
            let random = round as usize / 17 % 17;
            bytes.iter_mut().skip(random).for_each(|byte| *byte = 0);
            if let Some(found) = read(&bytes, &counts) {
                taken += 1;
                assert_eq!(written(&[(&found[0], 3), (&found[1], 0)], bytes.len()).unwrap(), bytes);
            }
        }
        assert!(taken > 1000, "{taken}");
    }

    #[test]
    fn endless_codes_and_leftovers_are_refused() {
        assert_eq!(read(&[255; 4000], &[(8, 11)]), None);
        assert_eq!(read(&[255; 4000], &[(8, 0)]), None);
        assert_eq!(read(&[], &[(1, 0)]), None);
        assert_eq!(read(&[0; 4], &[(33, 0)]), None, "a code behind the end");
        assert!(read(&[0; 4], &[(32, 0)]).is_some() && read(&[], &[(0, 0)]).is_some());
        let bytes = written(&[(&[3, -4], 2)], 8).unwrap();
        for bit in 0..64 {
            let mut other = bytes.clone();
            other[bit / 8] ^= 1 << (bit % 8);
            let found = read(&other, &[(2, 2)]);
            assert_ne!(found, read(&bytes, &[(2, 2)]), "bit {bit}");
            assert!(bit < 9 || found.is_none(), "bit {bit}");
        }
    }
}
