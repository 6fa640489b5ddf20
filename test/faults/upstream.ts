/**
 * An upstream that does as the prompt says, which is JSON: `{"tag":…,"hold":…,"output":…}`. It stops at the point `hold`
 * of its answer until it is released, so that a fault can be placed exactly there.
 */
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/**
 * `silent`: the request is here, nothing is answered. `head`: status and headers are out. `middle`: some of the answer.
 * `usage`: the usage too. `terminal`: all of it, but the connection has not said so.
 */
export const POINTS = ['silent', 'head', 'middle', 'usage', 'terminal'] as const
export type Point = (typeof POINTS)[number]

export interface Order {
  tag: string
  hold: Point | null
  /** Output tokens to report. */
  output: number
}

/** Fewer than the gateway estimates, so that a charge is below its hold. */
export const INPUT_TOKENS = 20

/** Ways to ask, and what each costs by the prices of the catalogue in support.ts. */
export const KINDS = ['messages', 'chat', 'whole'] as const
export type Kind = (typeof KINDS)[number]

const event = (data: object): string => `event: ${(data as { type: string }).type}\ndata: ${JSON.stringify(data)}\n\n`
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`

/** What comes after each point: [until `middle`, until `usage`, until `terminal`]. */
const PARTS: Record<Kind, (output: number) => [string, string, string]> = {
  messages: output => {
    const usage = { input_tokens: INPUT_TOKENS, output_tokens: 1 }
    const message = { id: 'msg_1', type: 'message', role: 'assistant', model: 'm', content: [], usage }
    const delta = { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Hello' } }
    return [
      event({ type: 'message_start', message }) +
        event({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }) +
        event(delta),
      event(delta) +
        event({ type: 'content_block_stop', index: 0 }) +
        event({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: { output_tokens: output } }),
      event({ type: 'message_stop' }),
    ]
  },
  chat: output => {
    const chunk = (choices: object[], more = {}) =>
      data({ id: 'c1', object: 'chat.completion.chunk', choices, ...more })
    const usage = { prompt_tokens: INPUT_TOKENS, completion_tokens: output, total_tokens: INPUT_TOKENS + output }
    return [
      chunk([{ index: 0, delta: { role: 'assistant', content: 'Hello' } }]),
      chunk([{ index: 0, delta: {}, finish_reason: 'stop' }]) + chunk([], { usage }),
      'data: [DONE]\n\n',
    ]
  },
  whole: output => [
    '{"id":"c1","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"Hello"}}],',
    `"usage":{"prompt_tokens":${INPUT_TOKENS},"completion_tokens":${output},"total_tokens":${INPUT_TOKENS + output}},`,
    '"service_tier":"default"}',
  ],
}

export class ScriptedUpstream {
  readonly url: string
  /** Answers that were begun, by tag. */
  readonly asked = new Map<string, number>()
  readonly #server: http.Server
  readonly #gates = new Map<string, { reached: PromiseWithResolvers<void>; released: PromiseWithResolvers<void> }>()

  private constructor(server: http.Server) {
    this.#server = server
    this.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    server.on('request', (req, res) => void this.#answer(req, res))
  }

  static async start(): Promise<ScriptedUpstream> {
    const server = http.createServer({ keepAliveTimeout: 120_000, noDelay: true }).listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new ScriptedUpstream(server)
  }

  #gate(tag: string) {
    let gate = this.#gates.get(tag)
    if (gate === undefined) {
      gate = { reached: Promise.withResolvers(), released: Promise.withResolvers() }
      this.#gates.set(tag, gate)
    }
    return gate
  }

  /** Resolves when the answer stands at its point. */
  reached(tag: string): Promise<void> {
    return this.#gate(tag).reached.promise
  }

  release(tag: string): void {
    this.#gate(tag).released.resolve()
  }

  async #answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    res.on('error', () => {})
    const body = JSON.parse(Buffer.concat(await req.toArray()).toString()) as {
      stream?: boolean
      messages: { content: string }[]
    }
    const order = JSON.parse(body.messages[0]!.content) as Order
    this.asked.set(order.tag, (this.asked.get(order.tag) ?? 0) + 1)
    const kind = body.stream !== true ? 'whole' : req.url!.includes('/messages') ? 'messages' : 'chat'
    const [middle, usage, terminal] = PARTS[kind](order.output)
    const at = async (point: Point) => {
      if (order.hold !== point) return
      this.#gate(order.tag).reached.resolve()
      await this.#gate(order.tag).released.promise
    }
    await at('silent')
    res.writeHead(200, { 'content-type': kind === 'whole' ? 'application/json' : 'text/event-stream' })
    res.flushHeaders()
    await at('head')
    res.write(middle)
    await at('middle')
    res.write(usage)
    await at('usage')
    res.write(terminal)
    await at('terminal')
    res.end()
  }

  async close(): Promise<void> {
    for (const { released } of this.#gates.values()) released.resolve()
    this.#server.closeAllConnections()
    await once(this.#server.close(), 'close')
  }
}
