//! Exact noise of differential privacy: discrete Gaussian and discrete Laplace integers, in integer arithmetic alone.
//!
//! Algorithms 1 to 3 of Canonne, Kamath and Steinke, "The Discrete Gaussian for Differential Privacy" (2020). Every
//! probability is a ratio of integers and every decision compares it with random bits, as many as it takes; so what
//! comes out has exactly the distribution that the accounting assumes. Bits come from ChaCha20 under a fresh seed of the
//! system for every call. How long a draw takes varies with what is drawn.

pub mod coins;
pub mod gaussian;
pub mod laplace;

use coins::{Bits, Coins};

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};

/// Bytes that are made at a time.
const BLOCK: usize = 4096;
/// Bits with which a coin first tries to decide; more are drawn only where these do not.
const STEP: u32 = 16;

/// Bits of ChaCha20 under a seed from the system.
struct SystemBits {
    cipher: ChaCha20Rng,
    bytes: [u8; BLOCK],
    used: usize,
}

impl SystemBits {
    fn fresh() -> Self {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).expect("the system has random numbers");
        Self { cipher: ChaCha20Rng::from_seed(seed), bytes: [0; BLOCK], used: BLOCK }
    }
}

impl Bits for SystemBits {
    #[inline(always)]
    fn draw(&mut self, n: u32) -> u64 {
        let size = if n <= 16 { 2 } else { 8 };
        if self.used + size > BLOCK {
            self.cipher.fill_bytes(&mut self.bytes);
            self.used = 0;
        }
        let at = &self.bytes[self.used..];
        let word = match size {
            2 => u64::from(u16::from_le_bytes([at[0], at[1]])),
            _ => u64::from_le_bytes(std::array::from_fn(|i| at[i])),
        };
        self.used += size;
        word & (u64::MAX >> (64 - n))
    }
}

fn system_coins() -> Coins<SystemBits, STEP> {
    Coins(SystemBits::fresh())
}

#[cfg(test)]
mod tests;
