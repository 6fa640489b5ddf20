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
import { parseCatalog } from '../../lib/catalog/catalog.ts'
import { identity, request, serveApi } from './support/api.ts'
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
