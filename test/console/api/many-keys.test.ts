/**
 * Keys whose cap is used up were looked for among all keys of an account by a call that counted as a light one. Every page must be
 * right, and asking bounded.
 */
// The bug behind these rows: caps that are used up far down.
import t from 'tap'
import { openConsole } from '../support/console.ts'
import { limitOf, newKey, SETUP } from '../../support/store.ts'

const KEYS = 10_000
/** Every such key is used up, because nothing may be spent with it. */
const USED_UP = 97

t.test('ten thousand keys', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const wanted: string[] = []
  for (let i = 0; i < KEYS; i++) {
    const name = `key ${i}`
    const used = i % USED_UP === 0
    const cap = used ? limitOf(0) : i % 3 === 0 ? limitOf(5) : null
    await house.store.keys.create(newKey(account.id, { name, hash: name.padStart(64, '0'), cap }), SETUP)
    if (used) wanted.unshift(name)
  }
  const pages = async (query: Record<string, string>) => {
    const names: string[] = []
    for (let after: string | null = null, count = 0; ; count++) {
      const { json } = await ann.call('keys.list', {
        account,
        query: { ...query, ...(after === null ? {} : { after }) },
      })
      const data = json['data'] as { name: string; state: string }[]
      for (const { name, state } of data) {
        t.equal(state, query['state'])
        names.push(name)
      }
      after = json['next'] as string | null
      if (after === null) return { names, count }
      if (data.length === 0) t.equal(after, null, 'only the last page is empty')
    }
  }
  const used = await pages({ state: 'used_up', limit: '10' })
  t.same(used.names, wanted, 'each once, newest first, on every page')
  t.same((await ann.call('keys.list', { account, query: { state: 'used_up' } })).json['totals'], {
    keys: wanted.length,
    used: '0.000000',
  })
  const enabled = await pages({ state: 'enabled', limit: '200', q: '77' })
  t.ok(enabled.names.length > 100)
  t.notOk(enabled.names.some(name => wanted.includes(name)))
  for (let i = 0; i < 120; i++) await ann.call('keys.list', { account, query: { limit: '1' } })
  t.match(await ann.call('keys.list', { account }), { status: 429, code: 'too_many_calls' }, 'it is no light call')
})
