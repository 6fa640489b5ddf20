/**
 * Walks one small order through a way to pay, step by step, for an operator who wants to know whether it works with the real
 * provider: the order, its payment by a person, the callback, the question, the credit, and the refund if it is wanted. An
 * order that nobody pays is closed. Of USDT: the nodes, the rate, the address, a transfer by a person, and the credit. Nothing of that
 * has to be undone: the address is the account's for good.
 */
import { type Clock, pause, iso } from '../base/clock.ts'
import { formatMicro, micro } from '../base/money.ts'
import type { Act } from '../base/people.ts'
import { checksummed } from '../config/xpub.ts'
import { storeNow } from '../operations/deps.ts'
import { OperationError } from '../operations/error.ts'
import type { Store } from '../store/store.ts'
import { type TransferOrder, USDT, tokenText } from '../terms/chain.ts'
import type { Order, Shown } from '../terms/pay.ts'
import type { Account } from '../terms/records.ts'
import { type CheckoutMethod, ProviderAway, ProviderRefuses } from './method.ts'
import { pageOf } from './orders.ts'
import type { PaymentService } from './service.ts'
import type { Chain } from './usdt/chain.ts'
import { type Usdt, isNodes } from './usdt/usdt.ts'
import { heldUntil } from './views.ts'

export { isCheckout } from './method.ts'

interface Examined {
  service: PaymentService
  store: Store
  clock: Clock
  account: Account
  method: CheckoutMethod
  /** CNY; null = the method's minimum. */
  amount: string | null
  refund: boolean
  /** How long the payer may take. */
  waitMs: number
  /** Where the provider sends callbacks, and where it sends the payer back. */
  callback: string
  returnTo: string
  act: Act
}

export interface Finding {
  step:
    | 'order'
    | 'pay'
    | 'callback'
    | 'query'
    | 'credit'
    | 'refund'
    | 'close'
    | 'node'
    | 'rate'
    | 'address'
    | 'transfer'
  /** null = neither: something to do, or to know. */
  ok: boolean | null
  text: string
  /** What to look at when it is not. */
  check?: string
  shown?: Shown
}

const LOOK_MS = 2_000
const ASK_MS = 10_000
/** A callback comes within seconds of the payment. */
const CALLBACK_MS = 60_000
const REFUND_MS = 2 * 60_000
const REFUND_LOOK_MS = 15_000

export async function* examine(examined: Examined): AsyncGenerator<Finding> {
  const { service, account, method, amount, returnTo, act } = examined
  const asked = amount ?? formatMicro(method.minimum)
  const order = await service.orders.begin(account, method.name, asked, returnTo, act)
  if (order.state !== 'pending') return yield* notMade(examined, order)
  yield { step: 'order', ok: true, text: `${order.id} of ${formatMicro(order.amount)} CNY is made at ${method.name}` }
  yield { step: 'pay', ok: null, text: 'pay it now', shown: order.shown as Shown }
  const paid = yield* untilPaid(examined, order)
  if (!paid) return yield* closed(examined, order)
  yield* callback(examined, order)
  yield* query(examined, order)
  if (yield* credit(examined, order)) if (examined.refund) yield* refund(examined, order)
}

/** A repeat of the request gives the same order, and says what was wrong. */
async function* notMade({ method, returnTo, service }: Examined, order: Order): AsyncGenerator<Finding> {
  const reason = await method
    .begin(order, pageOf(order, returnTo))
    .then(() => 'the first request failed, the second did not', reasonOf)
  yield {
    step: 'order',
    ok: false,
    text: `${order.id} is not made: ${reason}`,
    check:
      order.state === 'failed'
        ? 'ids and keys in the config, and what the contract with the provider allows'
        : 'the way from here to the provider, the provider’s public key or certificate in the config, and the clock of this machine',
  }
  await service.orders.close(order, method).catch(reasonOf)
}

/** Waits for the credit, or until the provider says that the order is paid and no callback has come. */
async function* untilPaid(examined: Examined, order: Order): AsyncGenerator<Finding, boolean> {
  const { store, clock, method, waitMs } = examined
  const start = clock.monotonic()
  let askedAt = start
  let paidAt: number | null = null
  let problem: string | null = null
  for (let now = start; now - start < waitMs; now = clock.monotonic()) {
    const row = (await store.pay.order(order.id)) as Order
    if (row.creditedAtMs !== null || row.heldUntilMs !== null || (await exceptionsOf(store, order)).length > 0)
      return true
    if (paidAt !== null && now - paidAt >= CALLBACK_MS) return true
    if (paidAt === null && now - askedAt >= ASK_MS) {
      askedAt = now
      const said = await method.query(row).catch(reasonOf)
      if (typeof said === 'string') {
        if (problem === null) yield { step: 'query', ok: false, text: said, check: ASKING }
        problem = said
      } else if (said.kind === 'ended') return false
      else if (said.kind === 'paid') {
        paidAt = now
        yield { step: 'pay', ok: true, text: 'the provider has the money; waiting for its callback' }
      }
    }
    await pause(clock, LOOK_MS)
  }
  return false
}

const ASKING = 'the way from here to the provider, and whether the keys are those of this application'

async function* callback({ store, method, callback }: Examined, order: Order): AsyncGenerator<Finding> {
  const [proof] = await store.pay.proofs(order.id)
  const mark = (await store.pay.payMarks()).find(m => m.method === method.name && m.what === 'callback')
  const came = proof?.source === 'callback' || (mark !== undefined && mark.atMs >= order.createdAtMs)
  if (came) return yield { step: 'callback', ok: true, text: `one came to ${callback} and was verified` }
  const [wrong] = await exceptionsOf(store, order)
  if (wrong !== undefined) return
  yield {
    step: 'callback',
    ok: false,
    text: `none came to ${callback}`,
    check:
      'that a gateway runs with this config, that the provider reaches it there, and gateway_pay_callbacks_total by verdict: signature means that the provider’s public key or secret is wrong',
  }
}

async function* query({ service, method }: Examined, order: Order): AsyncGenerator<Finding> {
  const said = await method.query(order).catch(reasonOf)
  if (typeof said === 'string') return yield { step: 'query', ok: false, text: said, check: ASKING }
  const ok = said.kind === 'paid'
  yield { step: 'query', ok, text: `asked, the provider says: ${said.kind}`, ...(ok ? {} : { check: ASKING }) }
  if (said.kind === 'paid') await service.notices.take(method.name, said, 'query')
}

/** Whether the order is credited and nothing about it waits for a person. */
async function* credit({ store, account }: Examined, order: Order): AsyncGenerator<Finding, boolean> {
  const row = (await store.pay.order(order.id)) as Order
  const found = await exceptionsOf(store, order)
  const until = heldUntil(row)
  if (until !== null) {
    yield {
      step: 'credit',
      ok: null,
      text: `the payment is held until ${until}, because of disputes (pay.${order.method}.hold)`,
    }
    return false
  }
  const ok = row.creditedAtMs !== null && found.length === 0
  const problems = found.map(({ kind, detail }) => `; ${kind}: ${detail}`).join('')
  const text = `the order is ${row.state}, ${account.name} has ${formatMicro(row.credited)} CNY of it${problems}`
  yield { step: 'credit', ok, text, ...(ok ? {} : { check: 'the merchant’s ids in the config' }) }
  return ok
}

const exceptionsOf = async (store: Store, { id }: Order) =>
  (await store.pay.exceptions({ open: true, limit: 100 })).filter(({ orderId }) => orderId === id)

async function* refund({ service, store, clock, method, act }: Examined, order: Order): AsyncGenerator<Finding> {
  let found = await service.refunds.begin(order.id, formatMicro(order.amount), 'pay doctor', false, act)
  for (const start = clock.monotonic(); found.state === 'frozen' && clock.monotonic() - start < REFUND_MS; ) {
    await pause(clock, REFUND_LOOK_MS)
    await service.refunds.check(found)
    found = (await store.pay.refund(method.name, found.id)) ?? found
  }
  if (found.state === 'done') return yield { step: 'refund', ok: true, text: `${found.id} went back to the payer` }
  const text = `${found.id} is ${found.state}`
  const check =
    'the money on the merchant’s account, and what the contract allows; a frozen refund is asked about again'
  yield { step: 'refund', ok: found.state === 'frozen' ? null : false, text, check }
}

async function* closed(examined: Examined, order: Order): AsyncGenerator<Finding> {
  const { service, store, method } = examined
  const problem = await service.orders.close(order, method).then(() => null, reasonOf)
  const row = (await store.pay.order(order.id)) as Order
  if (row.creditedAtMs !== null) return yield* credit(examined, order)
  if (problem !== null) return yield { step: 'close', ok: false, text: problem, check: ASKING }
  yield { step: 'close', ok: null, text: `nobody has paid: the order is ${row.state}, and costs nothing` }
}

/** What a provider’s failure says; other failures are the program’s own. */
function reasonOf(error: unknown): string {
  if (error instanceof ProviderAway || error instanceof ProviderRefuses) return error.message
  throw error
}

interface UsdtExamined {
  usdt: Usdt
  clock: Clock
  account: Account
  /** How long the payer may take. */
  waitMs: number
  act: Act
}

/** Blocks that the nodes are asked for transfers of. */
const BLOCKS = 1_000
const CHAIN_LOOK_MS = 4_000
const NODE_CHECK = 'the address in `pay.usdt.endpoints`, and whether the provider answers eth_getLogs'

export async function* examineUsdt(examined: UsdtExamined): AsyncGenerator<Finding> {
  const { usdt, account, act } = examined
  let well = true
  for (const chain of usdt.chains) {
    const finding = await nodeFinding(chain)
    well &&= finding.ok === true
    yield finding
  }
  if (!well) return
  yield await rateFinding(usdt)
  const issued = await usdt.issue(account, act).catch(error => {
    if (error instanceof OperationError) return error.message
    throw error
  })
  if (typeof issued === 'string') return yield { step: 'address', ok: false, text: issued }
  const address = checksummed(issued.address)
  yield { step: 'address', ok: true, text: `${address} is address ${issued.number} and belongs to ${account.name}` }
  yield { step: 'pay', ok: null, text: 'send USDT on BNB Smart Chain to it now', shown: { qr: address } }
  yield* untilCredited(examined)
}

async function nodeFinding(chain: Chain): Promise<Finding> {
  try {
    await chain.prove()
    const [head, final] = [await chain.block('latest'), await chain.block('finalized')]
    if (head === null || final === null)
      return { step: 'node', ok: false, text: `node ${chain.node} has no final block`, check: NODE_CHECK }
    const from = Math.max(0, final.no - BLOCKS)
    await chain.transfers(from + 1, final.no, 'to', new Set([`0x${'0'.repeat(39)}1`]))
    const text = `node ${chain.node} is at block ${head.no}, final is ${final.no}, and it answers eth_getLogs`
    return { step: 'node', ok: true, text }
  } catch (error) {
    if (!isNodes(error)) throw error
    return { step: 'node', ok: false, text: error.message, check: NODE_CHECK }
  }
}

async function rateFinding({ deps }: Usdt): Promise<Finding> {
  const rate = await deps.store.pay.payRate(USDT, await storeNow(deps))
  if (rate === null)
    return { step: 'rate', ok: false, text: 'no rate is in force: payments in USDT wait for one', check: 'Rates' }
  const until = iso(rate.untilMs)
  return { step: 'rate', ok: true, text: `1 USDT is ${formatMicro(micro(rate.rate))} CNY until ${until}` }
}

/** Walks USDT, and reads the chain by itself while no gateway does. */
async function* untilCredited({ usdt, clock, account, waitMs }: UsdtExamined): AsyncGenerator<Finding> {
  const { store, config } = usdt.deps
  const [newest] = await store.chain.transferOrders({ accountId: account.id, limit: 1 })
  const said = new Map<string, TransferOrder['state']>()
  for (const start = clock.monotonic(); clock.monotonic() - start < waitMs; await pause(clock, CHAIN_LOOK_MS)) {
    await usdt.scanner.round(() => false)
    const found = await store.chain.transferOrders({ accountId: account.id, afterSeq: newest?.seq ?? 0, limit: 10 })
    for (const transfer of found) {
      if (said.get(transfer.id) === transfer.state) continue
      said.set(transfer.id, transfer.state)
      yield transferFinding(transfer, account)
    }
    if (found.some(({ state }) => state === 'credited')) return
  }
  const text = `no payment in USDT was credited in this time; the minimum is ${formatMicro(config.minimum)} CNY`
  yield { step: 'credit', ok: null, text, check: 'the transfer on an explorer, and the exceptions of the kind `chain`' }
}

function transferFinding({ value, block, state, credited }: TransferOrder, { name }: Account): Finding {
  const what = `${tokenText(value)} USDT in block ${block.no}`
  if (state === 'credited')
    return { step: 'credit', ok: true, text: `${name} has ${formatMicro(credited)} CNY of ${what}` }
  const ok = state === 'failed' ? false : null
  return { step: 'transfer', ok, text: `${what}: ${state}` }
}
