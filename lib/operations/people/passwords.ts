/**
 * Passwords: argon2id by Node's own crypto, kept as PHC strings, so that the parameters may rise later.
 *
 * A hash takes a tenth of a second of a processor. So one is made at a time in a process, in a thread of low priority, and
 * who waits has a seat: one for each network, at most 32, of which browsers that have signed in before find half kept
 * for them. Without a seat the caller is told to come back.
 */
import { type Argon2Parameters, randomBytes, timingSafeEqual } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { WorkerThread } from '../../base/worker-thread.ts'
import { scalar } from '../../config/scalars.ts'
import { both, OperationError, throttled } from '../error.ts'

const PARAMETERS = { memory: 19_456, passes: 2, parallelism: 1, tagLength: 32 } as const
const SALT_BYTES = 16
const PHC = /^\$argon2id\$v=19\$m=(\d{1,7}),t=(\d{1,3}),p=(\d{1,2})\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$/

const LEAST_CHARACTERS = 8
const MOST_CHARACTERS = 128

const SEATS = 32
const SEATS_OF_UNKNOWN = SEATS / 2
const FULL_WAIT_MS = 2_000

/** One form for each text, however a keyboard writes it. */
const normal = (password: string): string => password.normalize('NFKC')

/** A password that somebody sends. It has no rule but its length, and problems never show it. */
export const password = scalar(
  both(
    `${LEAST_CHARACTERS} 到 ${MOST_CHARACTERS} 个字符的密码`,
    `a password of ${LEAST_CHARACTERS} to ${MOST_CHARACTERS} characters`,
  ),
  { type: 'string', minLength: LEAST_CHARACTERS, maxLength: MOST_CHARACTERS },
  value => {
    if (typeof value !== 'string' || value.length > 2 * MOST_CHARACTERS || !value.isWellFormed()) return undefined
    const length = [...value].length
    return length >= LEAST_CHARACTERS && length <= MOST_CHARACTERS ? value : undefined
  },
  true,
)

/** What somebody types as a password: it may be anything, because it is only compared. */
export const typedPassword = scalar(
  both('密码', 'a password'),
  { type: 'string', maxLength: 4 * MOST_CHARACTERS },
  value => (typeof value === 'string' && value.length <= 4 * MOST_CHARACTERS ? value : undefined),
  true,
)

let common: ReadonlySet<string> | null = null

/** Whether it is one of the 3,000 passwords of at least 8 characters that people choose most, in any case of letters. */
function isCommon(password: string): boolean {
  common ??= new Set(
    gunzipSync(readFileSync(new URL('common-passwords.gz', import.meta.url)))
      .toString('utf8')
      .trim()
      .split('\n'),
  )
  return common.has(normal(password).toLowerCase())
}

/** Throws OperationError `invalid` when everybody would guess it. `about`: texts that belong to the person. */
export function checkNew(password: string, about: readonly string[]): void {
  const plain = normal(password).toLowerCase()
  if (isCommon(password) || about.some(text => text.toLowerCase() === plain))
    throw new OperationError(
      'invalid',
      both('这个密码太常见，请换一个', 'this password is one of those that everybody guesses: choose another one'),
    )
}

/** Who waits for a hash. `known`: a browser that has signed in before. */
interface Seat {
  network: string
  known: boolean
}

interface Waiting extends Seat {
  go: () => void
}

export class Passwords {
  readonly #waiting: Waiting[] = []
  readonly #taken = new Set<string>()
  #busy = false
  /** Stands in for the hash of somebody who has none, so that they take the same time. */
  #dummy: Promise<string> | null = null

  /** Throws OperationError `throttled` without a seat. */
  hash(password: string, seat: Seat): Promise<string> {
    return this.#inTurn(seat, () => hashed(normal(password)))
  }

  /** `phc` null: takes as long and is wrong. `stale`: right, but made with weaker parameters than today's. */
  async verify(password: string, phc: string | null, seat: Seat): Promise<{ right: boolean; stale: boolean }> {
    return this.#inTurn(seat, async () => {
      const known = phc ?? (await (this.#dummy ??= hashed(randomBytes(SALT_BYTES).toString('hex'))))
      const right = await matches(normal(password), known)
      return { right: right && phc !== null, stale: right && !known.startsWith(prefix(PARAMETERS)) }
    })
  }

  async #inTurn<T>(seat: Seat, work: () => Promise<T>): Promise<T> {
    const name = `${seat.known}:${seat.network}`
    if (this.#busy) {
      const unknown = this.#waiting.filter(({ known }) => !known).length
      const full = this.#waiting.length >= SEATS || (!seat.known && unknown >= SEATS_OF_UNKNOWN)
      if (full || this.#taken.has(name)) throw throttled(FULL_WAIT_MS)
      this.#taken.add(name)
      await new Promise<void>(resolve => this.#waiting.push({ ...seat, go: resolve }))
      this.#taken.delete(name)
    }
    this.#busy = true
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      if (next === undefined) this.#busy = false
      else next.go()
    }
  }
}

const prefix = ({ memory, passes, parallelism }: { memory: number; passes: number; parallelism: number }): string =>
  `$argon2id$v=19$m=${memory},t=${passes},p=${parallelism}$`

const unpadded = (bytes: Buffer): string => bytes.toString('base64').replace(/=+$/, '')

/** One of a process. */
const thread = new WorkerThread<Argon2Parameters, Uint8Array>(new URL('./argon2-worker.ts', import.meta.url))

/** In another thread, so that those stay free with which the journal syncs. Errors are of parameters only, which tell nothing of the password. */
async function derive(parameters: Argon2Parameters): Promise<Buffer> {
  try {
    return Buffer.from(await thread.ask(parameters))
  } catch (error) {
    throw new Error(`argon2: ${(error as Error).message}`, { cause: error })
  }
}

async function hashed(password: string): Promise<string> {
  const nonce = randomBytes(SALT_BYTES)
  const key = await derive({ ...PARAMETERS, message: password, nonce })
  return `${prefix(PARAMETERS)}${unpadded(nonce)}$${unpadded(key)}`
}

async function matches(password: string, phc: string): Promise<boolean> {
  const [, memory, passes, parallelism, salt, tag] = PHC.exec(phc) ?? []
  if (tag === undefined) return false
  const expected = Buffer.from(tag, 'base64')
  const key = await derive({
    message: password,
    nonce: Buffer.from(salt as string, 'base64'),
    memory: Number(memory),
    passes: Number(passes),
    parallelism: Number(parallelism),
    tagLength: expected.length,
  })
  return timingSafeEqual(key, expected)
}
