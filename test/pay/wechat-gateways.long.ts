/** WeChat Pay’s notifications that come to several gateways of one store at once, and to a gateway as users start it. */
import t from 'tap'
import { openStore, type Store } from '../../lib/store/store.ts'
import { startGateway } from '../support/gateway.ts'
import { until } from '../support/wait.ts'
import { WechatDouble } from './doubles/wechat.ts'
import { ENGINES } from './engines.ts'
import { openShop } from './shop.ts'
import { openWechat } from './wechat-support.ts'

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
      const one = await openWechat(t, { store: first })
      const two = await openWechat(t, { store: second, beside: one })
      const { id } = await one.begin()
      const { double } = one
      double.pay(id)
      const deliver = async (make: () => Parameters<typeof one.deliver>[0]): Promise<Set<number>> => {
        const same = make()
        const messages = Array.from({ length: DELIVERIES }, (_, i) => (i % 3 === 0 ? make() : same))
        const answers = messages.map((message, i) => (i % 2 === 0 ? one : two).deliver(message))
        return new Set((await Promise.all(answers)).map(({ status }) => status))
      }
      t.same(await deliver(() => double.paid(id)), new Set([204]))
      t.equal(await one.balance(), 10_000)
      t.equal((await first.pay.proofs(id)).length, 1)
      const refund = double.sendBack(id, 4_000)
      refund.status = 'SUCCESS'
      t.same(await deliver(() => double.refunded(refund)), new Set([204]))
      t.equal(await two.balance(), 6_000)
      t.equal(double.ledger, 6_000)
      t.same(await one.exceptions(), [])
      t.equal((await first.audit()).ok, true)
    },
  )

t.test('a gateway as users start it', async t => {
  const double = await WechatDouble.open(t)
  const accounts = [{ name: 'tester', groups: ['default'], sandbox: true }]
  const gateway = await startGateway({
    config: { workers: 2, pay: { wechat: double.config } },
    catalog: () => ({ groups: [{ name: 'default' }], models: [], channels: [], accounts, keys: [] }),
  })
  t.teardown(() => gateway.stop())
  let output = ''
  for (const stream of [gateway.child.stdout, gateway.child.stderr]) stream?.on('data', data => (output += data))
  const store = openStore(`sqlite:${gateway.folder}/gateway.db`, { secret: 'admin-token-for-tests' })
  t.teardown(() => store.close())
  const account = (await store.accounts.byName('tester'))!
  const shop = await openShop(t, { wechat: double.config }, { store, account })
  const [told, lost] = [await shop.begin(), await shop.begin('20')]
  double.pay(told.id)
  const message = double.paid(told.id)
  const send = async (path: string, body = message.body) =>
    fetch(`${gateway.main}${path}`, { method: 'POST', headers: message.headers, body })
  t.equal((await send('/pay/wechat', `${message.body} `)).status, 400)
  t.equal((await send('/pay/alipay')).status, 404, 'it is not configured')
  const answer = await send('/pay/wechat/')
  t.same([answer.status, answer.headers.get('content-length'), await answer.text()], [204, null, ''])
  t.match(await shop.order(told.id), { state: 'credited' })
  double.pay(lost.id)
  await until('the order is credited', async () => (await shop.order(lost.id)).state === 'credited')
  t.equal(await shop.balance(), 12_000, 'the other one was asked about')
  for (const secret of [double.apiKey, double.merchant.privateKey.split('\n')[1] as string])
    t.notOk(output.includes(secret), 'no secret is in the log')
})
