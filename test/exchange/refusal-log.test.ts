import t from 'tap'
import type { KeyEntry } from '../../lib/access/keys.ts'
import { idMaker, timeOfId } from '../../lib/base/ids.ts'
import type { Exchange } from '../../lib/exchange/record/exchange.ts'
import { RefusalLog } from '../../lib/exchange/record/refusal-log.ts'
import type { RefusedRequest } from '../../lib/store/usage/queries.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { TestClock } from '../support/clock.ts'
import { SETUP } from '../support/store.ts'
import { turn } from '../support/wait.ts'
import { KEY, open } from './support/gateway.ts'
import { document } from './support/speech.ts'

function scene() {
  const clock = new TestClock()
  const nextId = idMaker(() => clock.now())
  const batches: RefusedRequest[][] = []
  const lost: [string, number][] = []
  const logged: unknown[] = []
  const store = { answer: async (): Promise<void> => {} }
  const log = new RefusalLog({
    clock,
    store: {
      refusals: {
        record: async batch => {
          await store.answer()
          batches.push([...batch])
        },
      },
    },
    metrics: { refusalsLost: (cause, count) => void lost.push([cause, count]) },
    log: { error: (about: unknown) => void logged.push(about) },
  })
  const world = {}
  const refuse = (key: number, reason: 'field' | 'rate' = 'field', model = 'm', account = 3): string => {
    const id = nextId()
    const x = { id, model, status: 400, address: '203.0.113.7', addressIn: world, world }
    log.note(x as unknown as Exchange, { account: { id: account }, key: { id: key } } as KeyEntry, reason)
    return id
  }
  const wait = async (ms: number) => {
    clock.advance(ms)
    await turn()
  }
  return { clock, log, refuse, wait, batches, lost, logged, store }
}

const kept = (batches: RefusedRequest[][]): number => batches.reduce((sum, batch) => sum + batch.length, 0)

t.test('refusals are written a moment later, at once', async t => {
  const s = scene()
  const ids = [s.refuse(1), s.refuse(2)]
  t.equal(kept(s.batches), 0)
  await s.wait(200)
  t.strictSame(s.batches, [
    ids.map((requestId, i) => ({
      requestId,
      accountId: 3,
      keyId: i + 1,
      atMs: timeOfId(requestId),
      model: 'm',
      reason: 'field',
      status: 400,
      address: '203.0.113.7',
    })),
  ])
  s.refuse(1)
  await s.wait(200)
  t.equal(kept(s.batches), 3)
})

t.test('ten of a key and a reason in a minute, and nothing of the rest is called lost', async t => {
  const s = scene()
  for (let i = 0; i < 30; i++) {
    s.refuse(1)
    s.refuse(1, 'rate')
    s.refuse(2)
  }
  await s.wait(200)
  t.equal(kept(s.batches), 30)
  await s.wait(60_000)
  s.refuse(1)
  await s.wait(200)
  t.equal(kept(s.batches), 31)
  t.strictSame(s.lost, [])
})

t.test('the queue is bounded: overflow', async t => {
  const s = scene()
  for (let key = 0; key < 1_100; key++) s.refuse(key, 'field', 'm', key % 4)
  t.equal(s.lost.length, 100)
  t.strictSame(s.lost[0], ['queue_full', 1])
  await s.wait(200)
  t.equal(kept(s.batches), 1_000)
})

// The bug: an account with a thousand keys that may not be used filled the queue, and the refusals of all others were lost.
t.test('one account with many keys takes no room from others', async t => {
  const s = scene()
  for (let key = 0; key < 12_000; key++) s.refuse(key)
  const other = s.refuse(20_000, 'field', 'm', 4)
  await s.wait(200)
  t.equal(kept(s.batches), 501)
  t.equal(s.batches.flat().at(-1)?.requestId, other)
  t.equal(s.lost.length, 11_500)
  await s.wait(60_000)
  s.refuse(1)
  await s.wait(200)
  t.equal(kept(s.batches), 502, 'in the next minute again')
})

t.test('a store that is away gets them later, as many as there is room for', async t => {
  const s = scene()
  s.store.answer = async () => {
    throw new StoreUnavailable('away')
  }
  for (let key = 0; key < 1_000; key++) s.refuse(key, 'field', 'm', key % 4)
  s.clock.advance(200)
  for (let key = 0; key < 100; key++) s.refuse(key, 'rate', 'm', key % 4) // while the write is under way
  await turn()
  t.strictSame(s.lost, [['queue_full', 100]])
  s.store.answer = async () => {}
  await s.wait(500)
  t.equal(kept(s.batches), 0, 'not at once')
  await s.wait(500)
  t.equal(kept(s.batches), 1_000)
})

t.test('what the store does not take is lost, and said to be', async t => {
  const s = scene()
  s.store.answer = async () => {
    throw new Error('a fault')
  }
  s.refuse(1)
  await s.wait(200)
  t.strictSame(s.lost, [['store', 1]])
  t.match(s.logged, [{ refusals: 1 }])
})

t.test('a stop writes what waits, once', async t => {
  const s = scene()
  s.refuse(1)
  await s.log.stop()
  t.equal(kept(s.batches), 1)
  s.store.answer = async () => {
    throw new StoreUnavailable('away')
  }
  s.refuse(2)
  await s.log.stop()
  t.strictSame(s.lost, [['store', 1]])
  await s.wait(10_000)
  t.equal(kept(s.batches), 1)
})

t.test('a key that is known and may not be used: its account finds the request', async t => {
  const s = await open(t)
  const key = (await s.store.keys.list())[0]!
  const changes = [{ status: 'disabled' }, { status: 'enabled', expiresAtMs: 1 }] as const
  for (const change of changes) {
    await s.store.keys.update(key.id, change, SETUP)
    await s.follow()
    const client = s.ask({ ...document(), headers: { authorization: `Bearer ${KEY}` } })
    await client.end()
    t.equal(client.status, 401)
    await s.services.refusals.stop()
    const found = await s.store.refusals.byRequest(client.answer.headers.get('x-request-id') as string)
    t.match(found, { accountId: key.accountId, keyId: key.id, reason: 'key', status: 401 }, Object.keys(change).join())
  }
  t.equal(s.services.openCount, 0)
})
