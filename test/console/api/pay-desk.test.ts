/** What operators do with payments in the console: they look, send money back and resolve exceptions; each is logged. */
import type { Test } from 'tap'
import t from 'tap'
import { micro } from '../../../lib/base/money.ts'
import type { Order } from '../../../lib/terms/pay.ts'
import { AlipayDouble } from '../../pay/doubles/alipay.ts'
import { StripeDouble } from '../../pay/doubles/stripe.ts'
import { SETUP } from '../../support/store.ts'
import { until } from '../../support/wait.ts'
import { type Json, openConsole } from '../support/console.ts'

/** A console that takes Alipay, an operator, and an owner of an account with an order. */
async function open(t: Test, certificates = false) {
  const alipay = await AlipayDouble.open(t, certificates)
  const house = await openConsole(t, JSON.stringify({ pay: { alipay: alipay.section } }))
  house.clock.step(Date.now() - house.clock.now())
  alipay.ledger.now = () => house.clock.now()
  const account = await house.store.accounts.create({ name: 'acme', groups: ['default'], sandbox: true }, SETUP)
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const op = await house.person('op@example.com', { operator: true, factor: true })
  const desk = await house.deps.pay()
  const begin = async (amount = '100') =>
    String((await ann.call('orders.create', { account, body: { method: 'alipay', amount } })).json['id'])
  const order = async (id: string) => (await house.store.pay.order(id)) as Order
  /** The payer pays, and the provider is asked. `change`: what the provider says otherwise. */
  const pay = async (id: string, change: object = {}) => {
    alipay.ledger.scan(id)
    alipay.ledger.pay(id)
    const method = (await desk.methods()).get('alipay')!
    const said = await method.query(await order(id))
    return desk.notices.take('alipay', { ...said, ...change } as never, 'query')
  }
  return { ...house, alipay, account, ann, op, desk, begin, order, pay }
}

const data = (json: Json) => json['data'] as Json[]

t.test('orders by state, method, account and age, page by page', async t => {
  const { op, begin, pay, account, clock } = await open(t)
  const ids = [await begin('10'), await begin('20'), await begin('30')] as [string, string, string]
  await pay(ids[1])
  const listed = async (query: Record<string, string>) =>
    data((await op.call('payments.orders', { query })).json).map(row => row['id'])
  t.same((await listed({})).sort(), [...ids].sort())
  t.same(await listed({ state: 'credited' }), [ids[1]])
  t.same((await listed({ state: 'pending' })).sort(), [ids[0], ids[2]].sort())
  t.same(await listed({ method: 'card' }), [])
  t.equal((await listed({ account: account.publicId })).length, 3)
  t.same(await listed({ older: '1h' }), [], 'nothing is that old')
  const first = await op.call('payments.orders', { query: { limit: '2' } })
  t.equal(data(first.json).length, 2)
  const rest = await op.call('payments.orders', { query: { limit: '2', after: String(first.json['next']) } })
  t.same(
    [...data(first.json), ...data(rest.json)].map(row => row['id']),
    await listed({}),
  )
  const oldestFirst = (await listed({})).reverse()
  t.same(await listed({ sort: 'created' }), oldestFirst)
  t.same(await listed({ sort: '-created' }), oldestFirst.toReversed())
  const [one] = data((await op.call('payments.orders', { query: { sort: 'created', limit: '1' } })).json)
  const after = `${Date.parse(String(one!['created_at']))}.${one!['id']}`
  t.same(await listed({ sort: 'created', after }), oldestFirst.slice(1))
  t.same(await listed({ sort: 'created', older: '1h', after }), [], 'behind a place, and not that old')
  clock.step(2 * 3_600_000)
  t.same(await listed({ sort: 'created', older: '1h' }), oldestFirst)
  t.same(await listed({ sort: 'created', older: '1h', after }), oldestFirst.slice(1))
  t.same(await listed({ sort: '-created', older: '1h', after }), [], 'newest first, behind the oldest')
  for (const [query, status] of [
    [{ sort: 'amount' }, 400],
    [{ state: 'gone' }, 400],
    [{ after: 'x' }, 400],
    [{ older: 'long' }, 400],
    [{ limit: '1001' }, 400],
    [{ account: 'x'.repeat(20) }, 404],
  ] as const)
    t.equal((await op.call('payments.orders', { query })).status, status, JSON.stringify(query))
})

t.test('one order with all that belongs to it, and no word of what pays it or of keys', async t => {
  const { op, begin, pay, alipay } = await open(t)
  const id = await begin()
  t.match((await op.call('payments.order', { path: { id } })).json, {
    state: 'pending',
    account: { name: 'acme' },
    user: { name: 'ann@example.com' },
    proofs: [],
    refundable: '0.000000',
  })
  await pay(id)
  const { json, text } = await op.call('payments.order', { path: { id } })
  t.match(json, {
    state: 'credited',
    credited: '100.000000',
    refundable: '100.000000',
    proofs: [{ amount: '100.00', currency: 'CNY', source: 'query', digest: /^[0-9a-f]{64}$/ }],
  })
  t.notMatch(text, /gateway\.do|PRIVATE KEY/)
  const section = alipay.section as Record<string, unknown>
  const health = (await op.call('payments.read')).text
  for (const secret of [section['private_key'], section['alipay_public_key']])
    for (const shown of [text, health]) t.notOk(shown.includes(String(secret).slice(60, 100)))
  for (const order of ['x', `T${'0'.repeat(26)}`])
    t.equal((await op.call('payments.order', { path: { id: order } })).status, 404, order)
})

t.test('a refund: frozen, sent and done, once for each reference, and logged', async t => {
  const { op, begin, pay, store, account, ann } = await open(t)
  const id = await begin()
  await pay(id)
  const refund = (body: object) => op.call('payments.refund', { path: { id }, body })
  const form = { amount: '40', reference: 'ticket 7', reason: 'asked for 要求退款' }
  t.match(await refund(form), { status: 201, json: { state: 'done', amount: '40.000000', by: 'op@example.com' } })
  t.match(await refund(form), { status: 200, json: { state: 'done' } }, 'the same again')
  t.match(await refund({ ...form, amount: '41' }), { status: 409 }, 'another amount under this reference')
  t.equal((await store.pay.refunds(id)).length, 1)
  t.equal((await ann.call('balance.read', { account })).json['balance'], '60.000000')
  const [line] = await store.actions.page({ operation: 'payments.refund', limit: 9 })
  t.match(line, {
    actor: { kind: 'user', userId: op.person.id },
    accountId: account.id,
    after: { amount: '-40.000000' },
  })
  for (const [change, status, field] of [
    [{ amount: '60.01' }, 409, undefined],
    [{ amount: '0' }, 400, 'amount'],
    [{ amount: '0.001' }, 400, 'amount'],
    [{ amount: '-1' }, 400, 'amount'],
    [{ reason: '  ' }, 400, 'reason'],
    [{ reference: '' }, 400, 'reference'],
    [{ note: 'x' }, 400, 'note'],
  ] as const) {
    const { status: answered, json } = await refund({ amount: '1', reference: 'other', reason: 'x', ...change })
    t.equal(answered, status, JSON.stringify(change))
    if (field !== undefined) t.match(json, { error: { fields: [{ field }] } })
  }
  t.equal((await op.call('payments.refund', { path: { id: `T${'0'.repeat(26)}` }, body: form })).status, 404)
})

t.test('spent money goes back only by force', async t => {
  const { op, begin, pay, store, account } = await open(t)
  const id = await begin()
  await pay(id)
  const entry = { kind: 'adjustment', amount: micro(-90_000_000), reference: 'a', actor: 'x', note: '' } as const
  await store.entries.add(account.id, entry, SETUP)
  const refund = (force: boolean) =>
    op.call('payments.refund', {
      path: { id },
      body: { amount: '50', reference: `f${force}`, reason: 'x', force },
    })
  t.match(await refund(false), { status: 409, json: { error: { refundable: '10.000000' } } })
  t.match(await refund(true), { status: 201, json: { state: 'done' } })
  t.ok((await store.audit()).ok)
})

t.test('exceptions: credited or closed, always with a reason, once', async t => {
  const { op, begin, pay, store, account } = await open(t)
  const [less, twice] = [await begin('100'), await begin('20')]
  t.equal(await pay(less, { amount: 9_000 }), 'open')
  t.equal(await pay(twice, { orderId: `T${'0'.repeat(26)}` }), 'open')
  const listed = async (query: Record<string, string> = {}) =>
    data((await op.call('payments.exceptions', { query })).json)
  const [unknown, amount] = (await listed()) as [Json, Json]
  t.match(
    [unknown, amount],
    [
      { kind: 'unknown_order', credit: null },
      { kind: 'amount', amount: '90.00', credit: '90.000000', order: less },
    ],
  )
  const resolve = (id: unknown, body: object) => op.call('payments.resolve', { path: { id: String(id) }, body })
  for (const [body, status] of [
    [{ action: 'credit', reason: '' }, 400],
    [{ action: 'pay', reason: 'x' }, 400],
    [{ action: 'credit' }, 400],
  ] as const)
    t.equal((await resolve(amount['id'], body)).status, status)
  t.equal((await resolve('0', { action: 'close', reason: 'x' })).status, 404)
  t.equal((await resolve('x', { action: 'close', reason: 'x' })).status, 404)
  t.equal((await resolve(unknown['id'], { action: 'credit', reason: 'x' })).status, 409, 'it is about no order')
  t.match(await resolve(unknown['id'], { action: 'close', reason: 'our other shop' }), {
    json: { resolution: 'closed: our other shop', resolved_by: 'op@example.com' },
  })
  t.equal((await resolve(amount['id'], { action: 'credit', reason: 'a coupon 优惠' })).status, 200)
  t.equal((await resolve(amount['id'], { action: 'close', reason: 'x' })).status, 409, 'once')
  t.match(await store.pay.order(less), { state: 'credited', credited: 90_000_000 })
  t.same(await listed(), [])
  t.equal((await listed({ state: 'resolved' })).length, 2)
  t.same((await listed({ state: 'all', kind: 'amount' })).length, 1)
  t.same(await listed({ state: 'all', method: 'card' }), [])
  const lines = await store.actions.page({ operation: 'payments.resolve', limit: 9 })
  t.same(lines.map(line => line.subject.kind).sort(), ['entry', 'order', 'order'], 'the entry and both decisions')
  t.match(await store.audit(), { ok: true, resolved: 90_000_000, byHand: 90_000_000, proven: 0 })
  t.equal(lines.find(line => line.subject.kind === 'entry')?.accountId, account.id)
})

t.test('two operators at once: money moves once, and never more than there is', async t => {
  const { op, begin, pay, store, account, ann, alipay, person } = await open(t)
  const other = await person('other-op@example.com', { operator: true, factor: true })
  const [whole, less] = [await begin('100'), await begin('50')]
  await pay(whole)
  await pay(less, { amount: 4_000 })
  const [found] = data((await op.call('payments.exceptions')).json) as [Json]
  const resolution = { path: { id: String(found['id']) }, body: { action: 'credit', reason: 'a coupon' } }
  const resolved = await Promise.all([op, other, op].map(one => one.call('payments.resolve', resolution)))
  t.ok(resolved.every(({ status }) => status === 200 || status === 409))
  t.equal((await ann.call('balance.read', { account })).json['balance'], '140.000000')

  const refund = (one: typeof op, reference: string, amount: string) =>
    one.call('payments.refund', { path: { id: whole }, body: { amount, reference, reason: 'x' } })
  const same = await Promise.all([op, other, op, other].map(one => refund(one, 'the same', '30')))
  t.ok(same.every(({ status }) => status === 201 || status === 200)) // of one operator one after another: the later one finds it done
  t.equal((await store.pay.refunds(whole)).length, 1)
  const many = await Promise.all(Array.from({ length: 6 }, (_, i) => refund(i % 2 ? op : other, `other ${i}`, '30')))
  t.equal(many.filter(({ status }) => status === 201).length, 2, 'of the seventy that are left')
  t.ok(many.every(({ status }) => status === 201 || status === 409))
  t.equal(alipay.ledger.back(whole), 9_000)
  t.equal((await ann.call('balance.read', { account })).json['balance'], '50.000000')
  t.ok((await store.audit()).ok)
})

t.test('what moves money wants a fresh proof, and no token', async t => {
  const { op, begin, pay, clock } = await open(t)
  const id = await begin()
  await pay(id)
  clock.advance(11 * 60_000)
  const sent = { path: { id }, body: { amount: '1', reference: 'r', reason: 'x' } }
  t.match(await op.call('payments.refund', sent), { status: 403, code: 'step_up' })
  const token = await op.token('operator')
  t.match(await token.call('payments.refund', sent), { status: 403, code: 'session_only' })
  t.equal((await token.call('payments.orders')).status, 200)
})

t.test('how ways to pay fare', async t => {
  const { op, ann, begin, pay, desk, clock, account, alipay } = await open(t, true)
  const health = async () => (await op.call('payments.read')).json
  const of = async () => data({ data: (await health())['methods'] })[0]
  t.match(await of(), { method: 'alipay', configured: true, callback_at: null, query_at: null, refused: [] })
  t.match(await of(), { certificates: { until: /Z$/, end_soon: false } })
  const id = await begin()
  const look = async () => {
    clock.advance(11_000)
    await ann.call('orders.read', { account, path: { order: id } })
  }
  await look()
  t.match(await of(), { query_at: /Z$/, query_failed_at: null })
  alipay.faults.push('fault')
  await look()
  t.match(await of(), { query_at: /Z$/, query_failed_at: /Z$/ })
  t.match(await health(), { orders: [{ state: 'pending', count: 1 }], uncredited: 0, exceptions: 0 })
  await pay(id)
  for (let i = 0; i < 3; i++)
    await desk.callback('alipay', { headers: {}, body: Buffer.from('sign=eA%3D%3D&sign_type=RSA2') })
  t.match(await of(), { refused: [] }, 'written now and then, because anybody can send such things')
  clock.advance(10_000)
  await until('refused callbacks are noted', async () => data({ data: (await of())?.['refused'] }).length > 0)
  t.match(await of(), { orders: 1, credited: '100.000000', refused: [{ why: 'signature', count: 3 }] })
})

t.test('rates of currencies in which a way to pay takes money', async t => {
  const stripe = await StripeDouble.open(t, { now: () => house.clock.now() })
  const house = await openConsole(t, JSON.stringify({ pay: { card: stripe.section({ currency: 'USD' }) } }))
  const op = await house.person('op@example.com', { operator: true, factor: true })
  const set = (body: object) => op.call('payments.set_rate', { body })
  t.same((await op.call('payments.rates')).json, { data: [], currencies: ['USD'] })
  t.match(await set({ currency: 'USD', rate: '7.1', for: '24h' }), {
    status: 201,
    json: { data: [{ currency: 'USD', rate: '7.100000', by: 'op@example.com', in_force: true }] },
  })
  await set({ currency: 'USD', rate: '7.2', for: '1h' })
  const rows = data((await op.call('payments.rates')).json)
  t.same(
    rows.map(row => [row['rate'], row['in_force']]),
    [
      ['7.200000', true],
      ['7.100000', false],
    ],
  )
  for (const body of [
    { currency: 'EUR', rate: '7', for: '1h' },
    { currency: 'USD', rate: '0', for: '1h' },
    { currency: 'USD', rate: '7' },
    { currency: 'USD', rate: '7', for: '400d' },
  ])
    t.equal((await set(body)).status, 400, JSON.stringify(body))
  t.equal((await house.store.actions.page({ operation: 'payments.set_rate', limit: 9 })).length, 2)
})
