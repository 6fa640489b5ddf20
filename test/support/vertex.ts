/**
 * A double of Google's Vertex AI in front of the simulator. Its token endpoint checks the assertion of the service account as Google
 * does (signature, audience, scope, times) and gives tokens that end; its API checks token, path, query and body, and answers errors in
 * Google's form. What is right is answered by the simulator, whose books so hold what the gateway has to charge.
 */
import { generateKeyPairSync, randomBytes, verify } from 'node:crypto'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { Transform } from 'node:stream'
import { embedContent, predict, type Told } from './vertex-embeddings.ts'
import { listenFor, originOf } from './double.ts'

interface Test {
  teardown(fn: () => unknown): unknown
}
type Json = Record<string, unknown>

const SCOPE = 'https://www.googleapis.com/auth/cloud-platform'
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer'
const EMAIL = 'gateway@project-1.iam.gserviceaccount.com'
const VERSION = 'vertex-2023-10-16'
export const PLACE = '/v1/projects/project-1/locations/us-east5'
const ANTHROPIC = new RegExp(`^${PLACE}/publishers/anthropic/models/([^/:]+):(rawPredict|streamRawPredict)$`)
const GOOGLE = new RegExp(
  `^${PLACE}/publishers/google/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)$`,
)
const EMBEDDING = new RegExp(`^${PLACE}/publishers/google/models/([^/:]+):(predict|embedContent)$`)
const OPEN_MODELS = new RegExp(`^${PLACE}/endpoints/openapi(/chat/completions|/embeddings)$`)
const STATUSES: Record<number, string> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  404: 'NOT_FOUND',
  429: 'RESOURCE_EXHAUSTED',
}

/** Makes a key of RSA in the form that Google's files have. */
export const rsaKey = () =>
  generateKeyPairSync('rsa', {
    modulusLength: 2048,
    privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    publicKeyEncoding: { type: 'spki', format: 'pem' },
  })

/** Of the account, in all doubles of a process, because making one takes long. */
let keys: ReturnType<typeof rsaKey> | null = null

/** A request for an answer, as it came. */
export interface Asked {
  url: string
  headers: http.IncomingHttpHeaders
  body: Json
}

export class Vertex {
  readonly #server = http.createServer((req, res) => this.#receive(req, res))
  readonly #keys = (keys ??= rsaKey())
  readonly #simulator: string | null
  readonly asked: Asked[] = []
  /** How often a token was asked for. */
  tokensAsked = 0
  /** Tokens that are good. */
  readonly tokens = new Set<string>()
  lifeS = 3599
  /** How much the clock of Google is ahead of this machine's. */
  aheadMs = 0
  /** What the token endpoint does in the place of its work. */
  tokenFault: 'down' | 'busy' | 'silent' | 'empty' | null = null
  /** Status with which the API answers whatever is asked; 0 = none. */
  fault = 0
  /** What it answers in the place of embeddings, byte for byte; null = what is right. */
  embeddings: string | null = null

  private constructor(simulator: string | null) {
    this.#simulator = simulator
  }

  /** `simulator`: its URL; null = nothing answers what is right, beyond a fixed document. */
  static async open(t: Test, simulator: string | null = null): Promise<Vertex> {
    const double = new Vertex(simulator)
    await listenFor(t, double.#server)
    return double
  }

  get origin(): string {
    return originOf(this.#server)
  }

  /** The file that Google gives for the account. */
  file(change: Json = {}): string {
    return JSON.stringify({
      type: 'service_account',
      project_id: 'project-1',
      private_key_id: 'key-1',
      private_key: this.#keys.privateKey,
      client_email: EMAIL,
      token_uri: `${this.origin}/token`,
      ...change,
    })
  }

  /** The private key without its first and last line, in one piece. */
  get secret(): string {
    return this.#keys.privateKey.replace(/-----[^-]*-----|\s/g, '')
  }

  /** A channel of the catalogue that leads here. */
  channel(change: Json = {}): Json {
    return { base_url: this.origin + PLACE, kind: 'vertex', service_account: this.file(), ...change }
  }

  #receive(req: IncomingMessage, res: ServerResponse): void {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      const text = Buffer.concat(parts).toString()
      if (req.url === '/token') this.#giveToken(req, res, text)
      else this.#answer(req, res, text)
    })
  }

  #giveToken(req: IncomingMessage, res: ServerResponse, text: string): void {
    this.tokensAsked++
    if (this.tokenFault === 'down') req.socket.destroy()
    if (this.tokenFault === 'busy') send(res, 503, { error: 'backend_error' })
    if (this.tokenFault === 'empty') send(res, 200, { expires_in: 3599 })
    if (this.tokenFault !== null) return
    const form = new URLSearchParams(text)
    const problem = form.get('grant_type') === GRANT ? this.#problemOf(form.get('assertion') ?? '') : 'Bad grant type.'
    res.setHeader('date', new Date(Date.now() + this.aheadMs).toUTCString())
    if (problem !== null) {
      send(res, 400, { error: 'invalid_grant', error_description: problem })
      return
    }
    const token = `ya29.${randomBytes(48).toString('base64url')}`
    this.tokens.add(token)
    send(res, 200, { access_token: token, expires_in: this.lifeS, token_type: 'Bearer' })
  }

  #problemOf(assertion: string): string | null {
    const [head = '', claims = '', signature = ''] = assertion.split('.')
    const signed = Buffer.from(`${head}.${claims}`)
    if (decoded(head)['alg'] !== 'RS256') return 'Invalid JWT: algorithm.'
    if (!verify('RSA-SHA256', signed, this.#keys.publicKey, Buffer.from(signature, 'base64url')))
      return 'Invalid JWT Signature.'
    const { iss, aud, scope, iat, exp } = decoded(claims)
    if (iss !== EMAIL) return 'Invalid grant: account not found'
    if (aud !== `${this.origin}/token`) return 'Invalid JWT: audience.'
    if (scope !== SCOPE) return 'Invalid OAuth scope.'
    const nowS = (Date.now() + this.aheadMs) / 1000
    const isShort = Number(exp) - Number(iat) <= 3600 && Math.abs(nowS - Number(iat)) < 300
    return isShort
      ? null
      : 'Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.'
  }

  #answer(req: IncomingMessage, res: ServerResponse, text: string): void {
    const url = new URL(req.url as string, this.origin)
    const token = /^Bearer (.+)$/.exec(req.headers.authorization ?? '')?.[1] ?? ''
    if (!this.tokens.has(token)) {
      refuse(res, 401, `Request had invalid authentication credentials: ${token}`)
      return
    }
    const body = JSON.parse(text) as Json
    this.asked.push({ url: req.url as string, headers: req.headers, body })
    if (this.fault !== 0) {
      refuse(res, this.fault, 'Resource exhausted. Please try again later.')
      return
    }
    const claude = ANTHROPIC.exec(url.pathname)
    const gemini = GOOGLE.exec(url.pathname)
    const embedding = EMBEDDING.exec(url.pathname)
    const open = OPEN_MODELS.exec(url.pathname)
    const isCount = claude?.[1] === 'count-tokens'
    const names = [...url.searchParams.keys()]
    if (names.some(name => name !== 'alt')) refuse(res, 400, `Unknown name "${names}": Cannot bind query parameter.`)
    else if (claude !== null && body['anthropic_version'] !== VERSION)
      refuse(res, 400, 'anthropic_version: Field required')
    else if (claude !== null && unknownBetas(req, body) !== '')
      refuse(res, 400, `Unexpected value(s) \`${unknownBetas(req, body)}\` for the \`anthropic-beta\` header.`)
    else if (claude !== null && 'model' in body !== isCount) refuse(res, 400, 'model: Extra inputs are not permitted')
    else if (claude !== null && !isCount && (body['stream'] === true) !== (claude[2] === 'streamRawPredict'))
      refuse(res, 400, 'stream: does not fit the method')
    else if (claude !== null)
      this.#pass(res, isCount ? '/v1/messages/count_tokens' : '/v1/messages', {
        model: decodeURIComponent(claude[1] as string),
        ...body,
      })
    else if (gemini !== null) this.#pass(res, `/v1beta/models/${gemini[1]}:${gemini[2]}${url.search}`, body)
    else if (embedding !== null) void this.#embed(res, embedding[1] as string, embedding[2] as string, body)
    else if (open === null) refuse(res, 404, 'The requested URL was not found on this server.')
    else if (!/^[\w-]+\/[^/]+$/.test(String(body['model'])))
      refuse(res, 400, 'Malformed publisher model: it is publisher/model.')
    else this.#pass(res, `/v1${open[1]}`, body)
  }

  async #embed(res: ServerResponse, model: string, method: string, body: Json): Promise<void> {
    if (this.embeddings !== null) {
      res.writeHead(200, { 'content-type': 'application/json; charset=UTF-8' }).end(this.embeddings)
      return
    }
    const told: Told = await (method === 'predict' ? predict : embedContent)(this.#simulator ?? '', model, body)
    if ('document' in told) send(res, 200, told.document)
    else refuse(res, told.status, told.message)
  }

  #pass(res: ServerResponse, path: string, body: Json): void {
    if (this.#simulator === null) {
      send(res, 200, DOCUMENT)
      return
    }
    const headers = { 'content-type': 'application/json' }
    const up = http.request(this.#simulator + path, { method: 'POST', headers }, from => {
      const isStream = String(from.headers['content-type']).startsWith('text/event-stream')
      res.writeHead(from.statusCode as number, from.headers)
      if (isStream && path === '/v1/messages') from.pipe(withOwnEvents()).pipe(res)
      else from.pipe(res)
      from.on('error', () => res.destroy())
    })
    up.on('error', () => res.destroy())
    res.on('close', () => up.destroy())
    up.end(JSON.stringify(body))
  }
}

/** Events that Vertex AI adds to the streams of Claude: here one behind the first event of the protocol, and one before the last. */
function withOwnEvents(): Transform {
  let rest = ''
  return new Transform({
    transform(chunk: Buffer, _encoding, done) {
      const events = (rest + chunk.toString()).split(/(?<=\n\n)/)
      rest = events.at(-1)?.endsWith('\n\n') ? '' : (events.pop() ?? '')
      for (const event of events) {
        if (event.startsWith('event: message_stop')) this.push(OWN_EVENT)
        this.push(event)
        if (event.startsWith('event: message_start')) this.push(OWN_EVENT)
      }
      done()
    },
    flush(done) {
      this.push(rest)
      done()
    },
  })
}
const OWN_EVENT = `event: vertex_event\ndata: ${JSON.stringify({ type: 'vertex_event', usage: { input_tokens: 9, output_tokens: 1, tiers: { '0-to-200000': { input_tokens: 9 } } } })}\n\n`

/** 100 tokens in, 10 out. */
const DOCUMENT = {
  id: 'msg_vrtx_1',
  type: 'message',
  role: 'assistant',
  model: 'u',
  content: [{ type: 'text', text: 'Good morning' }],
  stop_reason: 'end_turn',
  stop_sequence: null,
  usage: { input_tokens: 100, output_tokens: 10 },
}

const BETAS = ['context-1m-2025-08-07', 'interleaved-thinking-2025-05-14']

/** Betas that are named and that the double does not know. */
function unknownBetas({ headers }: IncomingMessage, body: Json): string {
  const inHeader = String(headers['anthropic-beta'] ?? '').split(',')
  const named = [...inHeader, ...((body['anthropic_beta'] as string[] | undefined) ?? [])]
  return named.filter(beta => beta !== '' && !BETAS.includes(beta.trim())).join()
}

function decoded(part: string): Json {
  try {
    return JSON.parse(Buffer.from(part, 'base64url').toString()) as Json
  } catch {
    return {}
  }
}

function send(res: ServerResponse, status: number, body: object): void {
  res.writeHead(status, { 'content-type': 'application/json; charset=UTF-8' })
  res.end(JSON.stringify(body))
}

const refuse = (res: ServerResponse, code: number, message: string): void =>
  send(res, code, { error: { code, message, status: STATUSES[code] ?? 'UNAVAILABLE' } })
