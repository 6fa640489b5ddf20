/**
 * Whoever changed the row of an address in the store had people pay to an address of their own: the page showed what stood there,
 * and neither the gateway nor the audit missed anything.
 */
// The bug behind these rows: an address changed in the store.
import t from 'tap'
import { ownUsdt } from '../../lib/pay/usdt/addresses.ts'
import { ownAddress } from '../../lib/pay/usdt/addresses.ts'
import type { ChainAddress } from '../../lib/terms/chain.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'
import { ACT, faultOf } from './support.ts'
import { openUsdt } from './usdt-support.ts'

t.test('an address that is not of the key is shown to nobody', { skip: ANVIL_MISSING ?? false }, async t => {
  const shop = await openUsdt(t)
  const { chain } = shop.store
  await shop.address()
  const found = (await chain.chainAddress(56, shop.usdt.wallet, shop.account.id)) as ChainAddress
  const foreign = { ...found, address: `0x${'ab'.repeat(20)}` }
  const stored = chain.chainAddress
  chain.chainAddress = async () => foreign
  t.equal(await faultOf(ownAddress(shop.usdt, shop.account, ACT)), 'conflict')
  t.equal(await faultOf(ownUsdt(shop.usdt, shop.account)), 'conflict')
  t.match(await shop.store.pay.exceptions({ open: true, limit: 9 }), [{ kind: 'chain', reference: 'address:56:0' }])
  chain.chainAddress = stored
  t.match(await ownUsdt(shop.usdt, shop.account), { usdt: { address: /^0x/ } })
})
