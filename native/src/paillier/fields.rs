//! Several signed integers in one: each times a power of two, one beside the other. A field of w bits holds integers from
//! -2^(w-1) to 2^(w-1) - 1, and what is negative borrows from the field above; adding and subtracting does not mind.

/// A number below the modulus (of as many words) that stands for the integers; negative ones count from its end.
pub fn packed(values: &[i64], widths: &[u32], modulus: &[u64]) -> Vec<u64> {
    let mut total = vec![0; modulus.len() + 1];
    let mut at = 0;
    for (&value, &width) in values.iter().zip(widths) {
        add_at(&mut total, i128::from(value), at);
        at += width;
    }
    let negative = std::hint::black_box(total[modulus.len()]);
    let mut carry = 0;
    for (word, &m) in total.iter_mut().zip(modulus) {
        let sum = u128::from(*word) + u128::from(m & negative) + carry;
        (*word, carry) = (sum as u64, sum >> 64);
    }
    total.truncate(modulus.len());
    total
}

/// The integers again; none if the number stands for anything else.
pub fn unpacked(number: &[u64], widths: &[u32], modulus: &[u64]) -> Option<Vec<i64>> {
    let mut rest = number.to_vec();
    let twice_exceeds = twice_exceeds(number, modulus);
    rest.push(0);
    if twice_exceeds {
        let mut borrow = 0;
        for (word, m) in rest.iter_mut().zip(modulus.iter().copied().chain([0])) {
            let (less, a) = word.overflowing_sub(m);
            let (less, b) = less.overflowing_sub(borrow);
            (*word, borrow) = (less, u64::from(a | b));
        }
    }
    let mut at = 0;
    let mut field = |&width: &u32| {
        let value = field_at(&rest, at, width);
        add_at(&mut rest, -i128::from(value), at);
        at += width;
        value
    };
    let values = widths.iter().map(&mut field).collect();
    rest.iter().all(|&word| word == 0).then_some(values)
}

fn twice_exceeds(number: &[u64], modulus: &[u64]) -> bool {
    let mut top = 0;
    let twice: Vec<u64> = number.iter().map(|&word| word << 1 | std::mem::replace(&mut top, word >> 63)).collect();
    top == 1 || twice.iter().rev().gt(modulus.iter().rev())
}

/// Adds a value, moved up so many bits, to a number in two's complement.
fn add_at(total: &mut [u64], value: i128, at: u32) {
    let (first, moved) = (at as usize / 64, value << (at % 64));
    let sign = (moved >> 127) as u64;
    let mut carry = 0;
    for (i, word) in total[first..].iter_mut().enumerate() {
        let part = [moved as u64, (moved >> 64) as u64, sign][i.min(2)];
        let sum = u128::from(*word) + u128::from(part) + carry;
        (*word, carry) = (sum as u64, sum >> 64);
    }
}

/// The signed integer in a field of at most 64 bits.
fn field_at(words: &[u64], at: u32, width: u32) -> i64 {
    let word = |i: usize| words.get(i).copied().map_or(0, u128::from);
    let first = at as usize / 64;
    let bits = (word(first) | word(first + 1) << 64) >> (at % 64);
    (bits as u64 as i64) << (64 - width) >> (64 - width)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_return_as_they_were_at_all_bounds() {
        let modulus = [u64::MAX - 4, u64::MAX, 0x7fff, 1 << 63];
        let widths = [5, 64, 1, 33, 62, 2, 64];
        let most = |w: &u32| (1i64 << (w - 1)).wrapping_sub(1);
        let least = |w: &u32| -most(w) - 1;
        let cases: [Vec<i64>; 4] = [
            widths.iter().map(most).collect(),
            widths.iter().map(least).collect(),
            widths.iter().enumerate().map(|(i, w)| if i % 2 == 0 { most(w) } else { least(w) }).collect(),
            vec![0; 7],
        ];
        for values in cases {
            assert_eq!(unpacked(&packed(&values, &widths, &modulus), &widths, &modulus), Some(values));
        }
    }

    #[test]
    fn what_stands_above_the_fields_is_refused() {
        let modulus = [u64::MAX, u64::MAX, u64::MAX];
        assert_eq!(unpacked(&[0, 1, 0], &[64], &modulus), None);
        assert_eq!(unpacked(&[0, 1, 0], &[64, 5], &modulus), Some(vec![0, 1]));
        assert_eq!(unpacked(&[u64::MAX - 7, u64::MAX, u64::MAX], &[8], &modulus), Some(vec![-7]));
    }

    #[test]
    fn sums_of_packed_numbers_are_packed_sums() {
        let modulus = [0xffff_ffff_ffff_fff1, u64::MAX >> 1];
        let (a, b) = ([-5i64, 7, -100], [3i64, -9, 90]);
        let widths = [12, 20, 30];
        let (x, y) = (packed(&a, &widths, &modulus), packed(&b, &widths, &modulus));
        let wide = |w: &[u64]| u128::from(w[0]) | u128::from(w[1]) << 64;
        let sum = (wide(&x) + wide(&y)) % wide(&modulus);
        assert_eq!(unpacked(&[sum as u64, (sum >> 64) as u64], &widths, &modulus), Some(vec![-2, -2, -10]));
    }
}
