/** `gateway orders …` against a store of its own. */
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { openStore } from '../../lib/store/open.ts'
import { LOOSE, newOrder } from '../store/pay-suite.ts'
import { BIN } from '../support/gateway.ts'
import { SETUP } from '../support/store.ts'

const folder = t.testdir()
writeFileSync(
  `${folder}/c.yaml`,
  'store: sqlite:books.db\nsecret: a-secret-for-tests\nadmin_token: a-token-for-tests\n',
)

function run(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(BIN, [...args, '--config', 'c.yaml'], { cwd: folder, encoding: 'utf8' })
  return { status, stdout, stderr }
}

t.test('orders and exceptions of a store, beside a gateway', async t => {
  run('migrate')
  const store = openStore(`sqlite:${folder}/books.db`, { secret: 'a-secret-for-tests' })
  t.teardown(() => store.close())
  const account = await store.createAccount({ name: 'acme', groups: [] }, SETUP)
  const order = newOrder(account.id)
  const { id } = order
  await store.pay.makeOrder(order, LOOSE, SETUP)
  const exception = { method: 'alipay', kind: 'amount', reference: 'tx', detail: 'one fen less', orderId: id } as const
  await store.pay.raiseException({ ...exception, transactionId: 'tx', amount: 499, currency: 'CNY' })

  t.match(run('orders', 'list'), {
    status: 0,
    stdout: new RegExp(`^${id}\\t\\S+Z\\tacme\\talipay\\tcreated\\t5\\.000000\\t0\\.000000`),
    stderr: '',
  })
  t.match(run('orders', 'list', '--state', 'credited'), { status: 0, stdout: '' })
  t.match(JSON.parse(run('orders', 'list', '--account', 'acme', '--json').stdout), { data: [{ id }] })
  t.match(run('orders', 'show', id), { status: 0, stdout: /^state\tcreated$/m })
  t.match(run('orders', 'exceptions'), { status: 0, stdout: /\tamount\t.*\t4\.99\tCNY\t4\.990000\tone fen less$/m })
  const resolve = (...args: string[]) => run('orders', 'resolve', '1', ...args)
  t.match(resolve('--reason', 'x'), { status: 2, stderr: /action/ }, 'neither')
  t.match(resolve('--credit', '--close', '--reason', 'x'), { status: 2 }, 'both')
  t.match(resolve('--credit'), { status: 2, stderr: /--reason/ })
  t.match(resolve('--credit', '--reason', 'a coupon'), { status: 0, stdout: /^resolution\tcredited: a coupon$/m })
  t.match(run('orders', 'show', id), { status: 0, stdout: /^credited\t4\.990000$/m })
  t.match(await store.actions({ operation: 'payments.resolve', limit: 9 }), [{ actor: { kind: 'cli' } }, {}])
  const refund = (...args: string[]) => run('orders', 'refund', id, '--reference', 'r', '--reason', 'x', ...args)
  t.match(refund('--amount', '1'), { status: 5, stderr: /alipay is not configured here/ })
  t.match(refund('--amount', 'much'), { status: 2 })
  for (const args of [
    ['orders', 'show', 'x'],
    ['orders', 'list', '--account', 'nobody'],
    ['orders', 'resolve', '9', '--close', '--reason', 'x'],
  ])
    t.match(run(...args), { status: 3, stdout: '' }, args.join(' '))
  t.match(await store.pay.proofs(id), [{ source: 'operator', note: 'a coupon' }])
})
