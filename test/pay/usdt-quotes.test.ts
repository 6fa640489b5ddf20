/** What a quote promises: its rate, for its tokens, once, by the time of the chain's blocks. */
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { tokensFor } from '../../lib/pay/usdt/usdt.ts'
import { tokenText } from '../../lib/terms/chain.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'
import { seeded } from '../support/random.ts'
import { TestChain, TOKEN } from './doubles/chain.ts'
import { ACT, faultOf } from './support.ts'
import { openUsdt } from './usdt-support.ts'

const CNY = 1_000_000
/** What tokens are worth at a rate, rounded down. */
const worthAt = (wei: bigint, rate: number): number => Number((wei * BigInt(rate)) / 10n ** 18n)

t.test('tokens for an amount are rounded up to four places, and never worth less than it', async t => {
  const rows: [cny: number, rate: number, tokens: string, worth: number][] = [
    [40, 7_120_000, '5.618', 40_000_160],
    [40, 7_000_000, '5.7143', 40_000_100],
    [100, 1_000_000, '100', 100_000_000],
    [0.01, 7_120_000, '0.0015', 10_680],
  ]
  for (const [cny, rate, tokens, worth] of rows) {
    const wei = tokensFor(micro(Math.round(cny * CNY)), rate)
    t.equal(tokenText(wei), tokens)
    t.equal(worthAt(wei, rate), worth)
  }
  const random = seeded(t)
  for (let i = 0; i < 2_000; i++) {
    const [amount, rate] = [micro(random.int(1, 1e12)), random.int(1, 20 * CNY)]
    const wei = tokensFor(amount, rate)
    if (worthAt(wei, rate) < amount || wei % 10n ** 14n !== 0n) t.fail(`${amount} at ${rate}: ${wei}`)
    if (worthAt(wei - 10n ** 14n, rate) >= amount) t.fail(`${amount} at ${rate}: ${wei} is too much`)
  }
})

t.test('quotes', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)
  const open = async (t: Parameters<typeof openUsdt>[0]) => {
    const shop = await openUsdt(t, { chain })
    await shop.rate(7.12)
    await shop.read()
    const at = await shop.address()
    const pay = async (value: bigint) => {
      await chain.pay(at, value)
      await chain.mine()
      await shop.read()
    }
    const quote = (amount: string) => shop.usdt.quote(shop.account, amount, ACT)
    /** The rate of the market moves away. */
    const move = async (cny: number) => {
      await new Promise(resolve => setTimeout(resolve, 5))
      await shop.rate(cny)
    }
    return { ...shop, pay, quote, move }
  }

  t.test('holds its rate for what it quoted, and the rest takes the rate in force', async t => {
    const shop = await open(t)
    const { wei } = await shop.quote('71.2')
    t.equal(wei, 10n * TOKEN)
    await shop.move(5)
    await shop.pay(12n * TOKEN)
    t.match(await shop.transfers(), [{ quoted: wei, quotedRate: 7_120_000, rate: 5_000_000, credited: 81_200_000 }])
    await shop.pay(10n * TOKEN)
    t.equal(await shop.micros(), 131_200_000, 'and only once')
  })

  t.test('is used up by less than it quoted', async t => {
    const shop = await open(t)
    await shop.quote('71.2')
    await shop.move(5)
    await shop.pay(9n * TOKEN)
    await shop.pay(10n * TOKEN)
    t.match(await shop.transfers(), [
      { quoted: 9n * TOKEN, rate: null, credited: 64_080_000 },
      { quoted: 0n, rate: 5_000_000, credited: 50_000_000 },
    ])
  })

  t.test('ends when another one is made', async t => {
    const shop = await open(t)
    await shop.quote('71.2')
    await shop.move(8)
    await chain.mine(2) // the second quote begins with a later block
    const second = await shop.quote('80')
    t.equal(second.wei, 10n * TOKEN)
    await shop.move(5)
    await shop.pay(10n * TOKEN)
    await shop.pay(10n * TOKEN)
    t.match(await shop.transfers(), [{ quotedRate: 8_000_000 }, { quotedRate: null, rate: 5_000_000 }])
  })

  t.test('ends after half an hour of the chain, whatever our clock says', async t => {
    const shop = await open(t)
    const { fromMs, untilMs } = await shop.quote('71.2')
    t.equal(untilMs - fromMs, 30 * 60_000)
    await shop.move(8)
    shop.clock.advance(60 * 60_000)
    await shop.pay(10n * TOKEN)
    t.match(await shop.transfers(), [{ quotedRate: 7_120_000 }], 'the chain is still at the same minute')
    await shop.quote('80')
    await chain.anvil.call('evm_increaseTime', 30 * 60)
    await shop.pay(10n * TOKEN)
    t.match((await shop.transfers()).slice(1), [{ quotedRate: null, rate: 8_000_000 }])
  })

  t.test('is refused without a rate, and beyond the bounds', async t => {
    const shop = await open(t)
    for (const amount of ['39.99', '40.001', '-50', '50001', 'x', 1e9, null])
      t.equal(await faultOf(shop.quote(amount as string)), 'invalid', String(amount))
    await shop.rate(7, -1)
    t.equal(await faultOf(shop.quote('40')), 'conflict')
  })
})
