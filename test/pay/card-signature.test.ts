/** Signatures of callbacks, cross-examined by the official client. */
import Stripe from 'stripe'
import t from 'tap'
import { checkSignature } from '../../lib/pay/card/events.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { seeded } from '../support/random.ts'
import { StripeDouble } from './doubles/stripe.ts'

const NOW_MS = 1_790_000_000_000
const SECRET = 'whsec_0123456789abcdef'
const BODY = Buffer.from('{"id":"evt_1","name":"充值 ☕ 50% off"}')

const sign = (body: string | Buffer, secret = SECRET, ageS = 0): string =>
  Stripe.webhooks.generateTestHeaderString({ payload: body.toString(), secret, timestamp: NOW_MS / 1_000 - ageS })

/** What is wrong; `nothing` when the signature holds. */
function doubtOf(header: string | string[] | undefined, body = BODY, secret = SECRET): string {
  try {
    checkSignature({ headers: { 'stripe-signature': header }, body }, secret, NOW_MS)
    return 'nothing'
  } catch (error) {
    return (error as { doubt: string }).doubt
  }
}

function clientTakes(header: string, body: Buffer): boolean {
  try {
    Stripe.webhooks.constructEvent(body, header, SECRET, 300, undefined, NOW_MS)
    return true
  } catch {
    return false
  }
}

t.test('what holds and what does not', async t => {
  const good = sign(BODY)
  const [time, v1] = good.split(',') as [string, string]
  const other = sign(BODY, 'whsec_of_another_endpoint').split(',')[1]
  const rows: [name: string, header: string | string[] | undefined, doubt: string][] = [
    ['as Stripe signs', good, 'nothing'],
    ['two secrets, while one is changed', `${time},${other},${v1}`, 'nothing'],
    ['with an older scheme beside it', `${good},v0=${'0'.repeat(64)}`, 'nothing'],
    ['300 s old', sign(BODY, SECRET, 300), 'nothing'],
    ['301 s old', sign(BODY, SECRET, 301), 'age'],
    ['300 s in the future', sign(BODY, SECRET, -300), 'nothing'],
    ['301 s in the future', sign(BODY, SECRET, -301), 'age'],
    ['another secret', `${time},${other}`, 'signature'],
    ['an older scheme only', `${time},${v1.replace('v1', 'v0')}`, 'form'],
    ['another time', `t=1790000001,${v1}`, 'signature'],
    ['two times', `${good},t=1790000001`, 'form'],
    ['no time', v1, 'form'],
    ['a time with more behind it', good.replace(',', 'x,'), 'form'],
    ['upper case', `${time},${v1.toUpperCase()}`, 'form'],
    ['half a signature', `${time},${v1.slice(0, 40)}`, 'form'],
    ['seventeen signatures', `${time}${`,${v1}`.repeat(17)}`, 'form'],
    ['twice the header', [good, good], 'form'],
    ['nothing', undefined, 'form'],
    ['an empty one', '', 'form'],
    ['a very long one', `${good},x=${'y'.repeat(5_000)}`, 'form'],
  ]
  for (const [name, header, doubt] of rows) t.equal(doubtOf(header), doubt, name)
  t.equal(doubtOf(sign(JSON.stringify(JSON.parse(BODY.toString()), null, 1))), 'signature', 'JSON written again')
})

t.test('the bytes count, not the text that they decode to', async t => {
  const broken = Buffer.from([0x7b, 0xff, 0x7d])
  t.equal(doubtOf(sign(broken), broken), 'signature', 'the client signs the text with a replacement character')
})

t.test('no byte of body or signature can be another one', async t => {
  const header = sign(BODY)
  for (let i = 0; i < BODY.length; i++) {
    const changed = Buffer.from(BODY)
    changed[i] = (changed[i] as number) ^ 1
    t.not(doubtOf(header, changed), 'nothing', `byte ${i} of the body`)
  }
  for (let i = 0; i < header.length; i++) {
    const changed = `${header.slice(0, i)}${String.fromCharCode(header.charCodeAt(i) ^ 1)}${header.slice(i + 1)}`
    t.not(doubtOf(changed), 'nothing', `character ${i} of the header`)
  }
})

t.test('whatever holds here holds for the official client, and what it signs holds here', async t => {
  const random = seeded(t)
  let held = 0
  for (let i = 0; i < 3_000; i++) {
    const body = Buffer.from(
      JSON.stringify({ i, text: random.pick(['%', '+', '中文', '🙂', '"', 'x']).repeat(random.int(0, 9)) }),
    )
    const age = random.int(-600, 600)
    const whole = sign(body, random.pick([SECRET, SECRET, 'whsec_another_secret_here']), age)
    const at = random.int(0, whole.length - 1)
    const header = random.pick([
      whole,
      whole,
      whole.slice(0, at),
      whole.slice(0, at) + random.pick([',', '=', '0', 't']) + whole.slice(at + 1),
    ])
    const here = doubtOf(header, body) === 'nothing'
    const there = clientTakes(header, body)
    if (here) held++
    if (here && !there) t.fail(`taken here only: ${header}`)
    if (there && !here && header === whole && age >= -300) t.fail(`refused here only: ${header}`)
  }
  t.ok(held > 300, `${held} held`)
})

t.test('there is no config without a secret', async t => {
  const double = new StripeDouble()
  double.url = 'http://127.0.0.1:1'
  const parse = (change: object) =>
    parseConfig(JSON.stringify({ pay: { card: { ...double.section(), ...change } } }), 'c.yaml', {})
  t.doesNotThrow(() => parse({}))
  for (const webhook_secret of ['', ' ', 'whsec_', `whsec_${' '.repeat(20)}`, undefined])
    t.throws(() => parse({ webhook_secret }), /webhook_secret/, JSON.stringify(webhook_secret))
  for (const secret_key of ['', 'sk_test_', `sk_live_${'0'.repeat(24)}`, `pk_test_${'0'.repeat(24)}`])
    t.throws(() => parse({ secret_key }), /secret_key/, secret_key)
})
