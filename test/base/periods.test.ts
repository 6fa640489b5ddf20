import t from 'tap'
import { type Every, endOfName, periodAt, periodName } from '../../lib/base/periods.ts'
import { isWholeHours } from '../../lib/base/zone.ts'

const rows: [zone: string, every: Every, at: string, begin: string, end: string][] = [
  ['Asia/Shanghai', 'day', '2026-11-22T15:59:59.999Z', '2026-11-21T16:00:00Z', '2026-11-22T16:00:00Z'],
  ['Asia/Shanghai', 'day', '2026-11-22T16:00:00Z', '2026-11-22T16:00:00Z', '2026-11-23T16:00:00Z'],
  ['Asia/Shanghai', 'week', '2026-11-22T15:59:59Z', '2026-11-15T16:00:00Z', '2026-11-22T16:00:00Z'], // a Sunday
  ['Asia/Shanghai', 'week', '2026-11-22T16:00:00Z', '2026-11-22T16:00:00Z', '2026-11-29T16:00:00Z'], // a Monday
  ['Asia/Shanghai', 'month', '2026-12-31T16:00:00Z', '2026-12-31T16:00:00Z', '2027-01-31T16:00:00Z'],
  ['Asia/Shanghai', 'month', '2028-02-29T15:00:00Z', '2028-01-31T16:00:00Z', '2028-02-29T16:00:00Z'], // a leap year
  ['UTC', 'day', '1970-01-01T00:00:00Z', '1970-01-01T00:00:00Z', '1970-01-02T00:00:00Z'],
  ['UTC', 'week', '2027-01-01T12:00:00Z', '2026-12-28T00:00:00Z', '2027-01-04T00:00:00Z'],
  ['UTC', 'month', '2027-02-28T23:59:59Z', '2027-02-01T00:00:00Z', '2027-03-01T00:00:00Z'],
  ['Asia/Tokyo', 'day', '2026-11-22T15:00:00Z', '2026-11-22T15:00:00Z', '2026-11-23T15:00:00Z'],
  ['Pacific/Honolulu', 'month', '2026-12-01T09:59:00Z', '2026-11-01T10:00:00Z', '2026-12-01T10:00:00Z'],
  ['Pacific/Kiritimati', 'week', '2026-11-22T10:00:00Z', '2026-11-22T10:00:00Z', '2026-11-29T10:00:00Z'],
  // days of 23 and 25 hours
  ['Europe/Berlin', 'day', '2026-03-29T12:00:00Z', '2026-03-28T23:00:00Z', '2026-03-29T22:00:00Z'],
  ['Europe/Berlin', 'day', '2026-10-25T12:00:00Z', '2026-10-24T22:00:00Z', '2026-10-25T23:00:00Z'],
  // midnight is left out: the day begins at one o'clock; and midnight comes twice
  ['Africa/Cairo', 'day', '2026-04-24T12:00:00Z', '2026-04-23T22:00:00Z', '2026-04-24T21:00:00Z'],
  ['America/Havana', 'day', '2026-11-01T12:00:00Z', '2026-11-01T04:00:00Z', '2026-11-02T05:00:00Z'],
]

for (const [zone, every, at, begin, end] of rows)
  t.test(`${zone}: the ${every} of ${at}`, async t => {
    const period = periodAt(every, Date.parse(at), zone)
    t.strictSame(period, { every, beginMs: Date.parse(begin), endMs: Date.parse(end) })
    const name = periodName(period)
    t.match(name, /^[dwm]\d{1,6}$/)
    t.equal(endOfName(name), period.endMs)
    t.strictSame(periodAt(every, period.endMs - 1, zone), period, 'its last moment')
    t.equal(periodAt(every, period.endMs, zone).beginMs, period.endMs, 'and the next follows at once')
  })

t.test('zones', async t => {
  for (const zone of ['Asia/Shanghai', 'UTC', 'America/New_York', 'Europe/London', 'Pacific/Kiritimati'])
    t.ok(isWholeHours(zone), zone)
  for (const zone of ['Asia/Kolkata', 'Asia/Kathmandu', 'Australia/Lord_Howe', 'Mars/Olympus', '', 'x'.repeat(1_000)])
    t.notOk(isWholeHours(zone), zone.slice(0, 20))
})
