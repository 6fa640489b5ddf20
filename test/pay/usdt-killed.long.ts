/**
 * What a crash leaves of transfers, after every step from the address to the balance, on every engine: another process goes on
 * with what the store has, and everything is credited once. The steps of a process are its calls of the store, each of
 * which is one transaction; that nothing of a transaction stays is tried with a real gateway and `kill -9`.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import t, { type Test } from 'tap'
import { NOT_HELD } from '../../lib/pay/faults.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import type { Account } from '../../lib/terms/records.ts'
import { FaultyGateway } from '../faults/support.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'
import { TestClock } from '../support/clock.ts'
import { ADMIN_TOKEN } from '../support/gateway.ts'
import { freePorts } from '../support/ports.ts'
import { until } from '../support/wait.ts'
import { type Mortal, mortal } from './chaos/mortal.ts'
import { Node, TestChain, TOKEN } from './doubles/chain.ts'
import { STALLING, type Stall, type StallingStore } from './stalls.ts'
import { ACT } from './support.ts'
import { newWallet, openUsdt, type UsdtShop } from './usdt-support.ts'

/** For how long a process that died keeps others from reading the chain. */
const LEASE_MS = 31_000

interface Scene {
  stalling: StallingStore
  store: Store
  chain: TestChain
  clock: TestClock
  section: object
  /** A process that takes transfers. `end`: it is closed, and gone. */
  process(account: Account): Promise<{ life: Mortal; shop: UsdtShop; end(): Promise<void> }>
  account(name: string): Promise<Account>
}

async function openScene(t: Test, open: (t: Test) => Promise<StallingStore>): Promise<Scene> {
  const [stalling, chain] = await Promise.all([open(t), TestChain.open(t)])
  const store = openStore(stalling.url, { secret: ADMIN_TOKEN })
  t.teardown(() => store.close())
  await store.migrate()
  const nodes: [Node, Node] = [await Node.open(t, chain), await Node.open(t, chain)]
  const [wallet, clock] = [newWallet(), new TestClock(Date.now())]
  const [one, two] = nodes
  return {
    stalling,
    store,
    chain,
    clock,
    section: { xpub: wallet.xpub, check_address: wallet.first, endpoints: [one.url, two.url], sandbox: true },
    async process(account) {
      const ends: (() => unknown)[] = []
      const life = mortal(store, () => clock.now())
      const given = { chain, nodes, wallet, store: life.store, account, clock }
      const shop = await openUsdt({ teardown: end => void ends.push(end) }, given)
      t.teardown(() => ends.splice(0).forEach(close => void close()))
      return {
        life,
        shop,
        async end() {
          for (const close of ends.splice(0)) await close()
        },
      }
    },
    account: name => store.accounts.create({ name, groups: [], sandbox: true }, ACT),
  }
}

/** What people and rounds do, one after the other. Each may be done again by another process. */
const STEPS: ((shop: UsdtShop) => Promise<unknown>)[] = [
  shop => shop.address(),
  shop => shop.usdt.quote(shop.account, '40', ACT),
  shop => shop.read(),
  // a process that died behind it has released the order: whoever asks again is told so
  shop =>
    shop.release().catch((error: Error) => {
      if (error.message !== NOT_HELD().message) throw error
    }),
  shop => shop.read(),
]
/** What the payer sends before the step of this number: 3 tokens at the quote, and 10 at the rate of their time. */
const PAID: Record<number, bigint> = { 2: 3n * TOKEN, 4: 10n * TOKEN }
const [QUOTED, LATER] = [8, 7]
const WORTH = (3 * QUOTED + 10 * LATER) * 1_000_000

/** No transfer is stored of what the cursor has not reached, and none is missing of what it has. */
async function checkCursor(t: Test, { store, chain }: Scene, sent: ReadonlyMap<string, bigint>, id: number) {
  const cursor = (await store.chain.chainCursor(56))?.no ?? 0
  const known = (await store.chain.transferOrders({ accountId: id, afterSeq: 0, limit: 99 })).map(({ tx }) => tx)
  for (const tx of sent.keys()) {
    const receipt = await chain.anvil.call<{ blockNumber: string }>('eth_getTransactionReceipt', tx)
    t.equal(known.includes(tx), Number(receipt.blockNumber) <= cursor, 'a transfer and the cursor move together')
  }
}

/** Everything from the address to the balance; the process dies after so many calls of the store. False = there are fewer. */
async function liveOnce(t: Test, scene: Scene, calls: number): Promise<boolean> {
  const { chain, clock, store } = scene
  const account = await scene.account(`payer ${calls}`)
  const sent = new Map<string, bigint>()
  clock.advance(LEASE_MS)
  let now = await scene.process(account)
  let died = false
  now.life.arm(calls, 'after')
  const outside = await scene.process(account)
  await outside.shop.rate(QUOTED)
  for (const [i, step] of STEPS.entries()) {
    const value = PAID[i]
    if (value !== undefined) {
      await outside.shop.rate(LATER)
      const address = await outside.shop.address()
      sent.set(await chain.pay(address, value), value)
      await chain.mine()
    }
    await step(now.shop).catch(error => {
      if (!now.life.isDead()) throw error
    })
    if (!now.life.isDead()) continue
    died = true
    await checkCursor(t, scene, sent, account.id)
    await now.end()
    clock.advance(LEASE_MS)
    now = await scene.process(account)
    await step(now.shop)
  }
  const { shop } = outside
  const entries = await store.entries.page(account.id, { fromMs: 0, toMs: Number.MAX_SAFE_INTEGER, limit: 9 })
  t.equal(await shop.micros(), WORTH, `after ${calls} calls`)
  t.same(await shop.states(), ['credited', 'credited'])
  t.equal(entries.entries.length, 2, 'each once')
  await Promise.all([now.end(), outside.end()])
  return died
}

/** Where a gateway is killed in the midst of a transaction. */
const STALLS: Record<string, { stall: (accountId: number) => Stall; left: string[] }> = {
  SQLite: { stall: id => ({ table: 'pay_orders', when: `NEW.account_id = ${id}` }), left: [] },
  MariaDB: { stall: id => ({ table: 'entries', when: `NEW.account_id = ${id}` }), left: ['paid'] },
}

async function killed(t: Test, engine: string, scene: Scene): Promise<void> {
  const { stalling, chain, store } = scene
  const { stall, left } = STALLS[engine] as (typeof STALLS)[string]
  const account = await scene.account('killed')
  const before = await scene.process(account)
  const address = await before.shop.address()
  await before.shop.rate(LATER)
  const folder = mkdtempSync(`${tmpdir()}/gateway-usdt-killed-`)
  const [main, direct, ops] = (await freePorts(3)).map(port => `127.0.0.1:${port}`) as [string, string, string]
  writeFileSync(`${folder}/catalog.yaml`, JSON.stringify({ groups: [{ name: 'default' }], models: [], channels: [] }))
  const config = { listen: { main, direct, ops }, store: stalling.url, journal: `${folder}/journal` }
  const rest = { catalog: `${folder}/catalog.yaml`, admin_token: ADMIN_TOKEN, pay: { usdt: scene.section } }
  writeFileSync(`${folder}/gateway.yaml`, JSON.stringify({ ...config, ...rest }))
  const gateway = new FaultyGateway(`${folder}/gateway.yaml`, main, ops)
  t.teardown(async () => {
    await gateway.kill()
    rmSync(folder, { recursive: true, force: true })
  })
  await gateway.start()
  await until('the chain is read', async () => (await store.chain.chainCursor(56)) !== null)
  await stalling.set([stall(account.id)])
  const tx = await chain.pay(address, 10n * TOKEN)
  await chain.mine()
  await stalling.reached(1)
  await gateway.kill()
  await stalling.clear()
  t.same(await before.shop.states(), left, 'of the transaction in which it was killed, nothing is there')
  await checkCursor(t, scene, new Map([[tx, 10n * TOKEN]]), account.id)
  t.equal(await before.shop.micros(), 0)
  scene.clock.step(Date.now() + LEASE_MS - scene.clock.now())
  for (let i = 0; i < 2; i++) await before.shop.read()
  t.equal(await before.shop.micros(), 10 * LATER * 1_000_000, 'another process completes it')
  t.match(await store.audit(), { ok: true })
  await before.end()
}

t.jobs = STALLING.length
for (const [engine, open] of STALLING)
  t.test(engine, { buffered: true, skip: ANVIL_MISSING ?? false }, async t => {
    const scene = await openScene(t, open)
    await t.test('kill -9 in the midst of a transaction', t => killed(t, engine, scene))
    await t.test('after every step', async t => {
      let calls = 0
      while (await liveOnce(t, scene, calls)) calls++
      t.ok(calls > 20, `${calls} steps`)
      t.same(await scene.store.pay.exceptions({ limit: 9 }), [])
      t.match(await scene.store.audit(), { ok: true })
    })
  })
