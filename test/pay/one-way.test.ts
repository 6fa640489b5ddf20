/** There is one way for money to get in: a method only says what it has learned, and one function credits. */
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import t from 'tap'
import { CHECKOUT_METHODS } from '../../lib/terms/pay.ts'
import { openCard } from './card-support.ts'
import { AlipayDouble } from './doubles/alipay.ts'
import { openShop } from './shop.ts'
import { openWechat } from './wechat-support.ts'

const ROOT = new URL('../../', import.meta.url).pathname
const files = (await Array.fromAsync(glob('lib/**/*.ts', { cwd: ROOT }))).sort()
const using = (pattern: RegExp, among = files): string[] =>
  among.filter(file => pattern.test(readFileSync(ROOT + file, 'utf8')))

t.test('who calls what moves money', async t => {
  const outside = files.filter(file => !file.startsWith('lib/store/'))
  t.same(using(/\.creditOrder\(/, outside), ['lib/pay/intake.ts'])
  t.same(using(/\.proveOrder\(/, outside), ['lib/pay/intake.ts'], 'also by hand')
  t.same(using(/kind: 'payment'/), ['lib/store/payments/money.ts'], 'one statement writes the entry')
})

t.test('methods know neither the store nor the payment service', async t => {
  const methods = files.filter(file => /^lib\/pay\/(alipay|wechat|card)\//.test(file))
  t.ok(methods.length > 10)
  t.same(using(/from '.*\/(store|operations|intake|refunds|notices|orders|service)(\/|\.ts)/, methods), [])
})

t.test('no address takes what nobody has signed', async t => {
  const alipay = await AlipayDouble.open(t)
  const shops = [await openShop(t, { alipay: alipay.section }), await openWechat(t), await openCard(t)]
  t.same(shops.map(({ method }) => method.name).sort(), [...CHECKOUT_METHODS].sort(), 'every method has an address')
  for (const shop of shops) {
    const { id } = await shop.begin()
    const url = `${shop.url}/pay/${shop.method.name}`
    for (const body of [
      '',
      '{}',
      'a=b',
      JSON.stringify({ id, paid: true }),
      `out_trade_no=${id}&sign_type=RSA2&sign=`,
    ]) {
      const { status } = await fetch(url, { method: 'POST', body })
      t.ok(status >= 400 && status < 500, `${shop.method.name} ${status}: ${body}`)
    }
    t.equal((await shop.order(id)).state, 'pending')
    t.equal(await shop.balance(), 0)
  }
})
