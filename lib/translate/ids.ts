/** Ids of calls. Those that do not fit every protocol are replaced by a hash, which is the same in a call and its result. */
import { hash } from 'node:crypto'

const FITS = /^[A-Za-z0-9_-]{1,64}$/
/** As much of an id is kept where it gets a number behind it. */
const LONGEST_BASE = 50
const ALNUM9 = /^[A-Za-z0-9]{9}$/

export const digest = (text: string, encoding: 'hex' | 'base64url'): string => hash('sha256', text, encoding)

/** The id of a call as every protocol takes it. An empty id stays empty. */
export const fitId = (id: string): string =>
  id === '' || FITS.test(id) ? id : `call_${digest(id, 'base64url').slice(0, 22)}`

/** The same for upstreams that want nine letters or digits. */
export const nineOf = (id: string): string => {
  if (ALNUM9.test(id)) return id
  return BigInt(`0x${digest(id, 'hex').slice(0, 16)}`)
    .toString(36)
    .padStart(9, '0')
    .slice(-9)
}

/** Ids of calls that stand together. Clients and upstreams know calls by them and refuse two that are the same. */
export class CallIds {
  readonly #taken = new Set<string>()
  readonly #numbers = new Map<string, number>()

  /** The id, or one like it that no other call has. */
  once(id: string): string {
    const base = id.slice(0, LONGEST_BASE)
    let own = id
    while (this.#taken.has(own)) {
      const number = (this.#numbers.get(base) ?? 1) + 1
      this.#numbers.set(base, number)
      own = `${base}_${number}`
    }
    this.#taken.add(own)
    return own
  }
}
