/**
 * One caller could wear the console out: with thousands of parameters, which were compared with each other; and with lists
 * that look through a hundred thousand rows, of which a user could ask for twenty a second, all at once; with changes, which
 * filled the log of actions, a hundred by one call; and with large pages, which were written anew for everybody who asked, or every three
 * seconds in every language and theme.
 */
// The bug behind these rows: a console worn out by one.
import t from 'tap'
import { z } from 'zod'
import { CallRates } from '../../lib/api/bounds.ts'
import { operation } from '../../lib/api/operation.ts'
import { applyCatalog } from '../../lib/operations/catalogue/apply.ts'
import { OPERATIONS } from '../../lib/console/api/rows.ts'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { identity, request, type Served, serveApi } from './support/api.ts'
import { TestClock } from '../support/clock.ts'
import { until } from '../support/wait.ts'
import { openConsole } from '../console/support/console.ts'

t.test('each parameter is compared once', async t => {
  const house = await openConsole(t)
  const query = Object.fromEntries(Array.from({ length: 2_000 }, (_, i) => [`p${i}`, '1']))
  let compared = 0
  const { findIndex } = Array.prototype
  Array.prototype.findIndex = function (this: unknown[], ...args: [never]) {
    compared += this.length
    return findIndex.apply(this, args)
  } as never
  t.teardown(() => {
    Array.prototype.findIndex = findIndex
  })
  const { status, json } = await house.anybody().call('catalogue.document', { query })
  t.equal(status, 400)
  t.ok(compared < 10 * 2_000, `${compared} looked at`)
  t.ok(JSON.stringify(json).length < 4_000)
})

t.test('lists that look through many rows are calls of which a user makes few', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  for (const id of ['requests.list', 'refusals.list', 'overview.read']) {
    const eve = await house.person(`${id}@example.com`, { in: { account, role: 'viewer' } })
    for (let i = 0; i < 120; i++) t.equal((await eve.call(id, { account })).status, 200)
    t.match(await eve.call(id, { account }), { status: 429, code: 'too_many_calls' }, id)
  }
})

t.test('so are changes, because each leaves a line in the log of actions', async t => {
  const house = await openConsole(t)
  const eve = await house.person('eve@example.com')
  const change = (i: number) => eve.call('me.change', { body: { theme: i % 2 === 0 ? 'dark' : 'light' } })
  for (let i = 0; i < 240; i++) t.equal((await change(i)).status, 200)
  t.match(await change(0), { status: 429, code: 'too_many_calls' })
  t.equal((await eve.call('me.show')).status, 200, 'she may still read')
})

t.test('a day has a bound of its own, because the lines are kept for good', async t => {
  const clock = new TestClock()
  const rates = new CallRates(clock)
  const change = () => rates.waitS('changes', 'user', '1')
  for (let i = 0; i < 10_000; i++) if (change() !== null) t.fail(`the change ${i} is refused`)
  t.equal(change(), 9)
  t.equal(rates.waitS('changes', 'user', '2'), null, 'another one has a day of their own')
  clock.advance(9_000)
  t.equal(change(), null)
  t.equal(change(), 9)
  clock.advance(24 * 3_600_000)
  t.equal(rates.waitS('changes', 'user', '1', 10_000), null)
})

t.test('thousands of callers of other kinds do not have it forgotten', async t => {
  const rates = new CallRates(new TestClock())
  t.equal(rates.waitS('changes', 'user', '1', 10_000), null)
  for (let i = 0; i < 10_001; i++) rates.take('page', 'ip', `address ${i}`)
  t.equal(rates.waitS('changes', 'user', '1'), 9)
})

type Row = Partial<Parameters<typeof operation<object, unknown, unknown, unknown>>[0]>

/** A change that a user may make in sessions and with tokens; `run` makes it. */
const changeRow = (id: string, more: Row): ReturnType<typeof operation<object, unknown, unknown, unknown>> =>
  operation<object, unknown, unknown, unknown>({
    id,
    call: `POST /${id}`,
    summary: 'A change.',
    who: 'user',
    scope: 'keys',
    answer: { status: 200, body: z.unknown() },
    run: async () => ({}),
    ...more,
  })

const TOKEN = { authorization: 'Bearer gwp_stolen' }
const session = (name: string) => ({ cookie: `session=${name}`, 'sec-fetch-site': 'same-origin' })

/** A change of as many things as its body says. */
const MANY = changeRow('many', {
  limit: 'light',
  body: z.strictObject({ things: z.int() }),
  counts: body => (body as { things: number }).things,
})

/** Uses up what a user may change in a day, by one session. */
async function useUpDay(s: Served, name: string): Promise<void> {
  const headers = { ...session(name), 'content-type': 'application/json' }
  for (const things of [1_000, 100, 10, 1])
    for (let i = 0; i < 12; i++) {
      const { status } = await s.ask('POST', '/console/api/many', headers, JSON.stringify({ things }))
      if (things === 1_000) s.clock.advance(60_000)
      if (status !== 200) break
    }
}

t.test('each change counts into it, whatever bounds its calls', async t => {
  for (const limit of ['light', 'write', 'heavy', 'sign-in'] as const) {
    let made = 0
    const s = await serveApi(t, [
      changeRow('change', { limit, run: async () => ({ made: ++made }) }),
      MANY,
      changeRow('look', { effect: 'read', limit }),
    ])
    s.callers.sessions.set('u1', identity())
    const ask = async (id: string) => (await s.ask('POST', `/console/api/${id}`, session('u1'))).status
    await useUpDay(s, 'u1')
    t.equal(await ask('change'), 429, limit)
    t.equal(made, 0)
    t.equal(await ask('look'), 200)
  }
})

t.test('what shuts a thief out is neither refused for what the thief has done nor waits for it', async t => {
  const held: (() => void)[] = []
  const hold = () => new Promise<object>(resolve => held.push(() => resolve({})))
  const s = await serveApi(t, [
    changeRow('slow', { run: hold }),
    changeRow('change', {}),
    MANY,
    changeRow('end', { scope: null, protects: true }),
    changeRow('sign-in', { scope: null, who: 'anyone', limit: 'sign-in' }),
  ])
  t.teardown(() => {
    for (const go of held) go()
  })
  s.callers.sessions.set('own', identity({ sessionId: 1 })).set('stolen', identity({ sessionId: 2 }))
  s.callers.tokens.set('gwp_stolen', identity({ sessionId: null, tokenId: 1, scope: 'keys' }))
  const ask = async (id: string, headers: Record<string, string>) =>
    (await s.ask('POST', `/console/api/${id}`, headers)).status
  void ask('slow', TOKEN)
  await until('the thief makes a change', () => held.length === 1)
  t.equal(await ask('change', session('own')), 200, 'a token has a queue of its own')
  void ask('slow', session('stolen'))
  await until('and another one in a session', () => held.length === 2)
  for (const id of ['end', 'sign-in']) t.equal(await ask(id, session('own')), 200, `${id} waits for neither`)
  for (const go of held) go()
  for (let i = 0; i < 300; i++) await ask('change', TOKEN)
  t.equal(await ask('change', TOKEN), 429)
  t.equal(await ask('change', session('own')), 200, 'nor does a token use up the calls of sessions')
  await useUpDay(s, 'stolen')
  t.equal(await ask('change', session('own')), 429)
  for (const id of ['end', 'sign-in']) t.equal(await ask(id, session('own')), 200, `${id} is not refused`)
})

t.test('in one session it is made one after another, and only if its sender may still make it', async t => {
  const held: (() => void)[] = []
  const run = () => new Promise<object>(resolve => held.push(() => resolve({})))
  const s = await serveApi(t, [changeRow('end', { protects: true, run })])
  s.callers.sessions.set('u1', identity())
  const ask = () => s.ask('POST', '/console/api/end', session('u1'))
  const both = [ask(), ask()]
  await until('one runs', () => held.length === 1)
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
  t.equal(held.length, 1)
  s.callers.sessions.delete('u1')
  held[0]?.()
  t.same((await Promise.all(both)).map(({ status }) => status).sort(), [200, 401])
})

t.test('the calls by which somebody is shut out are those that wait for nothing else', async t => {
  t.same(
    OPERATIONS.filter(({ protects }) => protects)
      .map(({ id }) => id)
      .sort(),
    [
      'me.password',
      'sessions.end',
      'sessions.end_others',
      'sign_in.ask_for_passkey_again',
      'sign_in.oidc_step_up',
      'sign_in.step_up',
      'tokens.end',
      'users.end_sessions',
    ],
  )
})

t.test('changes count into the day', async t => {
  const s = await serveApi(t, [
    operation<object, unknown, unknown, unknown>({
      id: 'change',
      call: 'POST /change',
      summary: 'A change of very many things.',
      who: 'user',
      scope: 'read',
      counts: () => 240,
      answer: { status: 200, body: z.unknown() },
      run: async () => ({}),
    }),
  ])
  s.callers.sessions.set('u1', identity())
  const change = () => s.ask('POST', '/console/api/change', { cookie: 'session=u1', 'sec-fetch-site': 'same-origin' })
  let made = 0
  for (; made < 100 && (await change()).status === 200; made++) s.clock.advance(60_000)
  t.equal(made, 42, 'of 240 each, with the 292 that come again within 42 minutes')
  t.match(await change(), { status: 429, error: { code: 'too_many_calls' } })
})

t.test('those of one user are made one after another, and nobody else waits for them', async t => {
  let [running, most] = [0, 0]
  const waiting: (() => void)[] = []
  const s = await serveApi(t, [
    operation<object, unknown, unknown, unknown>({
      id: 'change',
      call: 'POST /change',
      summary: 'A change.',
      who: 'user',
      scope: 'read',
      answer: { status: 200, body: z.unknown() },
      run: async () => {
        most = Math.max(most, ++running)
        await new Promise<void>(resolve => waiting.push(resolve))
        running--
        return {}
      },
    }),
  ])
  for (let id = 1; id <= 2; id++) s.callers.sessions.set(`u${id}`, identity({ sessionId: id }, { id }))
  const change = (user: string) =>
    s.ask('POST', '/console/api/change', { cookie: `session=${user}`, 'sec-fetch-site': 'same-origin' })
  const own = Array.from({ length: 20 }, () => change('u1'))
  const other = change('u2')
  await until('one of each runs', () => waiting.length === 2)
  let done = 0
  for (const one of [...own, other]) void one.then(({ status }) => (done += Number(status === 200)))
  await until('all are made', () => {
    for (const go of waiting.splice(0)) go()
    return done === 21
  })
  t.equal(most, 2)
  const last = [change('u1'), change('u1')]
  await until('one runs', () => waiting.length === 1)
  for (let i = 0; i < 20; i++) await new Promise(setImmediate)
  s.callers.sessions.delete('u1')
  waiting.pop()?.()
  const statuses = (await Promise.all(last)).map(({ status }) => status)
  t.same(statuses.sort(), [200, 401], 'who was signed out meanwhile makes none that waited')
})

t.test('a call that changes many keys counts as many changes', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  const eve = await house.person('eve@example.com', { in: { account, role: 'owner' } })
  const ids = Array.from({ length: 100 }, (_, i) => String(i).padStart(20, '0'))
  const change = () => eve.call('keys.several', { account, body: { ids, action: 'disable' } })
  for (let i = 0; i < 2; i++) t.equal((await change()).status, 200)
  t.match(await change(), { status: 429, code: 'too_many_calls' })
  t.equal((await eve.call('me.change', { body: { theme: 'dark' } })).status, 200, 'and one more is one more')
})

const CATALOG = {
  groups: [
    { name: 'default', public: true },
    { name: 'vip', multiplier: 0.5, public: true },
  ],
  models: [{ name: 'm', price: { input: 2, output: 2 } }],
  channels: [
    {
      name: 'c',
      base_url: 'https://up.example',
      key: 'up',
      protocols: ['chat'],
      models: ['m'],
      groups: ['default', 'vip'],
    },
  ],
}

const MORE_THAN_A_NAME = 200

t.test('a page that shows the same is written once', async t => {
  const house = await openConsole(t)
  await applyCatalog(house.store, parseCatalog(JSON.stringify(CATALOG), 'catalog.yaml', {}), house.clock)
  await house.deps.fleet.changed()
  const port = Number(new URL(house.url).port)
  const page = async (path: string, cookie = '') =>
    (await request(port, 'GET', path.startsWith('/') ? path : `/console/${path}`, { cookie })).text
  const paths = [
    '/openapi.json',
    'connect',
    'models',
    'models/m',
    'models/m?group=vip',
    'status',
    'sign-in',
    'overview',
    'nowhere',
  ]
  const first = await Promise.all(paths.map(path => page(path)))
  const [dark, english] = [await page('connect', 'theme=dark'), await page('connect', 'language=en')]
  t.match(dark, 'data-theme="dark"')
  t.match(english, '<html lang="en">')
  t.match(first[1], '<html lang="zh-CN">')
  t.ok(first[3]?.includes('¥2') && first[4]?.includes('¥1'), 'of the model and the group')
  let escaped = 0
  const { stringify } = JSON
  JSON.stringify = ((...args: Parameters<typeof stringify>) => {
    const text = stringify(...args)
    if (text.length > MORE_THAN_A_NAME) escaped++
    return text
  }) as typeof stringify
  t.teardown(() => {
    JSON.stringify = stringify
  })
  for (const afterMs of [0, 61_000]) {
    house.clock.advance(afterMs)
    const second = await Promise.all(paths.map(path => page(path)))
    const again = [await page('connect', 'theme=dark'), await page('connect', 'language=en')]
    t.strictSame([second, again], [first, [dark, english]])
    t.equal(escaped, 0, `what a page is given is written into it once, also ${afterMs} ms later`)
  }
})
