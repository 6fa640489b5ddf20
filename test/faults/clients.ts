/** Clients that remember what they were shown of every answer, to be compared with the books. */
import http from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { INPUT_TOKENS, KINDS, type Kind, type Point } from './upstream.ts'

export interface Ask {
  kind?: Kind
  key?: string
  hold?: Point
  output?: number
  /** `max_tokens`: what is held follows from it. */
  most?: number
  /** Half of the body is sent, and the rest when this resolves. */
  rest?: Promise<void>
}

/** What a client was shown. */
export interface Seen {
  tag: string
  kind: Kind
  key: string
  /** null: nothing came. */
  id: string | null
  /** 0: nothing came. */
  status: number
  /** Whether it can know that the answer is whole: its last event came, or the last of its JSON. */
  whole: boolean
  text: string
  /** micro-CNY that the whole answer costs. */
  price: number
  askedMs: number
  /** Until the end; 0 = not yet. */
  tookMs: number
}

/** CNY per million tokens: micro-CNY per token. */
export const PRICES = { messages: { input: 3, output: 15 }, chat: { input: 2, output: 8 } }
const TERMINAL: Record<Kind, string> = {
  messages: '"message_stop"',
  chat: 'data: [DONE]',
  whole: '"service_tier":"default"}',
}
const OUTPUT = 10
const MOST = 100

export class Clients {
  readonly seen: Seen[] = []
  readonly #key: string
  #count = 0

  constructor(key: string) {
    this.#key = key
  }

  /** Resolves when the answer has ended, however it did; never rejects. `seen` has it at once. */
  ask(base: string, ask: Ask = {}): Promise<Seen> {
    const { kind = 'chat', key = this.#key, hold = null, output = OUTPUT, most = MOST, rest } = ask
    const tag = `ask-${++this.#count}`
    const price = PRICES[kind === 'messages' ? 'messages' : 'chat']
    const seen: Seen = {
      tag,
      kind,
      key,
      id: null,
      status: 0,
      whole: false,
      text: '',
      price: INPUT_TOKENS * price.input + output * price.output,
      askedMs: performance.now(),
      tookMs: 0,
    }
    this.seen.push(seen)
    const body = JSON.stringify({
      model: kind === 'messages' ? 'alpha-sonnet-5-5' : 'beta-4.7',
      max_tokens: most,
      stream: kind !== 'whole',
      messages: [{ role: 'user', content: JSON.stringify({ tag, hold, output }) }],
    })
    const { promise, resolve } = Promise.withResolvers<Seen>()
    const end = () => {
      seen.tookMs = performance.now() - seen.askedMs
      resolve(seen)
    }
    const req = http.request(base + (kind === 'messages' ? '/v1/messages' : '/v1/chat/completions'), {
      method: 'POST',
      agent: false,
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(body),
      },
    })
    req.on('error', end)
    req.on('response', res => {
      seen.status = res.statusCode as number
      seen.id = String(res.headers['x-request-id'])
      res.setEncoding('utf8')
      const terminal = TERMINAL[kind]
      res.on('data', (text: string) => {
        seen.text += text
        if (seen.text.includes(terminal)) seen.whole = true
      })
      res.on('error', () => {})
      res.on('close', end)
    })
    if (rest === undefined) req.end(body)
    else {
      req.write(body.slice(0, body.length / 2))
      void rest.then(() => req.end(body.slice(body.length / 2)))
    }
    return promise
  }

  /** `count` clients ask one after the other, of every kind in turn, until told to stop; resolves when all have ended. */
  load(base: string | (() => string), count: number, options: Ask & { pauseMs?: number } = {}): () => Promise<Seen[]> {
    const { pauseMs = 50, ...ask } = options
    const mine: Seen[] = []
    let stopped = false
    const one = async (number: number) => {
      for (let turn = number; !stopped; turn++) {
        const at = typeof base === 'string' ? base : base()
        mine.push(await this.ask(at, { kind: KINDS[turn % KINDS.length] as Kind, ...ask }))
        await sleep(pauseMs)
      }
    }
    const all = Promise.all(Array.from({ length: count }, (_, number) => one(number)))
    return async () => {
      stopped = true
      await all
      return mine
    }
  }
}
