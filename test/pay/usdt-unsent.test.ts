/** A refund of USDT whose tokens nobody says to be sent stands among what waits for a person, until it has ended. */
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { PaymentsAdmin } from '../../lib/pay/admin.ts'
import { confirmTransfers, creditTransfers } from '../support/transfers.ts'
import { openShop } from './shop.ts'
import { ACT } from './support.ts'
import { newWallet } from './usdt-support.ts'

const HOUR_MS = 3_600_000

t.test('a refund that is frozen for a day is told once, and closes by itself', async t => {
  const { xpub, first } = newWallet()
  const endpoints = ['http://127.0.0.1:9/a', 'http://127.0.0.1:10/b']
  const shop = await openShop(t, { usdt: { xpub, check_address: first, endpoints, sandbox: true } })
  const { chain, pay } = shop.store
  await pay.setPayRate({ currency: 'USDT', rate: 7_000_000, fromMs: 0, untilMs: 8_000_000_000_000 }, ACT)
  const block = { no: 1, hash: `0x${'b'.repeat(64)}` }
  const transfer = {
    from: first,
    to: first,
    block,
    accountId: shop.account.id,
    blockAtMs: 1_000,
    node: 1,
    sandbox: true,
  }
  await chain.addTransfers(56, [{ ...transfer, tx: `0x${'1'.repeat(64)}`, logIndex: 0, value: 10n ** 20n }])
  await confirmTransfers(shop.store, 56)
  const [{ id: paid } = { id: '' }] = (await creditTransfers(shop.store, 56, shop.account.id, 0, ACT)).credited
  const desk = new PaymentsAdmin({ ...shop, pay: async () => shop.desk })
  const begin = async (reference: string) => {
    const form = { amount: micro(70_000_000), reference, receiver: `0x${'9'.repeat(40)}`, reason: 'x', force: false }
    return (await desk.refund(paid, form, ACT.actor)).row
  }
  const told = async (open: boolean) =>
    (await pay.exceptions({ kind: 'refund_stuck', open, limit: 9 })).map(({ reference }) => reference)

  const [one, two] = [await begin('one'), await begin('two')]
  shop.clock.advance(23 * HOUR_MS)
  await shop.round()
  t.same(await told(true), [], 'whoever sends them has a day')
  shop.clock.advance(2 * HOUR_MS)
  for (let i = 0; i < 2; i++) await shop.round()
  t.same((await told(true)).sort(), [one.id, two.id].sort())
  t.equal(shop.counts.open.exceptions, 2, 'it is in the metrics')
  const [found] = await pay.exceptions({ kind: 'refund_stuck', limit: 1 })
  t.match(found, { method: 'usdt', detail: /^10 USDT to 0x9{40}: / })

  await desk.endRefund(one.id, { reason: 'not wanted' }, ACT.actor)
  t.same(await told(true), [two.id], 'at once')
  await pay.endByHand('usdt', two.id, { tx: `0x${'2'.repeat(64)}` }, ACT) // by a process that died then
  await shop.round()
  t.same([await told(true), (await told(false)).length], [[], 2])
  t.match(await pay.exceptions({ kind: 'refund_stuck', limit: 9 }), [
    { resolvedBy: 'usdt', resolution: /^closed: the refund is (done|released)$/ },
    { resolvedBy: 'usdt', resolution: /^closed: the refund is (done|released)$/ },
  ])
  t.match(await shop.store.audit(), { ok: true })
})
