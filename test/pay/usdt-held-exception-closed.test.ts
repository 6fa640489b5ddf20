/**
 * An exception about a transfer that two nodes disagreed on was closed by a person, and they agreed later. When the transfer was held
 * after that, because it was worth too much to be credited by itself, nobody was told: the exception was the same.
 */
// The bug behind these rows: a held transfer whose exception was closed.
import t from 'tap'
import { openCrediting } from './crediting.ts'
import { ACT } from './support.ts'

const TOO_MUCH = 10n ** 18n * 10n ** 13n

t.test('a person is told of it once more', async t => {
  const { desk, second, round, rate, pay } = await openCrediting(t)
  const open = () => desk.store.pay.exceptions({ open: true, limit: 9 })
  await rate()
  await pay(TOO_MUCH)
  second.said = 'other'
  await round()
  const [found] = await open()
  t.match(found, { kind: 'chain', detail: /contradicts/ })
  await desk.store.pay.resolveException(found!.id, 'closed: the node was behind', ACT)
  second.said = 'same'
  await round()
  const [transfer] = await desk.store.chain.transferOrders({ limit: 1 })
  t.match(transfer, { state: 'paid', credited: 0 })
  t.match(await open(), [{ kind: 'chain', orderId: transfer?.id, transactionId: transfer?.tx }])
})
