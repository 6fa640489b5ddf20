/**
 * What operators do with payments. The console, the admin API and the commands lead here; who may do it is for them to
 * check. Every change is logged in the transaction that makes it.
 */
import { withoutUndefined } from '../base/objects.ts'
import { z } from 'zod'
import { formatMicro } from '../base/money.ts'
import * as kind from '../config/scalars.ts'
import { storeNow } from '../operations/deps.ts'
import { checksummed } from '../config/xpub.ts'
import { sweepList } from './usdt/addresses.ts'
import type { Usdt } from './usdt/usdt.ts'
import { OperationError, type Words } from '../operations/error.ts'
import type { Store } from '../store/store.ts'
import { ORDER_STATES, PAY_EXCEPTIONS, PAY_METHODS, type Refund } from '../terms/pay.ts'
import type { Act, Actor } from '../base/people.ts'
import type { Account } from '../terms/records.ts'
import { NO_RATE_YET, NOT_BOOKED, isOrderId, refundIdOf } from './exceptions.ts'
import { DECIDE_FIRST, ENDED, NO_ORDER, NO_REFUND, NO_USDT, NOT_HELD, ONE_OF_TWO } from './faults.ts'
import { payHealth } from './health.ts'
import { listRates, type rateForm, setRate } from './rates.ts'
import type { PaymentService } from './service.ts'
import {
  accountNames,
  type ExceptionRow,
  nextOrders,
  oneException,
  oneOrder,
  orderAfter,
  orderRow,
  orderSort,
  refundRow,
} from './views.ts'

export { DOUBTS } from './method.ts'
export { rateForm } from './rates.ts'

const PAGE = 50
const MOST = 1_000
/** `older`: only orders that were made at least so long ago. */
export const ordersFilter = z.strictObject({
  state: kind.oneOf(...ORDER_STATES).optional(),
  method: kind.oneOf(...PAY_METHODS).optional(),
  older: kind.duration({ most: 366 * 86_400_000 }).optional(),
  sort: orderSort,
  limit: kind.whole(1, MOST).prefault(PAGE),
  after: orderAfter.optional(),
})
type OrdersFilter = z.output<typeof ordersFilter>

const MOST_REASON = 1_000
/** Control characters, which have no place in a statement. */
const CONTROL = /\p{Cc}/u

export const exceptionsFilter = z.strictObject({
  state: kind.oneOf('open', 'resolved', 'all').prefault('open'),
  kind: kind.oneOf(...PAY_EXCEPTIONS).optional(),
  method: kind.oneOf(...PAY_METHODS).optional(),
  limit: kind.whole(1, MOST).prefault(PAGE),
  after: kind.whole(1, Number.MAX_SAFE_INTEGER).optional(),
})
type ExceptionsFilter = z.output<typeof exceptionsFilter>

/** Why an operator does something. It is kept. */
export const reason = kind.scalar(
  {
    zh: `原因，最多${MOST_REASON}个字符，不含控制字符`,
    en: `a reason of at most ${MOST_REASON} characters without control characters`,
  },
  { type: 'string', minLength: 1, maxLength: MOST_REASON },
  (value): string | undefined => {
    if (typeof value !== 'string' || value.length > MOST_REASON || !value.isWellFormed()) return undefined
    return CONTROL.test(value) || value.trim() === '' ? undefined : value.trim()
  },
)

/** `credit`: book what was received. `close`: nothing is booked. */
export const resolution = z.strictObject({ action: kind.oneOf('credit', 'close'), reason })

/** Money that waits is credited now. */
export const releaseForm = z.strictObject({ reason })

const ADDRESS = /^0x[0-9a-fA-F]{40}$/
const HASH = /^0x[0-9a-fA-F]{64}$/

/** The checksum that an address of both cases carries finds digits that are wrong: tokens that go to no one's address are lost. */
function addressOf(value: unknown): string | undefined {
  const address = kind.matched(ADDRESS, value)?.[0]
  if (address === undefined) return undefined
  const digits = address.slice(2)
  const inOneCase = digits === digits.toLowerCase() || digits === digits.toUpperCase()
  return inOneCase || address === checksummed(address) ? address.toLowerCase() : undefined
}

const address = kind.scalar(
  { zh: '0x 加40位的地址；大小写混写时校验须正确', en: 'an address of 0x and 40 digits, without a typing error' },
  { type: 'string', pattern: ADDRESS.source },
  addressOf,
)
const hash = kind.scalar(
  { zh: '交易哈希，0x 加64位', en: 'the hash of a transaction, 0x and 64 digits' },
  { type: 'string', pattern: HASH.source },
  value => kind.matched(HASH, value)?.[0].toLowerCase(),
)

/**
 * The amount is checked with the order. `reference`: the caller's own name for the refund, so that it may be asked again.
 * `receiver`: where tokens are to be sent, which the payer has named.
 */
export const refundForm = z.strictObject({
  amount: kind.cny,
  reference: kind.name,
  reason,
  force: z.boolean('true or false').prefault(false),
  receiver: address.optional(),
})

/** `tx`: the transaction that sent the tokens. `reason`: why they are not sent. One of the two. */
export const sentForm = z.strictObject({ tx: hash.optional(), reason: reason.optional() })

export const rewindForm = z.strictObject({ block: kind.whole(0, 999_999_999_999), reason })

export interface PaymentsAdminDeps {
  store: Store
  clock: { now(): number }
  pay: () => Promise<PaymentService>
}

const NO_ACCOUNT: Words = { en: 'There is no such account', zh: '没有此账户' }

const act = (actor: Actor, operation: string): Act => ({ actor, operation })

export class PaymentsAdmin {
  readonly #deps: PaymentsAdminDeps

  constructor(deps: PaymentsAdminDeps) {
    this.#deps = deps
  }

  async health() {
    const service = await this.#deps.pay()
    return payHealth(this.#deps, await service.methods(), service.usdtConfig, service.hold)
  }

  /** `account`: only orders of this one; undefined = of all, null = the caller named one that does not exist. */
  async orders(filter: OrdersFilter, account: Account | null | undefined) {
    if (account === null) throw new OperationError('missing', NO_ACCOUNT)
    const { store } = this.#deps
    const { state, method, older, sort, limit, after } = filter
    const nowMs = await storeNow(this.#deps)
    const rows = await store.pay.orders({
      ...withoutUndefined({ accountId: account?.id, states: state && [state], method, beyond: after }),
      ...(older === undefined ? {} : { beforeMs: nowMs - older }),
      ascending: sort === 'created',
      limit,
    })
    const accounts = accountNames(store)
    const data = []
    for (const order of rows) data.push(await orderRow(order, accounts))
    return { data, next: nextOrders(rows, limit) }
  }

  order(id: string) {
    return oneOrder(this.#deps, id)
  }

  /** Money is frozen first; then the provider is asked. Asking again under the same reference changes nothing. */
  async refund(id: string, form: z.output<typeof refundForm>, actor: Actor) {
    const { store } = this.#deps
    const order = isOrderId(id) ? await store.pay.order(id) : null
    if (order === null) throw new OperationError('missing', NO_ORDER)
    const { amount, reference, reason, force, receiver = null } = form
    const created = (await store.pay.refund(order.method, refundIdOf(id, reference))) === null
    const service = await this.#service()
    const sent = formatMicro(amount)
    const done = await service.refunds.begin(
      id,
      sent,
      reason,
      force,
      act(actor, 'payments.refund'),
      reference,
      receiver,
    )
    return { created, row: refundRow(done) }
  }

  /** Credits an order now that is held. Its proof stays the provider's; the log of actions has who decided, and why. */
  async release(id: string, { reason }: z.output<typeof releaseForm>, actor: Actor) {
    const { store } = this.#deps
    const { exceptions, waits_for } = await this.order(id)
    if (waits_for === 'rate') throw new OperationError('conflict', NO_RATE_YET)
    if (exceptions.some(({ kind, resolved_at }) => kind === 'chain' && resolved_at === null)) throw DECIDE_FIRST()
    const nowMs = await storeNow(this.#deps)
    if (!(await store.pay.releaseOrder(id, nowMs, reason, act(actor, 'payments.release')))) throw NOT_HELD()
    if ((await (await this.#service()).intake.credit(id)) === 'open') throw new OperationError('conflict', NOT_BOOKED)
    return this.order(id)
  }

  async exceptions({ state, kind, method, limit, after }: ExceptionsFilter) {
    const { store } = this.#deps
    const rows = await store.pay.exceptions({
      ...(state === 'all' ? {} : { open: state === 'open' }),
      ...withoutUndefined({ kind, method, beforeId: after }),
      limit,
    })
    const data: ExceptionRow[] = []
    for (const found of rows) data.push(await oneException(store, found))
    return { data, next: rows.length === limit ? String(rows.at(-1)!.id) : null }
  }

  async resolve(id: string, { action, reason }: z.output<typeof resolution>, actor: Actor) {
    const service = await this.#service()
    const number = /^\d{1,15}$/.test(id) ? Number(id) : 0
    const done = await service.intake.resolve(number, action === 'credit', reason, act(actor, 'payments.resolve'))
    return oneException(this.#deps.store, done)
  }

  /** Refunds that wait until somebody has sent the tokens. */
  async refundsToSend() {
    await this.#usdt()
    return { data: (await this.#deps.store.pay.refundsToSend(MOST)).map(refundRow) }
  }

  /** The tokens of a refund were sent, which a node has to confirm, or they will not be. */
  async endRefund(id: string, { tx, reason }: z.output<typeof sentForm>, actor: Actor) {
    const usdt = await this.#usdt()
    const refund = await this.#deps.store.pay.refund('usdt', id)
    if (refund === null) throw NO_REFUND()
    if ((tx === undefined) === (reason === undefined)) throw ONE_OF_TWO()
    if (refund.state !== 'frozen') return sameEnd(refund, tx)
    if (tx !== undefined) await usdt.checkSent(refund, tx)
    const ending = tx === undefined ? { reason: reason as string } : { tx }
    const { refunds } = await this.#service()
    return sameEnd(await refunds.endByHand(refund, ending, act(actor, 'payments.refund_end')), tx)
  }

  async sweepList(): Promise<AsyncGenerator<string>> {
    return sweepList(await this.#usdt())
  }

  /** Sets back how far the chain is read. */
  async rewind({ block, reason }: z.output<typeof rewindForm>, actor: Actor) {
    const { no, hash } = await (await this.#usdt()).rewind(block, reason, act(actor, 'payments.rewind'))
    return { block: no, hash }
  }

  async #usdt(): Promise<Usdt> {
    const usdt = await (await this.#deps.pay()).usdt()
    if (usdt === null) throw NO_USDT()
    return usdt
  }

  async rates() {
    return listRates(this.#deps, await (await this.#deps.pay()).currencies())
  }

  async setRate(form: z.output<typeof rateForm>, actor: Actor) {
    const currencies = await (await this.#deps.pay()).currencies()
    return setRate(this.#deps, currencies, form, act(actor, 'payments.set_rate'))
  }

  /** With the methods of the config in force. */
  async #service(): Promise<PaymentService> {
    const service = await this.#deps.pay()
    await service.methods()
    return service
  }
}

/** Asked again, it is answered as before; another end is refused. */
function sameEnd(refund: Refund, tx: string | undefined) {
  if (refund.tx !== (tx ?? null)) throw ENDED()
  return refundRow(refund)
}
