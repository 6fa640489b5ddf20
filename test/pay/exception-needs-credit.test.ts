/**
 * An exception that was resolved by a credit counted as credited even when the ledger took nothing, because it had another entry
 * under the order's reference, or because the balance could not hold the money. Then nothing that was open said so.
 */
// The bug behind these rows: an exception resolved without a credit.
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { ACT, faultOf, openDesk } from './support.ts'

t.test('an exception stays open while its money is not in the balance', async t => {
  const desk = await openDesk(t)
  const { id, accountId } = await desk.begin('100')
  const { store } = desk
  await desk.notices.take('alipay', desk.provider.payment(id, { amount: 9_000 }), 'callback')
  const [found] = await store.pay.exceptions({ limit: 1 })
  const full = { kind: 'adjustment', amount: micro(Number.MAX_SAFE_INTEGER), actor: 'a', note: 'full' } as const
  await store.entries.add(accountId, { ...full, reference: 'full' }, ACT, false)
  const resolve = () => desk.intake.resolve(found!.id, true, 'the payer called', ACT)
  t.equal(await faultOf(resolve()), 'conflict')
  t.match(await store.pay.exception(found!.id), { resolvedAtMs: null })
  const empty = { ...full, amount: micro(-Number.MAX_SAFE_INTEGER), reference: 'empty' }
  await store.entries.add(accountId, empty, ACT, false)
  await resolve()
  t.match(await store.pay.exception(found!.id), { resolution: 'credited: the payer called' })
  t.match(await store.pay.order(id), { state: 'credited', credited: 90_000_000 })
})
