/**
 * Payments on two gateways as users start them, over one store: fifty deliveries at once, `kill -9` after every step of an
 * order and of a refund, and an end in order. What a crash left is completed by whichever gateway runs, without anything
 * that the provider has to send again.
 */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import t, { type Test } from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { type Order, type OrderMethod, type OrderState, CHECKOUT_METHODS } from '../../lib/terms/pay.ts'
import { FaultyGateway } from '../faults/support.ts'
import type { Account } from '../../lib/terms/records.ts'
import { ADMIN_TOKEN, BIN } from '../support/gateway.ts'
import { freePorts } from '../support/ports.ts'
import { until } from '../support/wait.ts'
import { isTaken, Providers } from './providers.ts'
import { openShop, type Shop } from './shop.ts'
import { STALLING, type Stall, type StallingStore } from './stalls.ts'
import { ACT } from './support.ts'

const DELIVERIES = 50
const AMOUNT = '12.34'
const FEN = 1_234
const PAGE = 'https://here.example/topup'

interface Scene {
  store: StallingStore
  providers: Providers
  /** The gateway that is killed, and the other one. */
  gateways: [FaultyGateway, FaultyGateway]
  shop: Shop
  configFile: string
  /** An order that the payer can pay. */
  begin(method: OrderMethod): Promise<Order>
  order(id: string): Promise<Order>
  /** Of all accounts, in fen. */
  balances(): Promise<number>
  deliver(gateway: FaultyGateway, order: Order): Promise<boolean>
}

async function openScene(t: Test, open: (t: Test) => Promise<StallingStore>): Promise<Scene> {
  const [store, providers] = await Promise.all([open(t), Providers.open(t)])
  const folder = mkdtempSync(path.join(tmpdir(), 'gateway-killed-'))
  const ports = (await freePorts(6)).map(port => `127.0.0.1:${port}`) as string[]
  const catalog = { groups: [{ name: 'default' }], models: [], channels: [], keys: [] }
  // One for each method, because a transaction that stands has the purse of its account.
  const accounts = CHECKOUT_METHODS.map(name => ({ name, groups: ['default'], sandbox: true }))
  writeFileSync(`${folder}/catalog.yaml`, JSON.stringify({ ...catalog, accounts }))
  const gateways = [0, 1].map(i => {
    const [main, direct, ops] = ports.slice(i * 3) as [string, string, string]
    const config = {
      listen: { main, direct, ops },
      store: store.url,
      journal: `${folder}/journal-${i}`,
      catalog: `${folder}/catalog.yaml`,
      admin_token: ADMIN_TOKEN,
      pay: providers.section(),
    }
    writeFileSync(`${folder}/${i}.yaml`, JSON.stringify(config))
    return new FaultyGateway(`${folder}/${i}.yaml`, main, ops)
  }) as Scene['gateways']
  t.teardown(async () => {
    await Promise.all(gateways.map(gateway => gateway.kill()))
    rmSync(folder, { recursive: true, force: true })
  })
  await gateways[0].start()
  await gateways[1].start()
  const opened = openStore(store.url, { secret: ADMIN_TOKEN })
  t.teardown(() => opened.close())
  const accountOf = async (name: string) => (await opened.accounts.byName(name)) as Account
  const shop = await openShop(t, providers.section(), { store: opened, account: await accountOf('card') })
  return {
    store,
    providers,
    gateways,
    shop,
    configFile: `${folder}/0.yaml`,
    begin: async method => shop.desk.orders.begin(await accountOf(method), method, AMOUNT, PAGE, ACT),
    async balances() {
      const { data } = await (gateways.find(({ running }) => running) as FaultyGateway).admin('GET', '/admin/accounts')
      return data.reduce((sum, { balance }) => sum + Math.round(Number(balance) * 100), 0)
    },
    order: id => shop.order(id),
    async deliver({ main }, order) {
      const { headers, body } = providers.message(order)
      const answer = await fetch(`${main}/pay/${order.method}`, { method: 'POST', headers, body })
      return isTaken(order.method, answer.status, await answer.text())
    },
  }
}

/** Every order is credited once, the providers have as much, and the books add up. */
async function checkBooks(t: Test, { shop, providers, balances }: Scene): Promise<void> {
  const orders = await shop.store.pay.orders({ limit: 1_000 })
  for (const { id, state } of orders.filter(order => order.state !== 'credited' && order.state !== 'refunded'))
    t.fail(`${id} is ${state}`)
  const total = CHECKOUT_METHODS.reduce((sum, method) => sum + providers.total(method), 0)
  t.equal(await balances(), total, 'the account has what the providers have')
  t.equal((await Promise.all(orders.map(({ id }) => shop.store.pay.proofs(id)))).flat().length, orders.length)
  t.same(await shop.exceptions(), [])
  t.equal((await shop.store.audit()).ok, true)
}

async function fiftyDeliveries(t: Test, scene: Scene): Promise<void> {
  for (const method of CHECKOUT_METHODS) {
    const order = await scene.begin(method)
    t.equal(scene.providers.pay(order), true)
    const before = await scene.balances()
    // A provider sends again what is not taken in time, as on a machine that is too busy.
    const taken = (i: number) =>
      until('it is taken', () => scene.deliver(scene.gateways[i % 2] as FaultyGateway, order))
    await Promise.all(Array.from({ length: DELIVERIES }, (_, i) => taken(i)))
    t.equal(await scene.balances(), before + FEN, `${method}: all are taken, and one has credited`)
  }
}

/** Where a callback is stopped, and what is durable then. */
const STEPS: [name: string, method: OrderMethod, stall: (id: string) => Stall, state: OrderState][] = [
  ['verified, and nothing stored', 'card', id => ({ table: 'pay_proofs', when: `NEW.order_id = '${id}'` }), 'pending'],
  [
    'the proof stored, and not credited',
    'wechat',
    id => ({ table: 'entries', when: `NEW.reference = 'topup:${id}'` }),
    'paid',
  ],
  ['credited, and not answered', 'alipay', () => ({ table: 'pay_marks', when: "NEW.what = 'callback'" }), 'credited'],
]

async function killedInCallbacks(t: Test, scene: Scene): Promise<void> {
  const { store, gateways, providers } = scene
  const [victim] = gateways
  const groups = store.manyAtOnce ? [STEPS] : STEPS.map(step => [step])
  for (const steps of groups) {
    const orders = await Promise.all(steps.map(([, method]) => scene.begin(method)))
    await store.set(steps.map(([, , stall], i) => stall((orders[i] as Order).id)))
    for (const order of orders) t.equal(providers.pay(order), true)
    const answers = Promise.all(orders.map(order => scene.deliver(victim, order).catch(() => 'no answer')))
    const stand = async () => {
      const now = await Promise.all(orders.map(({ id }) => scene.order(id)))
      return now.every(({ state }, i) => state === steps[i]?.[3])
    }
    await until('what comes before is durable', stand)
    await store.reached(steps.length)
    await victim.kill()
    t.same(await answers, Array(steps.length).fill('no answer'), 'no provider is told that its callback was taken')
    await store.clear()
    for (const [i, [name, , , state]] of steps.entries()) {
      const { id } = orders[i] as Order
      t.match(await scene.order(id), { state, credited: state === 'credited' ? 12_340_000 : 0 }, name)
    }
    if (steps !== groups.at(-1) || store.manyAtOnce) await victim.start()
  }
}

/**
 * Runs `pay doctor` for cards, and kills it when Stripe is asked for this. `made`: Stripe does what it is asked for. On a
 * machine that is too busy, the doctor gives up before; then it is run again.
 */
async function doctorKilledAt(t: Test, scene: Scene, route: string, made: boolean): Promise<Order> {
  const { stripe } = scene.providers
  const { shop, gateways } = scene
  const orders = () => shop.store.pay.orders({ limit: 1_000 })
  const args = ['pay', 'doctor', 'card', '--account', 'card', '--amount', AMOUNT, '--yes', '--refund']
  for (;;) {
    const known = new Set((await orders()).map(({ id }) => id))
    const find = async () => (await orders()).find(({ id }) => !known.has(id))
    const child = spawn(BIN, [...args, '--config', scene.configFile], { stdio: 'ignore' })
    const exited = once(child, 'exit')
    let reached = false
    stripe.before = asked => {
      if (asked !== route) return
      stripe.before = () => {}
      reached = child.kill('SIGKILL')
    }
    if (!made) stripe.fail(route, 'reset')
    const isShown = async () => (await find())?.state === 'pending'
    await until('the page is shown', async () => reached || child.exitCode !== null || (await isShown()))
    const order = await find()
    if (!reached && order !== undefined && scene.providers.pay(order))
      t.equal(await scene.deliver(gateways[1], order), true)
    await exited
    if (reached) return (await find()) as Order
  }
}

async function killedInOrders(t: Test, scene: Scene): Promise<void> {
  const { providers, shop, gateways } = scene
  const { ledger } = providers.stripe
  const sessionOf = (id: string) => ledger.all('checkout.session').find(({ metadata }) => metadata.order === id)

  const unasked = await doctorKilledAt(t, scene, 'POST /v1/checkout/sessions', false)
  t.match(unasked, { state: 'created', providerId: null }, 'the order is stored before Stripe is asked')
  t.equal(sessionOf(unasked.id), undefined, 'and nothing can be paid unseen')
  const shown = (await shop.desk.orders.look(shop.account, unasked.id, PAGE)) as Order
  t.equal(shown.state, 'pending', 'whoever looks at it can pay it')
  t.equal(providers.pay(shown), true)
  t.equal(await scene.deliver(gateways[1], shown), true)

  const asked = await doctorKilledAt(t, scene, 'POST /v1/checkout/sessions', true)
  await until('Stripe has made the session', () => sessionOf(asked.id) !== undefined)
  t.match(await scene.order(asked.id), { state: 'created', providerId: null })
  t.equal(providers.pay(asked), true, 'paid, and no callback comes: it is found by asking')
}

async function killedInRefunds(t: Test, scene: Scene): Promise<void> {
  for (const made of [false, true]) {
    const order = await doctorKilledAt(t, scene, 'POST /v1/refunds', made)
    t.match(await scene.order(order.id), { state: 'credited', frozen: 12_340_000 }, 'frozen before Stripe is asked')
  }
}

/** A process that is told to end finishes the callback that it has, or does not say that it was taken. */
async function endedInACallback(t: Test, scene: Scene): Promise<void> {
  const { gateways, providers, store } = scene
  const [victim] = gateways
  const order = await scene.begin('wechat')
  await store.set([{ table: 'entries', when: `NEW.reference = 'topup:${order.id}'` }])
  t.equal(providers.pay(order), true)
  const answer = scene.deliver(victim, order).catch(() => false)
  await store.reached(1)
  victim.signal('SIGTERM')
  await store.clear()
  const taken = await answer
  t.ok(!taken || (await scene.order(order.id)).state === 'credited', `taken: ${taken}`)
  t.equal(await victim.ended(), 0)
}

t.jobs = STALLING.length
for (const [engine, open] of STALLING)
  t.test(engine, { buffered: true }, async t => {
    const scene = await openScene(t, open)
    const { gateways, store, shop } = scene
    await t.test('fifty deliveries at once over two gateways', t => fiftyDeliveries(t, scene))
    if (store.manyAtOnce) await t.test('kill -9 in a refund', t => killedInRefunds(t, scene))
    else await t.test('kill -9 while an order is made', t => killedInOrders(t, scene))
    await gateways[1].kill()
    await t.test('kill -9 in callbacks', t => killedInCallbacks(t, scene))
    if (store.manyAtOnce) await t.test('SIGTERM in a callback', t => endedInACallback(t, scene))
    await t.test('another gateway completes what is left, without a callback', async t => {
      await gateways[1].start()
      const isLeft = ({ state, frozen }: Order) => frozen > 0 || (state !== 'credited' && state !== 'refunded')
      await until('nothing is left', async () => !(await shop.store.pay.orders({ limit: 1_000 })).some(isLeft))
      await checkBooks(t, scene)
    })
  })
