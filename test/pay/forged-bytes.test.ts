/**
 * Every byte of a callback is another one, in the body, in each header that is signed and in the signature, for every
 * method: none of them is taken, and none leaves a trace in the books. The unchanged one is taken after all of them.
 */
import t from 'tap'
import { type CheckoutName, CHECKOUT_METHODS } from '../../lib/terms/pay.ts'
import { TestClock } from '../support/clock.ts'
import { seeded } from '../support/random.ts'
import { isTaken, Providers } from './providers.ts'
import { openShop } from './shop.ts'
import { ACT } from './support.ts'

/** What the headers of a callback sign, or are signed by. Alipay's are in the body. */
const SIGNED: Record<CheckoutName, readonly string[]> = {
  alipay: [],
  wechat: ['wechatpay-timestamp', 'wechatpay-nonce', 'wechatpay-serial', 'wechatpay-signature'],
  card: ['stripe-signature'],
}

/** Two texts of a form may say the same: `%2f` and `%2F` are one byte. */
const meaning = (method: CheckoutName, body: Buffer): string =>
  method === 'alipay' ? JSON.stringify([...new URLSearchParams(body.toString('utf8'))]) : body.toString('latin1')

for (const method of CHECKOUT_METHODS)
  t.test(method, async t => {
    const random = seeded(t)
    const clock = new TestClock(Date.now())
    const providers = await Providers.open(t, () => clock.now())
    const shop = await openShop(t, { [method]: providers.section()[method] }, { clock })
    const order = await shop.desk.orders.begin(shop.account, method, '12.34', 'https://here.example/topup', ACT)
    t.equal(providers.pay(order), true)
    const { headers, body: text } = providers.message(order)
    const body = Buffer.from(text)
    let tried = 0
    const taken = async (given: { headers: Record<string, string>; body: Buffer }): Promise<boolean> => {
      tried++
      const answer = await shop.desk.callback(method, given)
      return answer !== null && isTaken(method, answer.status, answer.body)
    }
    for (let at = 0; at < body.length; at++) {
      const changed = Buffer.from(body)
      changed[at]! ^= 1 << random.int(0, 7)
      if (meaning(method, changed) === meaning(method, body)) continue
      if (await taken({ headers, body: changed })) t.fail(`byte ${at} of the body: ${changed}`)
    }
    for (const name of SIGNED[method]) {
      const value = headers[name] as string
      for (let at = 0; at < value.length; at++) {
        const other = String.fromCharCode(value.charCodeAt(at) ^ (1 << random.int(0, 6)))
        const changed = value.slice(0, at) + other + value.slice(at + 1)
        if (await taken({ headers: { ...headers, [name]: changed }, body })) t.fail(`${name}: ${changed}`)
      }
      const { [name]: _, ...rest } = headers
      t.equal(await taken({ headers: rest, body }), false, `without ${name}`)
    }
    t.ok(tried > 700, `${tried} forgeries`)
    t.match(await shop.order(order.id), { state: 'pending', credited: 0 })
    t.same(await shop.store.pay.exceptions({ limit: 9 }), [], 'nobody has to look at what anybody can send')
    t.equal(await taken({ headers, body }), true, 'as it was sent')
    t.equal(await shop.balance(), 1_234)
  })
