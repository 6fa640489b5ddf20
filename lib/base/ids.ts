import { randomBytes } from 'node:crypto'

/** Crockford's base 32 in lower case: sorts as the numbers do, reads without 0/O and 1/l doubts. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

const TIME_LENGTH = 10
const NODE_LENGTH = 6
const COUNT_LENGTH = 5
const COUNTS = 32 ** COUNT_LENGTH
/** Characters of a request id. */
export const ID_LENGTH = TIME_LENGTH + NODE_LENGTH + COUNT_LENGTH

function digits(value: number, length: number): string {
  let text = ''
  for (let i = 0; i < length; i++) {
    text = DIGITS[value % 32] + text
    value = Math.floor(value / 32)
  }
  return text
}

/** The smallest id of a moment (ms since 1970): rows of `[from, to)` are those with `idAt(from) <= id < idAt(to)`. */
export const idAt = (ms: number): string => digits(Math.max(0, Math.floor(ms)), TIME_LENGTH)

/** The moment (ms since 1970) an id was made. */
export function timeOfId(id: string): number {
  let ms = 0
  for (let i = 0; i < TIME_LENGTH; i++) ms = ms * 32 + DIGITS.indexOf(id[i] ?? '0')
  return ms
}

/** A name that no other process has, also after a restart. */
export const processName = (): string => digits(randomBytes(6).readUIntBE(0, 6), NODE_LENGTH + 4)

/**
 * Makes request ids: time, process, count, so that they are unique without asking anyone and sort by time.
 * A clock that steps back does not make ids go back: they wait at the latest time seen, and where that has no number
 * left they go on with the next millisecond.
 */
export function idMaker(now: () => number, counts = COUNTS): () => string {
  const node = digits(randomBytes(4).readUInt32BE(), NODE_LENGTH)
  let latestMs = -1
  let prefix = ''
  let count = 0
  return () => {
    const ms = now()
    if (ms > latestMs || count === counts) {
      latestMs = Math.max(ms, latestMs + 1)
      prefix = digits(latestMs, TIME_LENGTH) + node
      count = 0
    }
    return prefix + digits(count++, COUNT_LENGTH)
  }
}
