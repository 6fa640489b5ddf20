/**
 * Everything about payments that a process has: the till, the orders and the methods of the config in force. It is made at
 * the first use, so that a gateway without payments loads nothing of it.
 */
import { type OperationDeps, storeNow } from '../operations/deps.ts'
import type { Config } from '../config/config.ts'
import type { UsdtConfig } from '../config/pay-schema.ts'
import { USDT } from '../terms/deposits.ts'
import type { Order, OrderMethod, Refund } from '../terms/pay.ts'
import type { PayTallies } from '../terms/tallies.ts'
import { compareBills } from './bills.ts'
import { type CallbackDeps, takeCallback } from './callbacks.ts'
import type { CallbackAnswer, PayMethod, RawCallback } from './method.ts'
import { openMethods } from './methods.ts'
import { Orders, type PayBounds } from './orders.ts'
import { checkRefund, closeOrder, type ReconcileDeps, reconcile } from './reconcile.ts'
import { Till } from './till.ts'
import type { TillDeps } from './till-deps.ts'
import type { Usdt } from './usdt/usdt.ts'
import { leftOf, ValidityWatch } from './validity.ts'

export interface DeskParts extends OperationDeps {
  config: () => Config
  counts: PayTallies
}

export const UNCREDITED_MS = 5_000
const COUNTED = 1_000

export class Desk {
  readonly till: Till
  readonly orders: Orders
  readonly bounds: () => PayBounds
  readonly hold: TillDeps['hold']
  readonly #parts: DeskParts
  readonly #methods = new Map<OrderMethod, PayMethod>()
  readonly #validity: ValidityWatch
  /** The config whose methods these are. */
  #opened: Config | null = null
  #usdt: { config: Config; opened: Promise<Usdt | null> } | null = null

  constructor(parts: DeskParts) {
    this.#parts = parts
    this.hold = method => (method === 'card' ? parts.config().pay.card?.hold : undefined)
    const deps = { ...parts, hold: this.hold }
    this.till = new Till(deps)
    this.#validity = new ValidityWatch(parts.log)
    this.bounds = () => {
      const { order_limit: order, day_limit: day } = parts.config().pay
      return { order, day }
    }
    this.orders = new Orders(deps, this.till, this.#methods, this.bounds)
  }

  /** The methods of the config in force. */
  async methods(): Promise<ReadonlyMap<OrderMethod, PayMethod>> {
    const config = this.#parts.config()
    if (this.#opened !== config) {
      const methods = await openMethods(config, this.#parts.clock)
      this.#methods.clear()
      for (const [name, method] of methods) this.#methods.set(name, method)
      this.#opened = config
    }
    return this.#methods
  }

  /** What people pay in, other than CNY: each needs a rate. */
  async currencies(): Promise<string[]> {
    const ofMethods = [...(await this.methods()).values()].map(({ currency }) => currency)
    const all = this.#parts.config().pay.usdt === undefined ? ofMethods : [...ofMethods, USDT]
    return [...new Set(all)].filter(currency => currency !== 'CNY').sort()
  }

  get usdtConfig(): UsdtConfig | undefined {
    return this.#parts.config().pay.usdt
  }

  /** null = the config in force does not offer it. */
  async usdt(): Promise<Usdt | null> {
    const config = this.#parts.config()
    if (this.#usdt?.config !== config) this.#usdt = { config, opened: this.#openUsdt(config) }
    return this.#usdt.opened
  }

  async #openUsdt({ pay: { usdt: config } }: Config): Promise<Usdt | null> {
    if (config === undefined) return null
    const { Usdt } = await import('./usdt/usdt.ts')
    return new Usdt({ ...this.#parts, till: this.till, marks: this.orders.marks, config }, () => this.bounds().order)
  }

  /** One round of reading the chain. */
  async chain(stopped: () => boolean): Promise<void> {
    await (await this.usdt())?.scanner.round(stopped)
  }

  /** null = there is no such method here. */
  async callback(name: string, callback: RawCallback): Promise<CallbackAnswer | null> {
    const method = (await this.methods()).get(name as OrderMethod)
    if (method === undefined) return null
    const { store, clock, log, counts } = this.#parts
    const deps: CallbackDeps = {
      store,
      clock,
      log,
      till: this.till,
      count: (m, verdict) => {
        counts.callback(m, verdict)
        this.orders.marks.count(m, verdict)
      },
    }
    return takeCallback(deps, method, callback)
  }

  /** Ends an order that is not paid. When it was paid meanwhile, it is credited. */
  async close(order: Order, method: PayMethod): Promise<void> {
    await closeOrder(await this.#reconcileDeps(), order, method)
  }

  /** Asks the provider about a refund that is not decided. */
  async checkRefund(refund: Refund): Promise<void> {
    await checkRefund(await this.#reconcileDeps(), refund)
  }

  async #reconcileDeps(stopped: () => boolean = () => false): Promise<ReconcileDeps> {
    const methods = await this.methods()
    return { ...this.#parts, till: this.till, orders: this.orders, methods, stopped }
  }

  /** Its code is loaded where USDT is offered only. */
  async #tellUnsent(): Promise<void> {
    if (this.usdtConfig === undefined) return
    const { tellUnsent } = await import('./usdt/unsent.ts')
    await tellUnsent({ ...this.#parts, till: this.till })
  }

  /** Compares the bills of providers that are due. */
  async bills(stopped: () => boolean): Promise<void> {
    await compareBills(await this.#reconcileDeps(stopped))
  }

  /** One round of asking back, and of counting what waits. */
  async round(stopped: () => boolean): Promise<void> {
    const { store, counts, clock } = this.#parts
    const deps = await this.#reconcileDeps(stopped)
    this.#validity.look(deps.methods.values(), clock.now())
    counts.certificates = leftOf(deps.methods.values(), clock.now())
    await reconcile(deps)
    await this.#tellUnsent()
    const nowMs = await storeNow(this.#parts)
    const beforeMs = nowMs - UNCREDITED_MS
    counts.open = {
      exceptions: await store.pay.openExceptions(),
      uncredited: (await store.pay.uncredited(beforeMs, COUNTED)).length,
      held: (await store.pay.heldOrders(nowMs)).count,
    }
  }
}
