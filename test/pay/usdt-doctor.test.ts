/** What `pay doctor usdt` finds when everything works, and what when something does not. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t from 'tap'
import type { Clock } from '../../lib/base/clock.ts'
import { type Finding, examineUsdt } from '../../lib/pay/doctor.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'
import { BIN } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import { until } from '../support/wait.ts'
import { Node, TestChain, TOKEN } from './doubles/chain.ts'
import { ACT } from './support.ts'
import { newWallet, openUsdt, type UsdtShop } from './usdt-support.ts'

/** A clock whose waits are over at once, after `meanwhile`. */
const hasty = ({ clock }: UsdtShop, meanwhile: () => Promise<unknown>): Clock => ({
  now: () => clock.now(),
  monotonic: () => clock.monotonic(),
  soon: fn => clock.soon(fn),
  after(ms, fn) {
    void meanwhile().then(() => {
      clock.advance(ms)
      fn()
    })
    return () => {}
  },
})

t.test('a walk', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)
  const walk = async (shop: UsdtShop, pay: bigint | null) => {
    let paid = pay === null
    const clock = hasty(shop, async () => {
      if (!paid) await chain.pay(await shop.address(), pay as bigint)
      paid = true
      await chain.mine()
    })
    const given = { usdt: shop.usdt, clock, account: shop.account, waitMs: 30_000, act: ACT }
    const found: Finding[] = await Array.fromAsync(examineUsdt(given))
    return found.map(({ step, ok }) => `${step} ${ok === null ? 'so' : ok ? 'ok' : 'failed'}`).join(', ')
  }

  t.test('to the credit', async t => {
    const shop = await openUsdt(t, { chain })
    await shop.rate(7.12)
    t.equal(await walk(shop, 6n * TOKEN), 'node ok, node ok, rate ok, address ok, pay so, credit ok')
    t.equal(await shop.micros(), 42_720_000)
  })

  t.test('to a transfer that waits', async t => {
    const shop = await openUsdt(t, { chain })
    t.equal(await walk(shop, TOKEN), 'node ok, node ok, rate failed, address ok, pay so, transfer so, credit so')
  })

  t.test('of nobody who pays', async t => {
    const shop = await openUsdt(t, { chain })
    await shop.rate(7.12)
    t.equal(await walk(shop, null), 'node ok, node ok, rate ok, address ok, pay so, credit so')
  })

  t.test('of nodes that will not do', async t => {
    const shop = await openUsdt(t, { chain })
    shop.second.about('eth_getLogs', () => ({ error: { code: -32005, message: 'limit exceeded' } }))
    t.equal(await walk(shop, null), 'node ok, node failed')
    t.equal(await shop.usdt.addressOf(shop.account), null)
    const other = await openUsdt(t, { chain })
    other.first.about('eth_chainId', () => ({ result: '0x1' }))
    other.second.lie = () => ({ status: 404, text: 'no' })
    t.equal(await walk(other, null), 'node failed, node failed')
  })

  t.test('by the command, beside a gateway that reads the chain', async t => {
    const [first, second] = [await Node.open(t, chain), await Node.open(t, chain)]
    const { xpub, first: address } = newWallet()
    const usdt = {
      xpub,
      check_address: address,
      endpoints: [first, second].map(({ url }) => `${url}/a-key-of-the-provider`),
      sandbox: true,
    }
    const accounts = [{ name: 'tester', groups: ['default'], sandbox: true }]
    const gateway = await openGateway({
      config: { pay: { usdt } },
      catalog: () => ({ groups: [{ name: 'default' }], models: [], channels: [], accounts, keys: [] }),
    })
    t.teardown(() => gateway.stop())
    const form = { currency: 'USDT', rate: '7.12', for: '1h' }
    t.match(await gateway.admin('POST', '/admin/rates', form), { currencies: ['USDT'], data: [{ rate: '7.120000' }] })
    const metrics = async () => (await fetch(`${gateway.ops}/metrics`)).text()
    await until('the gateway reads the chain', async () =>
      /gateway_pay_chain\{what="head_block"\} [1-9]/.test(await metrics()),
    )
    const config = ['--config', `${gateway.folder}/gateway.yaml`]
    const child = spawn(BIN, ['pay', 'doctor', 'usdt', '--account', 'tester', ...config], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    t.teardown(() => child.kill())
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', data => (output += data))
    await until('the doctor shows the address', () => /scan 0x/.test(output))
    t.match(output, new RegExp(`scan ${address}`, 'i'))
    await chain.pay(address, 6n * TOKEN)
    await chain.mine()
    await once(child, 'close')
    t.equal(child.exitCode, 0, output)
    t.match(output, /^ok\tcredit\ttester has 42\.720000 CNY of 6 USDT/m)
    t.match(await gateway.admin('GET', '/admin/accounts/tester'), { balance: '42.720000' })
    t.match(await gateway.admin('GET', '/admin/audit'), { ok: true })
    const shown = `${await metrics()}${output}`
    for (const secret of [xpub, 'a-key-of-the-provider']) t.notOk(shown.includes(secret))
  })
})
