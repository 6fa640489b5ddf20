/** Operators are told of certificates that end. */
import t from 'tap'
import type { PayMethod, Validity } from '../../lib/pay/method.ts'
import { checkNotEnded, ValidityWatch } from '../../lib/pay/health.ts'
import type { Logger } from '../../lib/base/log.ts'

const DAY_MS = 86_400_000
const validity: Validity = { fromMs: 0, untilMs: 100 * DAY_MS }

function watch() {
  const told: string[] = []
  const say = (level: string) => (about: object, text: string) =>
    void told.push(`${level} ${JSON.stringify(about)} ${text.split(': ')[0]}`)
  const log = { warn: say('warn'), error: say('error') } as unknown as Logger
  const watching = new ValidityWatch(log)
  const look = (day: number, valid: Validity | null = validity): string[] => {
    const methods = [{ name: 'alipay', validity: valid }, { name: 'wechat' }] as PayMethod[]
    watching.look(methods, day * DAY_MS)
    return told.splice(0)
  }
  return look
}

const ALIPAY = '{"method":"alipay"} the certificates'
const END = '1970-04-11T00:00:00.000Z'

t.test('what is said, and when', t => {
  const rows: [day: number, said: string[]][] = [
    [-1, [`error ${ALIPAY} are valid from 1970-01-01T00:00:00.000Z`]],
    [0, []],
    [69, []],
    [70, []],
    [70.1, [`warn ${ALIPAY} end at ${END}`]],
    [99.9, [`warn ${ALIPAY} end at ${END}`]],
    [100.1, [`error ${ALIPAY} have ended at ${END}`]],
  ]
  for (const [day, said] of rows) t.same(watch()(day), said, `day ${day}`)
  t.end()
})

t.test('once a day, and again when other certificates are in their place', t => {
  const look = watch()
  t.equal(look(80).length, 1)
  t.equal(look(80.5).length, 0)
  t.equal(look(81).length, 1)
  t.equal(look(81.1, { fromMs: 0, untilMs: 90 * DAY_MS }).length, 1)
  t.equal(look(81.2, { fromMs: 0, untilMs: 500 * DAY_MS }).length, 0)
  t.equal(look(81.3, null).length, 0)
  t.end()
})

t.test('nothing is ordered after the end', t => {
  checkNotEnded(validity, 100 * DAY_MS)
  t.throws(() => checkNotEnded(validity, 100 * DAY_MS + 1), { name: 'ProviderRefuses', message: /1970-04-11.*get new/ })
  t.end()
})
