/** Caps and budgets as clients meet them: what they are answered when one is used up or too small, and when it renews. */
import t from 'tap'
import { periodAt } from '../../lib/base/periods.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { limitOf, SETUP } from '../support/store.ts'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'

const good = answers(100, 10) // 0.00028 CNY
const COST = 280

for (const every of ['day', 'week', 'month'] as const)
  t.test(`a cap every ${every}: used up it is 401, and whole again when the next begins`, async t => {
    const s = await open(t, { key: { cap: { amount: 5, every } } })
    const ask = async (nth: number) => {
      const client = s.ask(document())
      good(await s.at('a').call(nth))
      await client.end()
      return client.status
    }
    t.equal(await ask(0), 200)
    await s.books()
    const key = (await s.store.keys.list())[0]!
    await s.store.keys.update(key.id, { cap: { limit: limitOf(COST, every), atMs: s.clock.now() } }, SETUP)
    await s.follow()
    const refused = s.ask(document())
    await refused.end()
    t.equal(refused.status, 401)
    t.match(refused.text, /无效的令牌/)
    s.clock.step(periodAt(every, s.clock.now(), 'Asia/Shanghai').endMs - s.clock.now())
    await s.store.keys.update(key.id, { cap: { limit: limitOf(5_000_000, every), atMs: s.clock.now() } }, SETUP)
    await s.follow()
    t.equal(await ask(1), 200)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
  })

t.test('the store is away when a period begins: 503, and nobody is told that the key is wrong', async t => {
  const s = await open(t, { key: { cap: { amount: 5, every: 'day' } } })
  const { books } = s.store
  const lease = books.lease.bind(books)
  books.lease = () => Promise.reject(new StoreUnavailable('away'))
  const refused = s.ask(document())
  await refused.end()
  t.equal(refused.status, 503)
  books.lease = lease
  const client = s.ask(document())
  good(await s.at('a').call())
  await client.end()
  t.equal(client.status, 200)
})

t.test('a budget: what is left of it is told', async t => {
  const s = await open(t)
  const set = async (amount: number) => {
    await s.store.accounts.update(1, { budget: { limit: limitOf(amount, 'day'), atMs: s.clock.now() } }, SETUP)
    await s.follow()
  }
  const refusal = async () => {
    const client = s.ask(document())
    await client.end()
    return [client.status, client.text] as const
  }
  await set(5_000_000)
  const client = s.ask(document())
  good(await s.at('a').call())
  await client.end()
  t.equal(client.status, 200)
  await s.books()
  await set(COST + 1)
  const [status, text] = await refusal()
  t.equal(status, 403)
  t.match(text, /预扣费额度失败.*0\.000001/)
  await set(COST)
  const [usedUp, told] = await refusal()
  t.equal(usedUp, 403)
  t.match(told, /用户额度不足.*0\.000000/)
})
