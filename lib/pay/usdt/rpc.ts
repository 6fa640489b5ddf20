/** JSON-RPC to one node of the chain. Its address has a key in it, so errors name the node by its place in the config. */
import { AnswerTooLarge, ask } from '../ask.ts'
import { ProviderAway } from '../method.ts'

/** The node answers with an error of its own. */
export class NodeError extends Error {
  override name = 'NodeError'
  readonly code: number
  /** It has been asked too often: this says nothing of what it was asked. */
  readonly isBusy: boolean

  constructor(node: number, code: number, message: string, isBusy = false) {
    super(`node ${node}: ${code} ${message}`)
    this.code = code
    this.isBusy = isBusy
  }
}

const OK = 200
const TOO_LARGE = 413
const TOO_MANY = 429
/** How providers of nodes say that they were asked too often, where the status does not. */
const BUSY = /rate.?limit|too many requests|requests? per second|compute units per second|quota|throughput/i
const LONGEST_MESSAGE = 200
/** Logs of a thousand busy blocks. */
const MOST_BYTES = 16 * 2 ** 20

export type CountAnswer = (node: number, kind: 'away' | 'refused' | 'answered') => void

export class Rpc {
  /** Which of the nodes of the config, from 1. */
  readonly node: number
  readonly #url: string
  readonly #count: CountAnswer
  #id = 0

  constructor(url: string, node: number, count: CountAnswer) {
    this.#url = url
    this.node = node
    this.#count = count
  }

  /** Throws NodeError, or ProviderAway when there is no answer that can be read: an overloaded node sends a page of HTML. */
  async call(method: string, params: readonly unknown[]): Promise<unknown> {
    const id = ++this.#id
    const away = (reason: string) => {
      this.#count(this.node, 'away')
      return new ProviderAway(`node ${this.node}: ${method}: ${reason}`)
    }
    const refused = (code: number, message: string, isBusy = false) => {
      this.#count(this.node, 'refused')
      return new NodeError(this.node, code, message.slice(0, LONGEST_MESSAGE), isBusy)
    }
    const asked = await ask(this.#url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id, method, params }),
      mostBytes: MOST_BYTES,
    }).catch(error => {
      throw error instanceof AnswerTooLarge ? refused(TOO_LARGE, 'too large') : away((error as Error).message)
    })
    const answer = read(asked.body)
    if (answer?.error !== undefined && answer.error !== null) {
      const { code, message } = answer.error
      const isBusy = asked.status === TOO_MANY || Number(code) === TOO_MANY || BUSY.test(String(message))
      throw refused(Number(code), String(message), isBusy)
    }
    if (asked.status === TOO_LARGE) throw refused(TOO_LARGE, 'too large')
    if (asked.status !== OK || answer === null || answer.id !== id || answer.result === undefined)
      throw away(`status ${asked.status}, and no answer to the question`)
    this.#count(this.node, 'answered')
    return answer.result
  }
}

interface Answer {
  id?: unknown
  result?: unknown
  error?: { code?: unknown; message?: unknown } | null
}

function read(body: Buffer): Answer | null {
  try {
    const answer: unknown = JSON.parse(body.toString('utf8'))
    return typeof answer === 'object' && answer !== null && !Array.isArray(answer) ? answer : null
  } catch {
    return null
  }
}
