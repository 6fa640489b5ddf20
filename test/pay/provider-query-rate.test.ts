/**
 * Each account may have the provider asked twice a second by looking at its orders. Somebody with a few dozen accounts could use up
 * what a provider answers us in a second, and nobody's order was begun, asked about or closed any more.
 */
// The bug behind these rows: looks of many accounts.
import t from 'tap'
import { ACT, openDesk } from './support.ts'
import { fund } from '../support/store.ts'

const ACCOUNTS = 50
const SECONDS = 5

t.test('all accounts together have a provider asked a few times a second', async t => {
  const desk = await openDesk(t)
  const { store, orders, clock, provider } = desk
  const looks: (() => Promise<unknown>)[] = []
  for (let i = 0; i < ACCOUNTS; i++) {
    const { account } = await fund(store, `payer ${i}`, 0)
    const { id } = await orders.begin(account, 'alipay', '100', '', ACT)
    looks.push(() => orders.look(account, id, ''))
  }
  for (let second = 0; second < SECONDS; second++) {
    for (const look of looks) await look()
    t.ok(provider.asked <= 10 * (second + 1), `${provider.asked} questions`)
    clock.advance(1_000)
  }
  t.ok(provider.asked >= ACCOUNTS, 'everybody has a turn')
})
