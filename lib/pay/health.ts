/** How payments stand: orders by state, what waits for a person, and how each way to pay fares. For operators. */
import { type Clock, DAY_MS, SECOND_MS, iso, isoOrNull } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import { formatMicro, ZERO } from '../base/money.ts'
import type { HoldConfig, UsdtConfig } from '../config/pay-schema.ts'
import { storeNow } from '../operations/deps.ts'
import type { PayMark, PayTotals } from '../store/payments/types.ts'
import type { Store } from '../store/store.ts'
import { type OrderMethod, PAY_METHODS } from '../terms/pay.ts'
import type { PayDeps } from './exceptions.ts'
import { type Doubt, DOUBTS, type PayMethod, ProviderAway, ProviderRefuses, type Validity } from './method.ts'

/** A proof older than this, and not credited, was left by a crash. */
export const UNCREDITED_MS = 5_000
const MOST_COUNTED = 1_000

interface HealthDeps {
  store: Store
  clock: { now(): number }
}

/** `usdt`: its section of the config in force. */
export async function payHealth(
  { store, clock }: HealthDeps,
  methods: ReadonlyMap<OrderMethod, PayMethod>,
  usdt: UsdtConfig | undefined,
  holdOf: PayDeps['hold'],
) {
  const nowMs = await storeNow({ store, clock })
  const [counts, uncredited, held, exceptions, marks, totals] = await Promise.all([
    store.pay.orderCounts(),
    store.pay.uncredited(nowMs - UNCREDITED_MS, MOST_COUNTED),
    store.pay.heldOrders(nowMs),
    store.pay.openExceptions(),
    store.pay.payMarks(),
    store.pay.payTotals(),
  ])
  const known = PAY_METHODS.filter(
    name => methods.has(name) || [...marks, ...totals].some(({ method }) => method === name),
  )
  return {
    orders: counts.map(({ state, count, oldestAtMs }) => ({ state, count, oldest_at: iso(oldestAtMs) })),
    uncredited: uncredited.length,
    held: { orders: held.count, amount: formatMicro(held.amount) },
    exceptions,
    methods: await Promise.all(
      known.map(async name => ({
        ...methodRow(name, methods.get(name), marks, totals, nowMs),
        hold: await holdRow(store, methods.get(name), holdOf(name), nowMs),
      })),
    ),
    chain: usdt === undefined ? null : await chainHealth(store, usdt, marks, nowMs),
  }
}

async function holdRow(store: Store, method: PayMethod | undefined, hold: HoldConfig | undefined, nowMs: number) {
  if (method === undefined || hold === undefined) return null
  const disputes = await store.pay.disputedOrders(method.name, method.sandbox, nowMs - hold.within)
  return { disputes, from: hold.disputes, holding: disputes >= hold.disputes }
}

/** `method`: undefined = it has orders or messages from before, and is not configured any more. */
function methodRow(
  name: OrderMethod,
  method: PayMethod | undefined,
  allMarks: readonly PayMark[],
  totals: readonly PayTotals[],
  nowMs: number,
) {
  const marks = new Map(allMarks.filter(mark => mark.method === name).map(mark => [mark.what, mark]))
  const at = (what: string) => {
    const mark = marks.get(what)
    return mark === undefined || mark.atMs === 0 ? null : iso(mark.atMs)
  }
  const sums = totals.find(row => row.method === name)
  return {
    method: name,
    configured: method !== undefined,
    sandbox: method?.sandbox ?? false,
    currency: method?.currency ?? null,
    minimum: method === undefined ? null : formatMicro(method.minimum),
    callback_at: at('callback'),
    query_at: at(ANSWERED),
    query_failed_at: at(UNANSWERED),
    bill_day: marks.get('bill')?.value ?? null,
    bill_at: at('bill'),
    certificates: method?.validity == null ? null : certificates(method.validity, nowMs),
    refused: DOUBTS.flatMap(why => {
      const mark = marks.get(refusedMark(why))
      return mark === undefined ? [] : [{ why, count: Number(mark.value), at: iso(mark.atMs) }]
    }),
    orders: sums?.orders ?? 0,
    credited: formatMicro(sums?.credited ?? ZERO),
    refunded: formatMicro(sums?.refunded ?? ZERO),
    frozen: formatMicro(sums?.frozen ?? ZERO),
    reversed: formatMicro(sums?.reversed ?? ZERO),
  }
}

const certificates = (validity: Validity, nowMs: number) => ({
  until: iso(validity.untilMs),
  end_soon: endsSoon(validity, nowMs),
})

/** A mark of one kind is written at most this often by one process. */
const EVERY_MS = 10_000

/** The names of marks. */
export const ANSWERED = 'query'
const UNANSWERED = 'query_failed'
const refusedMark = (doubt: Doubt): string => `refused_${doubt}`
/** What `/health` says of the chain: the newest block, how many are not final, when a node last answered and when it did not. */
export const HEAD = 'head'
/** The day whose balances are compared with the transfers, and the last address or `BALANCES_DONE`. */
export const BALANCES = 'balances'
export const BALANCES_DONE = 'done'
export const nodeMark = (node: number): string => `node_${node}`
export const nodeFailedMark = (node: number): string => `node_${node}_failed`

interface MarkDeps {
  store: Store
  clock: Clock
  log: Logger
}

export class PayMarks {
  readonly #deps: MarkDeps
  /** When each was last written. */
  readonly #written = new Map<string, number>()
  /** Callbacks that were not believed and are not written yet; at most methods × doubts. */
  readonly #refused = new Map<string, { method: OrderMethod; doubt: Doubt; count: number }>()

  constructor(deps: MarkDeps) {
    this.#deps = deps
  }

  /** Asks a provider, and notes whether it answered. */
  async asked<T>(method: OrderMethod, ask: () => Promise<T>): Promise<T> {
    try {
      const said = await ask()
      await this.note(method, ANSWERED)
      return said
    } catch (error) {
      if (error instanceof ProviderAway || error instanceof ProviderRefuses) await this.note(method, UNANSWERED)
      throw error
    }
  }

  async note(method: OrderMethod, what: string, value = ''): Promise<void> {
    const now = this.#deps.clock.monotonic()
    const last = this.#written.get(`${method} ${what}`)
    if (last !== undefined && now - last < EVERY_MS) return
    this.#written.set(`${method} ${what}`, now)
    await this.#write(this.#deps.store.pay.setPayMark(method, what, value))
  }

  /** Counts a callback that was not believed. */
  count(method: OrderMethod, verdict: string): void {
    const doubt = DOUBTS.find(known => known === verdict)
    if (doubt === undefined) return
    if (this.#refused.size === 0) this.#deps.clock.after(EVERY_MS, () => void this.#flush())
    const key = `${method} ${doubt}`
    const { count } = this.#refused.get(key) ?? { count: 0 }
    this.#refused.set(key, { method, doubt, count: count + 1 })
  }

  async #flush(): Promise<void> {
    const counted = [...this.#refused.values()]
    this.#refused.clear()
    for (const { method, doubt, count } of counted)
      await this.#write(this.#deps.store.pay.countPayMark(method, refusedMark(doubt), count))
  }

  /** Nothing depends on a mark, so a store that is away is no reason to fail. */
  async #write(written: Promise<void>): Promise<void> {
    await written.catch(error => this.#deps.log.warn({ err: error }, 'the health of a way to pay cannot be noted'))
  }
}

export async function chainHealth({ chain }: Store, config: UsdtConfig, allMarks: readonly PayMark[], nowMs: number) {
  const marks = new Map(allMarks.filter(({ method }) => method === 'usdt').map(mark => [mark.what, mark]))
  const [cursor, addresses] = await Promise.all([
    chain.chainCursor(config.chain_id),
    chain.addressCount(config.chain_id),
  ])
  const [head, behind] = (marks.get(HEAD)?.value ?? '').split(' ').map(Number)
  const [balanceDay, balanceEnd] = (marks.get(BALANCES)?.value ?? '').split(' ')
  const at = (what: string) => isoOrNull(marks.get(what)?.atMs ?? null)
  return {
    chain_id: config.chain_id,
    sandbox: config.sandbox,
    minimum: formatMicro(config.minimum),
    head: head || null,
    head_at: at(HEAD),
    finality_lag_blocks: behind ?? null,
    cursor:
      cursor === null
        ? null
        : {
            block: cursor.no,
            at: iso(cursor.blockAtMs),
            lag_seconds: Math.max(0, Math.round((nowMs - cursor.blockAtMs) / SECOND_MS)),
          },
    second_block: cursor?.secondNo ?? null,
    second_at: cursor === null ? null : iso(cursor.secondAtMs),
    nodes: config.endpoints.map((_, i) => ({
      node: i + 1,
      answered_at: at(nodeMark(i + 1)),
      failed_at: at(nodeFailedMark(i + 1)),
      failed: (marks.get(nodeFailedMark(i + 1))?.value ?? null) as 'away' | 'refused' | null,
    })),
    addresses,
    balances_day: balanceDay || null,
    balances_done: balanceEnd === BALANCES_DONE,
    balances_at: at(BALANCES),
  }
}

const SOON_MS = 30 * DAY_MS

/** Throws ProviderRefuses after the end. Whether it is too early, the provider decides: it has the better clock. */
export function checkNotEnded(validity: Validity, nowMs: number): void {
  if (nowMs > validity.untilMs) throw new ProviderRefuses((remarkOn(validity, nowMs) as Remark).text)
}

/** Whether operators have to do something about it. */
const endsSoon = ({ untilMs }: Validity, nowMs: number): boolean => nowMs > untilMs - SOON_MS

interface Remark {
  level: 'warn' | 'error'
  text: string
}

/** What operators are told; null = nothing. */
export function remarkOn(validity: Validity, nowMs: number): Remark | null {
  const [from, until] = [validity.fromMs, validity.untilMs].map(ms => iso(ms))
  const renew = 'get new ones from the provider, and put them into the config'
  if (nowMs > validity.untilMs) return { level: 'error', text: `the certificates have ended at ${until}: ${renew}` }
  if (endsSoon(validity, nowMs)) return { level: 'warn', text: `the certificates end at ${until}: ${renew}` }
  if (nowMs >= validity.fromMs) return null
  return { level: 'error', text: `the certificates are valid from ${from}: is the clock of this machine right?` }
}

/** How long the certificates of each way to pay are still valid, in ms. */
export const leftOf = (methods: Iterable<PayMethod>, nowMs: number): Map<OrderMethod, number> =>
  new Map([...methods].flatMap(({ name, validity }) => (validity == null ? [] : [[name, validity.untilMs - nowMs]])))

/** Tells operators once a day, and when other certificates are in their place. */
export class ValidityWatch {
  readonly #log: Logger
  readonly #told = new Map<OrderMethod, { validity: Validity; atMs: number }>()

  constructor(log: Logger) {
    this.#log = log
  }

  look(methods: Iterable<PayMethod>, nowMs: number): void {
    for (const { name: method, validity } of methods) {
      const told = this.#told.get(method)
      if (validity == null || (told?.validity === validity && nowMs - told.atMs < DAY_MS)) continue
      this.#told.set(method, { validity, atMs: nowMs })
      const remark = remarkOn(validity, nowMs)
      if (remark !== null) this.#log[remark.level]({ method }, remark.text)
    }
  }
}
