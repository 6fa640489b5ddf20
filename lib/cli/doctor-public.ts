/**
 * `gateway doctor --public`: asks the gateway through its public addresses, and says what the way there does to streams, bodies,
 * silence, headers and addresses. What the gateway sees of each request it says itself (`lib/exchange/listener/probe.ts`).
 */
import { DAY_MS } from '../base/clock.ts'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import type { TLSSocket } from 'node:tls'
import type { Config } from '../config/config.ts'
import {
  PROBE_ANSWERED,
  PROBE_HEADER,
  PROBE_NAME,
  PROBE_PATH,
  PROBE_SENT,
  type ProbeSeen,
  probeToken,
} from '../terms/probe.ts'

export interface Check {
  /** `main` or `direct`; or what is looked at on this machine: `config`, `journal`, `store`, `books`, `gateway`, `console`, `upstream`, `client`. */
  address: string
  check: string
  /** `warning`: it works, and something should be done about it. */
  result: 'ok' | 'warning' | 'problem'
  says: string
  /** What mends it; empty = nothing has to be. */
  mend: string
}

interface PublicWanted {
  urls: { main: string; direct: string }
  /** How long the way must bear silence; 0 = it is not tried. */
  silenceMs: number
}

const EVENTS = 6
const EVERY_MS = 300
const MB = 1_000_000
const BODIES = [2 * MB, 20 * MB]
const WAIT_MS = 30_000
const LEAST_CERTIFICATE_DAYS = 14
/** An address of the documentation range, which is nobody's. */
const FORGED = '203.0.113.99'

interface Asked {
  path: string
  headers?: Record<string, string>
  body?: Buffer
  waitMs?: number
}

interface Answered {
  status: number
  headers: http.IncomingHttpHeaders
  text: string
  /** When each piece came, in ms from the request on. */
  times: number[]
  /** True when it ended as HTTP says that it ends. */
  whole: boolean
}

export async function checkPublic(config: Config, wanted: PublicWanted): Promise<Check[]> {
  const both = await Promise.all(
    (['main', 'direct'] as const).map(address =>
      new Way(config, address, wanted.urls[address], wanted.silenceMs).checks(),
    ),
  )
  return both.flat()
}

/** One of the two public addresses, and what is found of the way there. */
class Way {
  readonly #config: Config
  readonly #address: 'main' | 'direct'
  readonly #url: URL
  readonly #silenceMs: number
  readonly #found: Check[] = []
  #trusted = true

  constructor(config: Config, address: 'main' | 'direct', url: string, silenceMs: number) {
    this.#config = config
    this.#address = address
    this.#url = new URL(url)
    this.#silenceMs = silenceMs
  }

  async checks(): Promise<Check[]> {
    const tls = await this.#tls()
    if (await this.#reach()) {
      // side by side, because silence takes longest
      const silence = this.#silence()
      for (const version of tls?.h2 ? (['h1', 'h2'] as const) : (['h1'] as const)) await this.#streams(version)
      for (const bytes of BODIES) if (bytes <= this.#config.limits.bodyBytes) await this.#body(bytes)
      await this.#headers()
      await this.#addresses()
      await silence
    }
    return this.#found
  }

  #say(check: string, result: Check['result'], says: string, mend = ''): void {
    this.#found.push({ address: this.#address, check, result, says, mend })
  }

  async #tls(): Promise<{ h2: boolean } | null> {
    const { protocol, hostname, host } = this.#url
    if (protocol === 'http:') {
      const isHere = /^(?:localhost|127\.|\[::1\])/.test(hostname)
      this.#say(
        'tls',
        isHere ? 'warning' : 'problem',
        `${host} is asked without encryption`,
        `put a proxy with TLS in front and set public.${this.#address} to its https address`,
      )
      return null
    }
    const seen = await this.#handshake(true)
    if (typeof seen !== 'string') {
      const { version, days, h2 } = seen
      if (days < LEAST_CERTIFICATE_DAYS) this.#say('tls', 'problem', `the certificate ends in ${days} days`, 'renew it')
      else if (!h2)
        this.#say(
          'tls',
          'warning',
          `${version}, and no HTTP/2`,
          'switch HTTP/2 on in the proxy, so that clients need one connection',
        )
      else this.#say('tls', 'ok', `${version}, HTTP/2, a certificate for ${days} more days`)
      return { h2 }
    }
    this.#trusted = false
    this.#say(
      'tls',
      'problem',
      `clients do not trust it: ${seen}`,
      'give the proxy a certificate for this name with its whole chain',
    )
    const bare = await this.#handshake(false)
    return typeof bare === 'string' ? null : { h2: bare.h2 }
  }

  /** What was agreed on, or why nothing was. */
  async #handshake(trusted: boolean): Promise<{ version: string; days: number; h2: boolean } | string> {
    const { connect } = await import('node:tls')
    const { hostname, port } = this.#url
    const host = hostname.replace(/^\[|\]$/g, '')
    return new Promise(resolve => {
      const socket: TLSSocket = connect(
        {
          host,
          port: Number(port) || 443,
          servername: host,
          ALPNProtocols: ['h2', 'http/1.1'],
          rejectUnauthorized: trusted,
        },
        () => {
          const end = Date.parse(socket.getPeerCertificate().valid_to)
          const days = Math.floor((end - Date.now()) / DAY_MS)
          resolve({ version: socket.getProtocol() ?? 'TLS', days, h2: socket.alpnProtocol === 'h2' })
          socket.destroy()
        },
      )
      socket.once('error', error => resolve(error.message))
      socket.setTimeout(WAIT_MS, () => socket.destroy(new Error('no answer')))
    })
  }

  async #reach(): Promise<boolean> {
    const answer = await this.#ask({ path: 'echo' })
    if (typeof answer === 'string') {
      this.#say(
        'reach',
        'problem',
        `nothing answers at ${this.#url.origin}: ${answer}`,
        `is public.${this.#address} right, and does the proxy run?`,
      )
      return false
    }
    if (seenIn(answer) === null) {
      this.#say(
        'reach',
        'problem',
        `${this.#url.origin} answers ${answer.status}, and not as this gateway does`,
        'does the address lead to a gateway with the same `secret`, and does that one serve?',
      )
      return false
    }
    this.#say('reach', 'ok', `${this.#url.origin} leads to the gateway`)
    return true
  }

  async #streams(version: 'h1' | 'h2'): Promise<void> {
    const name = `stream, ${version === 'h2' ? 'HTTP/2' : 'HTTP/1.1'}`
    const ask = { path: `stream?events=${EVENTS}&every=${EVERY_MS}` }
    const answer = version === 'h2' ? await this.#askHttp2(ask) : await this.#ask(ask)
    if (typeof answer === 'string' || answer.status !== 200) {
      this.#say(
        name,
        'problem',
        typeof answer === 'string' ? answer : `it was answered ${answer.status}`,
        'look into the log of the proxy',
      )
      return
    }
    const spreadMs = (answer.times.at(-1) ?? 0) - (answer.times[0] ?? 0)
    const sentMs = (EVENTS - 1) * EVERY_MS
    if (spreadMs < sentMs / 2)
      this.#say(
        name,
        'problem',
        `events sent over ${sentMs} ms came within ${Math.round(spreadMs)} ms: something keeps streams until they are whole`,
        'switch buffering off in the proxy (nginx: proxy_buffering off, and no proxy_ignore_headers X-Accel-Buffering), and compression of text/event-stream',
      )
    else
      this.#say(
        name,
        'ok',
        `${EVENTS} events sent over ${sentMs} ms came within ${Math.round(spreadMs)} ms, one by one`,
      )
  }

  async #body(bytes: number): Promise<void> {
    const name = `body of ${bytes / MB} MB`
    const answer = await this.#ask({ path: 'echo', body: Buffer.alloc(bytes, 120) })
    if (typeof answer !== 'string' && seenIn(answer)?.bytes === bytes) {
      this.#say(name, 'ok', 'it arrives')
      return
    }
    const says = typeof answer === 'string' ? answer : `it was answered ${answer.status} on the way`
    this.#say(
      name,
      'problem',
      says,
      `allow as much as limits.body of the gateway in the proxy (nginx: client_max_body_size ${Math.floor(this.#config.limits.bodyBytes / 2 ** 20)}m)`,
    )
  }

  async #silence(): Promise<void> {
    const ms = this.#silenceMs
    if (ms === 0) return
    const answer = await this.#ask({ path: `stream?events=2&every=${ms}`, waitMs: ms + WAIT_MS })
    const name = `silence of ${ms / 1000} s`
    if (typeof answer !== 'string' && answer.whole && answer.text.includes('data: 1')) {
      this.#say(name, 'ok', 'a stream that says nothing for so long goes on')
      return
    }
    const lives = this.#address === 'main' && this.#config.keepalive.mainMs > 0
    this.#say(
      name,
      lives ? 'warning' : 'problem',
      'the stream was cut: something gives up on what is silent',
      `let the proxy wait longer than timeouts.first_byte (nginx: proxy_read_timeout 660s)${lives ? `; until then set keepalive.early below its limit: streams show life every ${this.#config.keepalive.mainMs / 1000} s, and whole answers do not` : ''}`,
    )
  }

  async #headers(): Promise<void> {
    const values = Object.fromEntries(PROBE_SENT.map(name => [name, 'probe']))
    const answer = await this.#ask({ path: `echo/${PROBE_NAME}`, headers: values })
    const seen = typeof answer === 'string' ? null : seenIn(answer)
    if (typeof answer === 'string' || seen === null) {
      this.#say(
        'headers',
        'problem',
        typeof answer === 'string' ? answer : `it was answered ${answer.status} on the way`,
        'something on the way refuses headers that clients send: look into its log',
      )
      return
    }
    const lost = PROBE_SENT.filter(name => !seen.headers.includes(name))
    const missing = PROBE_ANSWERED.filter(name => answer.headers[name] === undefined)
    if (lost.length > 0)
      this.#say(
        'headers',
        'problem',
        `these do not reach the gateway: ${lost.join(', ')}`,
        'let the proxy pass all headers',
      )
    else if (missing.length > 0)
      this.#say(
        'headers',
        'problem',
        `these do not reach clients: ${missing.join(', ')}`,
        'let the proxy pass all headers of answers',
      )
    else this.#say('headers', 'ok', 'they arrive in both directions')
    const isSame = seen.target === `${PROBE_PATH}echo/${PROBE_NAME}`
    if (isSame) this.#say('path', 'ok', 'it arrives as it was sent')
    else
      this.#say(
        'path',
        'problem',
        `a path was rewritten to ${seen.target.slice(0, 100)}`,
        'pass the path as it comes (nginx: proxy_pass without a path behind the address)',
      )
  }

  async #addresses(): Promise<void> {
    const answer = await this.#ask({ path: 'echo', headers: { 'x-forwarded-for': FORGED } })
    const seen = typeof answer === 'string' ? null : seenIn(answer)
    if (seen === null) return
    const told = seen.forwarded?.split(',').at(-1)?.trim() ?? null
    const isProxy = this.#url.protocol === 'https:' && seen.address === normal(seen.remote) && told !== seen.address
    if (seen.address === FORGED)
      this.#say(
        'address',
        'problem',
        'the gateway believes whatever address a client says that it has',
        'name only your proxies in trusted_proxies, and let the proxy set X-Forwarded-For itself',
      )
    else if (isProxy && told === null)
      this.#say(
        'address',
        'problem',
        'the proxy says nothing of who asks',
        'let it set X-Forwarded-For, and name it in trusted_proxies',
      )
    else if (isProxy)
      this.#say(
        'address',
        'problem',
        `the gateway takes its proxy (${seen.address}) for the client`,
        `add ${seen.address} to trusted_proxies`,
      )
    else this.#say('address', 'ok', `the gateway sees ${seen.address}, and nothing that a client invents`)
  }

  // --- asking

  #head({ path, headers, body }: Asked): { path: string; headers: Record<string, string> } {
    return {
      path: `${this.#url.pathname.replace(/\/+$/, '')}${PROBE_PATH}${path}`,
      headers: {
        [PROBE_HEADER]: probeToken(this.#config.secret, Date.now()),
        'content-type': 'application/octet-stream',
        'content-length': String(body?.length ?? 0),
        ...headers,
      },
    }
  }

  /** The answer, or why there is none. */
  #ask(asked: Asked): Promise<Answered | string> {
    const beganMs = performance.now()
    const { protocol, hostname, port } = this.#url
    const options = {
      ...this.#head(asked),
      method: 'POST',
      host: hostname.replace(/^\[|\]$/g, ''),
      port,
      agent: false as const,
      rejectUnauthorized: this.#trusted,
    }
    return new Promise(resolve => {
      const got: Answered = { status: 0, headers: {}, text: '', times: [], whole: false }
      const req = protocol === 'https:' ? https.request(options) : http.request(options)
      const late = setTimeout(() => req.destroy(new Error('no answer in time')), asked.waitMs ?? WAIT_MS)
      const done = (answer: Answered | string): void => {
        clearTimeout(late)
        resolve(answer)
      }
      req.once('error', error => done(got.status === 0 ? error.message : got))
      req.once('response', res => {
        got.status = res.statusCode ?? 0
        got.headers = res.headers
        collect(res, got, beganMs)
        res.once('close', () => done({ ...got, whole: res.complete }))
      })
      req.end(asked.body)
    })
  }

  #askHttp2(asked: Asked): Promise<Answered | string> {
    const beganMs = performance.now()
    return new Promise(resolve => {
      const got: Answered = { status: 0, headers: {}, text: '', times: [], whole: false }
      const session = http2.connect(this.#url.origin, { rejectUnauthorized: this.#trusted })
      const { path, headers } = this.#head(asked)
      const stream = session.request({ ':method': 'POST', ':path': path, ...headers })
      const late = setTimeout(() => session.destroy(), asked.waitMs ?? WAIT_MS)
      const done = (answer: Answered | string): void => {
        clearTimeout(late)
        session.destroy()
        resolve(answer)
      }
      session.once('error', error => done(error.message))
      stream.once('error', error => done(error.message))
      stream.once('response', head => {
        got.status = Number(head[':status'])
        got.headers = head as http.IncomingHttpHeaders
      })
      collect(stream, got, beganMs)
      stream.once('close', () => done({ ...got, whole: stream.readableEnded }))
      stream.end(asked.body)
    })
  }
}

const MOST_TEXT = 100_000

function collect(stream: NodeJS.ReadableStream, got: Answered, beganMs: number): void {
  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    got.times.push(performance.now() - beganMs)
    if (got.text.length < MOST_TEXT) got.text += text
  })
}

function seenIn({ status, text }: Answered): ProbeSeen | null {
  try {
    const seen = JSON.parse(text) as ProbeSeen
    return status === 200 && typeof seen.bytes === 'number' ? seen : null
  } catch {
    return null
  }
}

const normal = (address: string): string => address.replace(/^::ffff:/, '')
