/**
 * A simulated upstream that speaks all five protocols: for demos, tests, soaks and benches. What an answer does can be
 * told by a directive in the prompt, since nothing else of a client's request reaches an upstream; see docs/simulator.md.
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { ANSWERS, type Event, type Kind } from './answers.ts'
import { type Asked, type Options, PromptCache, readRequest, readScript, type Script } from './request.ts'

export type { Options } from './request.ts'

/** What was served under one `id=`. */
export interface Served {
  requests: number
  /** Answers that ended as they should. */
  finished: number
  inputTokens: number
  outputTokens: number
}

export interface Simulator {
  url: string
  served: ReadonlyMap<string, Served>
  close(): Promise<void>
}

const MOST_BODY_BYTES = 256 * 1024 * 1024
const KINDS: [RegExp, Kind | 'count'][] = [
  [/\/messages\/count_tokens$/, 'count'],
  [/\/responses\/input_tokens$/, 'count'],
  [/:countTokens$/, 'count'],
  [/\/messages$/, 'messages'],
  [/\/chat\/completions$/, 'chat'],
  [/\/responses$/, 'responses'],
  [/\/images\/generations$/, 'images'],
  [/:(streamG|g)enerateContent$/, 'generate'],
]

export async function simulate(options: Options): Promise<Simulator> {
  const simulation = new Simulation(options)
  const server = http.createServer({ keepAliveTimeout: 125_000 }, (req, res) => {
    simulation.serve(req, res).catch(() => res.destroy())
  })
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject)
    server.listen(options.listen.port, options.listen.host, resolve)
  })
  const { address, port } = server.address() as AddressInfo
  return {
    url: `http://${address}:${port}`,
    served: simulation.served,
    close: () =>
      new Promise(resolve => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

class Simulation {
  readonly #options: Options
  readonly #cache = new PromptCache()
  readonly #random: () => number
  readonly served = new Map<string, Served>()

  constructor(options: Options) {
    this.#options = options
    this.#random = options.seed === undefined ? Math.random : seeded(options.seed)
  }

  async serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://simulator')
    if (req.method === 'GET' && url.pathname === '/sim/served') {
      send(res, 200, Object.fromEntries(this.served))
      return
    }
    const kind = KINDS.find(([path]) => path.test(url.pathname))?.[1]
    if (kind === undefined || req.method !== 'POST') {
      send(res, 404, { error: { message: 'simulator: no such path' } })
      return
    }
    const body = await readBody(req)
    const pathModel = /\/models\/(.+):\w+$/.exec(url.pathname)?.[1] ?? null
    const asked = readRequest(
      body.json,
      pathModel === null ? null : decodeURIComponent(pathModel),
      body.bytes,
      this.#cache,
    )
    const script = readScript(asked.prompt, this.#options, this.#random)
    if (script.latencyMs > 0) await sleep(script.latencyMs)
    if (kind === 'count') send(res, 200, counted(url.pathname, asked.promptTokens))
    else await this.#answer(kind, asked, script, url, res)
  }

  async #answer(kind: Kind, asked: Asked, script: Script, url: URL, res: ServerResponse): Promise<void> {
    const answers = ANSWERS[kind]
    if (script.cut === 0) {
      res.destroy()
      return
    }
    if (script.error > 0) {
      send(
        res,
        script.error,
        answers.error(script.error),
        script.retryAfterS > 0 ? { 'retry-after': String(script.retryAfterS) } : {},
      )
      return
    }
    const served = this.#count(script.id)
    served.requests++
    const streams =
      kind === 'generate' ? url.pathname.endsWith(':streamGenerateContent') : asked.stream && kind !== 'images'
    if (streams) {
      const events = kind !== 'generate' || url.searchParams.get('alt') === 'sse'
      if (!(await stream(res, answers.stream(asked, script), answers.errorEvent, script, kind === 'generate', events)))
        return
    } else send(res, 200, answers.whole(asked, script))
    served.finished++
    served.inputTokens += asked.promptTokens
    served.outputTokens += Math.min(script.tokens, asked.maxTokens)
  }

  #count(id: string): Served {
    let served = this.served.get(id)
    if (served === undefined)
      this.served.set(id, (served = { requests: 0, finished: 0, inputTokens: 0, outputTokens: 0 }))
    return served
  }
}

const counted = (path: string, tokens: number): object =>
  path.endsWith(':countTokens')
    ? { totalTokens: tokens }
    : { ...(path.includes('/responses/') ? { object: 'response.input_tokens' } : {}), input_tokens: tokens }

/** False: it did not come to its proper end. */
async function stream(
  res: ServerResponse,
  events: Iterable<Event>,
  error: Event,
  s: Script,
  crlf: boolean,
  framed: boolean,
): Promise<boolean> {
  res.writeHead(200, {
    'content-type': framed ? 'text/event-stream; charset=utf-8' : 'application/json; charset=utf-8',
  })
  const write = async (text: string) => {
    if (!res.write(text)) await new Promise(resolve => res.once('drain', resolve).once('close', resolve))
  }
  let n = 0
  for (const event of events) {
    if (res.destroyed) return false
    if (n === s.cut) {
      await sleep(10) // what was written goes out first
      res.destroy()
      return false
    }
    if (n === s.stall) return false // and never a word more
    if (n === s.endEarly || n === s.eventError) {
      if (n === s.eventError) await write(frame(error, crlf))
      res.end()
      return false
    }
    await write(framed ? frame(event, crlf) : `${n === 0 ? '[' : ',\r\n'}${JSON.stringify(event.data)}`)
    if (event.text && s.tokensPerSecond > 0) await sleep(1000 / s.tokensPerSecond)
    n++
  }
  res.end(framed ? '' : ']')
  return true
}

function frame(event: Event, crlf: boolean): string {
  const eol = crlf ? '\r\n' : '\n'
  const data = typeof event.data === 'string' ? event.data : JSON.stringify(event.data)
  return `${event.event === undefined ? '' : `event: ${event.event}${eol}`}data: ${data}${eol}${eol}`
}

function send(res: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  const bytes = Buffer.from(JSON.stringify(body))
  res.writeHead(status, { 'content-type': 'application/json', 'content-length': bytes.length, ...headers })
  res.end(bytes)
}

async function readBody(req: IncomingMessage): Promise<{ json: Record<string, unknown>; bytes: number }> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const part of req as AsyncIterable<Buffer>) {
    bytes += part.length
    if (bytes > MOST_BODY_BYTES) throw new Error('simulator: body too large')
    parts.push(part)
  }
  return { json: JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>, bytes }
}

/** Mulberry32. */
function seeded(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}
