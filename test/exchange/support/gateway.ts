/** A gateway in this process with everything real but the time, in front of scripted upstreams. */
import { mkdtempSync, rmSync } from 'node:fs'
import type http from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import type { Health } from '../../../lib/channels/health.ts'
import { RetryBudget } from '../../../lib/channels/retry-budget.ts'
import { Ledger } from '../../../lib/ledger/ledger.ts'
import { applyCatalog } from '../../../lib/operations/catalogue/apply.ts'
import { listenOn } from '../../../lib/process/listening.ts'
import { createServices, enterWorld, observeServices } from '../../../lib/process/services.ts'
import { pictureFiles } from '../../../lib/exchange/listener/files.ts'
import { createPublicServer, type Pages } from '../../../lib/exchange/listener/server.ts'
import { accountPurse } from '../../../lib/store/books/purses.ts'
import { parseCatalog } from '../../../lib/catalog-file/catalog.ts'
import { PROTOCOLS } from '../../../lib/protocols/names.ts'
import type { Channel } from '../../../lib/terms/records.ts'
import { parseConfig } from '../../../lib/config/config.ts'
import { createLogger } from '../../../lib/base/log.ts'
import { Metrics } from '../../../lib/terms/metrics.ts'
import { World } from '../../../lib/world/world.ts'
import { TestClock } from '../../support/clock.ts'
import { memoryStore, SETUP } from '../../support/store.ts'
import type { Talking } from '../../support/talking.ts'
import { until } from '../../support/wait.ts'
import { type Ask, Client } from './client.ts'
import { Upstream } from './upstream.ts'

type Json = Record<string, unknown>
interface Test {
  teardown(fn: () => Promise<void>): unknown
}

/** To one upstream. */
export const CONNECTIONS = 64
/** Of the account, in micro-CNY. */
const CREDIT = 100_000_000
export const KEY = 'sk-scenario-0123456789'
/** Of another account, `two`. */
export const OTHER_KEY = 'sk-scenario-of-another'
/** Of an account without money. */
export const POOR_KEY = 'sk-scenario-of-the-poor'
/** Of an account that a test adds. */
export const keyOf = (account: string): string => `sk-scenario-of-account-${account}`
/** As long as the first byte of an answer is waited for. */
const PAST_READ_ON_MS = 601_000
/** As long as a document waits for its end, so that its head can say what it cost. */
const PAST_END_MS = 51
const KEY_REFUSED = 'the upstream refuses the channel key: it is not used for a while'
export const MODEL = 'm'
/** A path of each protocol, and a key wherever any of them reads one. */
export const PATHS: Readonly<Record<Talking, string>> = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  images: '/v1/images/generations',
  generate: `/v1beta/models/${MODEL}:generateContent`,
}
export const HEADERS = { authorization: `Bearer ${KEY}`, 'x-api-key': KEY, 'x-goog-api-key': KEY }

export interface Options {
  /** Sections of the config file over the defaults. */
  config?: Json
  /** Names and what differs in them. */
  channels?: Record<string, Json>
  /** By model; default: 2 in, 8 out, and half a yuan a picture. */
  prices?: Record<string, Json>
  /** Names that are priced beside `MODEL`. */
  models?: string[]
  /** What differs in the row of `MODEL`. */
  model?: Json
  hedge?: string
  /** Of both accounts, in micro-CNY. */
  credit?: number
  /** Requests a minute; default: as many as come. */
  rate?: number
  /** More of the key's row. */
  key?: Json
  /** More keys of the same account. */
  keys?: Json[]
  /** More accounts and their balances in CNY; the key of each is `keyOf` its name. */
  accounts?: Record<string, number>
  /** Retries allowed over 10 s, whatever the share; default plenty. */
  retriesFloor?: number
  /** Beside the API, on the main address. */
  pages?: Pages
}

export type Scene = Awaited<ReturnType<typeof open>>

export async function open(t: Test, options: Options = {}) {
  const clock = new TestClock()
  const credit = options.credit ?? CREDIT
  clock.advance(1_000_000)
  const names = Object.keys(options.channels ?? { a: {} })
  const upstreams = new Map<string, Upstream>()
  for (const name of names) upstreams.set(name, await Upstream.open())
  const folder = mkdtempSync(path.join(tmpdir(), 'scenario-'))
  const config = parseConfig(JSON.stringify({ shed: {}, ...options.config }), 'config', {})
  const store = await memoryStore()
  const channels = names.map((name, i) => ({
    name,
    base_url: upstreams.get(name)?.url,
    protocols: PROTOCOLS,
    groups: ['default'],
    models: [MODEL],
    priority: -i, // in the order of their names, unless a test says otherwise
    ...(options.channels?.[name]?.['keys'] === undefined ? { key: `up-${name}` } : {}),
    ...options.channels?.[name],
  }))
  const catalog = {
    groups: [
      {
        name: 'default',
        rate: { requests: options.rate ?? 0, minutes: 1 },
        ...(options.hedge ? { hedge: { after: options.hedge } } : {}),
      },
    ],
    models: [...new Set([MODEL, ...(options.models ?? []), ...Object.keys(options.prices ?? {})])].map(name => ({
      name,
      price: options.prices?.[name] ?? { input: 2, output: 8, image: 0.5 },
      ...(name === MODEL ? options.model : {}),
    })),
    channels,
    accounts: [
      ...['one', 'two'].map(name => ({ name, groups: ['default'], balance: credit / 1_000_000 })),
      { name: 'poor', groups: ['default'] },
      ...Object.entries(options.accounts ?? {}).map(([name, balance]) => ({ name, groups: ['default'], balance })),
    ],
    keys: [
      { account: 'one', name: 'k', secret: KEY, group: 'default', ...options.key },
      { account: 'two', name: 'k', secret: OTHER_KEY, group: 'default' },
      { account: 'poor', name: 'k', secret: POOR_KEY },
      ...Object.keys(options.accounts ?? {}).map(name => ({
        account: name,
        name: 'k',
        secret: keyOf(name),
        group: 'default',
      })),
      ...(options.keys ?? []).map(key => ({ account: 'one', group: 'default', ...key })),
    ],
  }
  await applyCatalog(store, parseCatalog(JSON.stringify(catalog), 'catalog', {}), clock)
  const logged: Json[] = []
  const log = createLogger(config.log.level, { write: (line: string) => logged.push(JSON.parse(line) as Json) })
  const metrics = new Metrics()
  const ledger = await Ledger.open({ store, clock, log, folder, limitBytes: 2 ** 28 })
  const services = createServices({
    clock,
    log,
    metrics,
    store,
    ledger,
    lag: { ms: 0 },
    world: new World(config, await store.catalogue.read()),
    random: () => 0,
    connectionsPerOrigin: CONNECTIONS,
  })
  services.retries = new RetryBudget({ share: 0, floorPerS: options.retriesFloor ?? 1000, windowS: 1, clock })
  observeServices(services)
  const { health } = services
  const servers: http.Server[] = []
  const files = pictureFiles(services)
  const pages: Pages = (req, res) => files(req, res) || (options.pages?.(req, res) ?? false)
  const listen = (listener: 'main' | 'direct') => {
    const server = createPublicServer(services, listener, listener === 'main' ? pages : null)
    servers.push(server)
    return listenOn(server, 'main', { host: '127.0.0.1', port: 0 })
  }
  const urls = { main: await listen('main'), direct: await listen('direct') }

  t.teardown(async () => {
    for (const server of servers) {
      server.close()
      server.closeAllConnections()
    }
    await Promise.all([...upstreams.values()].map(upstream => upstream.close()))
    await services.pools.destroy()
    await ledger.stop()
    await store.close()
    rmSync(folder, { recursive: true, force: true })
  })

  const at = (name: string): Upstream => upstreams.get(name) as Upstream
  const ask = (request: Ask, listener: 'main' | 'direct' = 'main') => new Client(urls[listener], request)
  /** Nothing is under way any more, anywhere; then what stands in the books. */
  const books = async () => {
    await until('nothing is under way', () => services.openCount === 0 && openAttempts(health) === 0)
    const left = {
      holds: ledger.holdsOpen,
      held: ledger.heldTotal,
      swept: services.sweeper.size,
      draining: services.readOns.size,
    }
    await ledger.flush()
    const rows = (await store.usage.page({ limit: 1000 })).reverse()
    const purse = (await store.books.purses([accountPurse(1)]))[0]
    const charges = rows.reduce((sum, row) => sum + row.charge, 0)
    const audit = await store.audit()
    const failures = logged.filter(line => line['msg'] === 'exchange failed')
    return { rows, left, failures, ok: audit.ok && purse?.credit === credit && purse.spent === charges }
  }

  const newWorld = async () => enterWorld(services, new World(config, await store.catalogue.read()), CONNECTIONS)

  /** Changes a channel as an administrator would; the change is in force at once. */
  const changeChannel = async (name: string, change: Partial<Channel>) => {
    const { channels: rows } = await store.catalogue.read()
    await store.catalogue.putChannel({ ...(rows.find(row => row.name === name) as Channel), ...change }, SETUP)
    await newWorld()
  }

  /** What the store says is in force at once. */
  const follow = async () => {
    for (const change of (await store.changes.since(changesSeen)) ?? []) {
      services.keys.onChange(change)
      ledger.onChange(change)
      changesSeen = change.seq
    }
    await newWorld()
  }
  let changesSeen = await store.changes.seq()

  const settled = async (): Promise<void> => {
    for (let i = 0; i < 2; i++) await ask({ path: '/nowhere', body: '' }).end()
  }

  return {
    clock,
    store,
    follow,
    urls,
    servers,
    services,
    changeChannel,
    health,
    logged,
    /** The channels whose key an upstream refused, as the log names them. */
    refusedKeys: () => logged.filter(line => line['msg'] === KEY_REFUSED).map(line => line['channel']),
    at,
    ask,
    books,
    /** What a metric says; undefined = it was never counted. */
    metric: async (name: string, labels: Record<string, string> = {}): Promise<number | undefined> => {
      const values = (await metrics.snapshot()).find(one => one.name === name)?.values ?? []
      return values.find(value => Object.entries(labels).every(([k, v]) => String((value.labels as Json)[k]) === v))
        ?.value
    },
    /** Everything written so far has reached whom it was written to: the loop has gone round with another request. */
    settled,
    /** What has come of a document goes on to its client without its end, which was waited for long enough. */
    goOn: async (): Promise<void> => {
      await settled()
      clock.advance(PAST_END_MS)
    },
    /** The time is over for all that is read on without its client. */
    readOut: async (): Promise<void> => {
      await until('it is read on', () => services.readOns.size > 0)
      clock.advance(PAST_READ_ON_MS)
    },
    state: (channel: string) => health.states().get(channel)?.state,
    asked: () => Object.fromEntries(names.map(name => [name, at(name).calls.length])),
  }
}

const openAttempts = (health: Health): number => [...health.states().values()].reduce((sum, { open }) => sum + open, 0)

export const NOTHING_LEFT = { holds: 0, held: 0, swept: 0, draining: 0 }
