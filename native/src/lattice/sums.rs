//! Sums of sealed rows by group, as they leave: every result is sanitised before anything else happens to it.
//!
//! Row j of a block stands at X^-j. A selection is a polynomial of zeros and ones: a one at X^(g m + j) puts row j of the
//! block into group g of the product, m rows and n/m groups at a time; the sum of group g stands at X^(g m), where no
//! other row and group meet, because rows differ by less than m. Results are numbered (node x chunk) x lane, a chunk being
//! n/m groups; 2^merges results in a row are merged into one return.
//!
//! Sums by slot are such sums: an entry is what a row is there, a row of the table is a node with the one group of what
//! it chose. Entries that all rows share lie behind the rows' own; every result adds their products with its own row's
//! choices.
//!
//! The steps do not depend on which group a row is in: every group of a chunk is compared with every row of a block.

use std::cell::RefCell;
use std::ops::Range;

use super::merge::{Bench, Part, SWITCH, drop_last, merge, turning};
use super::pack::{pack, packed_len, unpack};
use super::products::AT_ONCE;
use super::random::{Seed, Stream, Use, system_seed};
use super::ring::{Factor, Prime, Ring, below, inverse_of, power};
use super::seal::{Encoder, N, Opener, PACKED, PRIMES, add_residues, encoders, lift_small, open_return, return_len};
use crate::math::portable::dispatched;
use crate::math::threads;

/// How sums lie in ciphertexts, and how wide the flood is.
#[derive(Clone, Copy)]
pub struct Layout {
    /// Rows a block: a power of two.
    pub step: usize,
    /// Results merged into one: 2 to the power of this.
    pub merges: usize,
    /// Plaintexts a row.
    pub lanes: usize,
    /// Bits of each of three uniform numbers whose sum is the flood.
    pub flood_bits: u32,
    /// Values of one more uniform number, added to the flood; 0: none.
    pub filling: u128,
}

impl Layout {
    /// Groups a product.
    pub fn at_once(&self) -> usize {
        N / self.step
    }

    pub fn chunks(&self, groups: usize) -> usize {
        groups.div_ceil(self.at_once())
    }

    /// For each wanted coefficient of a return its place, counted in steps of a merged result, and the sum it is: node,
    /// group, lane.
    pub fn wanted(&self, number: usize, nodes: usize, groups: usize) -> Vec<(u32, [usize; 3])> {
        let (chunks, first) = (self.chunks(groups), number << self.merges);
        let last = (first + (1 << self.merges)).min(nodes * chunks * self.lanes);
        let mut wanted = vec![];
        for result in first..last {
            let (lane, chunk, node) = (result % self.lanes, result / self.lanes % chunks, result / self.lanes / chunks);
            let turned = ((result - first) as u32).reverse_bits().checked_shr(32 - self.merges as u32).unwrap_or(0);
            let from = chunk * self.at_once();
            for group in from..groups.min(from + self.at_once()) {
                wanted.push(((((group - from) as u32) << self.merges) + turned, [node, group, lane]));
            }
        }
        wanted
    }
}

/// The answering side's secrets and what they are asked of.
#[derive(Clone, Copy)]
pub struct Asked<'a> {
    /// Residues, blocks x primes x lanes x 2 x n, pairs `APART` words one after the other.
    pub rows: &'a [u32],
    /// Columns x rows.
    pub codes: &'a [u8],
    pub widths: &'a [i64],
    pub node_rows: &'a [i64],
    pub starts: &'a [i64],
    /// Nodes x groups x lanes, or nothing.
    pub plus: &'a [i64],
}

/// The same where rows of a table choose among entries.
#[derive(Clone, Copy)]
pub struct AskedEntries<'a> {
    /// Residues as in `Asked`.
    pub rows: &'a [u32],
    /// Rows x entries, those that rows share behind their own.
    pub choice: &'a [bool],
    pub own: usize,
    pub shared: usize,
    /// One a row, or nothing.
    pub plus: &'a [i64],
}

impl AskedEntries<'_> {
    pub fn width(&self) -> usize {
        self.own + self.shared
    }

    pub fn table_rows(&self) -> usize {
        self.choice.len() / self.width()
    }

    /// Where entries that rows share begin: behind the rows' own, in the same ciphertext only if they end there, too.
    fn shared_at(&self) -> usize {
        let own = self.table_rows() * self.own;
        if own % N + self.shared <= N { own } else { own.next_multiple_of(N) }
    }

    /// Sealed entries, with those between that fill up a ciphertext.
    pub fn sealed(&self) -> usize {
        if self.shared == 0 { self.table_rows() * self.own } else { self.shared_at() + self.shared }
    }

    fn spans(&self, row: usize, step: usize) -> Vec<Span> {
        let (first, choice) = (row * self.own, row * self.width());
        let own = entry_spans(first..first + self.own, choice, step);
        let shared = self.shared_at()..self.shared_at() + self.shared;
        own.chain(entry_spans(shared, choice + self.own, step)).collect()
    }
}

/// Entries that lie one after the other, chosen by truth values that do from `from` on.
fn entry_spans(places: Range<usize>, from: usize, step: usize) -> impl Iterator<Item = Span> {
    let blocks = if places.is_empty() { 0..0 } else { places.start / step..places.end.div_ceil(step) };
    blocks.map(move |block| {
        let (low, high) = (places.start.max(block * step), places.end.min((block + 1) * step));
        let rows = Rows::Entries { at: low - block * step, from: from + low - places.start, n: high - low };
        Span { block, rows }
    })
}

pub struct Keys<'a> {
    pub public: &'a [u32],
    /// One switching key for each merge, the first first.
    pub switch: &'a [u32],
}

/// Rows of a node within one block: those of a range, or these; or entries from a place in the block on, and where the
/// choices of them begin.
enum Rows {
    Range(usize, usize),
    These(Vec<usize>),
    Entries { at: usize, from: usize, n: usize },
}

struct Span {
    block: usize,
    rows: Rows,
}

fn spans(node_rows: &[i64], step: usize) -> Vec<Span> {
    let (Some(&first), Some(&last)) = (node_rows.first(), node_rows.last()) else { return vec![] };
    if node_rows.windows(2).all(|w| w[1] == w[0] + 1) {
        let (first, end) = (first as usize, last as usize + 1);
        let blocks = first / step..end.div_ceil(step);
        let range = |b: usize| Rows::Range(first.max(b * step), end.min((b + 1) * step));
        return blocks.map(|block| Span { block, rows: range(block) }).collect();
    }
    let mut sorted: Vec<usize> = node_rows.iter().map(|&r| r as usize).collect();
    sorted.sort_unstable();
    let parts = sorted.chunk_by(|a, b| a / step == b / step);
    parts.map(|rows| Span { block: rows[0] / step, rows: Rows::These(rows.to_vec()) }).collect()
}

dispatched! {
    /// 255 where a code is that of the group, else 0.
    pub fn mark(out: &mut [u8], codes: &[u8], code: u8) {
        for (out, &c) in out.iter_mut().zip(codes) {
            *out = if c == code { 255 } else { 0 };
        }
    }
}

dispatched! {
    /// 255 where an entry is chosen, else 0.
    pub fn mark_chosen(out: &mut [u8], choice: &[bool]) {
        for (out, &c) in out.iter_mut().zip(choice) {
            *out = u8::from(c).wrapping_neg();
        }
    }
}

/// What selects the rows of spans.
enum Selects<'a> {
    /// Codes of all rows, column after column, and how many rows there are.
    Codes(&'a [u8], usize),
    Choice(&'a [bool]),
}

/// Everything a task needs; made once for all of them.
struct Job<'a> {
    layout: Layout,
    rows: &'a [u32],
    selects: Selects<'a>,
    plus: &'a [i64],
    keys: &'a Keys<'a>,
    /// Column and code of each group.
    groups: Vec<(usize, u8)>,
    nodes: Vec<Vec<Span>>,
    encoders: Vec<Encoder>,
    tables: Vec<Vec<u32>>,
    /// 2^-merges modulo each prime.
    units: Vec<Factor>,
    own_seed: Seed,
}

/// What sanitises one result.
#[derive(Clone)]
struct Fresh {
    u: Vec<i8>,
    e1: Vec<i8>,
    e2: Vec<i8>,
    flood: Vec<u128>,
}

/// Room for a task, to be used again.
#[derive(Default)]
struct Scratch {
    sums: Vec<u32>,
    lazy: Vec<u32>,
    mask: Vec<u8>,
    parts: Vec<Part>,
    bench: Bench,
}

thread_local! {
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Words from one pair of polynomials to the next, and from one selection to the next: with a cache line more than they
/// have, because polynomials that begin a power of two apart would drive each other out of the cache.
pub const APART: usize = 2 * N + LINE;
const LAZY_APART: usize = N + LINE;
const LINE: usize = 16;

/// Results that a thread does one after the other with the same rows at hand.
const RESULTS_A_TASK: usize = 24;

/// Merges that a task does by itself; later ones are shared out anew, so that no task holds too many results.
const EARLY: usize = 4;

/// Returns of all sums, packed, one after the other, into `payload_len` bytes.
pub fn group_sums(layout: Layout, asked: &Asked, keys: &Keys, scale: &[u32], payload: &mut [u8], n_threads: usize) {
    let columns = asked.widths.iter().enumerate();
    let node = |w: &[i64]| spans(&asked.node_rows[w[0] as usize..w[1] as usize], layout.step);
    let job = Job {
        rows: asked.rows,
        selects: Selects::Codes(asked.codes, asked.codes.len() / asked.widths.len()),
        plus: asked.plus,
        groups: columns.flat_map(|(column, &width)| (0..width).map(move |code| (column, code as u8))).collect(),
        nodes: asked.starts.windows(2).map(node).collect(),
        ..Job::new(layout, keys, scale)
    };
    job.run(payload, n_threads);
}

/// Returns of each row's sum of chosen entries, as many bytes as for so many nodes of one group.
pub fn entry_sums(
    layout: Layout,
    asked: &AskedEntries,
    keys: &Keys,
    scale: &[u32],
    payload: &mut [u8],
    n_threads: usize,
) {
    let job = Job {
        rows: asked.rows,
        selects: Selects::Choice(asked.choice),
        plus: asked.plus,
        groups: vec![(0, 0)],
        nodes: (0..asked.table_rows()).map(|row| asked.spans(row, layout.step)).collect(),
        ..Job::new(layout, keys, scale)
    };
    job.run(payload, n_threads);
}

/// Shares of so many returns: the first one's number, their lengths, their bytes.
fn split_by<'a>(payload: &'a mut [u8], lengths: &'a [usize], share: usize) -> Vec<(usize, &'a [usize], &'a mut [u8])> {
    let mut items = vec![];
    let mut rest = payload;
    for (i, lengths) in lengths.chunks(share).enumerate() {
        let (now, later) = rest.split_at_mut(lengths.iter().sum());
        items.push((i * share, lengths, now));
        rest = later;
    }
    items
}

impl<'a> Job<'a> {
    /// With nothing to be summed yet.
    fn new(layout: Layout, keys: &'a Keys<'a>, scale: &[u32]) -> Self {
        let primes = &Ring::of_4096().primes;
        Self {
            layout,
            rows: &[],
            selects: Selects::Choice(&[]),
            plus: &[],
            keys,
            groups: vec![],
            nodes: vec![],
            encoders: encoders(scale),
            tables: (0..layout.merges).map(|i| turning(layout.step >> i)).collect(),
            units: primes.iter().map(|p| Factor::new(unit(p, layout.merges), p.p)).collect(),
            own_seed: system_seed(),
        }
    }

    fn run(&self, payload: &mut [u8], n_threads: usize) {
        let lengths: Vec<usize> = lengths(&self.layout, self.nodes.len(), self.groups.len()).collect();
        if self.layout.merges <= EARLY {
            let share = self.bundles_a_task(n_threads);
            let items = split_by(payload, &lengths, share);
            threads::for_each(n_threads, items, |(first, lengths, out)| self.answer(first, lengths, out));
        } else {
            let parts = self.merged_late(self.merged_early(n_threads), n_threads);
            let items = split_by(payload, &lengths, 1).into_iter().zip(parts).collect();
            threads::for_each(n_threads, items, |((i, _, out), mut part)| self.write(i, &mut part, out));
        }
    }

    fn results(&self) -> usize {
        self.nodes.len() * self.layout.chunks(self.groups.len()) * self.layout.lanes
    }

    /// Results that a task merges into one.
    fn bundle(&self) -> usize {
        1 << self.layout.merges.min(EARLY)
    }

    fn bundles_a_task(&self, n_threads: usize) -> usize {
        let fair = self.results().div_ceil(self.bundle()).div_ceil(8 * n_threads);
        let most = (RESULTS_A_TASK * self.layout.lanes).div_ceil(self.bundle());
        // Whole chunks, so that a selection is transformed once for all lanes.
        let share = fair.clamp(1, most);
        let whole = self.layout.lanes / gcd(self.layout.lanes, self.bundle());
        if whole <= 2 * most { share.next_multiple_of(whole) } else { share }
    }

    /// Bundles of results, sanitised and merged, given to `done` with their numbers.
    fn bundles(&self, numbers: Range<usize>, mut done: impl FnMut(usize, &mut Part)) {
        let bundle = self.bundle();
        let range = numbers.start * bundle..(numbers.end * bundle).min(self.results());
        SCRATCH.with_borrow_mut(|scratch| {
            let mut parts = std::mem::take(&mut scratch.parts);
            parts.resize_with(parts.len().max(range.len()), Part::default);
            self.sanitise(range.clone(), &mut parts[..range.len()], scratch);
            if self.layout.merges > 0 {
                parts[..range.len()].iter_mut().for_each(Part::drop_last);
            }
            for (number, parts) in numbers.zip(parts[..range.len()].chunks_mut(bundle)) {
                for i in 0..self.layout.merges.min(EARLY) {
                    for pair in parts.chunks_mut(2 << i) {
                        let (a, b) = pair.split_at_mut((1 << i).min(pair.len()));
                        self.merge(i, &mut a[0], b.first(), &mut scratch.bench);
                    }
                }
                done(number, &mut parts[0]);
            }
            scratch.parts = parts;
        });
    }

    fn merge(&self, i: usize, a: &mut Part, b: Option<&Part>, bench: &mut Bench) {
        let key = &self.keys.switch[SWITCH * i..SWITCH * (i + 1)];
        merge(a, b, self.layout.step >> i, &self.tables[i], key, bench);
    }

    /// Returns number `first` and those behind it, where a bundle is a return.
    fn answer(&self, first: usize, lengths: &[usize], out: &mut [u8]) {
        let mut rest = out;
        self.bundles(first..first + lengths.len(), |number, part| {
            let (now, later) = std::mem::take(&mut rest).split_at_mut(lengths[number - first]);
            self.write(number, part, now);
            rest = later;
        });
    }

    fn write(&self, number: usize, part: &mut Part, out: &mut [u8]) {
        let wanted = self.layout.wanted(number, self.nodes.len(), self.groups.len());
        if self.layout.merges == 0 {
            part.drop_last();
        }
        write_return(part, wanted.iter().map(|(at, _)| *at as usize), out);
    }

    /// All bundles.
    fn merged_early(&self, n_threads: usize) -> Vec<Part> {
        let (share, bundles) = (self.bundles_a_task(n_threads), self.results().div_ceil(self.bundle()));
        let items = (0..bundles).step_by(share).map(|first| first..bundles.min(first + share)).collect();
        let merged = threads::map(n_threads, items, |numbers: Range<usize>| {
            let mut parts = vec![];
            self.bundles(numbers, |_, part| parts.push(std::mem::take(part)));
            parts
        });
        merged.into_iter().flatten().collect()
    }

    /// Bundles merged further, until each is a return.
    fn merged_late(&self, mut parts: Vec<Part>, n_threads: usize) -> Vec<Part> {
        for i in EARLY..self.layout.merges {
            let items = parts.chunks_mut(2).map(|pair| pair.split_at_mut(1)).collect();
            threads::for_each(n_threads, items, |(a, b): (&mut [Part], &mut [Part])| {
                SCRATCH.with_borrow_mut(|scratch| self.merge(i, &mut a[0], b.first(), &mut scratch.bench));
            });
            let mut first = false;
            parts.retain(|_| {
                first = !first;
                first
            });
        }
        parts
    }

    /// Results with an encryption of zero, the summand and the flood; of c0 only what is wanted. From here on nothing
    /// tells anything but the sums.
    fn sanitise(&self, range: Range<usize>, parts: &mut [Part], scratch: &mut Scratch) {
        let fresh: Vec<Fresh> = range.clone().map(|result| self.fresh(result)).collect();
        for (l, prime) in Ring::of_4096().primes.iter().enumerate() {
            scratch.sums.clear();
            scratch.sums.resize(range.len() * 2 * N, 0);
            self.products(l, prime, range.clone(), scratch);
            let scale = prime.accumulated_scale(self.units[l].w);
            for (i, (part, fresh)) in parts.iter_mut().zip(&fresh).enumerate() {
                let sums = &mut scratch.sums[2 * N * i..2 * N * (i + 1)];
                let mut hidden = [0; N];
                lift_small(&mut hidden, &fresh.u, prime.p);
                prime.transform_lazily(&mut hidden);
                prime.accumulate(sums, &hidden, &[&self.keys.public[2 * N * l..2 * N * (l + 1)]]);
                let (first, second) = sums.split_at_mut(N);
                prime.restore_times(second, scale);
                add_small(second, &fresh.e2, self.units[l], prime.p);
                part.c1[l].clear();
                part.c1[l].extend_from_slice(second);
                part.c0[l] = prime.restore_some(first, self.layout.step, scale);
                self.flood(l, prime, range.start + i, fresh, &mut part.c0[l]);
            }
        }
    }

    fn fresh(&self, result: usize) -> Fresh {
        let mut own = Stream::new(&self.own_seed, Use::Secret, result as u64);
        let few = self.layout.at_once();
        let mut fresh = Fresh { u: vec![0; N], e1: vec![0; few], e2: vec![0; N], flood: vec![0; few] };
        own.ternary(&mut fresh.u);
        own.errors(&mut fresh.e1);
        own.errors(&mut fresh.e2);
        // Twice an encryption of zero: a proven key is known to be well formed only when doubled.
        fresh.u.iter_mut().chain(&mut fresh.e2).for_each(|x| *x *= 2);
        own.wide(self.layout.flood_bits, &mut fresh.flood);
        own.add_below(self.layout.filling, &mut fresh.flood);
        fresh
    }

    /// Adds the summand, an error, the flood and what fills the step beside it to the wanted coefficients of c0.
    fn flood(&self, l: usize, prime: &Prime, result: usize, fresh: &Fresh, c0: &mut [u32]) {
        let (lanes, groups) = (self.layout.lanes, self.groups.len());
        let chunks = self.layout.chunks(groups);
        let (lane, chunk, node) = (result % lanes, result / lanes % chunks, result / lanes / chunks);
        let middle = prime.p - prime.reduce_wide((3u128 << (self.layout.flood_bits - 1)) + self.layout.filling / 2);
        for (k, c) in c0.iter_mut().enumerate() {
            let group = chunk * self.layout.at_once() + k;
            let plus = self.plus.get((node * groups + group) * lanes + lane);
            let plus = plus.filter(|_| group < groups).map_or(0, |&x| self.encoders[l].encode(x));
            let flood = u64::from(prime.reduce_wide(fresh.flood[k])) + u64::from(middle);
            let added = prime.reduce(flood + u64::from(plus) + u64::from(prime.lift(i32::from(fresh.e1[k]))));
            *c = below(*c + self.units[l].times(added, prime.p), prime.p);
        }
    }

    /// Products of all blocks of all results, for one prime.
    fn products(&self, l: usize, prime: &Prime, range: Range<usize>, scratch: &mut Scratch) {
        let (lanes, chunks) = (self.layout.lanes, self.layout.chunks(self.groups.len()));
        let (first, last) = (range.start / lanes, range.end.div_ceil(lanes));
        scratch.lazy.resize(AT_ONCE * LAZY_APART, 0);
        scratch.mask.resize(N, 0);
        for node in first / chunks..last.div_ceil(chunks) {
            let own = first.max(node * chunks)..last.min((node + 1) * chunks);
            for spans in self.nodes[node].chunks(AT_ONCE) {
                for product in own.clone() {
                    for (span, lazy) in spans.iter().zip(scratch.lazy.chunks_mut(LAZY_APART)) {
                        self.select(span, product % chunks, &mut scratch.mask);
                        prime.transform_mask(&scratch.mask, &mut lazy[..N]);
                    }
                    for result in range.start.max(product * lanes)..range.end.min((product + 1) * lanes) {
                        let pair = |span: &Span| {
                            let at = APART * ((span.block * PRIMES + l) * lanes + result % lanes);
                            &self.rows[at..at + 2 * N]
                        };
                        let mut pairs = [&[][..]; AT_ONCE];
                        pairs.iter_mut().zip(spans).for_each(|(p, span)| *p = pair(span));
                        let at = 2 * N * (result - range.start);
                        let sums = &mut scratch.sums[at..at + 2 * N];
                        prime.accumulate_apart(sums, &scratch.lazy, LAZY_APART, &pairs[..spans.len()]);
                    }
                }
            }
        }
    }

    /// The ones of a selection polynomial, as bytes.
    fn select(&self, span: &Span, chunk: usize, mask: &mut [u8]) {
        mask.fill(0);
        match &self.selects {
            Selects::Codes(codes, n_rows) => self.select_groups(span, chunk, codes, *n_rows, mask),
            Selects::Choice(choice) => {
                let Rows::Entries { at, from, n } = span.rows else { unreachable!("choices are of entries") };
                mark_chosen(&mut mask[at..at + n], &choice[from..from + n]);
            }
        }
    }

    fn select_groups(&self, span: &Span, chunk: usize, codes: &[u8], n_rows: usize, mask: &mut [u8]) {
        let step = self.layout.step;
        let from = chunk * self.layout.at_once();
        let groups = &self.groups[from..self.groups.len().min(from + self.layout.at_once())];
        for (&(column, code), mask) in groups.iter().zip(mask.chunks_mut(step)) {
            let codes = &codes[column * n_rows..(column + 1) * n_rows];
            let start = span.block * step;
            match &span.rows {
                Rows::Range(lo, hi) => mark(&mut mask[lo - start..hi - start], &codes[*lo..*hi], code),
                Rows::These(rows) => {
                    rows.iter().for_each(|&row| mask[row - start] = if codes[row] == code { 255 } else { 0 });
                }
                Rows::Entries { .. } => unreachable!("groups are of rows"),
            }
        }
    }
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// 2^-merges.
fn unit(prime: &Prime, merges: usize) -> u32 {
    inverse_of(power(2, merges as u64, prime.p), prime.p)
}

dispatched! {
    /// Adds small numbers times a factor to residues.
    pub fn add_small(x: &mut [u32], small: &[i8], factor: Factor, p: u32) {
        for (x, &e) in x.iter_mut().zip(small) {
            let e = i32::from(e);
            *x = below(*x + factor.times((e + (p as i32 & (e >> 31))) as u32, p), p);
        }
    }
}

/// From a result without the last prime one more dropped, c1 whole and the wanted coefficients of c0 packed.
fn write_return(part: &mut Part, wanted: impl ExactSizeIterator<Item = usize> + Clone, out: &mut [u8]) {
    let few = packed_len(wanted.len());
    for c0 in &mut part.c0[..PRIMES - 1] {
        *c0 = wanted.clone().map(|at| c0[at]).collect();
    }
    drop_last(&mut part.c0, 2);
    drop_last(&mut part.c1, 2);
    for l in 0..2 {
        pack(&part.c1[l], &mut out[PACKED * l..PACKED * (l + 1)]);
        pack(&part.c0[l], &mut out[2 * PACKED + few * l..2 * PACKED + few * (l + 1)]);
    }
}

/// Bytes of each return.
fn lengths(layout: &Layout, nodes: usize, groups: usize) -> impl Iterator<Item = usize> {
    let (chunks, results) = (layout.chunks(groups), nodes * layout.chunks(groups) * layout.lanes);
    let (layout, last) = (*layout, groups - (layout.chunks(groups) - 1) * layout.at_once());
    (0..results).step_by(1 << layout.merges).map(move |first| {
        let these = first..results.min(first + (1 << layout.merges));
        let few = |result: usize| if result / layout.lanes % chunks + 1 == chunks { last } else { layout.at_once() };
        return_len(these.map(few).sum())
    })
}

/// Bytes of all returns.
pub fn payload_len(layout: &Layout, nodes: usize, groups: usize) -> usize {
    lengths(layout, nodes, groups).sum()
}

/// Returns with their numbers.
fn split<'a>(payload: &'a [u8], layout: &Layout, nodes: usize, groups: usize) -> Vec<(usize, &'a [u8])> {
    let mut rest = payload;
    let mut parts = vec![];
    for (i, length) in lengths(layout, nodes, groups).enumerate() {
        let (this, later) = rest.split_at(length);
        parts.push((i, this));
        rest = later;
    }
    parts
}

/// The residues of a return: of each of two primes those of c1, then of each those of c0. None if one is not below its
/// prime.
fn residues(packed: &[u8], wanted: usize) -> Option<[Vec<u32>; 4]> {
    let few = packed_len(wanted);
    let (c1, c0) = packed.split_at(2 * PACKED);
    let read = |bytes: &[u8], n: usize, l: usize| {
        let mut out = vec![0; n];
        unpack(bytes, Ring::of_4096().primes[l].p, &mut out).then_some(out)
    };
    Some([
        read(&c1[..PACKED], N, 0)?,
        read(&c1[PACKED..], N, 1)?,
        read(&c0[..few], wanted, 0)?,
        read(&c0[few..], wanted, 1)?,
    ])
}

/// Whether all residues of returned sums are below their primes.
pub fn are_residues(payload: &[u8], layout: &Layout, nodes: usize, groups: usize, n_threads: usize) -> bool {
    let check = |(i, packed): (usize, &[u8])| residues(packed, layout.wanted(i, nodes, groups).len()).is_some();
    threads::map(n_threads, split(payload, layout, nodes, groups), check).into_iter().all(|fits| fits)
}

/// Returned sums added to others, or taken from them.
pub fn add(a: &[u8], b: &[u8], layout: &Layout, nodes: usize, groups: usize, subtract: bool, out: &mut [u8]) {
    let mut start = 0;
    for ((i, a), (_, b)) in split(a, layout, nodes, groups).into_iter().zip(split(b, layout, nodes, groups)) {
        let wanted = layout.wanted(i, nodes, groups).len();
        let read = |bytes| residues(bytes, wanted).expect("checked when it was read");
        for (k, (mut a, b)) in read(a).into_iter().zip(read(b)).enumerate() {
            add_residues(&mut a, &b, Ring::of_4096().primes[k % 2].p, subtract);
            let end = start + packed_len(a.len());
            pack(&a, &mut out[start..end]);
            start = end;
        }
    }
}

/// Opened sums, nodes x groups x lanes.
pub fn open(
    secret: &[u32],
    payload: &[u8],
    layout: &Layout,
    nodes: usize,
    groups: usize,
    opener: &Opener,
    n_threads: usize,
) -> Vec<i64> {
    let mut sums = vec![0; nodes * groups * layout.lanes];
    let read = |(i, packed): (usize, &[u8])| {
        let wanted = layout.wanted(i, nodes, groups);
        let places: Vec<u32> = wanted.iter().map(|(at, _)| *at).collect();
        let opened = open_return(secret, packed, &places, opener).expect("checked when it was read");
        (wanted, opened)
    };
    for (wanted, opened) in threads::map(n_threads, split(payload, layout, nodes, groups), read) {
        for ((_, [node, group, lane]), x) in wanted.into_iter().zip(opened) {
            sums[(node * groups + group) * layout.lanes + lane] = x;
        }
    }
    sums
}
