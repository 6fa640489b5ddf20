/**
 * Refunds of an order in another currency are rounded to cents, and the last one takes what is left. When an earlier one had
 * failed meanwhile, the last one asked for a cent more than there was: Stripe refused it for ever, and its money stayed frozen.
 */
// The bug behind these rows: the last part of an order in dollars.
import t from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { openCard } from './card-support.ts'
import { ENGINES } from './engines.ts'
import { ACT, faultOf } from './support.ts'

const HOUR_MS = 3_600_000

for (const [engine, address] of ENGINES)
  t.test(engine, async t => {
    const store = openStore(await address(t), { secret: 'a test secret' })
    t.teardown(() => store.close())
    await store.migrate()
    const account = await store.accounts.create({ name: 'payer', groups: [], sandbox: true }, ACT)
    const card = await openCard(t, { currency: 'USD' }, { store, account })
    const now = Date.now()
    const rate = { currency: 'USD', rate: 7_130_000, fromMs: now - HOUR_MS, untilMs: now + HOUR_MS }
    await store.pay.setPayRate(rate, ACT)
    const { id } = await card.paid('100')
    const { ledger } = card.stripe
    const refund = (amount: string) => card.desk.refunds.begin(id, amount, 'asked for', false, ACT)
    t.equal(await faultOf(refund('0.01')), 'invalid', 'nobody can send back less than a cent')
    const failed = await refund('33.33')
    await refund('33.33')
    t.equal(await card.send(ledger.endRefund(failed.providerId as string, 'failed')), 200)
    t.equal((await refund('66.67')).state, 'done')
    t.equal((await card.order(id)).state, 'refunded')
    t.equal(await card.balance(), 0)
    t.equal(ledger.total, 0, 'the payer has everything')
    t.same(await card.exceptions(), [])
    t.match(await store.audit(), { ok: true })
  })
