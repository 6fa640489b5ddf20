/**
 * Request ids and process names. A request id is 21 characters of base 32: ten for the time in ms, six for the process,
 * five that count within the millisecond. So ids are unique without asking anybody, and sort by time.
 */
import { randomBytes } from 'node:crypto'

/** Crockford's base 32 in lower case: texts sort as the numbers do, and no digits look alike (0/O, 1/l). */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz'

const TIME_LENGTH = 10
const NODE_LENGTH = 6
const COUNT_LENGTH = 5
const COUNTS = 32 ** COUNT_LENGTH
/** The length of a request id in characters. */
export const ID_LENGTH = TIME_LENGTH + NODE_LENGTH + COUNT_LENGTH

function digits(value: number, length: number): string {
  let text = ''
  for (let i = 0; i < length; i++) {
    text = DIGITS[value % 32] + text
    value = Math.floor(value / 32)
  }
  return text
}

/** The last two digits of ids. */
const LAST = Array.from({ length: 32 ** 2 }, (_, value) => digits(value, 2))

/** The smallest id of a moment in ms since 1970: ids of `[from, to)` are those with `idAt(from) <= id < idAt(to)`. */
export const idAt = (ms: number): string => digits(Math.max(0, Math.floor(ms)), TIME_LENGTH)

/** The moment at which an id was made, in ms since 1970. */
export function timeOfId(id: string): number {
  let ms = 0
  for (let i = 0; i < TIME_LENGTH; i++) ms = ms * 32 + DIGITS.indexOf(id[i] ?? '0')
  return ms
}

/** The length of an outward id in characters. */
export const PUBLIC_ID_LENGTH = 20

/**
 * A random id of 100 bits, by which people outside name an account, a key, a user or an order. It tells nothing of how
 * many there are, and nobody can guess another one.
 */
export const publicId = (): string => [...randomBytes(PUBLIC_ID_LENGTH)].map(byte => DIGITS[byte % 32]).join('')

const ATTEMPT = '.'

/** The id of an attempt of a request that has a row of its own: it sorts right behind the request's. `nth` begins with 1. */
export const attemptId = (requestId: string, nth: number): string => requestId + ATTEMPT + nth
export const isAttemptId = (id: string): boolean => id[ID_LENGTH] === ATTEMPT
/** What all ids of the attempts of a request lie between. */
export const attemptIds = (requestId: string): [from: string, to: string] => [requestId + ATTEMPT, `${requestId}/`]

const ID = new RegExp(`^[${DIGITS}]{${ID_LENGTH}}(\\${ATTEMPT}\\d{1,9})?$`)
/** Whether a text could be the id of a request or of one of its attempts. */
export const isRequestId = (text: string): boolean => ID.test(text)

/** A random name that no other process has; a restarted process gets a new one. */
export const processName = (): string => digits(randomBytes(6).readUIntBE(0, 6), NODE_LENGTH + 4)

/**
 * Returns a function that makes request ids. `now` is wall-clock time in ms; `counts` is how many ids one millisecond
 * may have. When the clock jumps back, ids stay at the latest time seen, so that they keep sorting; when a millisecond
 * has no count left, ids go on with the next millisecond.
 */
export function idMaker(now: () => number, counts = COUNTS): () => string {
  const node = digits(randomBytes(4).readUInt32BE(), NODE_LENGTH)
  let latestMs = -1
  let ofMs = ''
  let prefix = ''
  let count = 0
  return () => {
    const ms = now()
    if (ms > latestMs || count === counts) {
      latestMs = Math.max(ms, latestMs + 1)
      ofMs = digits(latestMs, TIME_LENGTH) + node
      count = 0
    }
    if (count % LAST.length === 0) prefix = ofMs + digits(count / LAST.length, COUNT_LENGTH - 2)
    return prefix + LAST[count++ % LAST.length]
  }
}
