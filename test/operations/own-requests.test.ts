/** Lists, receipts, refusals and exports of requests, as the people of an account get them. */
import t from 'tap'
import { idAt, timeOfId } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { csvCell } from '../../lib/operations/csv.ts'
import { REASONS } from '../../lib/operations/usage/words.ts'
import {
  exportQuery,
  Requests,
  receiptAnswer,
  refusalsAnswer,
  refusalsQuery,
  requestsAnswer,
  requestsQuery,
} from '../../lib/operations/usage/requests.ts'
import { ERRORS } from '../../lib/base/errors.ts'
import { outcomeOf } from '../../lib/terms/usage-row.ts'
import { chargeOfLines } from '../support/receipt.ts'
import { newKey, SETUP, settlement, usageRow } from '../support/store.ts'
import { DAY_MS, NOW_MS, open, refusalOf } from './own-support.ts'

const SECRETS = /secret|"(cost|margin|upstream_id|via|channel)"/

t.test('lists', async t => {
  const { deps, store, account, other, keys, rows } = await open(t)
  const reader = { account, keyIds: null }
  const list = async (sent: object, who: { account: typeof account; keyIds: number[] | null } = reader) =>
    requestsAnswer.parse(await new Requests(deps).list(who, requestsQuery.parse(sent)))
  const ours = rows.filter(row => row.accountId === account.id).sort((a, b) => (a.requestId < b.requestId ? 1 : -1))
  const first = await list({})
  t.equal(first.data.length, 50)
  t.notMatch(JSON.stringify(first), SECRETS)
  const second = await list({ after: first.next })
  t.strictSame(
    [...first.data, ...second.data].map(row => row.request_id),
    ours.slice(0, 100).map(row => row.requestId),
  )
  const fits = async (sent: object, fit: (row: (typeof ours)[number]) => boolean) =>
    t.strictSame(
      (await list({ limit: 200, ...sent })).data.map(row => row.request_id),
      ours
        .filter(fit)
        .slice(0, 200)
        .map(row => row.requestId),
      JSON.stringify(sent),
    )
  await fits({ status: '4xx' }, row => row.status === 404)
  await fits({ outcome: 'upstream' }, row => outcomeOf(row) === 'upstream')
  await fits({ end: 'client_gone', basis: 'none' }, row => row.end === 'client_gone' && row.basis === 'none')
  await fits({ charge_from: '0.0005' }, row => row.charge >= 500)
  await fits({ duration_from_ms: '1500' }, row => row.durationMs >= 1_500)
  await fits({ key: keys[2]!.publicId }, row => row.keyId === keys[2]!.id)
  const one = ours.find(row => row.clientRequestId?.startsWith('mine-')) as (typeof ours)[number]
  for (const id of [one.requestId, one.clientRequestId])
    t.strictSame(
      (await list({ id })).data.map(row => row.request_id),
      [one.requestId],
      `by ${id}`,
    )

  t.match(await refusalOf(list({ key: other.publicId })), { fault: 'missing' })
  const foreign = rows.find(row => row.accountId !== account.id)!
  t.match(await list({ id: foreign.requestId }), { data: [], empty: 'filter', refusal: null })
  t.match(await list({}, { account, keyIds: [keys[3]!.id] }), {
    data: ours.filter(row => row.keyId === keys[3]!.id).map(row => ({ request_id: row.requestId })),
  })
  t.strictSame((await list({}, { account, keyIds: [] })).data, [], 'a member without keys sees nothing')

  const act = SETUP
  const user = async (email: string) =>
    store.people.users.create({ email, name: '', password: null, operator: false, language: null, atMs: NOW_MS }, act)
  const [ann, bob] = [await user('ann@example.com'), await user('bob@example.com')]
  await store.people.members.add({ userId: ann.id, accountId: account.id, role: 'member' }, NOW_MS, act)
  t.match(await list({ member: ann.publicId }), { data: [], empty: 'filter' }, 'a member without keys')
  t.match(await refusalOf(list({ member: bob.publicId })), { fault: 'missing' }, 'who is no member is nobody')
  const made = { ...newKey(account.id, { name: 'made', hash: 'made'.padStart(64, '0') }), createdBy: ann.id }
  const key = await store.keys.create(made, act)
  const row = usageRow(`${idAt(NOW_MS - 1)}n0de0099999`, key, 1)
  await store.books.settle([settlement(row, 'h', 0)])
  t.match(await list({ member: ann.publicId }), { data: [{ request_id: row.requestId }] })
  t.match(await list({ member: ann.publicId, key: keys[0]!.publicId }), { data: [] })
  t.match(
    await list({ member: ann.publicId }, { account, keyIds: [keys[0]!.id] }),
    { data: [] },
    'not more than own keys',
  )

  t.match(await list({ model: 'unused' }), { data: [], empty: 'filter', pruned_before: null })
  const fresh = await store.accounts.create({ name: 'fresh', groups: [] }, SETUP)
  t.match(await list({}, { account: fresh, keyIds: null }), { data: [], empty: 'none_yet' })
  await store.usage.prune(NOW_MS, 10_000)
  t.match(await list({}), { data: [], empty: 'pruned', pruned_before: /^20/ })
  t.match(await list({ to: new Date(NOW_MS - DAY_MS).toISOString() }), { data: [], empty: 'pruned' })
  t.match(await list({}, { account: fresh, keyIds: null }), { data: [], empty: 'none_yet' })
  const receipt = new Requests(deps).receipt(reader, one.requestId, false)
  t.match(await refusalOf(receipt), { fault: 'gone', details: { requests: /^[1-9]/, charge: /^0\./ } })
})

t.test('a receipt adds up, and shows operators what it hides from others', async t => {
  const { deps, store, account, rows } = await open(t, 60)
  const reader = { account, keyIds: null }
  for (const row of rows.filter(row => row.accountId === account.id)) {
    const { request, refusal, internal } = receiptAnswer.parse(
      await new Requests(deps).receipt(reader, row.requestId, false),
    )
    t.strictSame([refusal, internal], [null, null])
    const scaled = (text: string) => {
      const [whole, places = ''] = text.split('.') as [string, string?]
      return BigInt(whole + places.padEnd(18, '0'))
    }
    const sum = request!.lines.reduce((total, line) => total + scaled(line.amount), 0n)
    t.equal(scaled(request!.sum), sum)
    // the sum × the multiplier, in micro-CNY, rounded up once
    const charge = (sum * BigInt(row.multiplier!) + 10n ** 18n - 1n) / 10n ** 18n
    t.equal(charge, chargeOfLines(row))
    t.notMatch(JSON.stringify(request), SECRETS)
    t.match(request, { attempts: 1, held: '0.001000', ended: { zh: /。$/, en: /\.$/ }, rests_on: { zh: /。$/ } })
  }
  const own = rows.find(row => row.accountId === account.id && rows.indexOf(row) < 20)!
  const disputed = { ...own, requestId: idAt(NOW_MS) + 'd'.repeat(11), answerId: null, disputed: micro(7_000_000) }
  await store.books.settle([settlement(disputed, 'h', 0)])
  const bounded = receiptAnswer.parse(await new Requests(deps).receipt(reader, disputed.requestId, false))
  t.match(bounded.request, {
    disputed: '7.000000',
    rests_on: { zh: /按本请求可能产生的上限收费/, en: /reported more; charged to the bound/ },
  })
  const seen = receiptAnswer.parse(await new Requests(deps).receipt(reader, own.requestId, true))
  t.match(seen.internal, {
    channel: 'secret-channel',
    upstream_id: 'secret-upstream',
    cost: '0.000003',
    uncharged: [{ cost: '0.000077' }],
  })
  const foreign = rows.find(row => row.accountId !== account.id)!.requestId
  const unknown = ['x', `${idAt(NOW_MS)}node0000000`, '../..', "' OR 1=1", foreign, `${own.requestId}.1`]
  for (const id of unknown)
    t.match(
      await refusalOf(new Requests(deps).receipt(reader, id, true)),
      { fault: 'missing', message: 'there is no such request' },
      id,
    )
  const keyIds = [own.keyId + 1_000]
  t.match(await refusalOf(new Requests(deps).receipt({ account, keyIds }, own.requestId, false)), { fault: 'missing' })
})

t.test('refusals say why, and what to do', async t => {
  const { deps, store, account, keys, other } = await open(t, 5)
  const made = (n: number, accountId: number, keyId: number, reason: string) => ({
    requestId: `${idAt(NOW_MS - n)}node0000000`,
    atMs: NOW_MS - n,
    accountId,
    keyId,
    model: n === 0 ? '' : 'm',
    reason,
    status: 403,
    address: '10.0.0.1',
  })
  const all = [
    made(0, account.id, keys[0]!.id, 'quota'),
    made(1, account.id, keys[1]!.id, 'a reason of old'),
    made(2, other.accountId, other.id, 'quota'),
  ]
  await store.refusals.record(all)
  const reader = { account, keyIds: null }
  const list = async (sent: object, keyIds: number[] | null = null) =>
    refusalsAnswer.parse(await new Requests(deps).refusals({ account, keyIds }, refusalsQuery.parse(sent))).data
  t.match(await list({}), [
    { request_id: all[0]!.requestId, model: null, reason: 'quota', why: { en: /used up/ }, todo: { en: /Top up/ } },
    { request_id: all[1]!.requestId, model: 'm', why: { en: 'The request was refused.' } },
  ])
  t.equal((await list({})).length, 2)
  t.equal((await list({ reason: 'quota' })).length, 1)
  t.equal((await list({}, [keys[1]!.id])).length, 1)
  const found = requestsAnswer.parse(
    await new Requests(deps).list(reader, requestsQuery.parse({ id: all[0]!.requestId })),
  )
  t.match(found, { data: [], refusal: { reason: 'quota' } }, 'an id is looked up among refusals too')
  t.match(await new Requests(deps).receipt(reader, all[0]!.requestId, false), {
    request: null,
    refusal: { reason: 'quota' },
  })
  t.match(await refusalOf(new Requests(deps).receipt(reader, all[2]!.requestId, false)), { fault: 'missing' })
  t.match(await refusalOf(new Requests(deps).receipt({ account, keyIds: [keys[1]!.id] }, all[0]!.requestId, false)), {
    fault: 'missing',
  })
  t.strictSame(Object.keys(REASONS).sort(), Object.keys(ERRORS).sort())
})

t.test('exports have every row of the filter, in the reader’s language or for programs', async t => {
  const { deps, account, rows, keys } = await open(t, 2_500)
  const reader = { account, keyIds: null }
  const text = async (format: 'csv' | 'jsonl', sent: object, language: 'zh' | 'en' = 'zh') =>
    Buffer.concat(
      await Array.fromAsync(await new Requests(deps).export(reader, format, exportQuery.parse(sent), language)),
    ).toString()
  const ours = rows.filter(row => row.accountId === account.id).sort((a, b) => (a.requestId < b.requestId ? 1 : -1))
  const csv = await text('csv', {})
  t.ok(csv.startsWith('\uFEFF请求编号,时间（UTC）'), 'a byte order mark, and heads in Chinese')
  const lines = csv.split('\r\n')
  t.notOk(/[\r\n]/.test(csv.replaceAll('\r\n', '')))
  t.equal(lines.at(-2), `# rows: ${ours.length}`)
  t.strictSame(
    lines.slice(1, -2).map(line => line.split(',')[0]),
    ours.map(row => row.requestId),
  )
  t.equal(lines[1]?.split(',')[1], new Date(timeOfId(ours[0]!.requestId)).toISOString())
  t.ok(csv.includes(",'=m3,"), 'a formula is a text')
  t.ok(csv.includes(",'＝mine\r"))
  t.notOk(csv.includes('secret'))
  t.match(await text('csv', { heads: 'machine', model: 'unused' }, 'en'), /^\uFEFFrequest_id,at,.*\r\n# rows: 0\r\n$/)
  t.match(await text('csv', { model: 'unused' }, 'en'), /^\uFEFFRequest id,Time \(UTC\),/)
  const some = await text('csv', { outcome: 'ok', key: keys[0]!.publicId, charge_from: '0.0002' })
  const wanted = ours.filter(row => outcomeOf(row) === 'ok' && row.keyId === keys[0]!.id && row.charge >= 200)
  t.equal(some.split('\r\n').length - 3, wanted.length)

  const json = (await text('jsonl', {}))
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as Record<string, unknown>)
  t.strictSame(json.at(-1), { count: ours.length })
  t.strictSame(
    json.slice(0, -1).map(row => row['request_id']),
    ours.map(row => row.requestId),
  )
  for (const [format, ids] of [
    ['csv', (await text('csv', { sort: 'time' })).split('\r\n').map(line => line.split(',')[0])],
    ['jsonl', (await text('jsonl', { sort: 'time' })).match(/(?<=^\{"request_id":")\w+/gm)],
  ] as const)
    t.strictSame(
      ids?.filter(id => /^\w{21}$/.test(String(id))),
      ours.map(row => row.requestId).reverse(),
      `${format}, oldest first`,
    )
  t.notMatch(JSON.stringify(json), SECRETS)
  t.match(await refusalOf(text('csv', { key: 'a'.repeat(20) })), { fault: 'missing' })
})

t.test('cells that a spreadsheet would run are texts', async t => {
  for (const text of [
    '=1',
    '+1',
    '-1',
    '@a',
    '\t=1',
    '\r=1',
    '\n=1',
    '＝1',
    '＋1',
    '－1',
    '＠a',
    ' =1',
    '\u3000=1',
    '\uFEFF@a',
  ])
    t.match(csvCell(text, true), /^"?'/, JSON.stringify(text))
  for (const [value, cell] of [
    ['a=1', 'a=1'],
    ['a,b', '"a,b"'],
    ['"', '""""'],
    [null, ''],
  ] as const)
    t.equal(csvCell(value, true), cell)
  t.equal(csvCell('-1.000000', false), '-1.000000', 'a number stays one')
})
