/**
 * A rate begins at a time that is read before the rate is stored. A transfer that was stored in between had no rate, and waited for
 * one that began after it: not for this one but for the next one, which may be set weeks later.
 */
// The bug behind these rows: a rate that began before it was stored.
import t from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { ENGINES } from './engines.ts'
import { ACT } from './support.ts'

const CHAIN = 56
const HOUR_MS = 3_600_000
const HASH = `0x${'1'.repeat(64)}`

for (const [engine, newUrl] of ENGINES)
  t.test(engine, async t => {
    const store = openStore(await newUrl(t), { secret: 'x' })
    t.teardown(() => store.close())
    await store.migrate()
    const { id: accountId } = await store.accounts.create({ name: 'a', groups: [], sandbox: true }, ACT)
    const fromMs = (await store.now()) ?? Date.now()
    const transfer = (logIndex: number) => ({
      tx: HASH,
      logIndex,
      from: `0x${'1'.repeat(40)}`,
      to: `0x${'2'.repeat(40)}`,
      value: 10n ** 18n,
      block: { no: 1, hash: HASH },
      accountId,
      blockAtMs: 450,
      node: 1,
      sandbox: true,
    })
    const set = (rate: number, beginMs: number, untilMs: number) =>
      store.pay.setPayRate({ currency: 'USDT', rate, fromMs: beginMs, untilMs }, ACT)
    const rates = async () =>
      (await store.chain.transferOrders({ accountId, afterSeq: 0, limit: 9 })).map(({ rate }) => rate)
    await store.chain.addTransfers(CHAIN, [transfer(0)])
    await set(5_000_000, fromMs - 2 * HOUR_MS, fromMs - HOUR_MS)
    t.equal(await store.chain.fixRates(), 0, 'a rate that had ended gives none')
    await set(7_000_000, fromMs - 1, fromMs + HOUR_MS)
    t.equal(await store.chain.fixRates(), 1)
    t.same(await rates(), [7_000_000])
    await set(8_000_000, fromMs, fromMs + HOUR_MS)
    t.equal(await store.chain.fixRates(), 0, 'a rate is fixed once')
    t.same(await rates(), [7_000_000])
  })
