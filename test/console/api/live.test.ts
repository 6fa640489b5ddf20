/** The event stream behind the live switch of Requests: what it says, to whom, how many there may be, and when it ends. */
import http from 'node:http'
import t, { type Test } from 'tap'
import { idAt } from '../../../lib/base/ids.ts'
import type { Account, Key } from '../../../lib/terms/records.ts'
import { fund, settlement, usageRow } from '../../support/store.ts'
import { until } from '../../support/wait.ts'
import { type Client, type House, openConsole } from '../support/console.ts'

interface Stream {
  status: number
  heard: string[]
  headers: http.IncomingHttpHeaders
  ended: () => boolean
  close(): void
}

function listen(t: Test, house: House, client: Client, account: Pick<Account, 'publicId'>): Promise<Stream> {
  const cookie = [...client.cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return new Promise((resolve, reject) => {
    const headers = { cookie, 'sec-fetch-site': 'same-origin', accept: 'text/event-stream' }
    const asked = http.get(`${house.url}/console/api/accounts/${account.publicId}/requests/live`, { headers }, res => {
      const heard: string[] = []
      res.setEncoding('utf8').on('data', (text: string) => heard.push(text))
      res.on('error', () => {})
      const ended = () => res.closed || res.destroyed
      resolve({ status: res.statusCode as number, headers: res.headers, heard, ended, close: () => res.destroy() })
    })
    asked.on('error', reject)
    t.teardown(() => asked.destroy())
  })
}

let made = 0
async function request({ store, clock }: House, key: Key): Promise<string> {
  const id = `${idAt(clock.now())}n0de${String(++made).padStart(7, '0')}`
  await store.books.settle([settlement(usageRow(id, key, 10), 'h', 0)])
  return id
}

/** A second goes by at a time until it is so. */
const passes = (house: House, what: string, isSo: () => boolean) =>
  until(what, () => {
    house.clock.advance(1_000)
    return isSo()
  })

/** Listens as soon as a stream is not refused any more; the status. */
async function listenWhenThereIsRoom(...given: Parameters<typeof listen>): Promise<number> {
  const [, house] = given
  let last = 0
  await until('there is room', async () => {
    house.clock.advance(1_000)
    last = (await listen(...given)).status
    return last === 200
  })
  return last
}

async function furnished(t: Test) {
  const house = await openConsole(t)
  await house.store.holders.register({ id: 'h', host: 'here', beat: 0 })
  const { account, key } = await fund(house.store, 'acme', 5_000_000)
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  return { house, account, key, ann }
}

t.test('a live stream tells of a newer request, and shows life in silence', async t => {
  const { house, account, key, ann } = await furnished(t)
  const stream = await listen(t, house, ann, account)
  t.equal(stream.status, 200)
  t.match(stream.headers, {
    'content-type': 'text/event-stream',
    'x-accel-buffering': 'no',
    'cache-control': 'no-store',
  })
  await passes(house, 'silence is told', () => stream.heard.some(text => text.startsWith(': nothing new')))
  t.notMatch(stream.heard.join(''), /event:/)
  const id = await request(house, key)
  await passes(house, 'the request is told', () =>
    stream.heard.some(text => text.includes(`event: changed\ndata: ${id}\n`)),
  )
  stream.close()
})

t.test('a member hears of own keys alone, and others of nothing', async t => {
  const { house, account, key } = await furnished(t)
  const bob = await house.person('bob@example.com', { in: { account, role: 'member' } })
  const stranger = await house.person('eve@example.com')
  const clerk = await house.person('bill@example.com', { in: { account, role: 'billing' } })
  t.equal((await listen(t, house, stranger, account)).status, 404)
  t.equal((await listen(t, house, clerk, account)).status, 403)
  t.equal((await listen(t, house, house.anybody(), account)).status, 401)
  const stream = await listen(t, house, bob, account)
  await request(house, key)
  await passes(house, 'silence is told', () => stream.heard.some(text => text.startsWith(': nothing new')))
  t.notMatch(stream.heard.join(''), /event:/)
})

t.test('a live stream ends with the session, the role, the user and the process', async t => {
  const { house, account } = await furnished(t)
  const by = { actor: { kind: 'cli', userId: null, name: 'cli', ip: null }, operation: 'test' } as const
  const member = (userId: number) => ({ userId, accountId: account.id })
  const losses: [what: string, lose: (client: Awaited<ReturnType<House['person']>>) => Promise<unknown>][] = [
    ['sign-out', client => client.call('sign_in.sign_out')],
    ['a ban', ({ person }) => house.store.people.users.update(person.id, { status: 'disabled' }, by)],
    ['another role', ({ person }) => house.store.people.members.setRole({ ...member(person.id), role: 'viewer' }, by)],
    ['no role', ({ person }) => house.store.people.members.setRole({ ...member(person.id), role: null }, by)],
  ]
  for (const [what, lose] of losses) {
    const email = `${what.replaceAll(' ', '-')}@example.com`
    const client = await house.person(email, { in: { account, role: 'owner' } })
    const stream = await listen(t, house, client, account)
    await lose(client)
    await passes(house, `the stream ends by ${what}`, stream.ended)
    t.ok(stream.ended(), what)
  }
})

t.test('a live stream ends when the process drains', async t => {
  const { house, account, ann } = await furnished(t)
  const stream = await listen(t, house, ann, account)
  house.life.draining = true
  await passes(house, 'the stream ends', stream.ended)
  t.ok(stream.ended())
})

t.test('four live streams of a user, and a place is free again when one is closed', async t => {
  const { house, account, ann } = await furnished(t)
  const open = await Promise.all(Array.from({ length: 4 }, () => listen(t, house, ann, account)))
  t.same(
    open.map(({ status }) => status),
    [200, 200, 200, 200],
  )
  t.equal((await listen(t, house, ann, account)).status, 429)
  open[0]?.close()
  t.equal(await listenWhenThereIsRoom(t, house, ann, account), 200)
})

t.test('200 live streams of all users, and a place is free again when one is closed', async t => {
  const { house, account } = await furnished(t)
  const people: Client[] = []
  for (let i = 0; i < 51; i++) people.push(await house.person(`p${i}@example.com`, { in: { account, role: 'viewer' } }))
  const late = people.pop() as Client
  const open: Stream[] = []
  for (const person of people)
    open.push(...(await Promise.all(Array.from({ length: 4 }, () => listen(t, house, person, account)))))
  t.equal(open.length, 200)
  t.same(new Set(open.map(({ status }) => status)), new Set([200]))
  const refused = await listen(t, house, late, account)
  t.equal(refused.status, 429)
  await until('the refusal is read', () => refused.heard.join('').includes('"busy"'))
  t.match(await late.call('me.show'), { status: 200 }, 'other calls are served')
  open[77]?.close()
  t.equal(await listenWhenThereIsRoom(t, house, late, account), 200)
  t.equal((await listen(t, house, late, account)).status, 429, 'one place for one that was closed')
})

t.test('a session that only listens ends as if nobody used it', async t => {
  const { house, account, ann } = await furnished(t)
  const stream = await listen(t, house, ann, account)
  house.clock.advance(7 * 86_400_000 + 60_000)
  await passes(house, 'the stream ends', stream.ended)
  t.match(await ann.call('me.show'), { status: 401 })
})
