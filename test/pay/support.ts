/**
 * A provider in memory, with a ledger of its own, and a payment service over a store in memory. It speaks no real provider's
 * protocol: what it proves is what becomes of notices, whoever they come from.
 */
import { createHash } from 'node:crypto'
import { type Micro, micro, ZERO } from '../../lib/base/money.ts'
import { OperationError } from '../../lib/operations/error.ts'
import { compareBills } from '../../lib/pay/bills.ts'
import {
  type BillLine,
  NotVerified,
  type CheckoutMethod,
  type Payment,
  ProviderAway,
  type RawCallback,
  type RefundSaid,
  type Said,
  type Verified,
} from '../../lib/pay/method.ts'
import { Orders } from '../../lib/pay/orders.ts'
import { reconcile } from '../../lib/pay/reconcile.ts'
import type { PayDeps } from '../../lib/pay/exceptions.ts'
import { connect } from '../../lib/pay/service.ts'
import type { Intake } from '../../lib/pay/intake.ts'
import type { Notices } from '../../lib/pay/notices.ts'
import type { Refunds } from '../../lib/pay/refunds.ts'
import { PayMarks } from '../../lib/pay/health.ts'
import type { Store } from '../../lib/store/store.ts'
import { createLogger } from '../../lib/base/log.ts'
import type { CheckoutName, Order, Refund } from '../../lib/terms/pay.ts'
import type { Act } from '../../lib/base/people.ts'
import type { Account } from '../../lib/terms/records.ts'
import { TestFleet } from '../admin/support.ts'
import { TestClock } from '../support/clock.ts'
import { fund, memoryStore } from '../support/store.ts'

export const ACT: Act = { actor: { kind: 'user', userId: 1, name: 'a@b.cn', ip: '::1' }, operation: 'orders.create' }
const ANSWER = { type: 'text/plain', body: '' }

/** Why an operation refused; `nothing` when it did not. */
export const faultOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'nothing',
    error => (error instanceof OperationError ? error.fault : String(error)),
  )

/** One for all: every logger listens to the end of the process. */
const log = createLogger('silent')

interface Trade {
  asked: number
  currency: string
  state: 'open' | 'paid' | 'ended'
  transactionId: string
}

export class TestProvider implements CheckoutMethod {
  readonly name: CheckoutName
  readonly merchant = 'us'
  sandbox = false
  readonly minimum = micro(5_000_000)
  mostAsked = 10_000_000_000
  readonly lifeMs = 30 * 60_000
  anHour: number | null = null
  anHourOfAll: number | null = null
  readonly currency: string
  readonly accepted = { status: 200, ...ANSWER, body: 'success' }
  readonly refused = { status: 500, ...ANSWER, body: 'fail' }
  /** The provider's own ledger. */
  readonly trades = new Map<string, Trade>()
  readonly sentBack = new Map<string, { orderId: string; amount: number; said: RefundSaid }>()
  /** True: it cannot be reached. */
  away = false
  /** What a refund meets. */
  refundSaid: RefundSaid = 'done'
  asked = 0
  /** Called between a question and what follows it. */
  between: () => void = () => {}

  constructor(name: CheckoutName = 'alipay', currency = 'CNY') {
    this.name = name
    this.currency = currency
  }

  #reach(): void {
    if (this.away) throw new ProviderAway('away')
  }

  async begin(order: Order) {
    this.#reach()
    const { id, asked, currency } = order
    if (!this.trades.has(id)) this.trades.set(id, { asked, currency, state: 'open', transactionId: `tx-${id}` })
    return { providerId: `p-${id}`, shown: { qr: `https://qr.example/${id}` } }
  }

  /** The payer pays. */
  pay(orderId: string): void {
    const trade = this.trades.get(orderId)
    if (trade?.state === 'open') trade.state = 'paid'
  }

  payment(orderId: string, change: Partial<Payment> = {}): Payment {
    const trade = this.trades.get(orderId) as Trade
    return {
      kind: 'paid',
      orderId,
      transactionId: trade.transactionId,
      amount: trade.asked,
      currency: trade.currency,
      merchant: this.merchant,
      providerId: `p-${orderId}`,
      sandbox: this.sandbox,
      paidAtMs: null,
      digest: createHash('sha256').update(orderId).digest('hex'),
      ...change,
    }
  }

  async query(order: Order): Promise<Said> {
    this.#reach()
    this.asked++
    const trade = this.trades.get(order.id)
    const said: Said =
      trade === undefined ? { kind: 'absent' } : trade.state === 'paid' ? this.payment(order.id) : { kind: trade.state }
    this.between()
    return said
  }

  async close(order: Order): Promise<Said> {
    this.#reach()
    const trade = this.trades.get(order.id)
    if (trade?.state === 'paid') return this.payment(order.id)
    if (trade !== undefined) trade.state = 'ended'
    return { kind: trade === undefined ? 'absent' : 'ended' }
  }

  async verify({ body }: RawCallback): Promise<Verified> {
    const text = body.toString('utf8')
    if (!text.startsWith('signed ')) throw new NotVerified('signature')
    return { eventId: null, notices: JSON.parse(text.slice('signed '.length)) }
  }

  async refund(refund: Refund, order: Order, amount: number) {
    this.#reach()
    const said = this.sentBack.get(refund.id)?.said ?? this.refundSaid
    this.sentBack.set(refund.id, { orderId: order.id, amount, said })
    return { providerId: `pr-${refund.id}`, said }
  }

  async queryRefund(refund: Refund): Promise<RefundSaid> {
    this.#reach()
    return this.sentBack.get(refund.id)?.said ?? 'undecided'
  }

  /** The days whose bills were asked for. */
  readonly billed: string[] = []
  /** What the bill of every day has; null = what was paid. */
  lines: readonly BillLine[] | null = null

  async *bill(day: string): AsyncIterable<BillLine> {
    this.#reach()
    this.billed.push(day)
    if (this.lines !== null) yield* this.lines
    else for (const [id, trade] of this.trades) if (trade.state === 'paid') yield this.payment(id)
  }
}

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

/** Sets the clock past the time at which the bill of today is read. */
export function passDay(clock: TestClock): void {
  const china = clock.now() + 8 * HOUR_MS
  clock.advance(DAY_MS - (china % DAY_MS) + 10.5 * HOUR_MS + 1)
}

export interface Desk {
  store: Store
  clock: TestClock
  intake: Intake
  notices: Notices
  refunds: Refunds
  orders: Orders
  account: Account
  provider: TestProvider
  counted: string[]
  deps: PayDeps
  begin(amount?: unknown, method?: string): Promise<Order>
  round(): Promise<void>
  /** Compares the bills that are due. */
  bills(): Promise<void>
  balance(): Promise<number>
  state(id: string): Promise<string | undefined>
}

export async function openDesk(
  t: { teardown(fn: () => unknown): void },
  given: { store?: Store; providers?: TestProvider[]; account?: Account } = {},
): Promise<Desk> {
  const store = given.store ?? (await memoryStore())
  if (given.store === undefined) t.teardown(() => store.close())
  const account = given.account ?? (await fund(store, 'payer', 0)).account
  const clock = new TestClock(Date.now())
  const providers = given.providers ?? [new TestProvider()]
  const counted: string[] = []
  const deps = {
    store,
    clock,
    log,
    fleet: new TestFleet(),
    setAside: () => ({ settlements: 0, unreadable: 0, journals: 0 }),
    hold: () => undefined,
    counts: {
      credited: (method: string) => void counted.push(`credited ${method}`),
      repaired: (method: string, source: string) => void counted.push(`repaired ${method} ${source}`),
      exception: (method: string, kind: string) => void counted.push(`exception ${method} ${kind}`),
    },
  }
  const methods = new Map(providers.map(provider => [provider.name, provider]))
  const bounds = { order: micro(50_000_000_000) as Micro, day: micro(100_000_000_000) }
  const parts = connect(deps, methods)
  const orders = new Orders(deps, parts.intake, methods, () => bounds, new PayMarks(deps))
  const all = { ...deps, ...parts, orders, methods, stopped: () => false }
  return {
    store,
    clock,
    ...parts,
    orders,
    account,
    provider: providers[0] as TestProvider,
    counted,
    deps,
    begin: (amount = '100', method = providers[0]?.name as string) =>
      orders.begin(account, method, amount, 'https://here.example/console/topup', ACT),
    bills: () => compareBills(all),
    round: () => reconcile(all),
    async balance() {
      const [purse] = await store.books.purses([`a${account.id}`])
      return ((purse?.credit ?? ZERO) - (purse?.spent ?? ZERO)) / 10_000
    },
    state: async id => (await store.pay.order(id))?.state,
  }
}
