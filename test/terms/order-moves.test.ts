/** The states of orders: the table, its picture in docs/topups.md, and what the store does. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { moved, ORDER_MOVES } from '../../lib/terms/order-moves.ts'
import { ORDER_STATES, type OrderState, PAY_EXCEPTIONS } from '../../lib/terms/pay.ts'
import { ACT, LOOSE, newOrder, newRefund, proofOf } from '../support/orders.ts'
import { fund, memoryStore } from '../support/store.ts'

const page = readFileSync(new URL('../../docs/topups.md', import.meta.url), 'utf8')

t.test('the picture draws the table, and nothing else', async t => {
  const [, picture = ''] = /```mermaid\nstateDiagram-v2\n([^`]*)```/.exec(page) ?? []
  const [begin, ...lines] = picture.trim().split('\n')
  t.equal(begin?.trim(), '[*] --> created')
  t.same(
    lines.map(line => /^ *(\w+) --> (\w+): (.*)$/.exec(line)?.slice(1)),
    ORDER_MOVES,
  )
})

t.test('every exception has its line in the page', async t => {
  const [, table = ''] = page.split('### Exceptions\n')
  const rows = [...(table.split('\n### ')[0] as string).matchAll(/^\| `(\w+)` \|/gm)].map(([, kind]) => kind)
  t.same(rows, PAY_EXCEPTIONS)
})

t.test('the table has every state, and no other move is made', async t => {
  t.same([...new Set(ORDER_MOVES.flatMap(move => move.slice(0, 2)))].sort(), [...ORDER_STATES].sort())
  for (const from of ORDER_STATES)
    for (const to of ORDER_STATES) {
      const known = from === to || ORDER_MOVES.some(move => move[0] === from && move[1] === to)
      if (known) t.equal(moved(from, to), to)
      else t.throws(() => moved(from, to), `${from} to ${to}`)
    }
})

t.test('the store makes every move of the table', async t => {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const { account } = await fund(store, 'payer', 0)
  const { pay } = store
  const whole = micro(5_000_000)
  const back = (id: string, kind: 'refund' | 'dispute') => newRefund(id, `${kind} ${id}`, 500, { kind })
  /** How an order gets into a state from the one before. */
  const steps: Record<OrderState, (id: string, from: OrderState) => Promise<unknown>> = {
    created: async () => {},
    pending: id => pay.orderShown(id, 'p', { qr: 'x' }),
    failed: id => pay.endOrder(id, 'failed', null),
    expired: id => pay.endOrder(id, 'expired', null),
    paid: id => pay.proveOrder(proofOf(id, `tx ${id}`)),
    credited: (id, from) =>
      from === 'paid'
        ? pay.creditOrder(id, whole, '', ACT)
        : pay.endFreeze('alipay', `${from === 'refunded' ? 'refund' : 'dispute'} ${id}`, 'returned', ACT),
    refunded: async id => {
      await pay.freeze(back(id, 'refund'), true, null, ACT)
      await pay.endFreeze('alipay', `refund ${id}`, 'done', ACT)
    },
    reversed: async id => {
      await pay.freeze(back(id, 'dispute'), true, null, ACT)
      await pay.endFreeze('alipay', `dispute ${id}`, 'done', ACT)
    },
  }
  const WAYS: Record<OrderState, OrderState[]> = {
    created: [],
    pending: ['pending'],
    failed: ['failed'],
    expired: ['expired'],
    paid: ['paid'],
    credited: ['paid', 'credited'],
    refunded: ['paid', 'credited', 'refunded'],
    reversed: ['paid', 'credited', 'reversed'],
  }
  for (const [from, to, because] of ORDER_MOVES) {
    const order = newOrder(account.id)
    await pay.makeOrder(order, LOOSE, ACT)
    let at: OrderState = 'created'
    for (const next of [...WAYS[from], to]) {
      t.equal((await pay.order(order.id))?.state, at, `${from} to ${to}: ${at}`)
      await steps[next](order.id, at)
      at = next
    }
    t.equal((await pay.order(order.id))?.state, to, `${from} to ${to}: ${because}`)
  }
  t.ok((await store.audit()).ok)
})
