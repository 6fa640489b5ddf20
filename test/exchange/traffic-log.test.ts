/** Counts of requests and refusals by the hour: what is written, and when the store does not take it. */
import t from 'tap'
import type { Exchange } from '../../lib/exchange/record/exchange.ts'
import { TrafficLog } from '../../lib/exchange/record/traffic-log.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import type { TrafficHour } from '../../lib/terms/traffic.ts'
import { TestClock } from '../support/clock.ts'
import { turn } from '../support/wait.ts'

const HOUR_MS = 3_600_000

function scene() {
  const clock = new TestClock()
  const written: TrafficHour[] = []
  const lost: [string, number][] = []
  const logged: unknown[] = []
  const store = { fails: null as Error | null }
  const log = new TrafficLog({
    clock,
    holder: 'me',
    store: {
      traffic: {
        put: async row => {
          if (store.fails !== null) throw store.fails
          written.push(row)
        },
      },
    },
    metrics: { refusalsLost: (cause, count) => void lost.push([cause, count]) },
    log: { error: (about: unknown) => void logged.push(about) },
  })
  const note = (refusal: string | null, key: number | null = 1, address = '203.0.113.7') => {
    const world = {}
    const entry = key === null ? null : { account: { id: 3 }, key: { id: key } }
    log.note({ refusal, entry, address, addressIn: world, world } as unknown as Exchange, clock.now())
  }
  const wait = async (ms: number) => {
    clock.advance(ms)
    await turn()
  }
  log.start()
  return { clock, log, note, wait, written, lost, logged, store }
}

t.test('totals by reason, and the account, key and network of each refusal', async t => {
  const s = scene()
  s.note(null)
  s.note('rate')
  s.note('rate', 2, '2001:db8:1:2:3::4')
  s.note('key', null, '2001:db8:1:2::9')
  await s.wait(5_000)
  t.strictSame(
    s.written.map(({ traffic }) => traffic),
    [
      {
        requests: 4,
        refused: { rate: 2, key: 1 },
        senders: {
          rows: [
            ['2001:db8:1:2::/64', 2, 0],
            ['203.0.113.7', 2, 0],
          ],
          floor: 0,
        },
        by: {
          account: { rows: [['3 rate', 2, 0]], floor: 0 },
          key: {
            rows: [
              ['1 rate', 1, 0],
              ['2 rate', 1, 0],
            ],
            floor: 0,
          },
          address: {
            rows: [
              ['2001:db8:1:2::/64 key', 1, 0],
              ['2001:db8:1:2::/64 rate', 1, 0],
              ['203.0.113.7 rate', 1, 0],
            ],
            floor: 0,
          },
        },
      },
    ],
  )
  await s.wait(5_000)
  t.equal(s.written.length, 1, 'what did not change is not written again')
})

t.test('an hour is written as a whole, and the next begins at nothing', async t => {
  const s = scene()
  s.note('rate')
  await s.wait(5_000)
  s.note('rate')
  s.clock.advance(HOUR_MS)
  s.note('field')
  await s.wait(5_000)
  const [first, second, third] = s.written as [TrafficHour, TrafficHour, TrafficHour]
  t.strictSame(
    [first.traffic.refused, second.traffic.refused, third.traffic.refused],
    [{ rate: 1 }, { rate: 2 }, { field: 1 }],
  )
  t.strictSame([second.hour, third.hour], [first.hour, first.hour + 1])
})

t.test('the store is away: counts wait, and a day of hours at most', async t => {
  const s = scene()
  s.store.fails = new StoreUnavailable('away')
  for (let i = 0; i < 25; i++) {
    s.note('rate')
    s.clock.advance(HOUR_MS)
  }
  await s.wait(5_000)
  t.strictSame([s.written, s.logged, s.lost], [[], [], [['store', 1]]])
  s.store.fails = null
  await s.log.stop()
  t.equal(s.written.length, 24)
  s.store.fails = new TypeError('a bug')
  s.note('rate')
  await s.log.stop()
  t.equal(s.logged.length, 1)
})
