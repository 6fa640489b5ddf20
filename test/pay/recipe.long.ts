/**
 * The recipe "Add a payment method" of CONTRIBUTING.md, followed in a copy of the tree: one new file, and a line or two in four others.
 * The copy passes both compilers, and credits an order that its shop says is paid.
 */
import { execFile } from 'node:child_process'
import { createHmac } from 'node:crypto'
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { promisify } from 'node:util'
import t from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { LOOSE, newOrder } from '../support/orders.ts'
import { startGateway } from '../support/gateway.ts'
import { SETUP } from '../support/store.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const SECRET = 'a secret of the shop of vouchers'
const FEN = 5_00

const FORM = `const voucher = z.strictObject({ shop: id('a shop', /^[a-z]{4,16}$/), secret: kind.secret('32 characters', /^.{32}$/), sandbox })
export type VoucherConfig = z.output<typeof voucher>
`

/** What the recipe says, and nothing else: before which text of which file what is written. */
const LINES: [file: string, before: string, added: string][] = [
  ['lib/terms/pay.ts', "'card'] as const", "'voucher', "],
  ['lib/config/pay-schema.ts', 'export const pay = {\n', FORM],
  ['lib/config/pay-schema.ts', '  usdt: usdt.optional()', '  voucher: voucher.optional(),\n'],
  [
    'lib/pay/methods.ts',
    '  card: async',
    "  voucher: async config => new (await import('./voucher/voucher.ts')).Voucher(config),\n",
  ],
  ['web/parts/order-words.ts', "  card: ['银行卡'", "  voucher: ['代金券', 'Voucher'],\n"],
  ['web/parts/order-words.ts', "  card: 'payCard'", "  voucher: 'wallet',\n"],
  ['web/parts/order-words.ts', "  card: ['用银行卡支付'", "  voucher: ['用代金券支付', 'Pay by voucher'],\n"],
]

function follow(folder: string): void {
  for (const [name, before, added] of LINES) {
    const file = path.join(folder, name)
    const [start, end, ...more] = readFileSync(file, 'utf8').split(before)
    if (end === undefined || more.length > 0) throw new Error(`${name} has not one ${before}`)
    writeFileSync(file, `${start}${added}${before}${end}`)
  }
  mkdirSync(path.join(folder, 'lib/pay/voucher'))
  cpSync(path.join(import.meta.dirname, 'recipe/voucher.ts.txt'), path.join(folder, 'lib/pay/voucher/voucher.ts'))
}

function copyTree(folder: string): void {
  for (const name of ['lib', 'web', 'tools', 'bin', 'package.json', 'tsconfig.json'])
    cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true })
  symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'))
}

/** Without the notes that the compiler keeps for the next time, which would be those of the tree. */
const PROJECTS = {
  'lib.json': { extends: './tsconfig.json', include: ['lib'], compilerOptions: { incremental: false } },
  'web/own.json': { extends: './tsconfig.json', include: ['.'], compilerOptions: { incremental: false } },
}

t.test('a new way to pay is one new file, and lines that the compiler asks for', async t => {
  const folder = t.testdir({})
  copyTree(folder)
  follow(folder)
  for (const [name, project] of Object.entries(PROJECTS)) {
    writeFileSync(path.join(folder, name), JSON.stringify(project))
    const compile = [path.join(ROOT, 'node_modules/.bin/tsc'), '--noEmit', '-p', name]
    await t.resolves(promisify(execFile)(process.execPath, compile, { cwd: folder }), `${name} asks for no more`)
  }

  const accounts = [{ name: 'tester', groups: ['default'], sandbox: true }]
  const gateway = await startGateway({
    bin: path.join(folder, 'bin/gateway'),
    config: { pay: { voucher: { shop: 'shop', secret: SECRET, sandbox: true } } },
    catalog: () => ({ groups: [{ name: 'default' }], models: [], channels: [], accounts, keys: [] }),
  })
  t.teardown(() => gateway.stop())
  const store = openStore(`sqlite:${gateway.folder}/gateway.db`, { secret: 'admin-token-for-tests' })
  t.teardown(() => store.close())
  const account = (await store.accounts.byName('tester'))!
  const order = newOrder(account.id, { method: 'voucher' as 'card', merchant: 'shop', asked: FEN, sandbox: true })
  await store.pay.makeOrder(order, LOOSE, SETUP)

  const body = JSON.stringify({ order: order.id, fen: FEN, voucher: 'V-1' })
  const tell = async (signature: string) => {
    const answer = await fetch(`${gateway.main}/pay/voucher`, {
      method: 'POST',
      headers: { 'x-voucher': signature },
      body,
    })
    return [answer.status, await answer.text()]
  }
  t.same(await tell('00'), [400, 'again'], 'not signed by the shop')
  t.match(await store.pay.order(order.id), { state: 'created' })
  const signature = createHmac('sha256', SECRET).update(body).digest('hex')
  for (const name of ['once', 'again']) t.same(await tell(signature), [200, 'thanks'], name)
  t.match(await store.pay.order(order.id), { state: 'credited', credited: order.amount })
  t.equal((await store.audit()).ok, true)
})
