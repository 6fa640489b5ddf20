/**
 * In each round a second node confirms some transfers. They were taken in the order in which they came, so whoever sent
 * thousands of the smallest amounts to an address of their own, which costs next to nothing, kept everybody else waiting for
 * hours. Accounts take turns.
 */
// The bug behind these rows: transfers behind the dust of one.
import t from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { ENGINES } from './engines.ts'
import { ACT } from './support.ts'

const CHAIN = 56
const DUST = 300
const ROUND = 50

const hash = (n: number) => `0x${n.toString(16).padStart(64, '0')}`

for (const [engine, newUrl] of ENGINES)
  t.test(engine, async t => {
    const store = openStore(await newUrl(t), { secret: 'x' })
    t.teardown(() => store.close())
    await store.migrate()
    const [crowd, ...others] = await Promise.all(
      ['crowd', 'b', 'c'].map(name => store.accounts.create({ name, groups: [], sandbox: true }, ACT)),
    )
    const transfer = (accountId: number, n: number) => ({
      tx: hash(n),
      logIndex: 0,
      from: `0x${'1'.repeat(40)}`,
      to: `0x${String(accountId).padStart(40, '0')}`,
      value: 1n,
      block: { no: 1, hash: hash(1) },
      accountId,
      blockAtMs: 450,
      node: 1,
      sandbox: true,
    })
    await store.chain.addTransfers(
      CHAIN,
      Array.from({ length: DUST }, (_, i) => transfer(crowd!.id, i)),
    )
    await store.chain.addTransfers(
      CHAIN,
      [...others].map(({ id }, i) => transfer(id, DUST + i)),
    )
    const round = await store.chain.unconfirmed(CHAIN, ROUND)
    t.equal(round.length, ROUND)
    const whose = (id: number) => round.filter(({ accountId }) => accountId === id).length
    t.same(
      others.map(({ id }) => whose(id)),
      [1, 1],
      'others do not wait',
    )
    t.equal(whose(crowd!.id), ROUND - 2)
    for (const { id } of round) await store.chain.transferChecked(id)
    const next = await store.chain.unconfirmed(CHAIN, ROUND)
    const again = next.filter(({ accountId, id }) => accountId === crowd!.id && round.some(known => known.id === id))
    t.same(again, [], 'what was not asked about comes before what was')
  })
