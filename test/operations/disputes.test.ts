/** What an operator may decide of a dispute, and what the receipts say of it. */
import t from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { fund, settlement, usageRow } from '../support/store.ts'
import { openOps } from '../admin/support.ts'
import { lastingDay } from '../support/wait.ts'

// the charges of a day stand behind its other entries
await lastingDay()
const ID = `${idAt(Date.now())}n0de0000001`
const PLAIN = `${idAt(Date.now())}n0de0000002`

t.test('over the admin API', async t => {
  const ops = await openOps(t)
  const { store, admin } = ops
  const { key } = await fund(store, 'acme', 2_000_000)
  await store.holders.register({ id: 'here', host: 'h', beat: 0 })
  const rows = [usageRow(ID, key, 100, { disputed: micro(900_000) }), usageRow(PLAIN, key, 100)]
  await store.books.settle(rows.map(row => settlement(row, 'here', 0)))
  const decide = async (id: string, body: object) => {
    const { status, json } = await admin('POST', `/admin/requests/${id}/dispute`, body)
    return { status, json }
  }
  const open = async () => (await admin('GET', '/admin/usage?disputed=open')).data.map(row => row['request_id'])
  t.same(await open(), [ID])
  t.match((await admin('GET', `/admin/requests/${ID}`)).json, {
    disputed: '0.900000',
    dispute: { disputed: '0.900000', state: 'open', charged: '0.000000' },
  })
  t.match((await admin('GET', `/admin/requests/${PLAIN}`)).json, { disputed: '0.000000', dispute: null })

  const refused: [id: string, body: object, status: number, message: RegExp][] = [
    [ID, { settle: 'charge' }, 400, /reason/],
    [ID, { settle: 'charge', reason: ' ' }, 400, /reason/],
    [ID, { settle: 'maybe', reason: 'x' }, 400, /settle/],
    [ID, { settle: 'waive', amount: '0.1', reason: 'x' }, 400, /amount/],
    [ID, { settle: 'charge', amount: '0', reason: 'x' }, 400, /amount/],
    [ID, { settle: 'charge', amount: '-1', reason: 'x' }, 400, /amount/],
    [ID, { settle: 'charge', amount: '0.900001', reason: 'x' }, 400, /at most the 0\.900000 CNY/],
    [PLAIN, { settle: 'waive', reason: 'x' }, 404, /nothing of a request/],
    ['unknown', { settle: 'waive', reason: 'x' }, 404, /nothing of a request/],
  ]
  for (const [id, body, status, message] of refused) {
    const got = await decide(id, body)
    t.equal(got.status, status, JSON.stringify(body))
    t.match(JSON.stringify(got.json), message)
  }
  t.same(await open(), [ID], 'nothing was decided')

  const body = { settle: 'charge', amount: '0.3', reason: 'the document had 4,000 pages' }
  const decided = { request_id: ID, disputed: '0.900000', state: 'charged', charged: '0.300000' }
  t.match(await decide(ID, body), { status: 201, json: decided })
  t.match(await decide(ID, body), { status: 200, json: decided })
  t.match(await decide(ID, { ...body, amount: '0.4' }), { status: 409 })
  t.match(await decide(ID, { settle: 'waive', reason: 'x' }), { status: 409 })
  t.same(await open(), [])
  const entries = await admin('GET', '/admin/accounts/acme/entries?limit=2')
  t.match(entries.data, [
    { kind: 'charges' },
    { kind: 'settlement', amount: '-0.300000', reference: `row:${ID}`, note: 'the document had 4,000 pages' },
  ])
  t.match((await admin('GET', '/admin/accounts/acme')).json, { balance: '1.699800' })
  t.match((await admin('GET', '/admin/audit')).json, { ok: true })
})
