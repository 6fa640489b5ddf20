/** Random numbers that can be had again: the seed is printed, and `SEED=…` in the environment sets it. */
import type { Test } from 'tap'

export function seeded(t: Pick<Test, 'pass'>): () => number {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32)) >>> 0
  t.pass(`SEED=${seed}`) // a comment is not always printed
  return fromSeed(seed)
}

/** Mulberry32: small, and even enough for tests. */
export function fromSeed(state: number): () => number {
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let h = Math.imul(state ^ (state >>> 15), state | 1)
    h ^= h + Math.imul(h ^ (h >>> 7), h | 61)
    return ((h ^ (h >>> 14)) >>> 0) / 2 ** 32
  }
}
