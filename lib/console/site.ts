/**
 * The pages of the console: everything under `/console` that is not its API. What pages consist of is read and made ready
 * at the first visit, because a gateway that nobody visits should not wait for it when it starts.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { PublicCatalogue } from '../operations/catalogue/public-catalogue.ts'
import type { CallRates } from '../api/bounds.ts'
import type { Clock } from '../base/clock.ts'
import { encodedHeaders, KeptBody } from '../base/encoding.ts'
import { heaviest, latest } from '../base/lru.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../base/log.ts'
import type { Assets, ClientFiles } from './assets.ts'
import type { Brand, Branding } from './branding.ts'
import { type PageName, pageAt } from '../../web/shared/sitemap.ts'
import { clientsData, connectData, homeData, modelData, registerData, signInData } from './page-data.ts'
import type { PageReader, pageHeaders, pageReaderOf, Shell } from './shell.ts'

const ROOT = '/console'
const FILES = `${ROOT}/a/`
/** The models' API as an OpenAPI document, at an address where programs look for it. */
const DOCUMENT = '/openapi.json'
const BRANDING = `${ROOT}/site/`

interface Opened {
  client: ClientFiles
  assets: Assets
  shell: Shell
  Brand: typeof Brand
  pageReaderOf: typeof pageReaderOf
  pageHeaders: typeof pageHeaders
}

/** The bounds on visits. */
interface Counting {
  rates: CallRates
  networkOf: (ip: string) => string
}

async function beginCounting(clock: Clock): Promise<Counting> {
  const [{ CallRates }, { networkOf }] = await Promise.all([import('../api/bounds.ts'), import('../base/network.ts')])
  return { rates: new CallRates(clock), networkOf }
}

/** Once in a process. */
let opened: Promise<Opened> | null = null
/** Only files of a checkout change while a process runs: whoever changes a page there only reloads it. */
const MAY_CHANGE = import.meta.url.endsWith('.ts')
/** A look at the disk asks for some 150 files, so those who visit within this time share one. */
const LOOK_EVERY_MS = 250
let nextLookMs = 0

async function current(): Promise<Opened> {
  const parts = await (opened ??= opening())
  if (!MAY_CHANGE || performance.now() < nextLookMs) return parts
  nextLookMs = performance.now() + LOOK_EVERY_MS
  return (await parts.client.isOld()) ? (opened = opening()) : parts
}

/** What fails, as a page that somebody is writing, is tried again at the next visit. */
function opening(): Promise<Opened> {
  const made = open()
  made.catch(() => (opened = null))
  return made
}

async function open(): Promise<Opened> {
  const [{ Assets, readClientFiles }, { Brand }, { openShell, ...reading }] = await Promise.all([
    import('./assets.ts'),
    import('./branding.ts'),
    import('./shell.ts'),
  ])
  const client = await readClientFiles()
  return { client, assets: new Assets(client), shell: await openShell(client), Brand, ...reading }
}

const TOO_MANY = Buffer.from('请求过于频繁，请稍后再试\nToo many visits: try again later\n', 'utf8')

/** The settings that pages depend on. */
type SiteConfig = Pick<Config, 'public' | 'registration' | 'smtp' | 'mailbox' | 'oidc' | 'site' | 'limits' | 'zone'>

interface SiteParts {
  /** A function, because a reload may change the config. */
  config: () => SiteConfig
  log: Logger
  clock: Clock
  /** The visitor's address, behind the proxies that are trusted. */
  ipOf: (req: IncomingMessage) => string
  /** Loaded when a page needs it. */
  catalogue: () => Promise<PublicCatalogue>
}

/** The parts of its address that a page reads. */
interface At {
  group: string | undefined
  /** The last step, decoded; null = it is not well formed. */
  step: string | null
}

/** The data that the server writes into pages: what they show without a script, or need before they can begin. */
const DATA: Partial<
  Record<
    PageName,
    (config: SiteConfig, catalogue: SiteParts['catalogue'], at: At) => object | null | Promise<object | null>
  >
> = {
  home: async (config, catalogue) => homeData(config.public, await (await catalogue()).models()),
  connect: async (config, catalogue) => connectData(config.public, await (await catalogue()).models()),
  keys: config => clientsData(config.public),
  'api-reference': async config => (await import('./model-api.ts')).referenceOf(config),
  playground: config => clientsData(config.public),
  'sign-in': signInData,
  register: registerData,
  // a group that nobody may see is no reason for showing nothing
  model: async (config, catalogue, { group, step }) =>
    step === null ? null : modelData(config.public, await catalogue(), step, group),
  models: async (_, catalogue, { group }) => {
    const shown = await catalogue()
    return shown.models(group).catch(() => shown.models())
  },
  status: async (_, catalogue, { group }) => {
    const shown = await catalogue()
    return shown.status(group).catch(() => shown.status())
  },
}

function atOf(url: string): At {
  const { pathname, searchParams } = new URL(url, 'http://here')
  const group = searchParams.get('group') ?? undefined
  try {
    return { group, step: decodeURIComponent(pathname.replace(/\/$/, '').split('/').at(-1) as string) }
  } catch {
    return { group, step: null }
  }
}

const MOST_KEPT_BYTES = 48 * 1024 * 1024
/** A page is kept as it is and in two encodings, which together are shorter than it. */
const keptBytesOf = ({ bytes }: KeptBody) => 2 * bytes
/** Addresses and readers of which it is known what was last written for them. */
const MOST_SHOWN = 2_000
const MOST_ADDRESS_CHARACTERS = 300
/** The part of a page that counts as one of what an address may cause to be written. */
const PIECE_BYTES = 32 * 1024

/** Pages as they were written, by what they show: anybody may ask for a large one all the time, without signing in. */
class Written {
  readonly #pages = heaviest<string, KeptBody>(MOST_KEPT_BYTES, keptBytesOf)
  /** By address and reader, the name in `#pages` of what was last shown there. */
  readonly #shown = latest<string, string>(MOST_SHOWN)
  /** Numbers of what pages show. */
  readonly #numbers = new WeakMap<object, number>()
  #last = 0
  #brand: Branding | null = null
  #shell: Shell | null = null

  /**
   * `write`: calls `make`, which takes the main thread, or returns null where that may not be. Then the page is the one that was last shown
   * to such readers at this address, or null. A page goes when another one is shown in its place.
   */
  get(
    { shell }: Opened,
    name: PageName,
    reader: PageReader,
    { brand, data, address }: { brand: Branding; data: object | null; address: string },
    write: (make: () => KeptBody) => KeptBody | null,
  ): KeptBody | null {
    if (this.#brand !== brand || this.#shell !== shell) this.#pages.clear()
    this.#brand = brand
    this.#shell = shell
    const { language, theme, signedIn, quiet } = reader
    const variant = `${name} ${language} ${theme} ${signedIn} ${quiet}`
    const as = `${variant} ${data === null ? 0 : this.#numberOf(data)}`
    const there = `${variant} ${address}`
    const before = this.#shown.get(there)
    const html =
      this.#pages.get(as) ??
      write(() => new KeptBody(shell(name, reader, brand, data), data === null ? 'kept' : 'while'))
    if (html === null) return this.#pages.get(before ?? as) ?? null
    if (before !== undefined && before !== as) this.#pages.delete(before)
    if (data !== null && address.length <= MOST_ADDRESS_CHARACTERS) this.#shown.set(there, as)
    this.#pages.set(as, html)
    return html
  }

  #numberOf(data: object): number {
    const number = this.#numbers.get(data) ?? ++this.#last
    this.#numbers.set(data, number)
    return number
  }
}

const DOCUMENT_S = 300

/** Sends the document to everybody, tools on other sites included. */
async function sendDocument(
  req: IncomingMessage,
  res: ServerResponse,
  { public: urls, site }: SiteConfig,
): Promise<void> {
  const document = (await import('./model-api.ts')).modelDocument(site.name.en, urls)
  const headers = {
    etag: document.tag,
    vary: 'accept-encoding',
    'x-content-type-options': 'nosniff',
    'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
    'access-control-allow-origin': '*',
    'cache-control': `public, max-age=${DOCUMENT_S}`,
  }
  if (document.isIn(req.headers['if-none-match'])) return void res.writeHead(304, headers).end()
  const made = await document.in(req.headers['accept-encoding'])
  res.writeHead(200, { ...headers, 'content-type': 'application/json; charset=utf-8', ...encodedHeaders(made) })
  res.end(req.method === 'HEAD' ? undefined : made.body)
}

/** Answers requests for pages and returns true; false = the request is for the API of models. */
export function createSite({
  config,
  log,
  clock,
  ipOf,
  catalogue,
}: SiteParts): (req: IncomingMessage, res: ServerResponse) => boolean {
  const written = new Written()
  /** Loaded at the first visit. */
  let counting: Counting | null = null
  let brand: Brand | null = null
  const registers = () => config().registration.mode === 'open'
  const brandOf = ({ Brand }: Opened) => (brand ??= new Brand(config, registers, clock))

  const page = async (
    parts: Opened,
    name: PageName,
    req: IncomingMessage,
    res: ServerResponse,
    status: number,
  ): Promise<void> => {
    const data = (await DATA[name]?.(config(), catalogue, atOf(req.url as string))) ?? null
    if (name === 'model' && data === null) return page(parts, 'missing', req, res, 404)
    const reader = parts.pageReaderOf(req, config().site.languages)
    const shown = { brand: brandOf(parts).now(), data, address: req.url as string }
    let waitS: number | null = null
    const html = written.get(parts, name, reader, shown, make => {
      waitS = waitSOf('written', req)
      if (waitS !== null) return null
      const made = make()
      const { rates, networkOf } = counting as Counting
      rates.spend('written', 'ip', networkOf(ipOf(req)), Math.max(0, made.bytes / PIECE_BYTES - 1)) // one is counted already
      return made
    })
    if (html === null) return tooMuch(req, res, waitS ?? 1)
    const headers = { ...parts.pageHeaders(config().public.main.startsWith('https:'), name), etag: html.tag }
    if (status === 200 && html.isIn(req.headers['if-none-match'])) return void res.writeHead(304, headers).end()
    const made = await html.in(req.headers['accept-encoding'])
    res.writeHead(status, { ...headers, ...encodedHeaders(made) })
    res.end(req.method === 'HEAD' ? undefined : made.body)
  }

  const waitSOf = (what: 'page' | 'written', req: IncomingMessage): number | null => {
    const { rates, networkOf } = counting as Counting
    return rates.waitS(what, 'ip', networkOf(ipOf(req)))
  }

  /** Answers who visits more often than people do. */
  const tooMuch = (req: IncomingMessage, res: ServerResponse, waitS: number): void => {
    res.writeHead(429, {
      'content-type': 'text/plain; charset=utf-8',
      'content-length': TOO_MANY.length,
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'retry-after': String(waitS),
    })
    res.end(req.method === 'HEAD' ? undefined : TOO_MANY)
  }

  const answer = async (path: string, req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const loaded = counting ?? (await beginCounting(clock))
    counting ??= loaded
    const waitS = waitSOf('page', req)
    if (waitS !== null) return tooMuch(req, res, waitS)
    if (path === DOCUMENT) return sendDocument(req, res, config())
    const parts = await (path.startsWith(FILES) ? (opened ??= opening()) : current())
    if (path.startsWith(FILES)) {
      if (!(await parts.assets.answer(path.slice(FILES.length), req, res))) await page(parts, 'missing', req, res, 404)
      return
    }
    if (path.startsWith(BRANDING)) {
      if (!brandOf(parts).answer(path, req.method === 'HEAD', res)) await page(parts, 'missing', req, res, 404)
      return
    }
    const found = pageAt(path.slice(ROOT.length).replace(/\/$/, ''))?.name
    await page(parts, found ?? 'missing', req, res, found === undefined ? 404 : 200)
  }

  return (req, res) => {
    if (req.method !== 'GET' && req.method !== 'HEAD') return false
    const [path = ''] = (req.url as string).split('?', 1)
    if (path !== '/' && path !== DOCUMENT && path !== ROOT && !path.startsWith(`${ROOT}/`)) return false
    if (path === '/' && req.method === 'HEAD') return false // a coding tool sends this to see whether the API is here
    if (path === '/') res.writeHead(302, { location: ROOT, 'content-length': 0 }).end()
    else
      answer(path, req, res).catch((error: unknown) => {
        log.error({ err: error }, 'a page of the console failed')
        if (!res.headersSent) res.writeHead(500, { 'content-length': 0 })
        res.end()
      })
    return true
  }
}
