/**
 * A double of Azure: the endpoint of Microsoft Entra ID that gives tokens, a machine's metadata address, and an upstream that takes tokens for its
 * own audience only. It checks what Azure checks, and answers in its words.
 */
import { randomBytes } from 'node:crypto'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import { listenFor, originOf } from './double.ts'

interface Test {
  teardown(fn: () => unknown): unknown
}
type Json = Record<string, unknown>

export const TENANT = '72f988bf-86f1-41af-91ab-2d7cd011db47'
export const CLIENT = '11111111-2222-3333-4444-555555555555'
export const COGNITIVE = 'https://cognitiveservices.azure.com'
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** A request for an answer, as it came. */
interface Asked {
  url: string
  headers: http.IncomingHttpHeaders
  body: Json
}

export class Entra {
  readonly #server = http.createServer((req, res) => this.#receive(req, res))
  readonly secret = 'Xyz8Q~abcdefghijklmnopqrstuvwxyz0123456789'
  /** What the file of the workload identity has to say. */
  assertion = 'eyJhbGciOiJSUzI1NiJ9.first.signature'
  /** Of App Service. */
  readonly header = 'identity-header-0123456789'
  /** For which audience the upstream takes tokens. */
  audience = COGNITIVE
  /** Good tokens, and what they are for. */
  readonly tokens = new Map<string, string>()
  /** Each question for a token: where, and what was said. */
  readonly questions: { path: string; said: Record<string, string> }[] = []
  readonly asked: Asked[] = []
  lifeS = 3599
  /** What the endpoint does in the place of its work. */
  tokenFault: 'down' | 'busy' | 'silent' | 'empty' | null = null

  static async open(t: Test): Promise<Entra> {
    const double = new Entra()
    await listenFor(t, double.#server)
    return double
  }

  get origin(): string {
    return originOf(this.#server)
  }

  /** A channel of the catalogue that leads here; `entra`: what differs in its credential. */
  channel(entra: Json = {}): Json {
    const usual = { tenant: TENANT, client_id: CLIENT, client_secret: this.secret, authority: this.origin }
    return { base_url: this.origin, kind: 'azure-entra', key: undefined, entra: { ...usual, ...entra } }
  }

  #receive(req: IncomingMessage, res: ServerResponse): void {
    const parts: Buffer[] = []
    req.on('data', (part: Buffer) => parts.push(part))
    req.on('end', () => {
      const url = new URL(req.url ?? '', this.origin)
      const text = Buffer.concat(parts).toString()
      if (/\/oauth2\/v2\.0\/token$/.test(url.pathname)) this.#question(req, res, url, new URLSearchParams(text))
      else if (url.pathname === '/metadata/identity/oauth2/token' || url.pathname === '/msi/token')
        this.#question(req, res, url, url.searchParams)
      else this.#answer(req, res, text)
    })
  }

  #question(req: IncomingMessage, res: ServerResponse, url: URL, said: URLSearchParams): void {
    this.questions.push({ path: url.pathname, said: Object.fromEntries(said) })
    if (this.tokenFault === 'down') req.socket.destroy()
    else if (this.tokenFault === 'silent') return
    else if (this.tokenFault === 'busy') tell(res, 429, { error: 'temporarily_unavailable' })
    else if (this.tokenFault === 'empty') tell(res, 200, {})
    else if (req.method === 'GET') this.#ofMachine(req, res, url)
    else this.#ofApplication(res, url, said)
  }

  #ofMachine({ headers }: IncomingMessage, res: ServerResponse, { pathname, searchParams: said }: URL): void {
    const isOwn = pathname === '/msi/token'
    const isFit = isOwn
      ? headers['x-identity-header'] === this.header && said.get('api-version') === '2019-08-01'
      : headers['metadata'] === 'true' && said.get('api-version') === '2018-02-01'
    const resource = said.get('resource')
    if (!isFit || resource === null)
      tell(res, 400, { error: 'invalid_request', error_description: 'Required metadata header not specified' })
    else tell(res, 200, { access_token: this.#token(resource), expires_in: String(this.lifeS), token_type: 'Bearer' })
  }

  #ofApplication(res: ServerResponse, { pathname }: URL, said: URLSearchParams): void {
    const refuse = (error: string, error_description: string): void => tell(res, 401, { error, error_description })
    const isAsserted = said.get('client_assertion_type') === ASSERTION
    if (pathname !== `/${TENANT}/oauth2/v2.0/token`)
      tell(res, 400, { error: 'invalid_request', error_description: 'AADSTS90002: Tenant not found.' })
    else if (said.get('client_id') !== CLIENT)
      refuse('unauthorized_client', 'AADSTS700016: Application was not found in the directory.')
    else if (said.get('grant_type') !== 'client_credentials' || !said.get('scope')?.endsWith('/.default'))
      refuse('invalid_scope', 'AADSTS1002012: The provided value for scope is not valid.')
    else if (isAsserted ? said.get('client_assertion') !== this.assertion : said.get('client_secret') !== this.secret)
      refuse('invalid_client', 'AADSTS7000215: Invalid client secret provided.')
    else {
      const audience = (said.get('scope') ?? '').replace(/\/\.default$/, '')
      tell(res, 200, { token_type: 'Bearer', expires_in: this.lifeS, access_token: this.#token(audience) })
    }
  }

  #token(audience: string): string {
    const token = `eyJ0eXAi.${randomBytes(24).toString('base64url')}.c2ln`
    this.tokens.set(token, audience)
    return token
  }

  #answer({ url = '', headers }: IncomingMessage, res: ServerResponse, text: string): void {
    const audience = this.tokens.get((headers.authorization ?? '').replace('Bearer ', ''))
    if (audience !== this.audience) {
      const named = audience === undefined ? '' : `audience is incorrect (${this.audience}), `
      const message = `Unauthorized. Access token is missing, invalid, ${named}or have expired.`
      tell(res, 401, { error: { code: '401', message } })
      return
    }
    this.asked.push({ url, headers, body: JSON.parse(text) as Json })
    const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 }
    if (url === '/anthropic/v1/messages') {
      const content = [{ type: 'text', text: 'Hello' }]
      const answer = { id: 'msg_1', type: 'message', role: 'assistant', content, stop_reason: 'end_turn' }
      tell(res, 200, { ...answer, usage: { input_tokens: 100, output_tokens: 10 } })
    } else {
      const message = { role: 'assistant', content: 'Hello' }
      tell(res, 200, { id: 'c', choices: [{ index: 0, message, finish_reason: 'stop' }], usage })
    }
  }
}

function tell(res: ServerResponse, status: number, body: Json): void {
  res.writeHead(status, { 'content-type': 'application/json' })
  res.end(JSON.stringify(body))
}
