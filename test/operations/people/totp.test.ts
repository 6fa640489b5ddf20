import t from 'tap'
import {
  fromBase32,
  hotp,
  newTotpSecret,
  provisioningUri,
  stepAt,
  stepOf,
  toBase32,
} from '../../../lib/operations/people/totp.ts'

const SECRET = Buffer.from('12345678901234567890')

t.test('the vectors of RFC 4226', async t => {
  const codes = ['755224', '287082', '359152', '969429', '338314', '254676', '287922', '162583', '399871', '520489']
  t.strictSame(
    codes.map((_, counter) => hotp(SECRET, counter)),
    codes,
  )
})

t.test('the vectors of RFC 6238 for SHA-1', async t => {
  for (const [seconds, code] of [
    [59, '94287082'],
    [1111111109, '07081804'],
    [1111111111, '14050471'],
    [1234567890, '89005924'],
    [2000000000, '69279037'],
    [20000000000, '65353130'],
  ] as const)
    t.equal(hotp(SECRET, stepAt(seconds * 1000), 8), code, String(seconds))
})

t.test('base 32, as RFC 4648 writes it without padding', async t => {
  for (const [plain, text] of [
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
  ] as const) {
    t.equal(toBase32(Buffer.from(plain)), text)
    t.equal(fromBase32(text).toString(), plain)
  }
})

t.test('a code fits its step and the two beside it', async t => {
  const secret = newTotpSecret()
  t.match(secret, /^[A-Z2-7]{32}$/)
  const ms = 1_790_000_000_000
  const code = (by: number) => hotp(fromBase32(secret), stepAt(ms) + by)
  t.strictSame(
    [-2, -1, 0, 1, 2].map(by => stepOf(secret, code(by), ms)),
    [null, stepAt(ms) - 1, stepAt(ms), stepAt(ms) + 1, null],
  )
  for (const wrong of ['', '12345', '1234567', 'abcdef', `${code(0)} `]) t.equal(stepOf(secret, wrong, ms), null, wrong)
})

t.test('what the app is given', async t => {
  const uri = new URL(provisioningUri('ABC', 'My Gateway', 'a+b@example.org'))
  t.equal(uri.protocol, 'otpauth:')
  t.equal(decodeURIComponent(uri.pathname), '/My Gateway:a+b@example.org')
  t.strictSame(Object.fromEntries(uri.searchParams), {
    secret: 'ABC',
    issuer: 'My Gateway',
    algorithm: 'SHA1',
    digits: '6',
    period: '30',
  })
})
