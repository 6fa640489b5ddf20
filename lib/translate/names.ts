/**
 * What a client calls its tools, and what an upstream gets to hear: protocols allow other characters and lengths, only one
 * has namespaces, and only two have tools that take text. A name that fits stays as it is. All of it follows from the
 * request alone, so that the next request of the conversation gets the same names.
 */
import { hash } from 'node:crypto'
import type { Tool } from './ask.ts'
import type { RenamedTools, ToolName } from './events.ts'

/** Letters, digits, `_` and `-`, up to 64: what every protocol allows. */
const FITS = /^[A-Za-z0-9_-]{1,64}$/
const MOST = 64
const HASH = 8

const flat = (name: string, namespace?: string): string =>
  namespace === undefined || namespace === '' ? name : `${namespace}__${name}`

function fitting(name: string, namespace?: string): string {
  const whole = flat(name, namespace)
  return FITS.test(whole) ? whole : hashed(name, namespace)
}

function hashed(name: string, namespace = ''): string {
  const cleaned = flat(name, namespace).replace(/[^A-Za-z0-9_-]/g, '_')
  return `${cleaned.slice(0, MOST - HASH - 1)}_${digest(`${namespace}\0${name}`, 'hex').slice(0, HASH)}`
}

const NOTHING: RenamedTools = new Map()

export class ToolNames {
  readonly renamed: RenamedTools
  /** The upstream names that more than one of the client's tools would have. */
  readonly #taken: ReadonlySet<string>

  constructor(tools: readonly Tool[]) {
    const count = new Map<string, number>()
    for (const { name, namespace } of tools) {
      const to = fitting(name, namespace)
      count.set(to, (count.get(to) ?? 0) + 1)
    }
    this.#taken = new Set([...count].filter(([, times]) => times > 1).map(([name]) => name))
    const back = new Map<string, ToolName>()
    for (const { name, namespace, type } of tools) {
      const to = this.to(name, namespace)
      if (to === name && namespace === undefined && type === 'function') continue
      back.set(to, { name, freeform: type === 'freeform', ...(namespace === undefined ? {} : { namespace }) })
    }
    this.renamed = back.size === 0 ? NOTHING : back
  }

  /** The name by which the upstream knows a tool. */
  to(name: string, namespace?: string): string {
    const to = fitting(name, namespace)
    return namespace !== undefined && this.#taken.has(to) ? hashed(name, namespace) : to
  }
}

// --- ids of calls: those that do not fit every protocol are replaced by a hash, which is the same in a call and its result

/** The most characters of an id that are kept where it gets a number behind it. */
const LONGEST_BASE = 50
const ALNUM9 = /^[A-Za-z0-9]{9}$/

export const digest = (text: string, encoding: 'hex' | 'base64url'): string => hash('sha256', text, encoding)

/** The id of a call as every protocol takes it. An empty id stays empty. */
export const fitId = (id: string): string =>
  id === '' || FITS.test(id) ? id : `call_${digest(id, 'base64url').slice(0, 22)}`

/** The id of a call for upstreams that want nine letters or digits. */
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
