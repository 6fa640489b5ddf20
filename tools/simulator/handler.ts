/**
 * Handles requests to the simulator: each is read, understood, then refused or answered, and entered into the books.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { isFields } from '../../lib/protocols/json/text.ts'
import { chance } from './chance.ts'
import { compose } from './compose.ts'
import { type Directive, directiveOf } from './directive.ts'
import { formOf } from './form.ts'
import { answerGet } from './pages.ts'
import { PreparedAnswers, sendPrepared } from './prepared.ts'
import { countTokens, PromptCache } from './prompt-cache.ts'
import { Reply } from './reply.ts'
import { credentialOf, type Routed, routeOf } from './route.ts'
import { ScriptedCalls } from './scripted-calls.ts'
import type { Setting } from './setting.ts'
import type { Answer, Ask } from './speech.ts'
import { Times } from './times.ts'

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
