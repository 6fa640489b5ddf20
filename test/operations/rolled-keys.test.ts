/** Another secret for a key, and the catalogue file that names the first one. */
import t from 'tap'
import { applyCatalog } from '../../lib/operations/catalogue/apply.ts'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { hashOf, hintOf } from '../../lib/base/secrets.ts'
import { sayOfCatalog } from '../sense/support.ts'
import { TestClock } from '../support/clock.ts'
import { memoryStore, SETUP } from '../support/store.ts'

const HOUR_MS = 3_600_000
const FIRST = 'sk-of-the-file-0123'
const NEW = 'sk-of-the-roll-0123'

t.test('an applied file leaves a rolled key alone until it says something new of it', async t => {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const apply = (change: object = {}, force = false) => {
    const file = { accounts: [{ name: 'a' }], keys: [{ account: 'a', name: 'k', secret: FIRST, ...change }] }
    return applyCatalog(store, parseCatalog(JSON.stringify(file), 'catalog', {}), new TestClock(), force)
  }
  const works = async () => [
    (await store.keys.find(hashOf(FIRST))) !== null,
    (await store.keys.find(hashOf(NEW))) !== null,
  ]
  const roll = (graceMs: number) => store.keys.roll(1, { hash: hashOf(NEW), hint: hintOf(NEW) }, graceMs, SETUP)

  await apply()
  await roll(HOUR_MS)
  t.same((await apply()).keys, { created: [], updated: [], kept: ['a/k'], same: 0 })
  t.same(await works(), [true, true], 'the old secret works on for its time')
  t.same((await apply({ cap: 5 })).keys.updated, ['a/k'])
  t.same(await works(), [true, false], 'what the file says anew is the whole row')
  t.match(await store.keys.find(hashOf(FIRST)), { endsInMs: null, key: { cap: { amount: 5_000_000 } } })

  await roll(0)
  t.same(await works(), [false, true])
  t.same((await apply({ cap: 5 }, true)).keys.updated, ['a/k'], 'or everything is applied by force')
  t.same(await works(), [true, false])
  t.equal((await store.audit()).ok, true)
})

t.test('a file keeps what it says nothing of', async t => {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const apply = (change: object = {}) => {
    const file = { accounts: [{ name: 'a' }], keys: [{ account: 'a', name: 'k', secret: FIRST, ...change }] }
    return applyCatalog(store, parseCatalog(JSON.stringify(file), 'catalog', {}), new TestClock())
  }
  await apply({ models: ['m'] })
  await store.keys.update(1, { models: null, createdBy: 7 }, SETUP)
  await apply({ cap: 5 })
  t.match(await store.keys.byId(1), { models: null, modelsOff: ['m'], createdBy: 7, cap: { amount: 5_000_000 } })
  t.equal((await apply({ cap: 5 })).keys.same, 1)
})

t.test('a list that locks a key is warned of', async t => {
  const file = parseCatalog(
    JSON.stringify({
      accounts: [{ name: 'a' }],
      keys: [
        { account: 'a', name: 'k', secret: FIRST, models: [], allow_ips: [] },
        { account: 'a', name: 'l', secret: NEW },
      ],
    }),
    'catalog',
    {},
  )
  const locks = sayOfCatalog(file).filter(line => /empty list/.test(line))
  t.match(locks, [/keys\[0\]\.models/, /keys\[0\]\.allow_ips/])
  t.equal(locks.length, 2)
})
