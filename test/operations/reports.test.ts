/** Reports that another thread makes: the answers and refusals of the operations themselves, on either engine. */
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { Statements } from '../../lib/operations/billing/statement.ts'
import type { FileName, ReportArguments, ReportName } from '../../lib/operations/usage/report-work.ts'
import { ReadyJson, reportFile, reportJson } from '../../lib/operations/usage/reports.ts'
import { Requests, refusalsQuery, requestsQuery } from '../../lib/operations/usage/requests.ts'
import { ownOverview, choicesQuery, totalsFileQuery, totalsQuery, UsageSums } from '../../lib/operations/usage/usage.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { startMariadb } from '../support/mariadb.ts'
import { SETUP } from '../support/store.ts'
import { DAY_MS, NOW_MS, open, refusalOf } from './own-support.ts'

async function check(t: Test, url?: string): Promise<void> {
  const { deps, store, account, keys, other, held } = await open(t, 400, url)
  const user = { email: 'ann@example.com', name: '', password: null, operator: false, language: null, atMs: NOW_MS }
  const person = await store.people.users.create(user, SETUP)
  await store.people.members.add({ userId: person.id, accountId: account.id, role: 'member' }, NOW_MS, SETUP)
  held.set(accountPurse(account.id), micro(77))
  held.set(accountPurse(other.accountId), micro(5))
  const [all, some] = [
    { account, keyIds: null },
    { account, keyIds: [keys[1]!.id, keys[2]!.id] },
  ]
  const made = async <N extends ReportName>(name: N, ...args: ReportArguments<N>) => {
    const ready = await reportJson(deps, name, ...args)
    t.ok(ready instanceof ReadyJson)
    return Buffer.from(ready.bytes).toString()
  }
  const usage = (sent: object) => totalsQuery.parse({ from: String(NOW_MS - 40 * DAY_MS), to: String(NOW_MS), ...sent })
  for (const reader of [all, some]) {
    for (const sent of [
      {},
      { stack: 'key', by: 'day' },
      { by: 'hour', from: String(NOW_MS - DAY_MS) },
      { model: '=m3' },
    ])
      t.equal(
        await made('usage', reader, usage(sent)),
        JSON.stringify(await new UsageSums(deps).own(reader, usage(sent))),
      )
    for (const single of [true, false])
      t.equal(await made('overview', reader, single), JSON.stringify(await ownOverview(deps, reader, single)))
    for (const sent of [{}, { status: '5xx', limit: 7 }, { member: person.publicId }]) {
      const query = requestsQuery.parse(sent)
      t.equal(await made('requests', reader, query), JSON.stringify(await new Requests(deps).list(reader, query)))
    }
  }
  const refusals = refusalsQuery.parse({})
  t.equal(await made('refusals', all, refusals), JSON.stringify(await new Requests(deps).refusals(all, refusals)))
  t.equal(
    await made('statement', account, '2026-02'),
    JSON.stringify(await new Statements(deps).own(account, '2026-02')),
  )
  for (const sent of [{}, { account: 'acme', limit: '3' }, { account: 'nobody' }])
    t.equal(await made('log', sent), JSON.stringify(await new Requests(deps).page(sent)))
  for (const sent of [{}, { by: 'day,model', account: 'acme' }, { by: 'account,channel', zone: 'UTC' }])
    t.equal(await made('totals', sent), JSON.stringify(await new UsageSums(deps).summary(sent)))
  const choices = choicesQuery.parse({ key: keys[1]!.publicId })
  t.equal(
    await made('choices', some, choices, true),
    JSON.stringify(await new UsageSums(deps).choices(some, choices, true)),
  )
  const file = async <N extends FileName>(name: N, ...args: ReportArguments<N>) =>
    Buffer.concat(await Array.fromAsync(await reportFile(deps, name, ...args))).toString()
  const text = async (pieces: Promise<AsyncIterable<string>>) => (await Array.fromAsync(await pieces)).join('')
  const table = totalsFileQuery.parse({ from: String(NOW_MS - 40 * DAY_MS), stack: 'key' })
  t.equal(await file('usageFile', all, table, 'zh'), await text(new UsageSums(deps).file(all, table, 'zh')))
  const month = [account, '2026-02', 'words', 'en'] as const
  t.equal(await file('statementFile', ...month), await text(new Statements(deps).file(...month)))
  t.match(await refusalOf(reportFile(deps, 'usageFile', all, { ...table, key: 'a'.repeat(20) }, 'zh')), {
    fault: 'missing',
    message: 'there is no such key',
  })
  t.match(JSON.parse(await made('overview', all, true)), { held: '0.000077' }, 'what the processes hold is in it')

  for (const sent of [
    { zone: 'Asia/Kolkata' },
    { key: 'a'.repeat(20) },
    { member: other.publicId },
    { key: other.publicId },
  ]) {
    const [here, there] = [
      await refusalOf(new UsageSums(deps).own(all, usage(sent))),
      await refusalOf(reportJson(deps, 'usage', all, usage(sent))),
    ]
    t.equal(there.message, here.message)
    t.ok(there.words !== null)
    for (const name of ['name', 'fault', 'details', 'fields', 'words'] as const) t.strictSame(there[name], here[name])
  }
  await store.close()
  await t.rejects(reportJson(deps, 'usage', all, usage({})), { name: 'StoreUnavailable' })
}

t.test('on SQLite', async t => check(t))

t.test('on MariaDB', async t => {
  const server = await startMariadb()
  t.teardown(() => server.stop())
  await check(t, await server.database('reports'))
})

t.test('the thread does not write', async t => {
  const { store } = await open(t, 1)
  const pieces = store.export(new URL('../support/writing-work.ts', import.meta.url), {})
  await t.rejects(pieces.next(), { message: 'the thread of exports does not write' })
})
