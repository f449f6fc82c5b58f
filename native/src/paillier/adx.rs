//! Montgomery products with the instructions that x86-64 has for long ones: `mulx`, which leaves the carries alone, and
//! `adcx` and `adox`, which keep two chains of them. The compiler does not use the latter, hence the few lines of assembly.
//!
//! Numbers are added up row by row, eight words at a time; their lengths are multiples of eight. No branch and no address
//! depends on the numbers.

use std::arch::asm;

use super::monty::{MOST_WORDS, add_with, reduce};

/// Words of one step.
pub const STEP: usize = 8;

type Wide = [u64; 2 * MOST_WORDS];

/// Whether this CPU has them.
pub fn is_there() -> bool {
    std::arch::is_x86_feature_detected!("bmi2") && std::arch::is_x86_feature_detected!("adx")
}

/// Adds x times `row` to `sum`, both of eight words, and the carry that came in; the carry that goes out.
///
/// # Safety
/// The CPU must have BMI2 and ADX.
#[inline(always)]
unsafe fn add_step(sum: &mut [u64; STEP], row: &[u64; STEP], x: u64, mut carry: u64) -> u64 {
    // SAFETY: reads and writes eight words at each of the two addresses, no stack; the CPU has the instructions.
    unsafe {
        asm!(
            "xor {zero:e}, {zero:e}",
            "mulx {high}, {low}, [{row}]", "adcx {low}, {carry}", "adox {low}, [{sum}]", "mov [{sum}], {low}",
            "mulx {carry}, {low}, [{row} + 8]", "adcx {low}, {high}", "adox {low}, [{sum} + 8]", "mov [{sum} + 8], {low}",
            "mulx {high}, {low}, [{row} + 16]", "adcx {low}, {carry}", "adox {low}, [{sum} + 16]", "mov [{sum} + 16], {low}",
            "mulx {carry}, {low}, [{row} + 24]", "adcx {low}, {high}", "adox {low}, [{sum} + 24]", "mov [{sum} + 24], {low}",
            "mulx {high}, {low}, [{row} + 32]", "adcx {low}, {carry}", "adox {low}, [{sum} + 32]", "mov [{sum} + 32], {low}",
            "mulx {carry}, {low}, [{row} + 40]", "adcx {low}, {high}", "adox {low}, [{sum} + 40]", "mov [{sum} + 40], {low}",
            "mulx {high}, {low}, [{row} + 48]", "adcx {low}, {carry}", "adox {low}, [{sum} + 48]", "mov [{sum} + 48], {low}",
            "mulx {carry}, {low}, [{row} + 56]", "adcx {low}, {high}", "adox {low}, [{sum} + 56]", "mov [{sum} + 56], {low}",
            "adcx {carry}, {zero}",
            "adox {carry}, {zero}",
            zero = out(reg) _, high = out(reg) _, low = out(reg) _, carry = inout(reg) carry,
            row = in(reg) row.as_ptr(), sum = in(reg) sum.as_mut_ptr(), in("rdx") x,
            options(nostack),
        );
    }
    carry
}

/// Adds x times `row` to as many words of `sum`; the carry.
///
/// # Safety
/// As above.
#[inline(always)]
unsafe fn add_row(sum: &mut [u64], row: &[u64], x: u64) -> u64 {
    let (sum, row) = (sum.as_chunks_mut::<STEP>().0, row.as_chunks::<STEP>().0);
    // SAFETY: as the caller promises.
    sum.iter_mut().zip(row).fold(0, |carry, (sum, row)| unsafe { add_step(sum, row, x, carry) })
}

/// a becomes a b / R.
///
/// # Safety
/// As above.
pub unsafe fn multiply(a: &mut [u64], b: &[u64], modulus: &[u64], negated_inverse: u64) {
    let len = a.len();
    let mut sum: Wide = [0; _];
    let mut top = 0;
    for (i, &x) in a.iter().enumerate() {
        let window = &mut sum[i..i + len];
        // SAFETY: as the caller promises.
        let first = unsafe { add_row(window, b, x) };
        let factor = window[0].wrapping_mul(negated_inverse);
        // SAFETY: as the caller promises.
        let second = unsafe { add_row(window, modulus, factor) };
        let carries = u128::from(first) + u128::from(second) + u128::from(top);
        sum[i + len] = carries as u64;
        top = (carries >> 64) as u64;
    }
    a.copy_from_slice(&sum[len..2 * len]);
    reduce(a, top, modulus);
}

/// a becomes a a / R: products of words from different steps count twice and are made once.
///
/// # Safety
/// As above.
pub unsafe fn square(a: &mut [u64], modulus: &[u64], negated_inverse: u64) {
    let len = a.len();
    let mut sum: Wide = [0; _];
    for (i, &x) in a.iter().enumerate() {
        let next = (i / STEP + 1) * STEP;
        // SAFETY: as the caller promises.
        sum[i + len] = unsafe { add_row(&mut sum[i + next..i + len], &a[next..], x) };
    }
    let mut lost = 0;
    for word in &mut sum[..2 * len] {
        (*word, lost) = (*word << 1 | lost, *word >> 63);
    }
    let mut carry = false;
    for (step, sum) in a.as_chunks::<STEP>().0.iter().zip(sum.as_chunks_mut::<{ 2 * STEP }>().0) {
        let mut own = [0; 2 * STEP];
        for (i, &x) in step.iter().enumerate() {
            // SAFETY: as the caller promises.
            own[i + STEP] = unsafe { add_row(&mut own[i..i + STEP], step, x) };
        }
        for (word, own) in sum.iter_mut().zip(own) {
            (*word, carry) = add_with(*word, own, carry);
        }
    }
    let mut top = 0;
    for i in 0..len {
        let factor = sum[i].wrapping_mul(negated_inverse);
        // SAFETY: as the caller promises.
        let second = unsafe { add_row(&mut sum[i..i + len], modulus, factor) };
        let carries = u128::from(sum[i + len]) + u128::from(second) + u128::from(top);
        sum[i + len] = carries as u64;
        top = (carries >> 64) as u64;
    }
    a.copy_from_slice(&sum[len..2 * len]);
    reduce(a, top, modulus);
}
