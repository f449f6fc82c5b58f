//! The transforms of `ring` with AVX2: two layers at a time, the last three on transposed blocks of 8 x 8.

use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadl_epi64, _mm256_add_epi32, _mm256_and_si256, _mm256_blend_epi32, _mm256_cvtepi8_epi32,
    _mm256_loadu_si256, _mm256_min_epu32, _mm256_mul_epu32, _mm256_mullo_epi32, _mm256_permute2x128_si256,
    _mm256_set1_epi32, _mm256_srli_epi64, _mm256_storeu_si256, _mm256_sub_epi32, _mm256_unpackhi_epi32,
    _mm256_unpackhi_epi64, _mm256_unpacklo_epi32, _mm256_unpacklo_epi64,
};

use super::ring::{Factor, Prime, Twiddles};

/// Eight factors; `odd` has the odd lanes' s in the even lanes.
#[derive(Clone, Copy)]
struct Factors {
    w: __m256i,
    s: __m256i,
    odd: __m256i,
}

#[inline]
#[target_feature(enable = "avx2")]
fn all(factor: Factor) -> Factors {
    let s = _mm256_set1_epi32(factor.s as i32);
    Factors { w: _mm256_set1_epi32(factor.w as i32), s, odd: s }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn broadcast(table: &Twiddles, i: usize) -> Factors {
    // SAFETY: the caller knows that the table has an entry i.
    unsafe { all(Factor { w: *table.w.get_unchecked(i), s: *table.s.get_unchecked(i) }) }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn tail(table: &Twiddles, i: usize) -> Factors {
    // SAFETY: the caller knows that the table has entries i to i + 7.
    let (w, s) = unsafe { (load(table.tail_w.as_ptr().add(i)), load(table.tail_s.as_ptr().add(i))) };
    Factors { w, s, odd: _mm256_srli_epi64(s, 32) }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(from: *const u32) -> __m256i {
    unsafe { _mm256_loadu_si256(from.cast()) }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store(to: *mut u32, x: __m256i) {
    unsafe { _mm256_storeu_si256(to.cast(), x) }
}

/// `Factor::lazy` of eight words.
#[inline]
#[target_feature(enable = "avx2")]
fn lazy(y: __m256i, f: Factors, p: __m256i) -> __m256i {
    let even = _mm256_srli_epi64(_mm256_mul_epu32(y, f.s), 32);
    let odd = _mm256_mul_epu32(_mm256_srli_epi64(y, 32), f.odd);
    let q = _mm256_blend_epi32(even, odd, 0b1010_1010);
    _mm256_sub_epi32(_mm256_mullo_epi32(y, f.w), _mm256_mullo_epi32(q, p))
}

#[inline]
#[target_feature(enable = "avx2")]
fn below(x: __m256i, p: __m256i) -> __m256i {
    _mm256_min_epu32(x, _mm256_sub_epi32(x, p))
}

/// A prime and its double, eight times.
#[derive(Clone, Copy)]
struct Moduli {
    p: __m256i,
    twice: __m256i,
}

#[inline]
#[target_feature(enable = "avx2")]
fn moduli(prime: &Prime) -> Moduli {
    Moduli { p: _mm256_set1_epi32(prime.p as i32), twice: _mm256_set1_epi32(2 * prime.p as i32) }
}

#[inline]
#[target_feature(enable = "avx2")]
fn butterfly(x: __m256i, y: __m256i, f: Factors, m: Moduli) -> (__m256i, __m256i) {
    let r = lazy(y, f, m.p);
    (_mm256_add_epi32(x, r), _mm256_sub_epi32(_mm256_add_epi32(x, m.twice), r))
}

#[inline]
#[target_feature(enable = "avx2")]
fn back_butterfly(x: __m256i, y: __m256i, f: Factors, m: Moduli) -> (__m256i, __m256i) {
    let difference = _mm256_sub_epi32(_mm256_add_epi32(x, m.twice), y);
    (below(_mm256_add_epi32(x, y), m.twice), lazy(difference, f, m.p))
}

/// See `Prime::transform_lazily`.
///
/// # Safety
/// `a` has the length of the prime's tables: 4096 or 8192.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn transform(prime: &Prime, a: &mut [u32]) {
    // SAFETY: the caller's.
    unsafe {
        two_layers(&prime.forward, a.as_ptr(), a.as_mut_ptr(), a.len(), 1, moduli(prime));
        layers_from(prime, a, 4);
    }
}

/// See `Prime::transform_to`.
///
/// # Safety
/// Both have the length of the prime's tables: 4096 or 8192.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn transform_to(prime: &Prime, from: &[u32], out: &mut [u32]) {
    // SAFETY: the caller's.
    unsafe {
        two_layers(&prime.forward, from.as_ptr(), out.as_mut_ptr(), out.len(), 1, moduli(prime));
        layers_from(prime, out, 4);
    }
}

/// See `Prime::transform_mask`.
///
/// # Safety
/// Both have the length of the prime's tables: 4096 or 8192.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn transform_mask(prime: &Prime, mask: &[u8], out: &mut [u32]) {
    let (quarter, m) = (out.len() / 4, moduli(prime));
    let one = _mm256_set1_epi32(1);
    let [w1, minus_w1, w2, w12, w3, minus_w13] = prime.ones.map(|w| _mm256_set1_epi32(w as i32));
    for j in (0..quarter).step_by(8) {
        // SAFETY: the lengths are the caller's.
        let [x0, x1, x2, x3] = unsafe {
            let at = |k: usize| mask.as_ptr().add(j + k * quarter).cast();
            [load_mask(at(0)), load_mask(at(1)), load_mask(at(2)), load_mask(at(3))]
        };
        // The even half is x0 + w1 x2 and x0 - w1 x2; the odd one times its twiddle w2 (x1 + w1 x3) and w3 (x1 - w1 x3).
        let first = _mm256_and_si256(x0, one);
        let sum = _mm256_add_epi32(first, _mm256_and_si256(x2, w1));
        let difference = _mm256_add_epi32(first, _mm256_and_si256(x2, minus_w1));
        let left = _mm256_add_epi32(_mm256_and_si256(x1, w2), _mm256_and_si256(x3, w12));
        let right = _mm256_add_epi32(_mm256_and_si256(x1, w3), _mm256_and_si256(x3, minus_w13));
        let four = [
            _mm256_add_epi32(sum, left),
            _mm256_sub_epi32(_mm256_add_epi32(sum, m.twice), left),
            _mm256_add_epi32(difference, right),
            _mm256_sub_epi32(_mm256_add_epi32(difference, m.twice), right),
        ];
        for (k, x) in four.into_iter().enumerate() {
            // SAFETY: the lengths are the caller's.
            unsafe { store(out.as_mut_ptr().add(j + k * quarter), x) };
        }
    }
    // SAFETY: the caller's.
    unsafe { layers_from(prime, out, 4) };
}

/// Eight bytes as masks of 32 bits.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_mask(from: *const __m128i) -> __m256i {
    // SAFETY: the caller knows that there are eight bytes.
    unsafe { _mm256_cvtepi8_epi32(_mm_loadl_epi64(from)) }
}

/// Layers from the one with so many blocks (a power of 4) on; `a` has the length of the tables.
#[target_feature(enable = "avx2")]
unsafe fn layers_from(prime: &Prime, a: &mut [u32], mut blocks: usize) {
    let (n, m, to) = (a.len(), moduli(prime), a.as_mut_ptr());
    let table = &prime.forward;
    // SAFETY: blocks of a layer tile the n words, and a layer with k blocks uses entries k to 2k - 1 of the table.
    unsafe {
        // Eight layers by two, or ten for n = 8192; 4096 has one more before the last three.
        while 4 * blocks <= n / 8 {
            two_layers(table, to, to, n, blocks, m);
            blocks *= 4;
        }
        if blocks < n / 8 {
            one_layer(table, to, n, blocks, m);
        }
        for block in 0..n / 64 {
            last_layers(table, to.add(64 * block), 56 * block, m);
        }
    }
}

#[target_feature(enable = "avx2")]
unsafe fn one_layer(table: &Twiddles, to: *mut u32, n: usize, blocks: usize, m: Moduli) {
    let half = n / (2 * blocks);
    for i in 0..blocks {
        // SAFETY: see `transform`.
        unsafe {
            let (f, at) = (broadcast(table, blocks + i), to.add(2 * i * half));
            for j in (0..half).step_by(8) {
                let (left, right) = (at.add(j), at.add(j + half));
                let (x, y) = butterfly(load(left), load(right), f, m);
                store(left, x);
                store(right, y);
            }
        }
    }
}

#[target_feature(enable = "avx2")]
unsafe fn two_layers(table: &Twiddles, from: *const u32, to: *mut u32, n: usize, blocks: usize, m: Moduli) {
    let quarter = n / (4 * blocks);
    for i in 0..blocks {
        // SAFETY: see `transform`.
        unsafe {
            let first = broadcast(table, blocks + i);
            let (left, right) = (broadcast(table, 2 * (blocks + i)), broadcast(table, 2 * (blocks + i) + 1));
            for j in (0..quarter).step_by(8) {
                let offsets = [0, 1, 2, 3].map(|k| (4 * i + k) * quarter + j);
                let [a, b, c, d] = offsets.map(|at| load(from.add(at)));
                let places = offsets.map(|at| to.add(at));
                let ((a, c), (b, d)) = (butterfly(a, c, first, m), butterfly(b, d, first, m));
                let ((a, b), (c, d)) = (butterfly(a, b, left, m), butterfly(c, d, right, m));
                store(places[0], a);
                store(places[1], b);
                store(places[2], c);
                store(places[3], d);
            }
        }
    }
}

#[target_feature(enable = "avx2")]
unsafe fn last_layers(table: &Twiddles, to: *mut u32, first: usize, m: Moduli) {
    // SAFETY: 64 words, and 56 entries of the table; see `transform`.
    unsafe {
        let mut v = transposed(load_block(to));
        let f = tail(table, first);
        for j in 0..4 {
            (v[j], v[j + 4]) = butterfly(v[j], v[j + 4], f, m);
        }
        for g in 0..2 {
            let f = tail(table, first + 8 + 8 * g);
            for j in [4 * g, 4 * g + 1] {
                (v[j], v[j + 2]) = butterfly(v[j], v[j + 2], f, m);
            }
        }
        for g in 0..4 {
            let f = tail(table, first + 24 + 8 * g);
            (v[2 * g], v[2 * g + 1]) = butterfly(v[2 * g], v[2 * g + 1], f, m);
        }
        store_block(to, v);
    }
}

/// See `Prime::restore_times`.
///
/// # Safety
/// `a` has the length of the prime's tables: 4096 or 8192.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn restore(prime: &Prime, a: &mut [u32], scale: Factor) {
    let (n, m, to) = (a.len(), moduli(prime), a.as_mut_ptr());
    let table = &prime.backward;
    // SAFETY: as in `transform`.
    unsafe {
        for block in 0..n / 64 {
            first_layers_back(table, to.add(64 * block), 56 * block, m);
        }
        let mut blocks = n / 16;
        if n.trailing_zeros() % 2 == 0 {
            one_layer_back(table, to, n, blocks, m);
            blocks /= 2;
        }
        while blocks >= 2 {
            two_layers_back(table, to, n, blocks / 2, m);
            blocks /= 4;
        }
        let scale = all(scale);
        for i in (0..n).step_by(8) {
            store(to.add(i), below(lazy(load(to.add(i)), scale, m.p), m.p));
        }
    }
}

#[target_feature(enable = "avx2")]
unsafe fn one_layer_back(table: &Twiddles, to: *mut u32, n: usize, blocks: usize, m: Moduli) {
    let half = n / (2 * blocks);
    for i in 0..blocks {
        // SAFETY: see `transform`.
        unsafe {
            let (f, at) = (broadcast(table, blocks + i), to.add(2 * i * half));
            for j in (0..half).step_by(8) {
                let (left, right) = (at.add(j), at.add(j + half));
                let (x, y) = back_butterfly(load(left), load(right), f, m);
                store(left, x);
                store(right, y);
            }
        }
    }
}

/// The layer with `2 blocks` blocks and the one with `blocks`.
#[target_feature(enable = "avx2")]
unsafe fn two_layers_back(table: &Twiddles, to: *mut u32, n: usize, blocks: usize, m: Moduli) {
    let quarter = n / (4 * blocks);
    for i in 0..blocks {
        // SAFETY: see `transform`.
        unsafe {
            let last = broadcast(table, blocks + i);
            let (left, right) = (broadcast(table, 2 * (blocks + i)), broadcast(table, 2 * (blocks + i) + 1));
            let at = to.add(4 * i * quarter);
            for j in (0..quarter).step_by(8) {
                let places = [0, 1, 2, 3].map(|k| at.add(j + k * quarter));
                let [a, b, c, d] = [load(places[0]), load(places[1]), load(places[2]), load(places[3])];
                let ((a, b), (c, d)) = (back_butterfly(a, b, left, m), back_butterfly(c, d, right, m));
                let ((a, c), (b, d)) = (back_butterfly(a, c, last, m), back_butterfly(b, d, last, m));
                store(places[0], a);
                store(places[1], b);
                store(places[2], c);
                store(places[3], d);
            }
        }
    }
}

#[target_feature(enable = "avx2")]
unsafe fn first_layers_back(table: &Twiddles, to: *mut u32, first: usize, m: Moduli) {
    // SAFETY: 64 words, and 56 entries of the table; see `transform`.
    unsafe {
        let mut v = load_block(to);
        for g in 0..4 {
            let f = tail(table, first + 24 + 8 * g);
            (v[2 * g], v[2 * g + 1]) = back_butterfly(v[2 * g], v[2 * g + 1], f, m);
        }
        for g in 0..2 {
            let f = tail(table, first + 8 + 8 * g);
            for j in [4 * g, 4 * g + 1] {
                (v[j], v[j + 2]) = back_butterfly(v[j], v[j + 2], f, m);
            }
        }
        let f = tail(table, first);
        for j in 0..4 {
            (v[j], v[j + 4]) = back_butterfly(v[j], v[j + 4], f, m);
        }
        store_block(to, transposed(v));
    }
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load_block(from: *const u32) -> [__m256i; 8] {
    let mut v = [_mm256_set1_epi32(0); 8];
    for (i, v) in v.iter_mut().enumerate() {
        *v = unsafe { load(from.add(8 * i)) };
    }
    v
}

#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store_block(to: *mut u32, v: [__m256i; 8]) {
    for (i, v) in v.into_iter().enumerate() {
        unsafe { store(to.add(8 * i), v) };
    }
}

#[inline]
#[target_feature(enable = "avx2")]
fn transposed(v: [__m256i; 8]) -> [__m256i; 8] {
    let zero = _mm256_set1_epi32(0);
    let (mut pairs, mut quads, mut turned) = ([zero; 8], [zero; 8], [zero; 8]);
    for i in 0..4 {
        pairs[2 * i] = _mm256_unpacklo_epi32(v[2 * i], v[2 * i + 1]);
        pairs[2 * i + 1] = _mm256_unpackhi_epi32(v[2 * i], v[2 * i + 1]);
    }
    for h in [0, 4] {
        quads[h] = _mm256_unpacklo_epi64(pairs[h], pairs[h + 2]);
        quads[h + 1] = _mm256_unpackhi_epi64(pairs[h], pairs[h + 2]);
        quads[h + 2] = _mm256_unpacklo_epi64(pairs[h + 1], pairs[h + 3]);
        quads[h + 3] = _mm256_unpackhi_epi64(pairs[h + 1], pairs[h + 3]);
    }
    for i in 0..4 {
        turned[i] = _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x20);
        turned[i + 4] = _mm256_permute2x128_si256(quads[i], quads[i + 4], 0x31);
    }
    turned
}
