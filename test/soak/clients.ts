/**
 * The clients of the soak run, each of which speaks one of several protocols. Half of what they ask goes to a model that only
 * upstreams of one protocol have, which mostly is another one. They record what they asked, what they saw, and the id of each request.
 */
import { Agent, request } from 'undici'
import type { Random } from '../support/random.ts'
import type { Talking } from '../support/talking.ts'
import { type ShownUsage, shownUsage } from './shown.ts'

/**
 * How a request ended for its client. `complete`: the whole answer came · `refused`: a status other than 200 ·
 * `broken`: the answer began and did not end rightly · `left`: the client left · `lost`: no status came ·
 * `unreachable`: no connection.
 */
export type Outcome = 'complete' | 'refused' | 'broken' | 'left' | 'lost' | 'unreachable'

export interface Asked {
  /** The id of the request in the simulator's books. */
  id: string
  /** The request id of the gateway; null when no head of an answer came. */
  requestId: string | null
  protocol: Talking
  model: string
  /** The protocol of the upstream, as the answer says it; null = the client's own, or none answered. */
  via: string | null
  /** In a complete answer; null = it shows none. */
  shown: ShownUsage | null
  status: number
  outcome: Outcome
  order: string
  /** null while the request is under way. */
  tookMs: number | null
}

interface Kind {
  protocol: Talking
  model: string
  path: (stream: boolean, model: string) => string
  headers: (key: string) => Record<string, string>
  body: (prompt: string, stream: boolean) => object
  /** The text that only a complete stream contains; null = a clean end is enough. */
  last: string | null
}

const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const KINDS: Kind[] = [
  {
    protocol: 'messages',
    model: 'alpha-sonnet-5-5',
    path: () => '/v1/messages',
    headers: key => ({ 'x-api-key': key, 'alpha-version': '2023-06-01' }),
    body: (content, stream) => ({ max_tokens: 400, stream, messages: [{ role: 'user', content }] }),
    last: 'event: message_stop',
  },
  {
    protocol: 'chat',
    model: 'beta-4.7',
    path: () => '/v1/chat/completions',
    headers: bearer,
    body: (content, stream) => ({
      max_tokens: 400,
      stream,
      ...(stream ? { stream_options: { include_usage: content.length % 2 === 0 } } : {}),
      messages: [{ role: 'user', content }],
    }),
    last: 'data: [DONE]',
  },
  {
    protocol: 'responses',
    model: 'beta-4.7',
    path: () => '/v1/responses',
    headers: bearer,
    body: (input, stream) => ({ max_output_tokens: 400, stream, input }),
    last: 'event: response.completed',
  },
  {
    protocol: 'images',
    model: 'gamma-image-2',
    path: () => '/v1/images/generations',
    headers: bearer,
    body: prompt => ({ prompt, n: 2 }),
    last: null,
  },
  {
    protocol: 'generate',
    model: 'gamma-3.8-flash',
    path: (stream, model) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    headers: key => ({ 'x-gamma-api-key': key }),
    body: text => ({ contents: [{ parts: [{ text }] }], generationConfig: { maxOutputTokens: 400 } }),
    last: null,
  },
]

/** A model that only upstreams of one protocol have, each with its name. */
export const SOLE = ['messages', 'chat', 'responses', 'generate'] as const
export const soleModel = (protocol: (typeof SOLE)[number]): string => `sole-${protocol}`

/** The directive for the simulator: mostly one without a fault. */
function directive(random: Random, id: string, stream: boolean): string {
  const words = [`id=${id}`, `tokens=${random.int(1, 300)}`, `latency=${random.int(0, 150)}`]
  if (random.next() < 0.5) words.push(`tps=${random.int(200, 3_000)}`)
  const fault = random.next()
  const after = random.int(0, 12)
  if (fault < 0.05) words.push(`error=${random.pick([500, 503, 429, 529, 401])}`, 'times=1')
  else if (fault < 0.07) words.push(`error=${random.pick([400, 500])}`)
  else if (fault < 0.1) words.push(`cut=${after}`, ...(random.next() < 0.5 ? ['times=1'] : []))
  else if (fault < 0.12) words.push(`end_early=${after}`)
  else if (fault < 0.14) words.push(`event_error=${after}`)
  else if (fault < 0.17 && stream) words.push(`stall=${after}`, `stall_ms=${random.int(100, 3_000)}`)
  else if (fault < 0.2) words.push('usage=none')
  else if (fault < 0.22) words.push(`input=${random.pick([1e6, 9e8])}`)
  else if (fault < 0.24) words.push('wordy', `tokens=${random.int(300, 3_000)}`)
  else if (fault < 0.3) words.push('usage=foreign', `cached=${random.int(0, 9)}`)
  return `[[sim ${words.join(' ')}]]`
}

const WORDS = 'read the file and say what the function returns when the list is empty '
/** A few are so long that another thread translates them. */
function prompt(random: Random): string {
  const chance = random.next()
  return WORDS.repeat(chance < 0.003 ? random.int(7_500, 9_000) : random.int(1, chance < 0.1 ? 200 : 10))
}

/** When a client waits this long after all faults are over, something is wrong. */
const LATE_MS = 20_000

export class Clients {
  readonly asked: Asked[] = []
  readonly #random: Random
  readonly #targets: () => string[]
  readonly #keys: string[]
  readonly #agent = new Agent({ connections: 64, headersTimeout: 60_000, bodyTimeout: 60_000 })
  #stopped = false
  #count = 0
  #running: Promise<void>[] = []

  constructor(random: Random, targets: () => string[], keys: string[]) {
    this.#random = random
    this.#targets = targets
    this.#keys = keys
  }

  start(count: number): void {
    this.#running = Array.from({ length: count }, () => this.#loop())
  }

  /** Every client finishes its request and stops. */
  async stop(): Promise<void> {
    this.#stopped = true
    const late = setTimeout(() => {
      for (const one of this.asked) if (one.tookMs === null) console.log(`still waiting: ${JSON.stringify(one)}`)
    }, LATE_MS)
    await Promise.all(this.#running)
    clearTimeout(late)
    await this.#agent.close()
  }

  count(outcome: Outcome): number {
    return this.asked.filter(one => one.outcome === outcome).length
  }

  async #loop(): Promise<void> {
    while (!this.#stopped) {
      const one = await this.#ask()
      if (one.outcome === 'unreachable' || one.outcome === 'refused') await pause(this.#random.int(20, 150))
    }
  }

  async #ask(): Promise<Asked> {
    const random = this.#random
    const kind = random.pick(KINDS)
    const stream = kind.protocol !== 'images' && random.next() < 0.7
    const isSole = kind.protocol !== 'images' && random.next() < 0.5
    const model = isSole ? soleModel(random.pick(SOLE)) : kind.model
    const id = `c${++this.#count}`
    const order = directive(random, id, stream)
    const leaving = random.next() < 0.06 ? random.int(5, 600) : null
    const one: Asked = {
      id,
      requestId: null,
      protocol: kind.protocol,
      model,
      via: null,
      shown: null,
      status: 0,
      outcome: 'lost',
      order,
      tookMs: null,
    }
    this.asked.push(one)
    const began = performance.now()
    const gone = new AbortController()
    const timer = leaving === null ? null : setTimeout(() => gone.abort(), leaving)
    try {
      const answer = await request(random.pick(this.#targets()) + kind.path(stream, model), {
        method: 'POST',
        dispatcher: this.#agent,
        signal: gone.signal,
        headers: { ...kind.headers(random.pick(this.#keys)), 'content-type': 'application/json' },
        body: JSON.stringify({ model, ...kind.body(`${prompt(random)} ${order}`, stream) }),
      })
      one.status = answer.statusCode
      one.requestId = String(answer.headers['x-request-id'] ?? '') || null
      one.via = (answer.headers['x-gateway-via'] as string | undefined) ?? null
      one.outcome = answer.statusCode === 200 ? 'broken' : 'refused'
      await read(one, kind, stream, answer.body)
    } catch (error) {
      if (gone.signal.aborted && one.outcome !== 'complete') one.outcome = 'left'
      else if ((error as { code?: string }).code === 'ECONNREFUSED') one.outcome = 'unreachable'
    } finally {
      if (timer !== null) clearTimeout(timer)
      one.tookMs = performance.now() - began
    }
    return one
  }
}

async function read(one: Asked, kind: Kind, stream: boolean, body: AsyncIterable<Buffer>): Promise<void> {
  let text = ''
  for await (const chunk of body) {
    text += chunk
    // with its last event the answer is complete, whatever happens to the connection afterwards
    if (one.status === 200 && stream && kind.last !== null && text.includes(kind.last)) one.outcome = 'complete'
  }
  if (one.status !== 200) return
  if (!stream) JSON.parse(text)
  if (!stream || (kind.last === null && text.includes('"finishReason"'))) one.outcome = 'complete'
  if (one.outcome === 'complete') one.shown = shownUsage(one.protocol, text)
}

const pause = (ms: number): Promise<void> => new Promise(resolve => setTimeout(resolve, ms))
