/**
 * The process that reads the chain remembers which accounts have something new. When the store had done a step and its answer got
 * lost, or another process had done it and died, nothing was remembered, and the deposit waited until the next one of its account.
 */
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { Chain } from '../../lib/pay/usdt/chain.ts'
import { Crediting } from '../../lib/pay/usdt/crediting.ts'
import type { UsdtDeps } from '../../lib/pay/usdt/deps.ts'
import { Rpc } from '../../lib/pay/usdt/rpc.ts'
import { type Store, StoreUnavailable } from '../../lib/store/store.ts'
import { through } from '../pay/chaos/through.ts'
import { ACT, openDesk } from '../pay/support.ts'

const CHAIN = 56
const HASH = `0x${'1'.repeat(64)}`
const USDT = 10n ** 18n
const HOUR_MS = 3_600_000

/** A node that says the same as the other one. */
class SureNode extends Chain {
  constructor(node: number) {
    super(new Rpc('http://127.0.0.1:9', node, () => {}), { chainId: CHAIN, contract: HASH })
  }
  override async prove() {}
  override async confirms() {
    return 'same' as const
  }
}

/** A reader of the chain whose store loses the answer to a call of this name, once it is told to. */
async function open(t: Test, lost: string) {
  const desk = await openDesk(t)
  const { store, account } = desk
  const armed = { is: false }
  const lossy: Store = through(store, async (work, name) => {
    const done = await work()
    if (!armed.is || name !== lost) return done
    armed.is = false
    throw new StoreUnavailable('the connection broke')
  })
  const counts = { credited() {} }
  const config = { chain_id: CHAIN, minimum: micro(1) }
  const deps = { ...desk.deps, store: lossy, till: desk.till, counts, config } as unknown as UsdtDeps
  const crediting = new Crediting(deps, [new SureNode(1), new SureNode(2)])
  return {
    desk,
    armed,

    round: () => crediting.round().catch(error => t.ok(error instanceof StoreUnavailable)),
    rate: () =>
      store.pay.setPayRate(
        { currency: 'USDT', rate: 7_000_000, fromMs: desk.clock.now() - HOUR_MS, untilMs: desk.clock.now() + HOUR_MS },
        ACT,
      ),
    pay: () =>
      store.chain.addDeposits(CHAIN, [
        {
          tx: HASH,
          logIndex: 0,
          from: `0x${'1'.repeat(40)}`,
          to: `0x${'2'.repeat(40)}`,
          value: USDT,
          block: { no: 1, hash: HASH },
          accountId: account.id,
          blockAtMs: 450,
          node: 1,
        },
      ]),
  }
}

for (const lost of ['confirmDeposit', 'creditDeposits', 'fixRates'])
  t.test(`the answer of ${lost} is lost`, async t => {
    const { desk, armed, round, rate, pay } = await open(t, lost)
    await round()
    if (lost === 'fixRates') {
      await pay()
      await round()
      await rate()
    } else {
      await rate()
      await pay()
    }
    armed.is = true
    await round()
    t.equal(armed.is, false)
    await round()
    t.equal(await desk.balance(), 700)
  })

t.test('another process has confirmed it, and died', async t => {
  const { desk, round, rate, pay } = await open(t, '')
  await rate()
  await round()
  await pay()
  const [deposit] = await desk.store.chain.deposits({ limit: 1 })
  await desk.store.chain.confirmDeposit(deposit!.id)
  await round()
  desk.clock.advance(HOUR_MS)
  await round()
  t.equal(await desk.balance(), 700)
})
