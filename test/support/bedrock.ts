/**
 * A double of Bedrock in front of the simulator: of Claude, of Converse, and of its hosts that speak as the makers of the models do. It checks the
 * signature over the very bytes that came, or the API key, and refuses bodies and betas as Bedrock does. Streams are sent as binary frames, with checksums, cut anywhere. What is right is answered by
 * the simulator, whose books so hold what the gateway has to charge. Tokens are counted under the ids of models only, and of whole requests.
 */
import { randomUUID } from 'node:crypto'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { gzipSync } from 'node:zlib'
import { chunkFrame, exceptionFrame } from '../upstream/aws/frames.ts'
import { type Known, type Received, verify } from '../upstream/aws/signature.ts'
import { asMessages, ConverseFrames, refusedBy, wholeAnswer } from './bedrock-converse.ts'
import { cut, type Random } from './random.ts'
import { listenFor, originOf } from './double.ts'

interface Test {
  teardown(fn: () => unknown): unknown
}
type Json = Record<string, unknown>

const PATH = /^\/model\/([^/?]+)\/(invoke|invoke-with-response-stream|count-tokens|converse|converse-stream)$/
/** Paths of the makers, and where the simulator has them. */
const MAKERS = /^(?:\/openai|\/anthropic)?(\/v1\/(?:chat\/completions|responses|messages))$/
const VERSION = 'bedrock-2023-05-31'
/** The betas of this model. */
const BETAS = ['interleaved-thinking-2025-05-14', 'context-1m-2025-08-07']
const METRICS = { inputTokenCount: 1, outputTokenCount: 1, invocationLatency: 900, firstByteLatency: 300 }
const NAMES: Record<number, string> = {
  400: 'ValidationException',
  408: 'ModelTimeoutException',
  429: 'ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/',
  503: 'ServiceUnavailableException',
  529: 'ServiceUnavailableException',
}

/** A request for an answer, as it came. */
export interface Asked {
  url: string
  headers: http.IncomingHttpHeaders
  body: Json
}

export interface BedrockOptions {
  /** Its URL. */
  simulator: string
  random: Random
  /** Wall clock, in ms. */
  now(): number
}

export class Bedrock {
  readonly #server = http.createServer((req, res) => this.#receive(req, res))
  readonly #options: BedrockOptions
  readonly asked: Asked[] = []
  /** Requests with all their bytes, whatever they were. */
  readonly received: Received[] = []
  readonly keys: Known = {
    accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
    secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
    sessionToken: 'IQoJb3JpZ2luX2VjEXAMPLE//////////wEaCXVzLWVhc3QtMSJHMEUCIQ==',
    region: 'eu-west-1',
    service: 'bedrock',
  }
  apiKey = 'bedrock-api-key-YmVkcm9jay5hbWF6b25hd3MuY29t'
  /** Models by their ids. */
  readonly models = new Set<string>()
  /** Models whose tokens are counted, by the same ids. */
  readonly counted = new Set<string>()
  /** How much the clock of AWS is ahead of ours. */
  aheadMs = 0
  /** What a stream does in the place of going on, behind so many frames: an exception, half a frame, or a spoilt checksum. */
  fault: { after: number; how: 'exception' | 'half' | 'spoilt' } | null = null
  /** The answer comes compressed, although nobody asked for that. */
  compresses = false

  private constructor(options: BedrockOptions) {
    this.#options = options
  }

  static async open(t: Test, options: BedrockOptions): Promise<Bedrock> {
    const double = new Bedrock(options)
    await listenFor(t, double.#server)
    return double
  }

  get origin(): string {
    return originOf(this.#server)
  }

  /** A channel of the catalogue that leads here. */
  channel(change: Json = {}): Json {
    const { accessKeyId, secretAccessKey, sessionToken, region } = this.keys
    const aws = { access_key_id: accessKeyId, secret_access_key: secretAccessKey, session_token: sessionToken, region }
    return { base_url: this.origin, kind: 'bedrock', protocols: ['messages'], aws, ...change }
  }

  #receive(req: IncomingMessage, res: ServerResponse): void {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      res.setHeader('x-amzn-requestid', randomUUID())
      this.#answer(req, res, Buffer.concat(parts))
    })
  }

  #answer(req: IncomingMessage, res: ServerResponse, bytes: Buffer): void {
    const { method = '', url = '', headers } = req
    const received = { method, path: url, headers: headers as Record<string, string>, body: bytes }
    this.received.push(received)
    const isKnown = headers.authorization === `Bearer ${this.apiKey}`
    const refused = isKnown ? null : verify(received, this.keys, this.#options.now() + this.aheadMs)
    if (refused !== null) {
      // AWS quotes what it has made of the request, the token in it
      const quoted = `${refused.message} The Canonical String should have been: x-amz-security-token:${headers['x-amz-security-token']}`
      refuse(res, 403, refused.name, quoted)
      return
    }
    const [, model = '', verb] = PATH.exec(url) ?? []
    const [, ofMaker] = MAKERS.exec(url) ?? []
    const body = (verb === 'count-tokens' ? inEnvelope(bytes) : JSON.parse(bytes.toString())) as Json
    this.asked.push({ url, headers, body })
    const betas = (body['anthropic_beta'] ?? []) as string[]
    if (ofMaker !== undefined) this.#relay(res, ofMaker, bytes)
    else if (verb === undefined) refuse(res, 404, 'UnknownOperationException', '')
    else if (verb === 'count-tokens' && !this.counted.has(decodeURIComponent(model)))
      refuse(res, 400, 'ValidationException', "The provided model doesn't support counting tokens.")
    else if (verb !== 'count-tokens' && !this.models.has(decodeURIComponent(model)))
      refuse(res, 400, 'ValidationException', 'The provided model identifier is invalid.')
    else if (verb.startsWith('converse')) this.#converse(res, decodeURIComponent(model), body, verb.endsWith('-stream'))
    else if ('model' in body || 'stream' in body)
      refuse(res, 400, 'ValidationException', 'Malformed input request: extraneous key is not permitted')
    else if (body['anthropic_version'] !== VERSION)
      refuse(res, 400, 'ValidationException', 'Malformed input request: required key [anthropic_version] not found')
    else if (!Number.isSafeInteger(body['max_tokens']))
      refuse(res, 400, 'ValidationException', 'Malformed input request: required key [max_tokens] not found')
    else if (betas.some(beta => !BETAS.includes(beta))) refuse(res, 400, 'ValidationException', 'invalid beta flag')
    else if (verb === 'count-tokens') this.#count(res, { ...body, model: decodeURIComponent(model) })
    else this.#pass(res, { ...body, model: decodeURIComponent(model), stream: verb !== 'invoke' })
  }

  #converse(res: ServerResponse, model: string, body: Json, isStream: boolean): void {
    const why = refusedBy(body)
    if (why !== null) {
      refuse(res, 400, 'ValidationException', why)
      return
    }
    const frames = new ConverseFrames()
    this.#pass(res, asMessages(body, model, isStream), { whole: wholeAnswer, frames: event => frames.of(event) })
  }

  /** Passes on, both ways, what is asked as a maker's own API is. */
  #relay(res: ServerResponse, path: string, bytes: Buffer): void {
    const headers = { 'content-type': 'application/json' }
    const up = http.request(`${this.#options.simulator}${path}`, { method: 'POST', headers }, from => {
      res.writeHead(from.statusCode as number, { 'content-type': from.headers['content-type'] })
      from.on('error', () => res.destroy())
      from.pipe(res)
    })
    up.on('error', () => res.destroy())
    res.on('close', () => up.destroy())
    up.end(bytes)
  }

  /** The simulator's count, in the form of Bedrock. */
  #count(res: ServerResponse, body: Json): void {
    const headers = { 'content-type': 'application/json' }
    const asked = fetch(`${this.#options.simulator}/v1/messages/count_tokens`, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
    })
    asked
      .then(from => from.json() as Promise<{ input_tokens: number }>)
      .then(({ input_tokens: inputTokens }) => {
        res.writeHead(200, headers)
        res.end(JSON.stringify({ inputTokens }))
      })
      .catch(() => res.destroy())
  }

  #pass(res: ServerResponse, body: Json, told: ToldAs = AS_CLAUDE): void {
    const headers = { 'content-type': 'application/json' }
    const up = http.request(`${this.#options.simulator}/v1/messages`, { method: 'POST', headers }, from => {
      const status = from.statusCode as number
      if (status === 200 && body['stream'] === true) {
        this.#frames(res, from, told)
        return
      }
      const parts: Buffer[] = []
      from.on('data', (part: Buffer) => parts.push(part))
      from.on('error', () => res.destroy())
      from.on('end', () => {
        const said = JSON.parse(Buffer.concat(parts).toString()) as Json & { error?: { message: string } }
        if (status !== 200) {
          refuse(
            res,
            status === 529 ? 503 : status,
            NAMES[status] ?? 'InternalServerException',
            said.error?.message ?? '',
          )
          return
        }
        const text = Buffer.from(JSON.stringify(told.whole(said)))
        res.writeHead(200, { ...headers, ...(this.compresses ? { 'content-encoding': 'gzip' } : {}) })
        res.end(this.compresses ? gzipSync(text) : text)
      })
    })
    up.on('error', () => res.destroy())
    res.on('close', () => up.destroy())
    up.end(JSON.stringify(body))
  }

  /** The events of the simulator, one a frame. */
  #frames(res: ServerResponse, from: IncomingMessage, told: ToldAs): void {
    const { fault } = this
    let text = ''
    let sent = 0
    res.writeHead(200, {
      'content-type': 'application/vnd.amazon.eventstream',
      ...(this.compresses ? { 'content-encoding': 'gzip' } : {}),
    })
    from.setEncoding('utf8')
    from.on('data', (part: string) => {
      text += part
      const events = text.split('\n\n')
      text = events.pop() as string
      const frames: Buffer[] = []
      for (const event of events) {
        if (fault !== null && sent === fault.after) break
        frames.push(...framesOf(event, told))
        sent++
      }
      this.#write(res, Buffer.concat(frames))
      if (fault !== null && sent === fault.after) this.#fail(res, from, fault.how)
    })
    from.on('error', () => res.destroy())
    from.on('end', () => res.end())
  }

  #fail(res: ServerResponse, from: IncomingMessage, how: 'exception' | 'half' | 'spoilt'): void {
    from.destroy()
    if (res.writableEnded) return
    const frame = exceptionFrame('throttlingException', 'Too many tokens, please wait before trying again.')
    if (how === 'spoilt') frame.writeUInt8(frame.readUInt8(frame.length - 1) ^ 1, frame.length - 1)
    this.#write(res, how === 'half' ? frame.subarray(0, 40) : frame)
    res.end()
  }

  #write(res: ServerResponse, bytes: Buffer): void {
    if (this.compresses) res.write(gzipSync(bytes))
    else for (const piece of cut(this.#options.random, bytes)) res.write(piece)
  }
}

/** What stands in the envelope of a request that asks for a count; anything else reads as an empty request. */
function inEnvelope(bytes: Buffer): Json {
  const { input } = JSON.parse(bytes.toString()) as { input?: { invokeModel?: { body?: string } } }
  return JSON.parse(Buffer.from(input?.invokeModel?.body ?? 'e30=', 'base64').toString()) as Json
}

/** How an answer of the simulator is told: a document, and the events of a stream. */
interface ToldAs {
  whole(answer: Json): Json
  frames(event: Json): Buffer[]
}

const AS_CLAUDE: ToldAs = {
  whole: answer => answer,
  frames: event => [
    chunkFrame(
      JSON.stringify(
        event['type'] === 'message_stop' ? { type: event['type'], 'amazon-bedrock-invocationMetrics': METRICS } : event,
      ),
    ),
  ],
}

function framesOf(event: string, told: ToldAs): Buffer[] {
  const data = JSON.parse(event.slice(event.indexOf('data: ') + 6)) as Json & { error?: { message: string } }
  if (data['type'] === 'error') return [exceptionFrame('modelStreamErrorException', data.error?.message ?? '')]
  return told.frames(data)
}

function refuse(res: ServerResponse, status: number, name: string, message: string): void {
  res.writeHead(status, { 'content-type': 'application/json', 'x-amzn-errortype': name })
  res.end(JSON.stringify({ message }))
}
