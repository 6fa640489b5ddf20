/** What payers, providers, operators, cheats and chance do in a run. Each action may find nothing to do. */
import { randomBytes } from 'node:crypto'
import { micro } from '../../../lib/base/money.ts'
import { OperationError } from '../../../lib/operations/error.ts'
import { StoreUnavailable } from '../../../lib/store/base/errors.ts'
import { type Order, type OrderMethod, CHECKOUT_METHODS } from '../../../lib/terms/pay.ts'
import { FEN, yuanOf } from '../../../lib/pay/exceptions.ts'
import { ACT } from '../support.ts'
import { blocks, transfer, lie, read } from './chain.ts'
import {
  decide as decideSome,
  dispute as disputeSome,
  forgery,
  sendable,
  sendBack as sendSomeBack,
  setMood,
  type Told,
} from './deeds.ts'
import type { World } from './world.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const PAGE = 'https://here.example/console/topup'

type Action = (world: World) => Promise<void>

/** One of the newer orders, mostly. */
function someOrder({ orders, random }: World, method?: OrderMethod): Order | undefined {
  const among = method === undefined ? orders : orders.filter(order => order.method === method)
  return among[Math.max(0, among.length - 1 - Math.floor(random.next() ** 2 * 30))]
}

/** How callbacks travel: some never come, some at once and in crowds, some hours late. */
function tell(world: World, { method, message }: Told): void {
  const { random } = world
  const chance = random.next()
  if (chance < 0.2) world.count('callback lost')
  else if (chance < 0.3) world.send(method, message, 0, 50)
  else if (chance < 0.5) world.send(method, message, random.int(1, 180) * MINUTE_MS)
  else world.send(method, message)
  // A second message says the same with another id.
  if (chance > 0.9) world.send(method, message, random.int(0, 2) * 1_000)
}

async function begin(world: World): Promise<void> {
  const { random, gateway } = world
  const amount = yuanOf(random.int(500, 50_000))
  const { desk } = gateway
  const order = await desk.orders.begin(random.pick(world.accounts), random.pick(CHECKOUT_METHODS), amount, PAGE, ACT)
  world.orders.push(order)
}

async function look(world: World): Promise<void> {
  const order = someOrder(world)
  const account = world.accounts.find(({ id }) => id === order?.accountId)
  if (order !== undefined && account !== undefined) await world.gateway.desk.orders.look(account, order.id, PAGE)
}

async function pay(world: World): Promise<void> {
  const { random, providers } = world
  const order = someOrder(world)
  if (order === undefined) return
  // A session at which another amount was paid than was asked for, as with a promotion code of the merchant's.
  const change = random.next() < 0.1 && order.method === 'card' ? { amount_total: order.asked - 1 } : {}
  if (!providers.pay(order, random.pick([0, 0, 100]), change)) return world.count('not payable')
  tell(world, { method: order.method, message: () => providers.message(order) })
}

/** The merchant sends money back at the provider. */
async function sendBack(world: World): Promise<void> {
  const { providers, random } = world
  const order = someOrder(world)
  const left = order === undefined ? 0 : sendable(providers, order)
  if (order === undefined || left <= 0) return
  tell(world, sendSomeBack(providers, order, random.next() < 0.5 ? left : random.int(1, left)))
}

async function refund(world: World): Promise<void> {
  const order = someOrder(world)
  const { random, gateway, providers } = world
  if (order === undefined || (await world.store.pay.order(order.id))?.creditedAtMs === null) return
  setMood(providers, random.pick(['done', 'done', 'later']))
  const whole = order.amount / FEN
  const amount = yuanOf(random.next() < 0.4 ? whole : random.int(1, whole))
  await gateway.desk.refunds.begin(order.id, amount, 'chaos', random.next() < 0.2, ACT)
}

async function spend(world: World): Promise<void> {
  const { random, store, accounts } = world
  const entry = { kind: 'adjustment', actor: 'chaos', note: 'spent' } as const
  const reference = `spent ${randomBytes(8).toString('hex')}`
  const amount = micro(-random.int(1, 20_000) * 10_000)
  const { id } = random.pick(accounts)
  const { outcome } = await store.entries.add(id, { ...entry, amount, reference }, ACT)
  if (outcome === 'created') world.spent.set(id, (world.spent.get(id) ?? 0) - amount)
}

async function decide(world: World): Promise<void> {
  for (const told of decideSome(world.providers, world.random)) tell(world, told)
}

async function dispute(world: World): Promise<void> {
  const { providers, random } = world
  const order = someOrder(world, 'card')
  const left = order === undefined ? 0 : sendable(providers, order)
  if (order !== undefined && left > 0) tell(world, disputeSome(providers, order, random.int(1, left)))
}

/** The payer pays between two questions of a gateway's. */
async function race(world: World): Promise<void> {
  const { providers, random } = world
  const order = someOrder(world)
  if (order === undefined) return
  const once = () => {
    providers.wechat.between = () => {}
    providers.stripe.before = () => {}
    if (providers.pay(order)) world.count('paid in a race')
  }
  if (random.next() < 0.5) providers.wechat.between = once
  else providers.stripe.before = once
}

async function fail(world: World): Promise<void> {
  const { random, providers } = world
  const { alipay, wechat, stripe } = providers
  switch (random.pick(CHECKOUT_METHODS)) {
    case 'alipay':
      alipay.faults.push(random.pick(['drop', 'reset', 'fault', 'unsigned', 'stranger', 'busy']))
      break
    case 'wechat':
      wechat.faults.push(random.pick(['500', '500 after', 'reset', 'html', '429', 'foreign key', 'unsigned', 'old']))
      break
    case 'card': {
      const route = random.pick([
        'POST /v1/checkout/sessions',
        'GET /v1/checkout/sessions/:id',
        'POST /v1/checkout/sessions/:id/expire',
        'POST /v1/refunds',
        'GET /v1/refunds',
        'GET /v1/events',
      ])
      stripe.fail(route, random.pick(['reset', 'made_reset', '500', 'made_500', '429', 'html']))
    }
  }
}

/** The process of a gateway dies at one of its next calls of the store. */
async function kill(world: World): Promise<void> {
  const { random, gateway } = world
  gateway.mortal.arm(random.int(0, 12), random.pick(['before', 'after']))
}

/** Whoever is no provider sends what one would send. None of it is ever taken. */
async function forge(world: World): Promise<void> {
  const { random, providers, gateway } = world
  const order = someOrder(world)
  if (order === undefined) return
  const forged = forgery(providers, order, random)
  if (forged === null) return
  if (await gateway.deliver(order.method, forged)) world.faults.push(`a forgery was taken: ${JSON.stringify(forged)}`)
}

async function resolve(world: World): Promise<void> {
  const { random, store, gateway } = world
  const open = await store.pay.exceptions({ open: true, limit: 50 })
  if (open.length === 0) return
  const credit = random.next() < 0.5
  await gateway.desk.intake.resolve(random.pick(open).id, credit, 'chaos', ACT)
}

/** What the currency of cards is worth changes; orders that were begun keep their rates. */
async function price(world: World): Promise<void> {
  await world.setCardRate(world.random.int(700_000, 9_000_000))
}

const round: Action = async ({ gateway }) => gateway.desk.round(() => false)
const bills: Action = async ({ gateway }) => gateway.desk.bills(() => false)

const WEIGHTS: [action: Action, weight: number][] = [
  [begin, 20],
  [pay, 20],
  [look, 6],
  [round, 10],
  [refund, 6],
  [sendBack, 3],
  [decide, 4],
  [dispute, 2],
  [race, 3],
  [fail, 6],
  [kill, 4],
  [forge, 5],
  [spend, 2],
  [resolve, 2],
  [bills, 1],
  [price, 1],
  [transfer, 6],
  [blocks, 6],
  [read, 6],
  [lie, 2],
]
const ALL = WEIGHTS.flatMap(([action, weight]) => Array.from({ length: weight }, () => action))
const MOST_AT_ONCE = 6

/** What people are told, and what a process that died leaves: neither is a fault. */
const isExpected = (error: unknown): boolean => error instanceof OperationError || error instanceof StoreUnavailable

/** A few actions at once; after them the dead are replaced, messages come, and time passes. */
export async function step(world: World): Promise<void> {
  const { random, clock, gateways } = world
  const actions = Array.from({ length: random.int(1, MOST_AT_ONCE) }, () => random.pick(ALL))
  await Promise.all(
    actions.map(async action => {
      world.count(action.name)
      try {
        await action(world)
      } catch (error) {
        if (isExpected(error)) world.count(`${action.name}: ${(error as Error).name}`)
        else world.faults.push(`${action.name}: ${(error as Error).stack}`)
      }
    }),
  )
  await world.deliverDue()
  for (const [i, gateway] of gateways.entries())
    if (gateway.mortal.isDead()) {
      world.count('process died')
      await world.revive(i)
    }
  const chance = random.next()
  clock.advance(
    chance < 0.02
      ? random.int(1, 20) * HOUR_MS
      : chance < 0.3
        ? random.int(1, 15) * MINUTE_MS
        : random.int(1, 30) * 1_000,
  )
}
