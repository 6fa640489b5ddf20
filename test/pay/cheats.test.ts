/** What cheats try with payments as a whole, on gateways of one store: other ways, old messages, and everything at once. */
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { type Order, type OrderMethod, CHECKOUT_METHODS } from '../../lib/terms/pay.ts'
import { TestClock } from '../support/clock.ts'
import { ENGINES } from './engines.ts'
import { isTaken, Providers, type Sent } from './providers.ts'
import { openShop, type Shop } from './shop.ts'
import { ACT, faultOf } from './support.ts'

const PAGE = 'https://here.example/topup'
const MONTHS_MS = 90 * 86_400_000

async function open(t: Test, given: { store?: Store } = {}) {
  const clock = new TestClock(Date.now())
  const providers = await Providers.open(t, () => clock.now())
  const shop = await openShop(t, providers.section(), { clock, ...given })
  const paid = async (method: OrderMethod): Promise<Order> => {
    const order = await shop.desk.orders.begin(shop.account, method, '100', PAGE, ACT)
    t.equal(providers.pay(order), true)
    return order
  }
  return { clock, providers, shop, paid }
}

async function taken({ url }: Shop, method: OrderMethod, path: string, { headers, body }: Sent): Promise<boolean> {
  const answer = await fetch(`${url}/pay/${path}`, { method: 'POST', headers, body })
  return isTaken(method, answer.status, await answer.text())
}

t.test('a message of one method is none of another, nor at another address', async t => {
  const { shop, providers, paid } = await open(t)
  for (const method of CHECKOUT_METHODS) {
    const order = await paid(method)
    const message = providers.message(order)
    for (const other of CHECKOUT_METHODS.filter(name => name !== method))
      t.equal(await taken(shop, other, other, message), false, `${method} at ${other}`)
    for (const path of ['', 'constructor', '__proto__', 'ALIPAY', 'usdt'])
      t.equal(await taken(shop, method, path, message), false, path)
    t.equal(await shop.balance(), 0, method)
  }
  t.same(await shop.exceptions(), [])
})

t.test('whoever has the keys of one method pays no order of another', async t => {
  const { shop, providers, paid } = await open(t)
  const card = await shop.desk.orders.begin(shop.account, 'card', '500', PAGE, ACT)
  const { id } = await paid('alipay')
  const { alipay, wechat } = providers
  const fields = { ...alipay.notice(id), out_trade_no: card.id, total_amount: '500.00' }
  t.equal(await taken(shop, 'alipay', 'alipay', providers.form(alipay.signed(fields))), true, 'it is written down')
  await paid('wechat')
  const [known] = [...wechat.trades.keys()] as [string]
  const change = { out_trade_no: card.id, amount: { total: 50_000, currency: 'CNY' }, transaction_id: '42' }
  t.equal(await taken(shop, 'wechat', 'wechat', wechat.paid(known, change)), true)
  t.equal(await shop.balance(), 0)
  t.equal((await shop.order(card.id)).state, 'pending')
  t.same(await shop.exceptions(), ['method', 'method'])
})

t.test('an old message says nothing new, whatever has become of the order', async t => {
  const { shop, providers, paid, clock } = await open(t)
  for (const method of CHECKOUT_METHODS) {
    const order = await paid(method)
    const message = providers.message(order)
    t.equal(await taken(shop, method, method, message), true)
    const before = await shop.balance()
    await shop.desk.refunds.begin(order.id, '100', 'asked for', false, ACT)
    if (method === 'wechat') {
      for (const refund of providers.wechat.refunds.values()) refund.status = 'SUCCESS'
      clock.advance(60_000)
      await shop.round()
    }
    t.equal(await shop.balance(), before - 10_000)
    t.equal((await shop.order(order.id)).state, 'refunded', method)
    for (const wait of [0, MONTHS_MS]) {
      clock.advance(wait)
      await shop.store.pay.forgetEvents(Number.MAX_SAFE_INTEGER, 1_000)
      // A provider's own repeat has a new signature where signatures have a time.
      for (const sent of [message, method === 'alipay' ? message : providers.message(order)])
        await taken(shop, method, method, sent)
    }
    t.equal(await shop.balance(), before - 10_000, `${method}: credited once, and sent back once`)
    t.equal((await shop.order(order.id)).state, 'refunded')
  }
})

t.test('orders of others do not exist', async t => {
  const { shop, paid, providers } = await open(t)
  const order = await paid('wechat')
  const other = await shop.store.accounts.create({ name: 'somebody else', groups: [], sandbox: true }, ACT)
  const asked = providers.wechat.asked.length
  t.equal(await shop.desk.orders.look(other, order.id, PAGE), null)
  t.equal(providers.wechat.asked.length, asked, 'and nobody is asked about them')
  t.equal((await shop.order(order.id)).state, 'pending')
})

for (const [engine, address] of ENGINES)
  t.test(`${engine}: money is spent, lent and sent back at the same time, and none of it twice`, async t => {
    const url = await address(t)
    const stores: Store[] = [0, 1].map(() => openStore(url, { secret: 'a test secret' }))
    t.teardown(() => Promise.all(stores.map(store => store.close())))
    await (stores[0] as Store).migrate()
    const { shop, providers, paid, clock } = await open(t, { store: stores[0] as Store })
    const other = await openShop(t, providers.section(), { clock, store: stores[1] as Store, account: shop.account })
    const order = await paid('alipay')
    t.equal(await taken(shop, 'alipay', 'alipay', providers.message(order)), true)
    const spend = (store: Store, i: number) => {
      const entry = { kind: 'adjustment', reference: `spent ${i}`, actor: 'x', note: 'spent' } as const
      return store.entries.add(shop.account.id, { ...entry, amount: micro(-20_000_000) }, ACT)
    }
    const done = await Promise.all(
      Array.from({ length: 12 }, async (_, i) => {
        const { desk, store } = i % 2 === 0 ? shop : other
        if (i % 3 === 0) return (await spend(store, i)).outcome === 'created' ? 1 : 0
        return (await faultOf(desk.refunds.begin(order.id, '20', `part ${i}`, false, ACT))) === 'nothing' ? 1 : 0
      }),
    )
    t.equal(
      done.reduce<number>((sum, one) => sum + one, 0),
      5,
      'five parts of twenty, whoever gets them',
    )
    t.equal(await shop.balance(), 0)
    const { refunded, frozen } = await shop.order(order.id)
    t.equal(providers.left(order), 10_000 - (refunded + frozen) / 10_000)
    const [purse] = await shop.store.books.purses([accountPurse(shop.account.id)])
    t.match(purse, { credit: 0 })
    t.equal((await shop.store.audit()).ok, true)
  })
