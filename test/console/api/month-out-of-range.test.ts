/** The month 0000-01 and its like, which no calendar of a time zone has, made reads of statements fail. */
// The bug behind these rows: a month before all time.
import t from 'tap'
import { openConsole } from '../support/console.ts'

t.test('months are those of money: from 1970 to 2999', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  const { call } = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  for (const [month, isOne] of [
    ['0000-01', false],
    ['0099-12', false],
    ['1969-12', false],
    ['1970-01', true],
    ['2026-13', false],
    ['2999-12', true],
    ['3000-01', false],
  ] as const) {
    t.equal((await call('statements.list', { account, query: { after: month } })).status, isOne ? 200 : 400, month)
    t.equal((await call('statements.read', { account, path: { month } })).status, isOne ? 200 : 404, month)
    t.equal((await call('statements.csv', { account, path: { month } })).status, isOne ? 200 : 404, month)
  }
})
