/** How payments stand: orders by state, what waits for a person, and how each way to pay fares. For operators. */
import { storeNow } from '../operations/deps.ts'
import { formatMicro, ZERO } from '../base/money.ts'
import type { PayMark, PayTotals, Store } from '../store/store.ts'
import type { HoldConfig, UsdtConfig } from '../config/pay-schema.ts'
import { type OrderMethod, PAY_METHODS } from '../terms/pay.ts'
import { UNCREDITED_MS } from './desk.ts'
import { ANSWERED, refusedMark, UNANSWERED } from './marks.ts'
import { DOUBTS, type PayMethod, type Validity } from './method.ts'
import { iso } from './own-orders.ts'
import type { TillDeps } from './till-deps.ts'
import { chainHealth } from './usdt/health.ts'
import { endsSoon } from './validity.ts'

const MOST_COUNTED = 1_000

export interface HealthDeps {
  store: Store
  clock: { now(): number }
}

/** `usdt`: its section of the config in force. */
export async function payHealth(
  { store, clock }: HealthDeps,
  methods: ReadonlyMap<OrderMethod, PayMethod>,
  usdt: UsdtConfig | undefined,
  holdOf: TillDeps['hold'],
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
