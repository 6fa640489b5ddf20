/** Random numbers from a seed, so that `SEED=… npm test -- FILE` repeats a failure. */
import type { Test } from 'tap'
import { chance } from '../../tools/simulator/handler.ts'

export interface Random {
  seed: number
  /** A number from 0 to 1. */
  next(): number
  /** A whole number from `low` to `high`, both included. */
  int(low: number, high: number): number
  pick<T>(list: readonly T[]): T
}

/** The seed of this run, which `npm test` prints at its end. */
export function seeded(t: Pick<Test, 'comment'>): Random {
  const seed = Number(process.env['SEED'] ?? Math.floor(Math.random() * 2 ** 32)) >>> 0
  t.comment(`SEED=${seed}`)
  return withSeed(seed)
}

export function withSeed(seed: number): Random {
  const next = chance(seed)
  const int = (low: number, high: number): number => low + Math.floor(next() * (high - low + 1))
  return { seed, next, int, pick: list => list[int(0, list.length - 1)] as never }
}

/** Cuts bytes into chunks of random length; some have one byte. */
export function cut(random: Random, bytes: Buffer, longest = 400): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = random.next() < 0.2 ? 1 : random.int(1, longest)
    chunks.push(bytes.subarray(at, at + length))
    at += length
  }
  return chunks
}

const TEXTS = [
  '',
  'a',
  'model',
  '"',
  '\\',
  '\\"',
  '\n\t',
  '你好',
  '🌍',
  '{"model":"x"}',
  '],[',
  'x'.repeat(100),
  '\\u0041',
  '"cache_control"',
]

export const text = (random: Random): string =>
  Array.from({ length: random.int(0, 4) }, () => random.pick(TEXTS)).join('')

/** Writes a value as valid JSON that nobody would write: with odd spacing and needless escapes. */
export function jsonText(random: Random, value: unknown): string {
  const space = () => random.pick(['', '', '', ' ', '\n', '\t ', '\r\n'])
  if (typeof value === 'string') return escaped(random, value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const parts = Array.isArray(value)
    ? value.map(v => space() + jsonText(random, v) + space())
    : Object.entries(value).map(
        ([k, v]) => `${space()}${escaped(random, k)}${space()}:${space()}${jsonText(random, v)}${space()}`,
      )
  const [open, close] = Array.isArray(value) ? '[]' : '{}'
  return open + (parts.length === 0 ? space() : parts.join(',')) + close
}

/**
 * A random name of a JSON member. It has no backslashes because of a bug in JSON.parse of Node 26.9: it can mistake a
 * key with an escape for another key, one that stood at the same place in an earlier text and begins with the same
 * written characters (`"\""` and `"\\"`).
 */
export const key = (random: Random): string => text(random).replaceAll('\\', '/')

function escaped(random: Random, value: string): string {
  const plain = JSON.stringify(value)
  if (random.next() < 0.8) return plain
  const unicode = (c: string): string => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`
  // the letter of an escape is no letter
  return plain.replace(/\\u....|\\.|[a-z]/g, c => (c.length === 1 && random.next() < 0.3 ? unicode(c) : c))
}

export function json(random: Random, depth = 4): unknown {
  const kind = depth === 0 ? random.int(0, 4) : random.int(0, 7)
  if (kind === 0) return null
  if (kind === 1) return random.next() < 0.5
  if (kind === 2) return random.pick([0, 1, -1, 1e-7, 12.5, 1e15, -3e20, 42])
  if (kind <= 4) return text(random)
  if (kind === 5) return Array.from({ length: random.int(0, 4) }, () => json(random, depth - 1))
  return Object.fromEntries(Array.from({ length: random.int(0, 4) }, () => [key(random), json(random, depth - 1)]))
}
