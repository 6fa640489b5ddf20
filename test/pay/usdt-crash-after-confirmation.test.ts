/**
 * The process that reads the chain remembers which accounts have something new. When the store had done a step and its answer got
 * lost, or another process had done it and died, nothing was remembered, and the transfer waited until the next one of its account.
 */
// The bug behind these rows: a transfer confirmed and forgotten.
import t, { type Test } from 'tap'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { through } from './chaos/through.ts'
import { proofOfTransfer } from '../support/transfers.ts'
import { openCrediting } from './crediting.ts'

const HOUR_MS = 3_600_000

/** Its store loses the answer to a call of this name, once it is told to. */
async function open(t: Test, lost: string) {
  const armed = { is: false }
  const opened = await openCrediting(t, real =>
    through(real, async (work, name) => {
      const done = await work()
      if (!armed.is || name !== lost) return done
      armed.is = false
      throw new StoreUnavailable('the connection broke')
    }),
  )
  const round = () => opened.round().catch(error => t.ok(error instanceof StoreUnavailable))
  return { ...opened, armed, round }
}

for (const lost of ['proveOrder', 'markDue', 'creditOrder', 'fixRates'])
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
  const [transfer] = await desk.store.chain.transferOrders({ limit: 1 })
  await desk.store.pay.proveOrder(proofOfTransfer(transfer!))
  await round()
  desk.clock.advance(HOUR_MS)
  await round()
  t.equal(await desk.balance(), 700)
})
