/** Notifications that come to several gateways of one store at once, on every engine, and to a gateway as users start it. */
import t from 'tap'
import { openStore, type Store } from '../../lib/store/store.ts'
import { startGateway } from '../support/gateway.ts'
import { AlipayDouble } from './doubles/alipay.ts'
import { ENGINES } from './engines.ts'
import { openShop } from './shop.ts'
import { ACT } from './support.ts'

const DELIVERIES = 50

for (const [engine, address] of ENGINES)
  t.test(
    `${engine}: fifty deliveries at once to two gateways are one credit, and one debit when it goes back`,
    async t => {
      const url = await address(t)
      const stores: Store[] = [0, 1].map(() => openStore(url, { secret: 'a test secret' }))
      t.teardown(() => Promise.all(stores.map(store => store.close())))
      const [first, second] = stores as [Store, Store]
      await first.migrate()
      const alipay = await AlipayDouble.open(t)
      const one = await openShop(t, { alipay: alipay.section }, { store: first })
      const two = await openShop(
        t,
        { alipay: alipay.section },
        { store: second, account: one.account, clock: one.clock },
      )
      alipay.ledger.now = () => one.clock.now()
      const { id, shown } = await one.begin()
      await fetch(shown?.redirect as string)
      alipay.ledger.pay(id)

      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      const deliver = (body: string): Promise<string[]> =>
        Promise.all(
          Array.from({ length: DELIVERIES }, async (_, i) => {
            const shop = i % 2 === 0 ? one : two
            const answer = await fetch(`${shop.url}/pay/alipay`, { method: 'POST', headers, body })
            return `${answer.status} ${await answer.text()}`
          }),
        )
      t.same(new Set(await deliver(alipay.signed(alipay.notice(id)))), new Set(['200 success']))
      t.equal(await one.balance(), 10_000)
      t.equal((await first.pay.proofs(id)).length, 1)
      const number = alipay.ledger.refundThere(id, 4_000)
      t.same(new Set(await deliver(alipay.signed(alipay.notice(id, number)))), new Set(['200 success']))
      t.equal(await two.balance(), 6_000)
      t.same(await one.exceptions(), [])
      t.equal((await first.audit()).ok, true)
    },
  )

t.test('a gateway as users start it', async t => {
  const alipay = await AlipayDouble.open(t)
  const accounts = [{ name: 'tester', groups: ['default'], sandbox: true }]
  const gateway = await startGateway({
    config: { workers: 2, pay: { alipay: alipay.section } },
    catalog: () => ({ groups: [{ name: 'default' }], models: [], channels: [], accounts, keys: [] }),
  })
  t.teardown(() => gateway.stop())
  let output = ''
  for (const stream of [gateway.child.stdout, gateway.child.stderr]) stream?.on('data', data => (output += data))
  const store = openStore(`sqlite:${gateway.folder}/gateway.db`, { secret: 'admin-token-for-tests' })
  t.teardown(() => store.close())
  const account = (await store.accounts.byName('tester'))!
  const shop = await openShop(t, { alipay: alipay.section }, { store, account })
  const paid = async () => {
    const { id, shown } = await shop.desk.orders.begin(account, 'alipay', '12.34', '', ACT)
    await fetch(shown?.redirect as string)
    alipay.ledger.pay(id)
    return id
  }
  const id = await paid()
  const post = (path: string, body: string) => fetch(`${gateway.main}${path}`, { method: 'POST', body })
  const body = alipay.signed(alipay.notice(id))
  t.equal((await post('/pay/alipay', body.replace('12.34', '99.99'))).status, 400)
  const answers = await Promise.all(['/pay/alipay', '/pay/alipay/'].map(path => post(path, body)))
  t.same(await Promise.all(answers.map(answer => answer.text())), ['success', 'success'])
  t.match(await gateway.admin('GET', '/admin/accounts/tester'), { balance: '12.340000' })
  for (const path of ['/pay/alipay?x=1', '/pay/alipay/x', '/pay/wechat'])
    t.not((await post(path, body)).status, 200, path)
  t.not((await fetch(`${gateway.main}/pay/alipay`)).status, 200, 'GET')
  const metrics = await (await fetch(`${gateway.ops}/metrics`)).text()
  t.match(metrics, 'gateway_pay_callbacks_total{method="alipay",verdict="signature"} 1\n')
  t.match(metrics, 'gateway_pay_callbacks_total{method="alipay",verdict="taken"} 2\n')
  t.notMatch(output + metrics, alipay.keys.app.privateKey.slice(100, 140), 'no key is in the log')
})
