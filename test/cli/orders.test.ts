/** `gateway orders …` against a store of its own. */
import { writeFileSync } from 'node:fs'
import t from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { newWallet } from '../pay/usdt-support.ts'
import { LOOSE, newOrder, proofOf } from '../support/orders.ts'
import { commandLine } from '../support/command-line.ts'
import { SETUP } from '../support/store.ts'
import { confirmTransfers } from '../support/transfers.ts'

const folder = t.testdir()
const { xpub, first } = newWallet()
writeFileSync(
  `${folder}/c.yaml`,
  'store: sqlite:books.db\nsecret: a-secret-for-tests\nadmin_token: a-token-for-tests\n' +
    `pay: { usdt: { xpub: ${xpub}, check_address: '${first}', sandbox: true, ` +
    "endpoints: ['http://127.0.0.1:9/a', 'http://127.0.0.1:10/b'] } }\n",
)

const command = commandLine()
const run = (...args: string[]) => command([...args, '--config', 'c.yaml'], folder)

t.test('orders and exceptions of a store, beside a gateway', async t => {
  await run('migrate')
  const store = openStore(`sqlite:${folder}/books.db`, { secret: 'a-secret-for-tests' })
  t.teardown(() => store.close())
  const account = await store.accounts.create({ name: 'acme', groups: [] }, SETUP)
  const order = newOrder(account.id)
  const { id } = order
  await store.pay.makeOrder(order, LOOSE, SETUP)
  const exception = { method: 'alipay', kind: 'amount', reference: 'tx', detail: 'one fen less', orderId: id } as const
  await store.pay.raiseException({ ...exception, transactionId: 'tx', amount: 499, currency: 'CNY' })

  t.match(await run('orders', 'list'), {
    status: 0,
    stdout: new RegExp(`^${id}\\tacme\\tcreated\\t5\\.000000\\talipay\\t0\\.000000`),
    stderr: '',
  })
  t.match(await run('orders', 'list', '--state', 'credited'), { status: 0, stdout: '' })
  t.match(JSON.parse((await run('orders', 'list', '--account', 'acme', '--json')).stdout), { data: [{ id }] })
  t.match(await run('orders', 'show', id), { status: 0, stdout: /^state\tcreated$/m })
  t.match(await run('orders', 'exceptions'), {
    status: 0,
    stdout: /\tamount\t4\.99\t4\.990000\tone fen less\talipay\t/,
  })
  const resolve = (...args: string[]) => run('orders', 'resolve', '1', ...args)
  t.match(await resolve('--reason', 'x'), { status: 2, stderr: /--action: expected/ }, 'neither')
  t.match(await resolve('--action', 'both', '--reason', 'x'), { status: 2 }, 'both')
  t.match(await resolve('--action', 'credit'), { status: 2, stderr: /--reason/ })
  t.match(await resolve('--action', 'credit', '--reason', 'a coupon'), {
    status: 0,
    stdout: /^resolution\tcredited: a coupon$/m,
  })
  t.match(await run('orders', 'show', id), { status: 0, stdout: /^credited\t4\.990000$/m })
  t.match(await store.actions.page({ operation: 'payments.resolve', limit: 9 }), [{ actor: { kind: 'cli' } }, {}])
  const refund = (...args: string[]) => run('orders', 'refund', id, '--reference', 'r', '--reason', 'x', ...args)
  t.match(await refund('--amount', '1'), { status: 5, stderr: /alipay is not configured here/ })
  t.match(await refund('--amount', 'much'), { status: 2 })
  for (const args of [
    ['orders', 'show', 'x'],
    ['orders', 'list', '--account', 'nobody'],
    ['orders', 'resolve', '9', '--action', 'close', '--reason', 'x'],
  ])
    t.match(await run(...args), { status: 3, stdout: '' }, args.join(' '))
  t.match(await store.pay.proofs(id), [{ source: 'operator', note: 'a coupon' }])

  const held = newOrder(account.id)
  await store.pay.makeOrder(held, LOOSE, SETUP)
  await store.pay.proveOrder(proofOf(held.id, 'held'), { disputes: 0, sinceMs: 0, untilMs: 8_000_000_000_000 })
  const release = await run('orders', 'release', held.id, '--reason', 'known payer')
  t.match(release, { status: 0, stdout: /^state\tcredited$/m })

  await store.pay.setPayRate({ currency: 'USDT', rate: 7_000_000, fromMs: 0, untilMs: 8_000_000_000_000 }, SETUP)
  const block = { no: 1, hash: `0x${'b'.repeat(64)}` }
  const transfer = { from: first, to: first, block, accountId: account.id, blockAtMs: 1_000, node: 1, sandbox: true }
  const values = [10n ** 18n, 10n ** 30n]
  await store.chain.addTransfers(
    56,
    values.map((value, logIndex) => ({ ...transfer, tx: `0x${value}`, logIndex, value })),
  )
  await confirmTransfers(store, 56)
  const [small, large] = (await store.chain.transferOrders({ afterSeq: 0, limit: 9 })).map(found => found.id) as [
    string,
    string,
  ]
  t.match(await run('orders', 'release', small, '--reason', 'left'), { status: 0, stdout: /^credited\t7\.000000$/m })
  t.match((await run('orders', 'list', '--account', 'acme', '--method', 'usdt')).stdout.split('\n').sort(), [
    '',
    ...[
      new RegExp(`^${small}\\tacme\\tcredited\\t7\\.000000\\tusdt\\t7\\.000000`),
      new RegExp(`^${large}\\tacme\\tpaid\\t[\\d.]+\\tusdt\\t0\\.000000`),
    ].sort((a, b) => (String(a) < String(b) ? -1 : 1)),
  ])
  t.match(await run('orders', 'addresses'), { status: 0, stdout: /^number,path,address,account,received,left\r\n/ })
  t.match(
    await run('orders', 'rewind', '--block', '1', '--reason', 'x'),
    { status: 5, stderr: /block/ },
    'no node answers',
  )
  const told = { method: 'usdt', kind: 'chain', reference: 'held:x', detail: 'worth too much', orderId: large } as const
  await store.pay.raiseException(told)
  t.match(await run('orders', 'release', large, '--reason', 'x'), { status: 5, stderr: /exception/ })
  const decided = await run('orders', 'resolve', '2', '--action', 'close', '--reason', 'by mistake')
  t.match(decided, { status: 0, stdout: /^resolution\tclosed: by mistake$/m })
  const to = `0x${'9'.repeat(40)}`
  const sent = await run(
    'orders',
    'refund',
    small,
    '--amount',
    '7',
    '--receiver',
    to,
    '--reference',
    'r',
    '--reason',
    'x',
    '--json',
  )
  const { id: number, tokens } = JSON.parse(sent.stdout)
  t.equal(tokens, '1')
  t.match(await run('orders', 'to-send'), {
    status: 0,
    stdout: new RegExp(`^${number}\\t${small}\\t7\\.000000\\t1\\t`),
  })
  t.match(await run('orders', 'sent', number, '--reason', 'not now'), { status: 0, stdout: /^state\treleased$/m })
  t.match(await run('orders', 'show', small), { status: 0, stdout: /^refundable\t7\.000000$/m })
})
