/** A key that got another secret, through the whole gateway: both work for a while, then only the new one. */
import t, { type Test } from 'tap'
import { hashOf, hintOf } from '../../lib/base/secrets.ts'
import { SETUP } from '../support/store.ts'
import { KEY, open, type Scene } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'

const HOUR_MS = 3_600_000
const NEW = 'sk-new-0123456789'
const NEWER = 'sk-newer-0123456789'

const scene = async (t: Test) => {
  const s = await open(t)
  s.at('a').script = answers(1, 1)
  const key = (await s.store.keys.list())[0]!
  const statuses = async (...secrets: string[]) => {
    const found: number[] = []
    for (const secret of secrets) found.push(await ask(s, secret))
    return found
  }
  const roll = async (secret: string, graceMs: number) => {
    await s.store.keys.roll(key.id, { hash: hashOf(secret), hint: hintOf(secret) }, graceMs, SETUP)
    await s.follow()
  }
  return { s, key, statuses, roll }
}

async function ask(s: Scene, secret: string): Promise<number> {
  const client = s.ask({ ...document(), headers: { authorization: `Bearer ${secret}` } })
  await client.end()
  return client.status
}

async function listed(s: Scene, secret: string): Promise<number> {
  const answer = await fetch(`${s.urls.direct}/v1/models`, { headers: { authorization: `Bearer ${secret}` } })
  await answer.arrayBuffer()
  return answer.status
}

t.test('both secrets are one key until the time of grace is over', async t => {
  const { s, key, statuses, roll } = await scene(t)
  t.same(await statuses(KEY, NEW), [200, 401])
  await roll(NEW, HOUR_MS)
  t.same(await statuses(KEY, NEW, KEY), [200, 200, 200])
  const { rows, ok } = await s.books()
  t.same(
    rows.map(row => row.keyId),
    [key.id, key.id, key.id, key.id],
    'all of it is charged to the one key',
  )
  t.ok(ok)
  s.clock.advance(HOUR_MS)
  // a list of models, because after such a leap the ledger first has to show that it lives
  t.same([await listed(s, KEY), await listed(s, NEW)], [401, 200], 'nobody had to say so')
})

t.test('without grace the old secret ends with the change', async t => {
  const { statuses, roll } = await scene(t)
  t.same(await statuses(KEY), [200])
  await roll(NEW, HOUR_MS)
  await roll(NEWER, 0)
  t.same(await statuses(KEY, NEW, NEWER), [401, 401, 200])
})

t.test('a key that is switched off or deleted is so under every secret', async t => {
  const { s, key, statuses, roll } = await scene(t)
  await roll(NEW, HOUR_MS)
  t.same(await statuses(KEY, NEW), [200, 200])
  await s.store.keys.update(key.id, { status: 'disabled' }, SETUP)
  await s.follow()
  t.same(await statuses(KEY, NEW), [401, 401])
  await roll(NEWER, HOUR_MS)
  t.same(await statuses(KEY, NEW, NEWER), [401, 401, 401], 'another secret does not switch it on')
  await s.store.keys.update(key.id, { status: 'enabled' }, SETUP)
  await s.follow()
  t.same(await statuses(KEY, NEW, NEWER), [200, 200, 200])
  await s.store.keys.delete(key.id, SETUP)
  await s.follow()
  t.same(await statuses(KEY, NEW, NEWER), [401, 401, 401])
})

t.test('the use of a key is noted for those who look at it', async t => {
  const { s, key, statuses } = await scene(t)
  await statuses(KEY, 'sk-nobody')
  await s.services.keyUses.stop()
  const uses = await s.store.keys.uses([key.id])
  t.match(uses.get(key.id), { ip: '127.0.0.1', atMs: s.clock.now() })
})
