/**
 * Everything about payments that a process has: orders, refunds, and the methods of the config in force. It is made at the first
 * use, so that a gateway without payments loads nothing of it.
 */
import type { Config } from '../config/config.ts'
import type { UsdtConfig } from '../config/pay-schema.ts'
import { type OperationDeps, storeNow } from '../operations/deps.ts'
import type { OrderMethod } from '../terms/pay.ts'
import type { PayTallies } from '../terms/tallies.ts'
import { compareBills } from './bills.ts'
import { Freezes, PaymentDisputes, Intake } from './intake.ts'
import type { PayDeps } from './exceptions.ts'
import { PayMarks, UNCREDITED_MS, leftOf, ValidityWatch } from './health.ts'
import { type CallbackAnswer, isCheckout, type PayMethod, type RawCallback } from './method.ts'
import { openMethods } from './methods.ts'
import { Notices } from './notices.ts'
import { Orders, type PayBounds } from './orders.ts'
import { type ReconcileDeps, reconcile } from './reconcile.ts'
import { Refunds } from './refunds.ts'
import type { Usdt } from './usdt/usdt.ts'

export interface PaymentParts extends OperationDeps {
  config: () => Config
  counts: PayTallies
}

const COUNTED = 1_000

/** The parts through which money comes in and goes back. */
export function connect(deps: PayDeps, methods: ReadonlyMap<OrderMethod, PayMethod>) {
  const intake = new Intake(deps, methods)
  const freezes = new Freezes(deps, intake)
  const disputes = new PaymentDisputes(deps, freezes)
  const refunds = new Refunds(deps, methods, freezes, disputes)
  return { intake, refunds, notices: new Notices(deps, intake, refunds, disputes) }
}

export class PaymentService {
  readonly intake: Intake
  readonly refunds: Refunds
  readonly notices: Notices
  readonly orders: Orders
  readonly bounds: () => PayBounds
  readonly hold: PayDeps['hold']
  readonly #parts: PaymentParts
  readonly #deps: PayDeps
  readonly #marks: PayMarks
  readonly #methods = new Map<OrderMethod, PayMethod>()
  readonly #validity: ValidityWatch
  /** The config whose methods these are. */
  #opened: Config | null = null
  #usdt: { config: Config; opened: Promise<Usdt | null> } | null = null

  constructor(parts: PaymentParts) {
    this.#parts = parts
    this.hold = method => {
      const section = parts.config().pay[method]
      return section !== undefined && 'hold' in section ? section.hold : undefined
    }
    const deps = { ...parts, hold: this.hold }
    this.#deps = deps
    this.#marks = new PayMarks(deps)
    this.#validity = new ValidityWatch(parts.log)
    this.bounds = () => {
      const { order_limit: order, day_limit: day } = parts.config().pay
      return { order, day }
    }
    const { intake, refunds, notices } = connect(deps, this.#methods)
    this.intake = intake
    this.refunds = refunds
    this.notices = notices
    this.orders = new Orders(deps, intake, this.#methods, this.bounds, this.#marks)
  }

  /** The methods of the config in force. */
  async methods(): Promise<ReadonlyMap<OrderMethod, PayMethod>> {
    const config = this.#parts.config()
    if (this.#opened !== config) {
      const [methods, usdt] = await Promise.all([openMethods(config, this.#parts.clock), this.usdt()])
      this.#methods.clear()
      for (const [name, method] of methods) this.#methods.set(name, method)
      if (usdt !== null) this.#methods.set('usdt', usdt)
      this.#opened = config
    }
    return this.#methods
  }

  /** What people pay in, other than CNY: each needs a rate. */
  async currencies(): Promise<string[]> {
    const all = [...(await this.methods()).values()].map(({ currency }) => currency)
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
    const { counts } = this.#parts
    const { intake } = this
    return new Usdt({ ...this.#deps, intake, counts, marks: this.#marks, config }, () => this.bounds().order)
  }

  /** One round of reading the chain. */
  async chain(stopped: () => boolean): Promise<void> {
    await (await this.usdt())?.scanner.round(stopped)
  }

  /** null = there is no such method here. */
  async callback(name: string, callback: RawCallback): Promise<CallbackAnswer | null> {
    const method = (await this.methods()).get(name as OrderMethod)
    if (!isCheckout(method)) return null
    return this.notices.callback(method, callback, (m, verdict) => {
      this.#parts.counts.callback(m, verdict)
      this.#marks.count(m, verdict)
    })
  }

  async #reconcileDeps(stopped: () => boolean = () => false): Promise<ReconcileDeps> {
    const methods = await this.methods()
    const { intake, notices, refunds, orders } = this
    return { ...this.#deps, intake, notices, refunds, orders, methods, stopped }
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
    const nowMs = await storeNow(this.#parts)
    const beforeMs = nowMs - UNCREDITED_MS
    counts.open = {
      exceptions: await store.pay.openExceptions(),
      uncredited: (await store.pay.uncredited(beforeMs, COUNTED)).length,
      held: (await store.pay.heldOrders(nowMs)).count,
    }
  }
}
