/** All orders of an account as a CSV file. */
import t from 'tap'
import { AlipayDouble } from '../../pay/doubles/alipay.ts'
import { ordersFile } from '../../../lib/pay/own.ts'
import { SETUP } from '../../support/store.ts'
import { openConsole } from '../support/console.ts'

t.test('the orders as a file are all of the account, newest first, and none of others', async t => {
  const alipay = await AlipayDouble.open(t)
  const house = await openConsole(t, JSON.stringify({ pay: { alipay: alipay.section } }))
  house.clock.step(Date.now() - house.clock.now())
  alipay.ledger.now = () => house.clock.now()
  const open = async (name: string) => {
    const account = await house.store.accounts.create({ name, groups: ['default'], sandbox: true }, SETUP)
    return { account, owner: await house.person(`${name}@example.com`, { in: { account, role: 'owner' } }) }
  }
  const [one, two] = [await open('one'), await open('two')]
  const made: string[] = []
  for (const amount of ['5', '6.5', '7']) {
    // the second and the third have the same time: a page that ends between them loses neither
    if (amount !== '7') house.clock.advance(1_000)
    const { json } = await one.owner.call('orders.create', {
      account: one.account,
      body: { method: 'alipay', amount },
    })
    made.push(String(json['id']))
  }
  const linesOf = (text: string) => text.replace('\uFEFF', '').trim().split('\r\n')
  const file = async ({ owner, account }: typeof one, query: Record<string, string>) =>
    linesOf((await owner.call('orders.csv', { account, query })).text)
  const [head, ...lines] = await file(one, { heads: 'machine' })
  t.equal(head, 'id,created_at,method,state,amount,asked,currency,credited,credited_at,refunded,reversed,transaction')
  t.equal(lines.at(-1), '# rows: 3')
  const listed = (await one.owner.call('orders.list', { account: one.account })).json['data'] as { id: string }[]
  const ids = lines.slice(0, -1).map(line => line.split(',')[0])
  t.same(
    ids,
    listed.map(({ id }) => id),
    'in the order of the list',
  )
  t.same([...ids].sort(), [...made].sort())
  t.match(
    lines.find(line => line.startsWith(made[1] as string)),
    /,alipay,pending,6\.500000,6\.50,CNY,0\.000000,,0\.000000,0\.000000,$/,
  )
  t.same(
    (await file(one, { heads: 'machine', sort: 'created' })).slice(1, -1),
    lines.slice(0, -1).toReversed(),
    'in the other order',
  )
  t.not((await file(one, {}))[0], head, 'by default the heads are for people')
  t.same((await file(two, { heads: 'machine' })).slice(1), ['# rows: 0'])
  t.match(await two.owner.call('orders.csv', { account: one.account }), { status: 404 })
  for (const limit of [1, 2, 3, 4]) {
    for (const sort of ['-created', 'created'] as const) {
      const sent = { heads: 'machine', sort } as const
      const [first, ...rest] = linesOf(
        (await Array.fromAsync(ordersFile(house.store, one.account, sent, 'en', limit))).join(''),
      )
      const rows = lines.slice(0, -1)
      t.same(first, head)
      t.same(rest, [...(sort === 'created' ? rows.reverse() : rows), '# rows: 3'], `${sort} in pages of ${limit}`)
    }
  }
})
