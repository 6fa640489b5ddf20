/** The ledger, the months and the statements of an account, as its people get them. */
import t from 'tap'
import { formatMicro, type Micro, parseMicro } from '../../lib/base/money.ts'
import { Accounts, balanceAnswer, lowBalanceForm } from '../../lib/operations/accounts/accounts.ts'
import { Entries, entriesAnswer, entriesQuery } from '../../lib/operations/billing/entries.ts'
import { monthsAnswer, Statements, statementAnswer } from '../../lib/operations/billing/statement.ts'
import { changed, openDriver, SETUP } from '../support/store.ts'
import { NOW_MS, open } from './own-support.ts'

const ZONE_MS = 8 * 3_600_000
const amount = (text: string) => parseMicro(text) as number

t.test('entries and statements', async t => {
  const { deps, store, account, url, rows } = await open(t, 80)
  const entry = {
    kind: 'topup',
    amount: 7e6 as Micro,
    reference: '=a',
    actor: 'ops@example.com',
    note: '+note',
  } as const
  await store.entries.add(account.id, entry, SETUP)
  // everything is booked at the same moment: the charges are spread over two months of another year
  const driver = openDriver(url)
  const at = (month: number, day: number) => Date.UTC(2025, month - 1, day) - ZONE_MS
  const move = (sql: string, params: (string | number)[]) => driver.run('test', sql, params)
  await move('UPDATE entries SET booked_at_ms = ? WHERE reference = ?', [at(11, 3), 'opening'])
  await move('UPDATE entries SET booked_at_ms = ? WHERE reference = ?', [at(12, 5), '=a'])
  await move('UPDATE charged_hours SET hour_no = ? WHERE account_id = ?', [at(12, 7) / 3_600_000, account.id])
  await driver.close()
  const charged = rows.filter(row => row.accountId === account.id).reduce((sum, row) => sum + row.charge, 0)

  const list = async (sent: object) =>
    entriesAnswer.parse(await new Entries(deps).own(account, entriesQuery.parse(sent)))
  const all = await list({})
  t.match(all.data, [
    { kind: 'charges', amount: formatMicro(-charged as Micro), balance: formatMicro((1e9 + 7e6 - charged) as Micro) },
    { kind: 'topup', reference: '=a', amount: '7.000000', note: '+note' },
    { kind: 'topup', reference: 'opening', balance: '1000.000000' },
  ])
  t.notMatch(JSON.stringify(all), /ops@example|"seq"|"actor"/, 'who of the operators booked it is not told')
  const one = await list({ limit: 1 })
  t.strictSame([...one.data, ...(await list({ after: one.next })).data], all.data)
  t.strictSame((await list({ from: '2025-12-01', to: '2025-12-06' })).data, [all.data[1]])

  deps.clock.now = () => at(12, 20)
  const store2025 = changed(store, { now: async () => at(12, 20) })
  const then = { ...deps, store: store2025 }
  const months = monthsAnswer.parse(await new Statements(then).months(account, undefined))
  t.match(months.data, [
    { month: '2025-12', closed: false, opening: '1000.000000', closing: formatMicro((1e9 + 7e6 - charged) as Micro) },
    { month: '2025-11', closed: true, opening: '0.000000', closing: '1000.000000' },
  ])
  t.equal(months.next, null)
  t.match(monthsAnswer.parse(await new Statements(then).months(account, '2025-12')).data, [{ month: '2025-11' }])
  const long = {
    ...deps,
    store: changed(store, { now: async () => NOW_MS + 4e10 }),
  }
  const first = monthsAnswer.parse(await new Statements(long).months(account, undefined))
  const second = monthsAnswer.parse(await new Statements(long).months(account, first.next ?? ''))
  t.equal(first.data.length, 12)
  const names = [...first.data, ...second.data].map(({ month }) => month)
  t.strictSame(names, [...names].sort().reverse())
  t.equal(names.at(-1), '2025-11')

  const statement = statementAnswer.parse(await new Statements(then).own(account, '2025-12'))
  t.match(statement, {
    account: 'acme',
    opening: '1000.000000',
    credits: '7.000000',
    charges: formatMicro(charged as Micro),
    lines: [{ kind: 'topup' }, { kind: 'charges' }],
  })
  t.equal(amount(statement.opening) + amount(statement.credits) - amount(statement.charges), amount(statement.closing))
  const byModel = statement.models.reduce((sum, { charge }) => sum + amount(charge), 0)
  t.equal(byModel + amount(statement.shifted), charged, 'what arrived in another month is named')
  t.notMatch(JSON.stringify(statement), /ops@example/)

  const file = async (heads: 'words' | 'machine') =>
    (await Array.fromAsync(await new Statements(then).file(account, '2025-12', heads, 'zh'))).join('')
  const csv = await file('words')
  t.ok(csv.startsWith('\uFEFF时间（UTC）,类型,参考号,'))
  t.ok(csv.includes(",'=a,7.000000,") && csv.includes(",'+note\r\n"), csv)
  t.ok(csv.includes(`,charges,,${formatMicro(-charged as Micro)},`), 'an amount stays a number')
  t.ok(csv.endsWith('\r\n# rows: 2\r\n'))
  t.match(await file('machine'), /^\uFEFFbooked_at,kind,reference,/)
})

t.test('the balance of which people want to be warned', async t => {
  const { deps, account } = await open(t, 1)
  const set = async (sent: object) =>
    new Accounts(deps).setLowBalance(account, lowBalanceForm.parse(sent).amount, SETUP.actor)
  t.strictSame(await set({ amount: '12.5' }), { low_balance: '12.500000' })
  t.match(balanceAnswer.parse(await new Accounts(deps).balance(account)), {
    low_balance: '12.500000',
    held: '0.000000',
  })
  await set({ amount: null })
  t.match(await new Accounts(deps).balance(account), { low_balance: null })
  for (const sent of [{}, { amount: '-1' }, { amount: 5 }, { amount: '1e3' }, { amount: '1', to: 'x' }])
    t.notOk(lowBalanceForm.safeParse(sent).success, JSON.stringify(sent))
})
