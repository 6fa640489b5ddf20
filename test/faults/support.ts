/**
 * A scene for faults: a store, a scripted upstream, one or more gateways as a user starts them, clients, and at the end
 * the books, compared with what the clients were shown.
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Test } from 'tap'
import { ADMIN_TOKEN, adminOf, ready, type TestGateway } from '../support/gateway.ts'
import { freePorts } from '../support/ports.ts'
import { type Ask, Clients, PRICES, type Seen } from './clients.ts'
import { type FaultyStore, mariadbStore, type StoreKind, sqliteStore } from './stores.ts'
import { type Point, ScriptedUpstream } from './upstream.ts'

const GATEWAY = path.resolve(import.meta.dirname, '../../bin/gateway')
/** These only end a test that waits in vain. */
const SETTLED_MS = 60_000
const STANDING_MS = 60_000
const POLL_MS = 50

export const KEY = 'sk-faults-0123456789'
/** Of an account that nobody has asked for before the fault. */
export const LATE_KEY = 'sk-faults-late-0123456789'
export const EDGE_KEY = 'sk-faults-edge-0123456789'
export const OPENING = 1_000_000_000

/** `max_tokens` with which far more is held than will be charged, so that a lease outlasts a fault. */
export const MOST = 4096
const PEAK = 40

type Json = Record<string, unknown>

const catalog = (upstream: string, edge: number): Json => ({
  groups: [{ name: 'default', rate: { requests: 1_000_000, minutes: 1 } }],
  models: [
    { name: 'alpha-sonnet-5-5', price: PRICES.messages },
    { name: 'beta-4.7', price: PRICES.chat },
  ],
  channels: [
    {
      name: 'one',
      base_url: upstream,
      protocols: ['messages', 'chat'],
      key: 'up',
      groups: ['default'],
      models: ['alpha-sonnet-5-5', 'beta-4.7'],
    },
  ],
  accounts: [
    { name: 'main', groups: ['default'], balance: OPENING / 1e6 },
    { name: 'late', groups: ['default'], balance: OPENING / 1e6 },
    { name: 'edge', groups: ['default'], balance: edge / 1e6 },
  ],
  keys: [
    { account: 'main', name: 'k', secret: KEY, group: 'default' },
    { account: 'late', name: 'k', secret: LATE_KEY, group: 'default' },
    { account: 'edge', name: 'k', secret: EDGE_KEY, group: 'default' },
  ],
})

/** A gateway that can be ended and started again on the same addresses, config and data. */
export class FaultyGateway {
  readonly main: string
  readonly ops: string
  readonly configFile: string
  readonly admin: TestGateway['admin']
  /** Standard output and error of every start. */
  output = ''
  #child: ChildProcess | null = null

  constructor(configFile: string, main: string, ops: string) {
    this.configFile = configFile
    this.main = `http://${main}`
    this.ops = `http://${ops}`
    this.admin = adminOf(this.ops)
  }

  get running(): boolean {
    return this.#child !== null
  }

  async start(): Promise<void> {
    const child = spawn(GATEWAY, ['serve', '--config', this.configFile], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    const kill = () => child.kill('SIGKILL')
    process.once('exit', kill)
    child.once('exit', () => process.off('exit', kill))
    for (const stream of [child.stdout, child.stderr]) stream.on('data', text => (this.output += text))
    await ready(child, this.ops)
  }

  signal(signal: NodeJS.Signals): void {
    this.#child?.kill(signal)
  }

  /** The exit code; null when a signal ended it. */
  async ended(): Promise<number | null> {
    const child = this.#child
    if (child === null) return null
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit')
    this.#child = null
    return child.exitCode
  }

  async kill(): Promise<void> {
    this.signal('SIGKILL')
    await this.ended()
  }

  /** Drains the gateway. */
  stop(): Promise<number | null> {
    this.signal('SIGTERM')
    return this.ended()
  }
}

interface SceneOptions {
  kind?: StoreKind
  store?: FaultyStore
  /** What the gateways are told, when it is not the store's own address. */
  storeUrl?: string
  config?: Json
  /** micro-CNY in the account `edge`. */
  edge?: number
}

/** A request that stands at its point, until the upstream lets it go on. */
export interface Standing {
  seen: Seen
  ended: Promise<Seen>
}

export class Scene {
  readonly clients = new Clients(KEY)
  readonly folder: string
  readonly store: FaultyStore
  readonly upstream: ScriptedUpstream
  readonly gateways: FaultyGateway[] = []
  readonly #options: SceneOptions

  private constructor(folder: string, store: FaultyStore, upstream: ScriptedUpstream, options: SceneOptions) {
    this.folder = folder
    this.store = store
    this.upstream = upstream
    this.#options = options
  }

  static async open(t: Test, options: SceneOptions): Promise<Scene> {
    const folder = mkdtempSync(path.join(tmpdir(), 'gateway-faults-'))
    const store = options.store ?? (options.kind === 'mysql' ? await mariadbStore() : sqliteStore(folder))
    const upstream = await ScriptedUpstream.start()
    const scene = new Scene(folder, store, upstream, options)
    t.teardown(() => scene.close(options.store === undefined))
    return scene
  }

  /** One more gateway on the store, started. Those with the same `journal` share a folder, as on one host. */
  async gateway(journal = 'journal'): Promise<FaultyGateway> {
    const name = `gateway-${this.gateways.length + 1}`
    const [main, direct, ops] = (await freePorts(3)).map(port => `127.0.0.1:${port}`) as [string, string, string]
    const file = (what: string) => path.join(this.folder, what)
    const config = {
      listen: { main, direct, ops },
      store: this.#options.storeUrl ?? this.store.url,
      journal: file(journal),
      catalog: file('catalog.yaml'),
      admin_token: ADMIN_TOKEN,
      ...this.#options.config,
    }
    writeFileSync(file('catalog.yaml'), JSON.stringify(catalog(this.upstream.url, this.#options.edge ?? OPENING)))
    writeFileSync(file(`${name}.yaml`), JSON.stringify(config))
    const gateway = new FaultyGateway(file(`${name}.yaml`), main, ops)
    this.gateways.push(gateway)
    await gateway.start()
    return gateway
  }

  /** A request that stands at its point. Who is told to come again, because leases are slow to get on a busy machine, asks again. */
  async standing(gateway: FaultyGateway, ask: Ask & { hold: Point }): Promise<Standing> {
    for (const until = Date.now() + STANDING_MS; ; await sleep(POLL_MS)) {
      const ended = this.clients.ask(gateway.main, ask)
      const seen = this.clients.seen.at(-1) as Seen
      const stands = this.upstream.reached(seen.tag).then(() => true)
      if (await Promise.race([stands, ended.then(() => false)])) return { seen, ended }
      if (seen.status !== 503 || Date.now() > until) throw new Error(`${seen.tag} did not get upstream: ${seen.status}`)
    }
  }

  /** Many requests at once: leases are sized by the most that was held of late, and by what was charged. */
  async peak(gateway: FaultyGateway): Promise<void> {
    const many = await Promise.all(
      Array.from({ length: PEAK }, () => this.standing(gateway, { most: MOST, hold: 'silent' })),
    )
    for (const { seen } of many) this.upstream.release(seen.tag)
    await Promise.all(many.map(({ ended }) => ended))
  }

  async close(stopStore: boolean): Promise<void> {
    for (const gateway of this.gateways) await gateway.kill()
    await this.upstream.close()
    if (stopStore) await this.store.stop()
    rmSync(this.folder, { recursive: true, force: true })
  }

  // --- the books

  /** Every usage row there is, by request id. */
  async #rows(gateway: FaultyGateway): Promise<Map<string, Json>> {
    const rows = new Map<string, Json>()
    for (let after = ''; ; ) {
      const { data, next } = await gateway.admin('GET', `/admin/usage?limit=1000${after}`)
      for (const row of data) rows.set(String(row['request_id']), row)
      if (next === null) return rows
      after = `&after=${next}`
    }
  }

  /** The rows, once every answer that a client saw whole has one, or the time is up. */
  async settled(gateway: FaultyGateway): Promise<Map<string, Json>> {
    const whole = this.clients.seen.filter(seen => seen.whole)
    for (const until = Date.now() + SETTLED_MS; ; await sleep(POLL_MS)) {
      const rows = await this.#rows(gateway)
      if (whole.every(seen => rows.has(seen.id as string)) || Date.now() > until) return rows
    }
  }

  /**
   * Nobody was refused for the fault's sake; what was seen whole is charged once and in full; nothing is held; it adds up.
   * `atRandom`: the fault struck anywhere, so that what a client saw only in part may be charged, as far as it went.
   * `poor`: a key whose money may end. `edge`: paid into the account `edge` by now, in micro-CNY.
   */
  async checkBooks(
    t: Test,
    gateway: FaultyGateway,
    { atRandom = false, poor = '', edge }: { atRandom?: boolean; poor?: string; edge?: number } = {},
  ): Promise<void> {
    const { seen } = this.clients
    const blamed = seen.filter(({ status, key }) => status >= 400 && status < 500 && key !== poor)
    t.strictSame(blamed, [], 'no client is blamed')
    const rows = await this.settled(gateway)
    const charged = new Map([...rows].map(([id, row]) => [id, Math.round(Number(row['charge']) * 1e6)]))
    const inPart = new Map(seen.filter(s => !s.whole && s.id !== null).map(s => [s.id as string, s.price]))
    let unseen = seen.filter(s => s.id === null).length
    const wrong = seen.filter(({ id, whole, price }) => whole && charged.get(id as string) !== price)
    t.strictSame(
      wrong.slice(0, 3).map(({ id, price }) => ({ id, price, charged: charged.get(id as string) })),
      [],
      `each whole answer is charged once, and in full (${wrong.length} are not)`,
    )
    const wholeIds = new Set(seen.filter(s => s.whole).map(s => s.id as string))
    for (const [id, charge] of charged) {
      if (wholeIds.has(id) || charge === 0) continue
      if (!atRandom) t.fail(`${id} is charged ${charge}, and no client saw that answer whole`)
      else if (charge > (inPart.get(id) ?? (unseen-- > 0 ? Number.POSITIVE_INFINITY : 0))) t.fail(`${id}: ${charge}`)
    }
    t.pass(`${wholeIds.size} whole answers of ${seen.length}, ${rows.size} rows`)
    await this.#checkAccounts(t, gateway, rows, edge ?? this.#options.edge ?? OPENING)
  }

  /** The accounts, once nothing is held any more, or the time is up: a hold ends a moment after its answer. */
  async #quietAccounts(gateway: FaultyGateway): Promise<Json[]> {
    for (const until = Date.now() + SETTLED_MS; ; await sleep(POLL_MS)) {
      const { data } = await gateway.admin('GET', '/admin/accounts')
      if (data.every(({ held }) => held === '0.000000') || Date.now() > until) return data
    }
  }

  async #checkAccounts(t: Test, gateway: FaultyGateway, rows: Map<string, Json>, edge: number): Promise<void> {
    for (const { name, balance, held } of await this.#quietAccounts(gateway)) {
      const opening = name === 'edge' ? edge : OPENING
      const spent = [...rows.values()].filter(row => row['account'] === name)
      const sum = spent.reduce((total, row) => total + Math.round(Number(row['charge']) * 1e6), 0)
      t.strictSame(
        { balance, held },
        { balance: ((opening - sum) / 1e6).toFixed(6), held: '0.000000' },
        `account ${name}`,
      )
    }
    t.match(await gateway.admin('GET', '/admin/audit'), { ok: true, imbalance: '0.000000' }, 'the books add up')
  }

  /** Ends all gateways in order; then nothing may be leased any more. */
  async checkEnd(t: Test): Promise<void> {
    const running = this.gateways.filter(gateway => gateway.running)
    for (const gateway of running) t.equal(await gateway.stop(), 0, 'a drained gateway exits with 0')
    const { configFile } = this.gateways[0] as FaultyGateway
    const { stdout } = await promisify(execFile)(GATEWAY, ['audit', '--json', '--config', configFile])
    t.match(JSON.parse(stdout), { ok: true, imbalance: '0.000000', leased: '0.000000' }, 'nothing is leased at the end')
  }
}

export const idsOf = (seen: readonly Seen[]): string[] => seen.map(({ id }) => id as string)
