/** The whole ledger of an account as a CSV file. */
import t from 'tap'
import { micro } from '../../../lib/base/money.ts'
import { openConsole } from '../support/console.ts'
import { SETUP, settlement, usageRow } from '../../support/store.ts'

t.test('the ledger as a file has every line, oldest first, and nothing of other accounts', async t => {
  const house = await openConsole(t)
  const { store } = house
  const [account, other] = [await house.account('acme', micro(9_000_000)), await house.account('other', micro(1))]
  const ann = await house.person('ann@example.com', { in: { account, role: 'billing' } })
  const eve = await house.person('eve@example.com', { in: { account: other, role: 'owner' } })
  const topUp = {
    kind: 'topup',
    amount: micro(2_500_000),
    reference: '=1+1',
    actor: 'somebody',
    note: 'paid, twice',
  } as const
  await store.entries.add(account.id, topUp, SETUP)
  const owner = await house.person('olga@example.com', { in: { account, role: 'owner' } })
  await owner.call('keys.create', { account, body: { name: 'k', group: 'default' } })
  const key = (await store.keys.byName(account.id, 'k'))!
  await store.holders.register({ id: 'h', host: 'here', beat: 0 })
  await store.books.settle([settlement(usageRow('0'.repeat(21), key, 400), 'h', 0)])
  const file = async (query: Record<string, string>) =>
    (await ann.call('entries.csv', { account, query })).text.replace('\uFEFF', '').trim().split('\r\n')
  const [head, ...lines] = await file({ heads: 'machine' })
  t.equal(head, 'booked_at,kind,reference,amount,balance,note')
  t.same(
    lines.map(line => line.replace(/^[\dT:.-]+Z,/, '')),
    [
      'opening,opening,9.000000,9.000000,',
      `topup,'=1+1,2.500000,11.500000,"paid, twice"`,
      'charges,,-0.000400,11.499600,',
      '# rows: 3',
    ],
  )
  t.notMatch(lines.join(), /somebody/, 'who of the operators booked it is not told')
  t.not((await file({}))[0], head, 'by default the heads are for people')
  t.match(await eve.call('entries.csv', { account }), { status: 404 })
})
