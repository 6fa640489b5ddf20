/** What a run consists of: stores, gateways, providers, accounts, and messages that are on their way. Its time is its own. */
import { openStore, type Store } from '../../../lib/store/store.ts'
import { createLogger, type Logger } from '../../../lib/base/log.ts'
import type { Order, OrderMethod } from '../../../lib/terms/pay.ts'
import type { Account } from '../../../lib/terms/records.ts'
import { TestClock } from '../../support/clock.ts'
import { type Random, withSeed } from '../../support/random.ts'
import { Providers, type Sent } from '../providers.ts'
import { ACT } from '../support.ts'
import { ChaosChain, setRate } from './chain.ts'
import { ChaosGateway } from './gateway.ts'

const GATEWAYS = 2
const ACCOUNTS = 4
const YEAR_MS = 365 * 86_400_000
/** Every dispute counts, because the engine's own time is another one. */
const HOLD = { disputes: 1, within: '366d', for: '6h' }
const CARD_RATE = 7_130_000
/** The engine's own time stays behind that of the run. */
const AHEAD_MS = 10 * 60_000

interface Teardown {
  teardown(fn: () => unknown): void
}

/** What a log line may be about without a fault of the program: a store that is dead, a provider that fails. */
const EXPECTED = new Set(['StoreUnavailable', 'ProviderAway', 'ProviderRefuses', 'NotVerified'])

interface OnTheWay {
  atMs: number
  method: OrderMethod
  message: () => Sent
  times: number
}

export class World {
  readonly random: Random
  readonly clock: TestClock
  readonly providers: Providers
  readonly chain: ChaosChain | null
  readonly gateways: ChaosGateway[] = []
  readonly accounts: Account[] = []
  /** Orders that were begun, the newest last. */
  readonly orders: Order[] = []
  /** What accounts have spent, by their ids, in micro-CNY. */
  readonly spent = new Map<number, number>()
  /** How often something was done. */
  readonly done = new Map<string, number>()
  /** What must not happen, and did. */
  readonly faults: string[] = []
  /** The currency that cards are charged in. */
  readonly currency: string
  readonly #stores: readonly Store[]
  readonly #log: Logger
  #onTheWay: OnTheWay[] = []

  private constructor(
    random: Random,
    clock: TestClock,
    providers: Providers,
    chain: ChaosChain | null,
    stores: readonly Store[],
    currency: string,
  ) {
    this.random = random
    this.clock = clock
    this.providers = providers
    this.chain = chain
    this.#stores = stores
    this.currency = currency
    this.#log = createLogger('error', { write: line => this.#heard(line) })
  }

  static async open(t: Teardown, seed: number, url: string, currency: string): Promise<World> {
    const clock = new TestClock(Date.now() + AHEAD_MS)
    const stores = Array.from({ length: GATEWAYS }, () => openStore(url, { secret: 'a secret of the run' }))
    t.teardown(() => Promise.all(stores.map(store => store.close())))
    const providers = await Providers.open(t, () => clock.now())
    const world = new World(withSeed(seed), clock, providers, await ChaosChain.open(t), stores, currency)
    await world.store.migrate()
    await setRate(world)
    await world.setCardRate(CARD_RATE)
    for (let i = 0; i < GATEWAYS; i++) await world.revive(i)
    t.teardown(() => Promise.all(world.gateways.map(gateway => gateway.close())))
    for (let i = 0; i < ACCOUNTS; i++) await world.addAccount()
    return world
  }

  /** One that never dies: of whoever looks from outside. */
  get store(): Store {
    return this.#stores[0] as Store
  }

  get gateway(): ChaosGateway {
    return this.random.pick(this.gateways)
  }

  /** Puts a new process in the place of the gateway of this number. */
  async revive(i: number): Promise<void> {
    const { clock, providers, chain, currency } = this
    await this.gateways[i]?.close()
    const usdt = chain === null ? {} : { usdt: chain.section }
    const section = { ...providers.section({ an_hour_of_all: 1_000_000, currency, hold: HOLD }), ...usdt }
    this.gateways[i] = await ChaosGateway.open({ store: this.#stores[i] as Store, clock, log: this.#log, section })
  }

  /** What a unit of the cards' currency is worth from now on, in micro-CNY. */
  async setCardRate(rate: number): Promise<void> {
    const { currency } = this
    const fromMs = this.clock.now()
    if (currency !== 'CNY') await this.store.pay.setPayRate({ currency, rate, fromMs, untilMs: fromMs + YEAR_MS }, ACT)
  }

  async addAccount(): Promise<void> {
    const name = `payer ${this.accounts.length}`
    this.accounts.push(await this.store.accounts.create({ name, groups: [], sandbox: true }, ACT))
  }

  count(what: string): void {
    this.done.set(what, (this.done.get(what) ?? 0) + 1)
  }

  #heard(line: string): void {
    const { err, msg } = JSON.parse(line) as { err?: { type: string; message: string; stack: string }; msg: string }
    if (err !== undefined && !EXPECTED.has(err.type)) this.faults.push(`${msg}: ${err.stack}`)
  }

  // --- messages

  /** The message is made when it is due, because its signature has a time. */
  send(method: OrderMethod, message: () => Sent, inMs = 0, times = 1): void {
    this.#onTheWay.push({ atMs: this.clock.now() + inMs, method, message, times })
  }

  /** Delivers what is due, in any order and all at once. What is not taken is sent again later, a few times. */
  async deliverDue(): Promise<void> {
    const nowMs = this.clock.now()
    const due = this.#onTheWay.filter(({ atMs }) => atMs <= nowMs)
    this.#onTheWay = this.#onTheWay.filter(({ atMs }) => atMs > nowMs)
    for (let i = due.length - 1; i > 0; i--) {
      const j = this.random.int(0, i)
      ;[due[i], due[j]] = [due[j] as OnTheWay, due[i] as OnTheWay]
    }
    await Promise.all(
      due.map(async ({ method, message, times }) => {
        const sent = message()
        const taken = await Promise.all(Array.from({ length: times }, () => this.gateway.deliver(method, sent)))
        this.count(taken.every(Boolean) ? 'callback taken' : 'callback not taken')
        if (!taken.every(Boolean) && this.random.next() < 0.5) this.send(method, message, 120_000)
      }),
    )
  }

  /** The network loses everything. */
  loseAll(): void {
    this.#onTheWay = []
  }
}
