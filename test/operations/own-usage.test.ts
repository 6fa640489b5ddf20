/** Totals, charts and the overview against the rows added up one by one. */
import t from 'tap'
import { idAt, timeOfId } from '../../lib/base/ids.ts'
import { formatMicro, type Micro, parseMicro } from '../../lib/base/money.ts'
import { periodAt } from '../../lib/base/periods.ts'
import {
  ownOverview,
  overviewAnswer,
  choicesAnswer,
  choicesQuery,
  totalsFileQuery,
  totalsQuery,
  UsageSums,
  usageAnswer,
} from '../../lib/operations/usage/usage.ts'
import { boundOf } from '../../lib/operations/usage/totals.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { outcomeOf, type UsageRow } from '../../lib/terms/usage-row.ts'
import { newKey, SETUP, settlement, usageRow } from '../support/store.ts'
import { DAY_MS, NOW_MS, open, refusalOf } from './own-support.ts'

const HOUR_MS = 3_600_000
const chargeOf = (rows: readonly UsageRow[]) => formatMicro(rows.reduce((sum, row) => sum + row.charge, 0) as Micro)
const add = (texts: readonly string[]) => formatMicro(texts.reduce((sum, one) => sum + parseMicro(one)!, 0) as Micro)

t.test('the chart, the table and the totals have the same numbers, whatever is asked', async t => {
  const { deps, account, rows, keys, random } = await open(t)
  for (let i = 0; i < 40; i++) {
    const by = random.pick(['day', 'hour'] as const)
    const stack = random.pick(['model', 'key', 'group', 'protocol'] as const)
    const zone = random.pick([undefined, 'UTC', 'Europe/Berlin'])
    const from = NOW_MS - random.int(1, 25) * DAY_MS
    const key = random.pick([undefined, ...keys])
    const sent = {
      by,
      stack,
      from: new Date(from).toISOString(),
      ...(zone === undefined ? {} : { zone }),
      ...(key === undefined ? {} : { key: key.publicId }),
      ...(random.int(0, 2) === 0 ? { model: 'm1' } : {}),
      ...(random.int(0, 2) === 0 ? { outcome: random.pick(['ok', 'client', 'upstream']) } : {}),
    }
    const mayOnly = random.pick([null, keys.slice(0, 3), keys])?.map(one => one.id) ?? null
    const reader = { account, keyIds: mayOnly }
    if (key !== undefined && mayOnly !== null && !mayOnly.includes(key.id)) {
      t.match(await refusalOf(new UsageSums(deps).own(reader, totalsQuery.parse(sent))), { fault: 'missing' })
      continue
    }
    const wanted = rows.filter(
      row =>
        row.accountId === account.id &&
        (mayOnly === null || mayOnly.includes(row.keyId)) &&
        timeOfId(row.requestId) >= Math.floor(from / HOUR_MS) * HOUR_MS &&
        (key === undefined || row.keyId === key.id) &&
        (sent.model === undefined || row.model === sent.model) &&
        (sent.outcome === undefined || outcomeOf(row) === sent.outcome),
    )
    const got = usageAnswer.parse(await new UsageSums(deps).own(reader, totalsQuery.parse(sent)))
    const what = JSON.stringify(sent)
    t.equal(got.totals.requests, wanted.length, what)
    t.equal(got.totals.charge, chargeOf(wanted), what)
    t.equal(got.totals.failed, wanted.filter(row => outcomeOf(row) === 'upstream').length, what)
    t.equal(add(got.rows.map(row => row.charge)), got.totals.charge, 'the table')
    t.equal(add(got.chart.buckets.flatMap(bucket => bucket.charge)), got.totals.charge, 'the chart')
    t.equal(got.chart.others, stack === 'key' && new Set(wanted.map(row => row.keyId)).size > 8)
    for (const [place, { name, key: label }] of got.chart.stacks.entries()) {
      const ofStack = wanted.filter(row =>
        stack === 'key' ? keys.find(one => one.publicId === label?.id)?.id === row.keyId : name === row[stack],
      )
      t.equal(
        add(got.chart.buckets.map(bucket => bucket.charge[place] as string)),
        chargeOf(ofStack),
        `${what} ${name}`,
      )
    }
    t.equal(got.zone, zone ?? 'Asia/Shanghai')
    if (by === 'day') {
      const day = (ms: number) => new Intl.DateTimeFormat('sv', { timeZone: got.zone }).format(ms)
      const days = new Set(wanted.map(row => day(timeOfId(row.requestId))))
      t.strictSame(new Set(got.chart.buckets.map(bucket => bucket.at)), days)
    }
  }
})

t.test('the table has the hundred largest keys, and what all others come to', async t => {
  const { deps, store, account } = await open(t, 0)
  const made = Array.from({ length: 103 }, (_, n) => ({ n, charge: 1_000 + 17 * ((n * 53) % 103) }))
  const rows: UsageRow[] = []
  for (const { n, charge } of made) {
    const key = await store.keys.create(
      newKey(account.id, { name: `many ${n}`, hash: `${n}`.padStart(64, 'b') }),
      SETUP,
    )
    const id = `${idAt(NOW_MS - (n % 20) * DAY_MS - 1)}n0de01${String(n).padStart(5, '0')}`
    rows.push(usageRow(id, key, charge, { input: n, firstByteMs: n < 50 ? null : 40 }))
  }
  await store.books.settle(rows.map(row => settlement(row, 'h', 0)))
  const got = usageAnswer.parse(
    await new UsageSums(deps).own({ account, keyIds: null }, totalsQuery.parse({ stack: 'key', by: 'day' })),
  )
  const ranked = made.slice().sort((a, b) => b.charge - a.charge)
  t.strictSame(
    got.rows.map(row => row.name),
    ranked.slice(0, 100).map(({ n }) => `many ${n}`),
  )
  const left = ranked.slice(100)
  t.match(got.rest, {
    stacks: 3,
    requests: 3,
    input: left.reduce((sum, { n }) => sum + n, 0),
    charge: formatMicro(left.reduce((sum, { charge }) => sum + charge, 0) as Micro),
    first_byte_ms: left.some(({ n }) => n >= 50) ? 40 : null,
  })
  t.equal(got.totals.charge, chargeOf(rows))
})

t.test('what is no zone, no key of ours or too long is refused in both languages', async t => {
  const { deps, account, other } = await open(t, 10)
  const refused = async (sent: object, wanted: object) =>
    t.match(
      await refusalOf(new UsageSums(deps).own({ account, keyIds: null }, totalsQuery.parse(sent))),
      wanted,
      JSON.stringify(sent),
    )
  await refused({ zone: 'Nowhere' }, { fault: 'invalid', words: { zh: /时区/ } })
  await refused({ zone: 'Asia/Kolkata' }, { fault: 'invalid' })
  await refused({ key: other.publicId }, { fault: 'missing', words: { zh: '没有这个密钥' } })
  await refused({ by: 'hour', from: '2026-01-01T00:00:00Z' }, { fault: 'invalid', words: { zh: /时间范围/ } })
  for (const sent of [{ channel: 'one' }, { outcome: 'attempt' }, { by: 'week' }, { stack: 'channel' }, { key: "'" }])
    t.notOk(totalsQuery.safeParse(sent).success, JSON.stringify(sent))
})

t.test('the overview', async t => {
  const { deps, store, account, rows, held, keys } = await open(t)
  const ours = rows.filter(row => row.accountId === account.id)
  held.set(accountPurse(account.id), 5 as Micro)
  await store.accounts.setLowBalance(account.id, 2_000_000_000 as Micro, SETUP)
  const refusal = (n: number, accountId: number) => ({
    requestId: `zzzzzzzzzznode0000${n}`,
    atMs: NOW_MS,
    accountId,
    keyId: keys[0]!.id,
    model: 'm1',
    reason: 'quota',
    status: 403,
    address: '::1',
  })
  await store.refusals.record([refusal(100, account.id), refusal(101, account.id + 1)])
  const zone = 'Asia/Shanghai'
  const month = periodAt('month', NOW_MS, zone)
  const last = periodAt('month', month.beginMs - 1, zone)
  const between = (fromMs: number, toMs: number, some = ours) =>
    chargeOf(some.filter(row => timeOfId(row.requestId) >= fromMs && timeOfId(row.requestId) < toMs))
  const got = overviewAnswer.parse(await ownOverview(deps, { account, keyIds: null }, true))
  const spent = ours.reduce((sum, row) => sum + row.charge, 0)
  t.match(got, {
    balance: formatMicro((1e9 - spent) as Micro),
    held: '0.000005',
    available: formatMicro((1e9 - spent - 5) as Micro),
    is_low: true,
    spent: {
      today: between(periodAt('day', NOW_MS, zone).beginMs, NOW_MS),
      month: between(month.beginMs, NOW_MS),
      last_month_to_date: between(last.beginMs, last.beginMs + (NOW_MS - month.beginMs)),
      week: between(NOW_MS - 7 * DAY_MS, NOW_MS),
    },
    first_steps: { money: true, key: true, request: true },
  })
  const newest = ours
    .map(row => row.requestId)
    .sort()
    .reverse()
  t.strictSame(
    got.requests?.map(row => row.request_id),
    newest.slice(0, 5),
  )
  t.match(got.failures?.[0], { refusal: { request_id: 'zzzzzzzzzznode0000100', why: { zh: /余额/ } } })
  t.equal(got.failures?.length, 5)
  t.notMatch(
    JSON.stringify(got),
    /secret|"cost"|"margin"|zzzznode0000101/,
    'nothing of the upstream, nothing of others',
  )

  const own = overviewAnswer.parse(await ownOverview(deps, { account, keyIds: [keys[1]!.id] }, true))
  const ofKey = ours.filter(row => row.keyId === keys[1]!.id)
  t.equal(own.spent.month, between(month.beginMs, NOW_MS, ofKey), 'a member sees what own keys spend')
  t.strictSame(
    own.failures?.filter(({ refusal }) => refusal !== null),
    [],
    'and not what others are refused',
  )
  const money = overviewAnswer.parse(await ownOverview(deps, { account, keyIds: null }, false))
  t.match(money, { requests: null, failures: null })

  const fresh = await store.accounts.create({ name: 'fresh', groups: [] }, SETUP)
  t.match(overviewAnswer.parse(await ownOverview(deps, { account: fresh, keyIds: null }, true)), {
    balance: '0.000000',
    days_left: null,
    requests: [],
    first_steps: { money: false, key: false, request: false },
  })
})

t.test('how long the money lasts is told from days that exist, and not beyond a year', async t => {
  const { deps, store } = await open(t, 0)
  const HOURS = DAY_MS / 24
  for (const [name, hoursAgo, charge, left, days] of [
    ['used for an hour', 1, 1_000_000, null, null],
    ['used for two days', 48, 1_000_000, 2, 2],
    ['used for a month', 700, 1_000_000, null, null],
    ['used a little', 100, 1_000, null, null],
    ['used for a week', 150, 700_000, 12, 6],
  ] as const) {
    const account = await store.accounts.create({ name, groups: [] }, SETUP)
    const hash = name.replaceAll(/\W/g, '').padStart(64, 'c')
    const key = await store.keys.create(newKey(account.id, { name, hash }), SETUP)
    await store.entries.add(
      account.id,
      { kind: 'topup', amount: 2_000_000 as Micro, reference: name, note: '', actor: 'a test' },
      SETUP,
    )
    const id = `${idAt(NOW_MS - hoursAgo * HOURS)}n0de02${String(hoursAgo).padStart(5, '0')}`
    await store.books.settle([settlement(usageRow(id, key, charge, {}), 'h', 0)])
    const { days_left, rate_days } = await ownOverview(deps, { account, keyIds: null }, true)
    t.same([days_left, rate_days], [left, days], name)
  }
})

t.test('no median that nobody measured: the bound within which a share of the answers stayed', async t => {
  for (const [buckets, of, wanted] of [
    [[], 0.5, null],
    [[0, 0], 0.5, null],
    [[4], 0.5, 100],
    [[2, 2], 0.5, 100],
    [[0, 2, 2], 0.75, 400],
    [Array.from({ length: 12 }, (_, i) => (i === 11 ? 1 : 0)), 0.5, null],
  ] as [number[], number, number | null][])
    t.equal(boundOf(buckets, of), wanted, JSON.stringify(buckets))
})

t.test('the table as a file has every stack, and sums up to the same', async t => {
  const { deps, account, keys } = await open(t)
  const reader = { account, keyIds: null }
  for (const stack of ['model', 'key', 'group', 'protocol'] as const) {
    const sent = { stack, from: new Date(NOW_MS - 20 * DAY_MS).toISOString() }
    const { totals, rows } = await new UsageSums(deps).own(reader, totalsQuery.parse(sent))
    const file = await new UsageSums(deps).file(reader, totalsFileQuery.parse({ ...sent, heads: 'machine' }), 'en')
    let text = ''
    for await (const piece of file) text += piece
    const lines = text.slice(1).trim().split('\r\n')
    const heads = (lines[0] as string).split(',')
    const cells = lines.slice(1, -1).map(line => Object.fromEntries(line.split(',').map((cell, i) => [heads[i], cell])))
    t.equal(lines.at(-1), `# rows: ${rows.length}`, stack)
    t.equal(add(cells.map(({ charge }) => charge as string)), totals.charge, stack)
    t.same(
      cells.map(cell => [cell[stack]?.replace(/^'/, ''), Number(cell['requests'])]),
      rows.map(row => [row.name, row.requests]),
      stack,
    )
    if (stack === 'key') t.ok(keys.map(key => key.publicId).includes(cells[0]?.['key_id'] as string))
  }
})

t.test('what can be filtered by: what was used in the period, and no more than the reader may know', async t => {
  const { deps, store, account, keys, rows, clock } = await open(t)
  const user = { email: 'ada@example.org', name: 'Ada', password: null, operator: false, language: null }
  const person = await store.people.users.create({ ...user, atMs: clock.now() }, SETUP)
  await store.people.members.add({ userId: person.id, accountId: account.id, role: 'viewer' }, clock.now(), SETUP)
  const ofAccount = rows.filter(row => row.accountId === account.id)
  const all = choicesAnswer.parse(
    await new UsageSums(deps).choices(
      { account, keyIds: null },
      choicesQuery.parse({ from: '2026-01-01T00:00:00Z' }),
      true,
    ),
  )
  t.same(all.models.toSorted(), [...new Set(ofAccount.map(row => row.model))].toSorted())
  t.same(all.groups.toSorted(), [...new Set(ofAccount.map(row => row.group))].toSorted())
  t.same(all.protocols.toSorted(), [...new Set(ofAccount.map(row => row.protocol))].toSorted())
  t.same(all.keys.map(key => key.id).toSorted(), keys.map(key => key.publicId).toSorted())
  t.same(all.members, [{ id: person.publicId, name: 'Ada' }])
  const none = { from: new Date(NOW_MS + DAY_MS).toISOString() }
  const named = choicesQuery.parse({ ...none, key: keys[2]?.publicId })
  const later = await new UsageSums(deps).choices({ account, keyIds: null }, named, false)
  t.same([later.keys.map(key => key.id), later.models, later.members], [[keys[2]?.publicId], [], null])
  const own = { account, keyIds: [keys[1]!.id] }
  const mine = await new UsageSums(deps).choices(own, choicesQuery.parse({ from: '2026-01-01T00:00:00Z' }), false)
  t.same(
    mine.keys.map(key => key.id),
    [keys[1]?.publicId],
  )
  t.match(await refusalOf(new UsageSums(deps).choices(own, named, false)), { fault: 'missing' })
})
