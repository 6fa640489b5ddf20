/**
 * The books at the end of a run: what the providers have of each order, what was credited of it, and why the two differ
 * where they do.
 */
import type { CheckoutName, Order, PayExceptionKind } from '../../../lib/terms/pay.ts'
import { CHECKOUT_METHODS } from '../../../lib/terms/pay.ts'
import { worth } from '../../../lib/pay/exceptions.ts'
import { calmChain, creditedOf, readAgain } from './chain.ts'
import { calm, decideAll } from './deeds.ts'
import type { World } from './world.ts'

const HOUR_MS = 3_600_000
/** A day's bill is read more than a day after its payments, and expired orders are asked about a day later once more. */
const SETTLING_ROUNDS = 44
const PAGE = 500

const leftHere = ({ credited, refunded, frozen, reversed }: Order): number => credited - refunded - frozen - reversed

/**
 * How far an order in another currency may be from what its provider has without anything being wrong: what is asked for is
 * rounded up to a cent, and each part that goes back to a cent or to a micro-CNY. In CNY nothing is rounded.
 */
const rounding = ({ rate }: Order, refunds: number): number => (rate === null ? 0 : worth(1 + refunds, rate))

/** The world becomes quiet: nothing fails any more, no message comes any more, and providers decide what is undecided. */
export async function settle(world: World): Promise<void> {
  const { providers, gateways } = world
  world.loseAll()
  calm(providers)
  await calmChain(world)
  for (const i of gateways.keys()) await world.revive(i)
  await quietDays(world)
  if (await readAgain(world)) await quietDays(world)
}

/** The gateways go on asking for some days. */
async function quietDays({ providers, clock, gateways }: World): Promise<void> {
  for (let round = 0; round < SETTLING_ROUNDS; round++) {
    decideAll(providers)
    for (const { desk } of gateways) {
      await desk.round(() => false)
      await desk.bills(() => false)
      await desk.chain(() => false)
    }
    clock.advance(round < 4 ? HOUR_MS / 30 : 2 * HOUR_MS)
  }
}

async function allOrders({ store }: World): Promise<Order[]> {
  const all: Order[] = []
  for (;;) {
    const last = all.at(-1)
    const page = await store.pay.orders({ limit: PAGE, ...(last === undefined ? {} : { beyond: last }) })
    all.push(...page)
    if (page.length < PAGE) return all
  }
}

/** Of a method. All but `there` is in micro-CNY. */
export interface Sums {
  /** What the provider has, in the smallest unit of its currency. */
  there: number
  /** What that is worth, each order at its own rate. */
  worth: number
  /** What is credited. */
  here: number
  /** The part of the difference that exceptions explain; the rest is rounding in another currency. */
  explained: number
}

export interface Result {
  /** What is wrong; none = the books are right. */
  faults: string[]
  sums: Record<CheckoutName, Sums>
  orders: number
  /** Orders whose money differs, and what says why. */
  explained: string[]
  exceptions: Map<string, number>
}

/** What may stand in the way of money that a provider has, and of money that went back there. */
const NOT_CREDITED: readonly PayExceptionKind[] = ['amount', 'bill_missing', 'duplicate', 'refund_stuck']
const NOT_DEBITED: readonly PayExceptionKind[] = ['refund_unknown', 'refund_amount', 'refund_stuck']

export async function check(world: World): Promise<Result> {
  const { store, providers } = world
  // What the chain has of the others is compared with each account.
  const orders = (await allOrders(world)).filter(({ method }) => method !== 'usdt')
  const found = await store.pay.exceptions({ limit: 1_000_000 })
  const faults = [...world.faults]
  const explained: string[] = []
  const sums = Object.fromEntries(
    CHECKOUT_METHODS.map(name => [name, { there: 0, worth: 0, here: 0, explained: 0 }]),
  ) as Result['sums']
  for (const order of orders) {
    const { id, method, state, credited, refunded, frozen, reversed, rate } = order
    const [there, here] = [providers.left(order), leftHere(order)]
    const off = worth(there, rate) - here
    sums[method as CheckoutName].there += there
    sums[method as CheckoutName].worth += worth(there, rate)
    sums[method as CheckoutName].here += here
    const about = found.filter(({ orderId }) => orderId === id)
    const says = about.map(({ kind, resolution }) => `${kind} ${resolution ?? 'open'}`).join(', ')
    const line = `${id} ${method} ${state} at ${rate}: ${there} there, ${here} here (${credited} ${refunded} ${frozen} ${reversed}); ${says}`
    if (Math.abs(off) > rounding(order, (await store.pay.refunds(id)).length)) {
      sums[method as CheckoutName].explained += off
      explained.push(line)
      const kinds = off > 0 ? NOT_CREDITED : NOT_DEBITED
      if (!about.some(({ kind }) => kinds.includes(kind))) faults.push(`nothing explains ${line}`)
    }
    if (state === 'paid') faults.push(`paid and not credited: ${line}`)
    if (frozen > 0 && !about.some(({ kind }) => kind === 'refund_stuck')) faults.push(`frozen for ever: ${line}`)
  }
  for (const method of CHECKOUT_METHODS)
    if (sums[method as CheckoutName].there !== providers.total(method)) faults.push(`${method} has money of no order`)
  // no fork of the run reaches down to what is final
  for (const { reference, detail } of found.filter(({ kind }) => kind === 'chain'))
    if (/^(fork|moved):/.test(reference)) faults.push(detail)
  await checkAccounts(world, orders, faults)
  const exceptions = new Map<string, number>()
  for (const { kind } of found) exceptions.set(kind, (exceptions.get(kind) ?? 0) + 1)
  return { faults, sums, orders: orders.length, explained, exceptions }
}

async function checkAccounts(world: World, orders: readonly Order[], faults: string[]): Promise<void> {
  const { store, accounts, spent } = world
  for (const { id, name } of accounts) {
    const [purse] = await store.books.purses([`a${id}`])
    const own = orders.filter(({ accountId }) => accountId === id)
    const paid = own.reduce((sum, order) => sum + leftHere(order), 0)
    const due = paid + Number(await creditedOf(world, id, faults)) - (spent.get(id) ?? 0)
    const balance = purse?.credit ?? 0
    if (balance !== due) faults.push(`${name} has ${balance}, and by its orders, transfers and what it spent ${due}`)
  }
  if (!(await store.audit()).ok) faults.push('the audit finds the books out of balance')
}
