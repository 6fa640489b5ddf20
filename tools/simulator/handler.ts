/**
 * Handles requests to the simulator: each is read, understood, then refused or answered, and entered into the books.
 */
import * as ROWS from './dialects/rows.ts'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isFields } from '../../lib/protocols/json/text.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import type { Books } from './books.ts'
import { compose, ScriptedCalls, Times } from './compose.ts'
import type { Answer, Ask, Dialect, Fields, Routed } from './dialect.ts'
import { PICTURE, PICTURE_PATH } from './dialects/images.ts'
import { type Directive, directiveOf } from './directive.ts'
import { PreparedAnswers, sendPrepared, Reply, type Setting } from './reply.ts'
import { countTokens, PromptCache } from './prompt-cache.ts'

const LARGEST_BODY = 256 * 1024 * 1024
/** The statuses of answers that fail by chance. */
const CHANCES = [429, 500, 502, 503, 529]

interface Sent {
  /** The content type. */
  type: string
  body: Buffer
}

class Handler {
  readonly setting: Setting
  readonly #prepared = new PreparedAnswers()
  readonly #cache: PromptCache
  readonly #times = new Times()
  readonly #calls = new ScriptedCalls()
  readonly #chance: () => number
  #count = 0

  constructor(setting: Setting) {
    this.setting = setting
    this.#cache = new PromptCache(setting.clock)
    this.#chance = chance(setting.seed)
  }

  receive(req: IncomingMessage, res: ServerResponse): void {
    res.on('error', () => {})
    req.on('error', () => {})
    const url = new URL(req.url ?? '/', 'http://simulator')
    if (req.method !== 'POST') {
      answerGet(this.setting.books, req, res, url)
      return
    }
    const parts: Buffer[] = []
    let size = 0
    req.on('data', (part: Buffer) => {
      size += part.length
      if (size > LARGEST_BODY) req.destroy()
      else parts.push(part)
    })
    req.on('end', () => this.#handle(req, res, url, parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)))
  }

  #handle(req: IncomingMessage, res: ServerResponse, url: URL, body: Buffer): void {
    const { books } = this.setting
    const key = this.#prepared.keyOf(req, body)
    const known = key === null ? undefined : this.#prepared.get(key)
    if (known !== undefined) {
      books.begin()
      books.endPrepared(known.usage)
      sendPrepared(res, known)
      return
    }
    const route = routeOf(url)
    if (route === null) {
      res.writeHead(404, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ error: { message: `no such path: ${url.pathname}`, type: 'invalid_request_error' } }))
      return
    }
    const reply = new Reply(this.setting, res, route, this.#nextId())
    if (this.setting.key !== null && credentialOf(req, url, route) !== this.setting.key) {
      reply.refuse(401, 'invalid x-api-key')
      return
    }
    this.#understand(reply, route, { type: req.headers['content-type'] ?? '', body }, key)
  }

  #understand(reply: Reply, route: Routed, sent: Sent, key: string | null): void {
    let ask: Ask
    let directive: Directive
    try {
      ask = readAsk(route, sent)
      directive = directiveOf(ask.prompt)
    } catch (error) {
      reply.refuse(400, error instanceof SyntaxError ? 'The body is not valid JSON.' : (error as Error).message)
      return
    }
    if (route.action === 'count') reply.count(countTokens(ask.blocks))
    else this.#answer(reply, ask, directive, key)
  }

  #answer(reply: Reply, ask: Ask, directive: Directive, key: string | null): void {
    const { errorRate } = this.setting
    // a random number is drawn for every answer, so that the numbers stay the same when directives change
    const draw = this.#chance()
    reply.begin(ask, directive)
    if (directive.prepared) {
      const prepared = reply.prepare(this.#compose(reply, ask, directive))
      if (key !== null) this.#prepared.put(key, prepared)
      return
    }
    const strikes = this.#times.strikes(directive)
    const status =
      strikes && directive.error !== undefined ? directive.error : draw < errorRate ? drawn(draw, errorRate) : 0
    if (strikes && directive.cut === 0) reply.reset()
    else if (status !== 0) reply.fail(status)
    else reply.answer(this.#compose(reply, ask, directive), strikes ? directive : withoutFaults(directive))
  }

  #compose(reply: Reply, ask: Ask, directive: Directive): Answer {
    const { dialect } = reply.route
    return compose(ask, directive, {
      id: reply.id,
      createdS: Math.floor(this.setting.clock.now() / 1000),
      origin: this.setting.origin,
      scripted: this.#calls.next(ask, directive),
      dialect,
      input: dialect.keepsWhenAsked
        ? this.#cache.asked(ask.model, ask.blocks)
        : this.#cache.unasked(ask.model, ask.blocks),
    })
  }

  #nextId(): string {
    return `sim${this.setting.seed.toString(36)}x${(this.#count++).toString(36).padStart(8, '0')}`
  }
}

function readAsk(route: Routed, { type, body }: Sent): Ask {
  const parsed: unknown = formOf(type, body) ?? JSON.parse(body.toString())
  if (!isFields(parsed)) throw new Error('The body is not a JSON object.')
  const ask = route.dialect.read(parsed, route)
  if (ask.model === '') throw new Error('model: Field required')
  return ask
}

const drawn = (draw: number, errorRate: number): number =>
  CHANCES[Math.floor((draw / errorRate) * CHANCES.length)] as number

function withoutFaults(directive: Directive): Directive {
  const { cut: _, end_early: __, stall: ___, event_error: ____, ...rest } = directive
  return rest
}

export function createHandler(setting: Setting): (req: IncomingMessage, res: ServerResponse) => void {
  const handler = new Handler(setting)
  return (req, res) => handler.receive(req, res)
}

/** Random numbers from 0 up to 1 that are the same for the same seed (mulberry32). */
export function chance(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

const BOUNDARY = /^multipart\/form-data;.*boundary=(?:"([^"]+)"|([^\s;]+))/i
const NAME = /name="([^"]*)"/i
const FILE = /filename="([^"]*)"/i
const NUMBERS = new Set(['n', 'partial_images'])

/** Returns null when the type is not that of a form. A field that is there several times is a list. */
export function formOf(type: string, body: Buffer): Fields | null {
  const [, quoted, token] = BOUNDARY.exec(type) ?? []
  const boundary = quoted ?? token
  if (boundary === undefined) return null
  const fields: Fields = {}
  for (const part of body.toString('latin1').split(`--${boundary}`).slice(1, -1)) {
    const at = part.indexOf('\r\n\r\n')
    const head = part.slice(0, at)
    const content = part.slice(at + 4, -2)
    const name = (NAME.exec(head)?.[1] ?? '').replace(/\[\]$/, '')
    const file = FILE.exec(head)?.[1]
    const value =
      file === undefined ? textValue(name, Buffer.from(content, 'latin1').toString()) : { file, bytes: content.length }
    fields[name] = fields[name] === undefined ? value : [fields[name], value].flat()
  }
  return fields
}

function textValue(name: string, text: string): unknown {
  if (NUMBERS.has(name)) return Number(text)
  return name === 'stream' ? text === 'true' : text
}

/** Returns null when no dialect has such a path. */
export function routeOf(url: URL): Routed | null {
  for (const [protocol, dialect] of DIALECTS) {
    const route = dialect.route(url)
    if (route !== null) return { ...route, protocol, dialect }
  }
  return null
}

export const credentialOf = (req: IncomingMessage, url: URL, { dialect }: Routed): string | null =>
  dialect.credential(name => {
    const value = req.headers[name]
    return typeof value === 'string' ? value : null
  }, url)

const ALL: Partial<Readonly<Record<Protocol, Dialect>>> = ROWS

export const DIALECTS = Object.entries(ALL) as readonly [Protocol, Dialect][]

const PAGE = 1000

/**
 * `GET /sim/served?id=&after=&limit=` → `Stats` as JSON, oldest first, `after` a number of `served`.
 * `GET /` says what this is.
 */
function answerGet(books: Books, req: IncomingMessage, res: ServerResponse, url: URL): void {
  const send = (status: number, type: string, body: string | Buffer) => {
    res.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) })
    res.end(req.method === 'HEAD' ? undefined : body)
  }
  if (url.pathname === PICTURE_PATH) send(200, 'image/png', PICTURE)
  else if (url.pathname === '/sim/served')
    send(200, 'application/json', JSON.stringify(served(books, url.searchParams)))
  else if (url.pathname === '/') send(200, 'text/plain; charset=utf-8', 'A simulated upstream: docs/simulator.md\n')
  else send(404, 'application/json', '{"error":{"message":"no such path","type":"invalid_request_error"}}')
}

function served(books: Books, query: URLSearchParams) {
  const id = query.get('id')
  const after = Number(query.get('after') ?? 0)
  const limit = Math.min(Number(query.get('limit') ?? PAGE), PAGE)
  const { requests, open, ends, usage } = books
  const matching = books.served.filter(s => s.number > after && (id === null || s.id === id))
  return { requests, open, ends, usage, served: matching.slice(0, limit) }
}
