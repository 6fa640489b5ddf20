/**
 * Two callers who took their exports slowly had both seats of the process for as long as they liked, two people of one
 * account had both for one account, and nothing said why an export had ended. An export also went on when its caller had
 * lost the session or the role that it was begun with.
 */
// The bug behind these rows: seats held by slow readers.
import http from 'node:http'
import t, { type Test } from 'tap'
import { type Operation, operation, type Streamed } from '../../lib/api/operation.ts'
import { identity, type Served, serveApi } from './support/api.ts'
import { until } from '../support/wait.ts'

const TYPE = 'text/csv; charset=utf-8'
const PIECE = 'x'.repeat(256 * 1024)

const exported = (id: string, call: Operation['call'], who: Operation['who'], pieces: () => AsyncGenerator<string>) =>
  operation<object, unknown, unknown, unknown>({
    id,
    call,
    summary: 'An export.',
    who,
    effect: 'read',
    scope: 'read',
    limit: 'heavy',
    answer: { status: 200, body: 'stream', types: [TYPE] },
    run: async (): Promise<Streamed> => ({ type: TYPE, file: 'rows.csv', pieces: pieces() }),
  })

async function* endless(): AsyncGenerator<string> {
  for (;;) yield PIECE
}

/** Pieces of which each is made when the test says so. */
class Made {
  working = 0
  mostWorking = 0
  readonly waiting: (() => void)[] = []

  async *pieces(): AsyncGenerator<string> {
    for (let i = 0; i < 3; i++) {
      this.working++
      this.mostWorking = Math.max(this.mostWorking, this.working)
      await new Promise<void>(resolve => this.waiting.push(resolve))
      this.working--
      yield `${i}\n`
    }
  }
}

const ACCOUNT = '/console/api/accounts/account-seven/rows.csv'

async function serve(t: Test, made = new Made()): Promise<Served & { made: Made }> {
  const served = await serveApi(t, [
    exported('rows.endless', 'GET /endless.csv', 'user', endless),
    exported('rows.export', 'GET /rows.csv', 'user', () => made.pieces()),
    exported('account.export', 'GET /accounts/{account}/rows.csv', ['owner', 'viewer'], () => made.pieces()),
  ])
  for (let id = 1; id <= 40; id++) served.callers.sessions.set(`u${id}`, identity({ sessionId: id }, { id }))
  return { ...served, made }
}

/** Begins a download, of which it reads the head and nothing more. */
function begin({ port }: Served, path: string, cookie: string): Promise<http.IncomingMessage> {
  return new Promise((resolve, reject) => {
    const headers = { cookie: `session=${cookie}` }
    http.get({ port, host: '127.0.0.1', path, headers, agent: false }, resolve).on('error', reject)
  })
}

async function textOf(res: http.IncomingMessage): Promise<string> {
  let text = ''
  for await (const chunk of res as AsyncIterable<Buffer>) text += chunk.toString()
  return text
}

const proceed = (made: Made) => () => {
  for (const go of made.waiting.splice(0)) go()
}

t.test('readers that are slow keep nobody else from exporting, and the log names how they ended', async t => {
  const served = await serve(t)
  const slow = await Promise.all(['u1', 'u2', 'u3'].map(who => begin(served, '/console/api/endless.csv', who)))
  for (const res of slow) res.on('error', () => {})
  t.same(
    slow.map(res => res.statusCode),
    [200, 200, 200],
  )
  const tick = setInterval(proceed(served.made), 5)
  t.teardown(() => clearInterval(tick))
  t.equal(await textOf(await begin(served, '/console/api/rows.csv', 'u4')), '0\n1\n2\n')
  await until('all are cut off', () => {
    served.clock.advance(1_000)
    return served.logged.filter(line => line.includes('a download ended early')).length === 3
  })
  t.match(served.logged.join(''), '"end":"stalled"')
})

t.test('two make a piece at a time, and so many are open at once', async t => {
  const served = await serve(t)
  const { made } = served
  const all = Array.from({ length: 33 }, (_, i) => begin(served, '/console/api/rows.csv', `u${i + 1}`))
  const refused = await Promise.any(
    all.map(async one => {
      const { statusCode } = await one
      if (statusCode !== 429) throw new Error('it is open')
      return statusCode
    }),
  )
  t.equal(refused, 429, 'the one that is too many')
  const tick = setInterval(proceed(made), 5)
  t.teardown(() => clearInterval(tick))
  const texts = Promise.all((await Promise.all(all)).filter(res => res.statusCode === 200).map(textOf))
  t.same(new Set(await texts), new Set(['0\n1\n2\n']))
  t.equal(made.mostWorking, 2)
})

t.test('an account has one export at a time, whoever asks', async t => {
  const served = await serve(t)
  const { callers, made, ask } = served
  callers.roles.set(1, 'owner').set(2, 'viewer')
  const first = begin(served, ACCOUNT, 'u1')
  await until('it works', () => made.waiting.length === 1)
  const refused = await ask('GET', ACCOUNT, { cookie: 'session=u2' })
  t.match(refused, { status: 429, error: { code: 'busy' }, headers: { 'retry-after': '2' } })
  const tick = setInterval(proceed(made), 5)
  t.teardown(() => clearInterval(tick))
  t.equal(await textOf(await first), '0\n1\n2\n')
  t.equal(await textOf(await begin(served, ACCOUNT, 'u2')), '0\n1\n2\n', 'then it is the turn of the other')
})

const LOSSES: [what: string, lose: (served: Served) => void, end: string][] = [
  ['the session', ({ callers }) => callers.sessions.delete('u1'), 'signed_out'],
  ['the account', ({ callers }) => callers.roles.delete(1), 'missing'],
  ['what the role may do', ({ callers }) => callers.roles.set(1, 'billing'), 'role'],
  ['the role that it began with', ({ callers }) => callers.roles.set(1, 'viewer'), 'role'],
]

for (const [what, lose, end] of LOSSES)
  t.test(`an export ends when its caller loses ${what}`, async t => {
    const served = await serve(t)
    const { callers, made, clock, logged } = served
    callers.roles.set(1, 'owner')
    const begun = begin(served, ACCOUNT, 'u1')
    await until('it works', () => made.waiting.length === 1)
    proceed(made)()
    const res = await begun
    await until('the next piece is worked on', () => made.waiting.length === 1)
    lose(served)
    const broken = t.rejects(textOf(res), 'the connection breaks off, so that nobody takes the file for whole')
    clock.advance(1_000)
    await broken
    proceed(made)()
    await until('the log tells why', () => logged.join('').includes(`"end":"${end}"`))
    t.equal(made.working, 0)
  })

t.test('who proves again who it is gets another secret, and keeps the export', async t => {
  const served = await serve(t)
  const { callers, made, clock, logged } = served
  callers.roles.set(1, 'owner')
  const begun = begin(served, ACCOUNT, 'u1')
  await until('it works', () => made.waiting.length === 1)
  const own = callers.sessions.get('u1') as NonNullable<ReturnType<typeof callers.sessions.get>>
  callers.sessions.delete('u1')
  callers.sessions.set('u1 anew', own)
  for (let i = 0; i < 5; i++) {
    clock.advance(1_000)
    await new Promise(resolve => setImmediate(resolve))
  }
  const tick = setInterval(proceed(made), 5)
  t.teardown(() => clearInterval(tick))
  t.equal(await textOf(await begun), '0\n1\n2\n')
  t.same(logged, [])
})
