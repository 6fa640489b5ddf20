/** A token that is got once for all who wait, replaced ahead of its end, and not asked for again and again when there is none. */
import t from 'tap'
import { CredentialError } from '../../lib/upstream/attempt.ts'
import { Bearer, type BearerToken } from '../../lib/upstream/bearer.ts'
import { TestClock } from '../support/clock.ts'

const HOUR_MS = 3_600_000

function scene() {
  const clock = new TestClock()
  clock.advance(1_000_000)
  const waiting: { give: (token: BearerToken) => void; fail: (error: Error) => void }[] = []
  const failures: string[] = []
  const fetch = () => new Promise<BearerToken>((give, fail) => waiting.push({ give, fail }))
  const bearer = new Bearer(clock, fetch, error => failures.push(error.code))
  const give = async (text: string, lifeMs = HOUR_MS) => {
    waiting.at(-1)?.give({ text, lifeMs })
    await bearer.sign()
  }
  const fail = () => waiting.at(-1)?.fail(new CredentialError('refused', 'no'))
  return { clock, bearer, waiting, failures, give, fail }
}
const header = (text: string) => ['authorization', `Bearer ${text}`]

t.test('one question for all who wait, and none while the token is fresh', async t => {
  const s = scene()
  const all = [s.bearer.sign(), s.bearer.sign(), s.bearer.sign()]
  t.equal(s.waiting.length, 1)
  await s.give('one')
  t.same(await Promise.all(all), Array(3).fill(header('one')))
  t.same(s.bearer.sign(), header('one'), 'at once')
  s.clock.advance(HOUR_MS - 300_001)
  t.same(s.bearer.sign(), header('one'))
  t.equal(s.waiting.length, 1)
})

t.test('it is replaced ahead of its end, while requests go out with the old one', async t => {
  const s = scene()
  void s.bearer.sign()
  await s.give('one')
  s.clock.advance(HOUR_MS - 299_999)
  for (let i = 0; i < 3; i++) t.same(s.bearer.sign(), header('one'))
  t.equal(s.waiting.length, 2)
  await s.give('two')
  await new Promise(setImmediate)
  t.same(s.bearer.sign(), header('two'))
  t.same(s.bearer.minted, ['two', 'one'])
})

t.test('without a new one the old one is used while it lasts', async t => {
  const s = scene()
  void s.bearer.sign()
  await s.give('one')
  s.clock.advance(HOUR_MS - 100_000)
  t.same(s.bearer.sign(), header('one'))
  s.fail()
  await new Promise(setImmediate)
  t.same(s.failures, ['CREDENTIAL_REFUSED'])
  t.same(s.bearer.sign(), header('one'))
  t.equal(s.waiting.length, 2, 'not at once again')
  s.clock.advance(2_000)
  t.same(s.bearer.sign(), header('one'))
  t.equal(s.waiting.length, 3)
  s.fail()
  await new Promise(setImmediate)
  s.clock.advance(97_999)
  const late = s.bearer.sign()
  t.type(late, Promise, 'too near to its end')
  s.fail()
  await t.rejects(Promise.resolve(late), { code: 'CREDENTIAL_REFUSED' })
})

t.test('after a failure everybody is told at once, and a moment later it is tried again', async t => {
  const s = scene()
  const all = [s.bearer.sign(), s.bearer.sign()]
  s.fail()
  for (const one of all) await t.rejects(Promise.resolve(one), { code: 'CREDENTIAL_REFUSED' })
  await t.rejects(Promise.resolve(s.bearer.sign()), { code: 'CREDENTIAL_REFUSED' })
  t.equal(s.waiting.length, 1)
  s.clock.advance(2_000)
  const next = s.bearer.sign()
  await s.give('one')
  t.same(await next, header('one'))
})

t.test('a token that is refused before its end is replaced once, and again only much later', async t => {
  const s = scene()
  void s.bearer.sign()
  await s.give('one')
  t.ok(s.bearer.refused(header('one')))
  t.ok(s.bearer.refused(header('one')), 'and so it is for all who had it')
  const [a, b] = [s.bearer.sign(), s.bearer.sign()]
  t.equal(s.waiting.length, 2)
  await s.give('two')
  t.same([await a, await b], [header('two'), header('two')])
  t.ok(s.bearer.refused(header('one')), 'who comes late finds the newer one')
  t.equal(s.waiting.length, 2)
  t.notOk(s.bearer.refused(header('two')))
  t.same(s.bearer.sign(), header('two'))
  s.clock.advance(60_000)
  t.ok(s.bearer.refused(header('two')))
})

t.test('a short life leaves room too', async t => {
  const s = scene()
  void s.bearer.sign()
  await s.give('one', 10_000)
  s.clock.advance(7_999)
  t.same(s.bearer.sign(), header('one'))
  t.equal(s.waiting.length, 1)
  s.clock.advance(1)
  t.type(s.bearer.sign(), Promise)
})
