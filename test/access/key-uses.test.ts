import t from 'tap'
import { KeyUses } from '../../lib/access/keys.ts'
import type { KeyUse } from '../../lib/store/accounts/keys.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { TestClock } from '../support/clock.ts'

const settled = () => new Promise<void>(resolve => setImmediate(resolve))

function setUp() {
  const clock = new TestClock()
  const batches: KeyUse[][] = []
  const errors: unknown[] = []
  let fails: Error | null = null
  const keys = {
    async recordUses(batch: readonly KeyUse[]) {
      if (fails !== null) throw fails
      batches.push([...batch])
    },
  }
  const uses = new KeyUses({
    store: { keys },
    clock,
    log: { error: (line: unknown) => void errors.push(line) } as never,
  })
  uses.start()
  return { clock, batches, errors, uses, fail: (error: Error | null) => void (fails = error) }
}

t.test('the newest use of every key is written once a minute, all together', async t => {
  const { clock, batches, uses } = setUp()
  const begin = clock.now()
  uses.note(1, '10.0.0.1', clock.now())
  clock.advance(1_000)
  uses.note(2, '10.0.0.2', clock.now())
  uses.note(1, '10.0.0.3', clock.now())
  t.equal(batches.length, 0, 'no request is written by itself')
  clock.advance(59_000)
  await settled()
  t.same(batches, [
    [
      { keyId: 1, atMs: begin + 1_000, ip: '10.0.0.3' },
      { keyId: 2, atMs: begin + 1_000, ip: '10.0.0.2' },
    ],
  ])
  clock.advance(60_000)
  await settled()
  t.equal(batches.length, 1, 'nothing was used, nothing is written')
  uses.note(2, '10.0.0.4', clock.now())
  await uses.stop()
  t.same(
    batches[1]?.map(use => use.keyId),
    [2],
    'the end of the process writes what is left',
  )
})

t.test('a store that is away loses notes, and a fault is said', async t => {
  const { clock, batches, errors, uses, fail } = setUp()
  for (const [error, count] of [
    [new StoreUnavailable('down'), 0],
    [new Error('a fault'), 1],
  ] as const) {
    fail(error)
    uses.note(1, '10.0.0.1', clock.now())
    clock.advance(60_000)
    await settled()
    t.equal(errors.length, count)
  }
  fail(null)
  uses.note(1, '10.0.0.1', clock.now())
  clock.advance(60_000)
  await settled()
  t.equal(batches.length, 1, 'and it goes on')
})

t.test('notes are bounded: overflow', async t => {
  const { clock, batches, uses } = setUp()
  for (let id = 0; id < 100_010; id++) uses.note(id, '::1', clock.now())
  await uses.stop()
  t.equal(batches[0]?.length, 100_000)
})
