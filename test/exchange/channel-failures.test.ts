/** The last failures of a channel, and their classes: what an operator reads who asks why it fails. */
import t from 'tap'
import { ChannelFailures, classOf } from '../../lib/exchange/record/channel-failures.ts'
import { type FailureClass, seenTogether } from '../../lib/terms/channel-seen.ts'
import { type Attempt, CredentialError } from '../../lib/upstream/attempt.ts'
import { TestClock } from '../support/clock.ts'

const coded = (code: string, cause?: Error): Error => Object.assign(new Error('x', cause && { cause }), { code })

const ERRORS: [error: Error | null, status: number, as: Parameters<typeof classOf>[1], FailureClass][] = [
  [coded('ENOTFOUND'), 0, 'failed', 'dns'],
  [coded('EAI_AGAIN'), 0, 'failed', 'dns'],
  [coded('CONNECT_TIMEOUT'), 0, 'failed', 'connect'],
  [coded('EHOSTUNREACH'), 0, 'failed', 'connect'],
  [new AggregateError([coded('ECONNREFUSED'), coded('ENETUNREACH')], 'all'), 0, 'failed', 'connect'],
  [coded('UNABLE_TO_VERIFY_LEAF_SIGNATURE'), 0, 'failed', 'tls'],
  [coded('CERT_HAS_EXPIRED'), 0, 'failed', 'tls'],
  [coded('ERR_TLS_CERT_ALTNAME_INVALID'), 0, 'failed', 'tls'],
  [coded('DEPTH_ZERO_SELF_SIGNED_CERT'), 0, 'failed', 'tls'],
  [coded('ERR_SSL_WRONG_VERSION_NUMBER'), 0, 'failed', 'tls'],
  [coded('fetch', coded('ECONNRESET')), 0, 'failed', 'cut'],
  [coded('timeout'), 0, 'failed', 'slow'],
  [null, 408, 'failed', 'slow'],
  [null, 401, 'auth', 'auth'],
  [new CredentialError('refused', 'no'), 0, 'auth', 'auth'],
  [null, 529, 'busy', 'busy'],
  [null, 500, 'failed', '5xx'],
  [null, 200, 'cut', 'cut'],
  [null, 200, 'failed', 'other'],
  [new Error('a bug'), 0, 'failed', 'other'],
]

t.test('dns, connect, tls, auth, busy, 5xx, slow: the class of a failure', t => {
  for (const [error, status, as, expected] of ERRORS)
    t.equal(
      classOf({ status, error } as Attempt, as),
      expected,
      `${(error as { code?: string } | null)?.code ?? status}`,
    )
  t.end()
})

t.test('the ten newest are kept, and all are counted for an hour; no more than ten a second are put into words', t => {
  const clock = new TestClock()
  const failures = new ChannelFailures(clock)
  const claim = { key: { index: 1 }, candidate: { channel: { name: 'a' }, upstreamModel: 'm' } }
  let worded = 0
  const words = () => ({ error: String(++worded), reason: null, upstreamId: null })
  const fail = (status: number) =>
    failures.note(
      'r',
      { claim, status, error: null, startedMs: clock.monotonic() } as unknown as Attempt,
      'failed',
      words,
    )
  for (let i = 0; i < 1_000; i++) fail(500)
  t.equal(worded, 10)
  clock.advance(1_000)
  fail(408)
  const { failures: kept, lately } = failures.of('a')
  t.equal(kept.length, 10)
  t.match(kept[0], { atMs: clock.now(), class: 'slow', error: '11', key: 2, model: 'm', requestId: 'r', tookMs: 0 })
  t.strictSame(lately, { '5xx': 1_000, slow: 1 })
  clock.advance(3_600_000)
  t.strictSame(failures.of('a').lately, {})
  t.equal(failures.of('a').failures.length, 10)
  t.strictSame(failures.of('another'), { failures: [], lately: {} })
  t.end()
})

t.test('what several processes know: the worst state, the sums, the newest failures', t => {
  const rest = { state: 'closed', why: null, restMs: 0, open: 1 } as const
  const failure = (atMs: number) => ({ atMs }) as never
  const one = { ...rest, keys: [rest], failures: [failure(5), failure(3)], lately: { dns: 2 } }
  const two = {
    ...{ state: 'open', why: 'hand', restMs: 900, open: 2 },
    keys: [{ ...rest, state: 'half_open' }],
    failures: Array.from({ length: 10 }, (_, i) => failure(i)).reverse(),
    lately: { dns: 1, tls: 4 },
  } as never
  const together = seenTogether(one as never, two)
  t.match(together, { state: 'open', why: 'hand', restMs: 900, open: 3, lately: { dns: 3, tls: 4 } })
  t.match(together.keys, [{ state: 'half_open', open: 2 }])
  t.strictSame(
    together.failures.map(({ atMs }) => atMs),
    [9, 8, 7, 6, 5, 5, 4, 3, 3, 2],
  )
  t.end()
})
