/**
 * What a client pays when somebody is absent, slow or wrong while his request is in one of its states, by real gateways over
 * scripted upstreams. The page of all such cases (`cells.ts`) names these tests beside those that stand elsewhere.
 */
import t, { type Test } from 'tap'
import type { Store } from '../../lib/store/store.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import {
  HEADERS,
  KEY,
  keyOf,
  MODEL,
  NOTHING_LEFT,
  type Options,
  open,
  POOR_KEY,
  type Scene,
} from '../exchange/support/gateway.ts'
import { answers, document, SPEECH, says } from '../exchange/support/speech.ts'
import { SETUP } from '../support/store.ts'
import { until } from '../support/wait.ts'

type How = 'absent' | 'slow' | 'wrong'
const EVERY_WAY: readonly How[] = ['absent', 'slow', 'wrong']

/** A key that works from another address. */
const ELSEWHERE = 'sk-scenario-from-elsewhere'
const good = answers(100, 10)
/** 100 tokens in at 2 and 10 out at 8. */
const DUE = 280

/** Makes the store absent (it cannot be reached), slow (it is silent) or wrong (it fails otherwise), until the function that returns. */
function spoil(t: Test, store: Store, how: How): () => void {
  const { pay: _, chain: __, people: ___, ...others } = store
  const parts = Object.values(others).filter(part => typeof part === 'object')
  const all = [store, ...parts].map(part => spoilPart(part, how))
  const mend = () => {
    for (const one of all.splice(0)) one()
  }
  t.teardown(mend)
  return mend
}

function spoilPart(part: object, how: How): () => void {
  const { promise: mended, resolve } = Promise.withResolvers<void>()
  const target = part as Record<string, unknown>
  const own = new Map(Object.keys(target).map(name => [name, target[name]]))
  const spoilt: string[] = []
  for (const at of [target, Object.getPrototypeOf(target) as object])
    for (const name of Object.getOwnPropertyNames(at)) {
      const real = target[name]
      if (name === 'constructor' || name === 'close' || typeof real !== 'function' || spoilt.includes(name)) continue
      spoilt.push(name)
      target[name] = async (...args: unknown[]) => {
        if (how === 'absent') throw new StoreUnavailable('away')
        if (how === 'wrong') throw new Error('no such column')
        await mended
        return await Reflect.apply(real, target, args)
      }
    }
  return () => {
    for (const name of spoilt.splice(0))
      if (own.has(name)) target[name] = own.get(name)
      else Reflect.deleteProperty(target, name)
    resolve()
  }
}

async function paysNothing(t: Test, s: Scene, what = ''): Promise<void> {
  const { rows, ...books } = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT }, what)
  t.same(
    rows.filter(row => row.charge !== 0),
    [],
    what,
  )
}

async function pays(t: Test, s: Scene, row: object, what = ''): Promise<void> {
  const { rows, ...books } = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] }, what)
  t.match(rows, [row], what)
}

async function ends(s: Scene, key = KEY, more: object = {}) {
  const client = s.ask(document(more, { authorization: `Bearer ${key}` }))
  await client.end()
  return { status: client.status, text: client.text }
}

const waits = (s: Scene) => until('a request waits', () => s.services.openCount === 1)

/** Lets time pass in small steps until the client has its answer. */
async function toTheEnd(t: Test, s: Scene, client: ReturnType<Scene['ask']>, stepMs = 100): Promise<void> {
  for (let i = 0; i < 40 && !client.answer.whole && !client.closed; i++) {
    await s.settled()
    s.clock.advance(stepMs)
  }
  t.ok(client.answer.whole || client.closed, 'the client has its answer')
  await client.end()
}

// --- the stages

t.test('a client that leaves in the middle of its body pays nothing', async t => {
  const s = await open(t)
  const body = JSON.stringify({ model: MODEL, max_tokens: 100 })
  const client = s.ask({ path: '/v1/chat/completions', headers: { ...HEADERS, 'content-length': '1000' }, body })
  await waits(s)
  client.leave()
  await until('it is over', () => s.services.openCount === 0)
  await paysNothing(t, s)
  t.same([s.asked(), (await s.books()).rows], [{ a: 0 }, []])
})

t.test('a client whose body comes slowly pays nothing before all of it is there', async t => {
  const s = await open(t)
  await s.services.keys.find(KEY)
  const body = JSON.stringify({ model: MODEL, max_tokens: 100 })
  const headers = { ...HEADERS, 'content-length': String(body.length + 1) }
  const client = s.ask({ path: '/v1/chat/completions', headers, body })
  await waits(s)
  s.clock.advance(5_000)
  await s.settled()
  t.same([s.asked(), s.services.ledger.holdsOpen], [{ a: 0 }, 0])
  s.at('a').script = good
  client.socket.write(' ')
  await client.end()
  t.equal(client.status, 200, client.text)
  await pays(t, s, { charge: DUE })
})

t.test('a client that leaves while the store is asked pays nothing, whatever was asked', async t => {
  const known = { a: {} }
  const nothing = async () => undefined
  const first = async (s: Scene) => {
    await ends(s, POOR_KEY)
    return undefined
  } // so that the store is asked for nothing else
  const rows: Record<string, { options?: Options; begin(s: Scene): Promise<object | undefined> }> = {
    authenticate: { begin: nothing },
    throttle: { options: { rate: 5 }, begin: first },
    findMaker: {
      begin: async s => {
        await ends(s)
        return { previous_response_id: 'resp_unknown' }
      },
    },
    reserve: { begin: nothing },
  }
  for (const [stage, { options, begin }] of Object.entries(rows)) {
    const s = await open(t, { channels: known, ...options })
    s.at('a').script = good
    const more = await begin(s)
    const before = (await s.books()).rows.length
    const asked = s.asked()['a'] as number
    const mend = spoil(t, s.store, 'slow')
    const { path, headers = {} } = SPEECH.responses.ask
    const client = s.ask(more ? { path, headers, body: { model: MODEL, input: 'x', ...more } } : document())
    await waits(s)
    client.leave()
    mend()
    await until('it is over', () => s.services.openCount === 0)
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT }, stage)
    t.same([books.rows.length, s.asked()['a']], [before, asked], stage)
  }
})

t.test('what a client does wrong is refused before an upstream is asked, and costs nothing', async t => {
  const s = await open(t, {
    rate: 20,
    channels: { a: { protocols: ['chat', 'responses'] } },
    accounts: { left: 0.000001 },
    keys: [{ name: 'elsewhere', secret: ELSEWHERE, allow_ips: ['192.0.2.1'] }],
  })
  s.at('a').script = good
  const chat = { path: '/v1/chat/completions', headers: HEADERS }
  const wrong: Record<string, [ask: object, status: number]> = {
    route: [{ ...chat, path: '/v1/nowhere', body: {} }, 404],
    credential: [{ ...chat, headers: {}, body: {} }, 401],
    authenticate: [{ ...chat, headers: { authorization: 'Bearer sk-of-nobody-at-all-0123456789' }, body: {} }, 401],
    admit: [{ ...chat, headers: { authorization: `Bearer ${ELSEWHERE}` }, body: {} }, 403],
    readBody: [{ ...chat, body: '{"model":' }, 400],
    chooseModel: [{ ...chat, body: { model: 'unknown' } }, 400],
    findMaker: [
      { ...chat, path: '/v1/responses', body: { model: MODEL, input: 'x', previous_response_id: 'foreign' } },
      404,
    ],
    findCandidates: [{ ...chat, path: '/v1/embeddings', body: { model: MODEL, input: 'x' } }, 400],
    price: [{ ...chat, body: { model: MODEL, service_tier: 'priority' } }, 400],
    reserve: [{ ...chat, headers: { authorization: `Bearer ${keyOf('left')}` }, body: { model: MODEL } }, 403],
  }
  for (const [stage, [ask, status]] of Object.entries(wrong)) {
    const client = s.ask(ask as Parameters<Scene['ask']>[0])
    await toTheEnd(t, s, client) // an answer that is not known is looked up again for a second
    t.equal(client.status, status, stage)
  }
  for (let i = 0; i < 40; i++) await ends(s, KEY, { model: 'unknown' })
  t.equal((await ends(s)).status, 429, 'throttle')
  await paysNothing(t, s)
  t.same(s.asked(), { a: 0 })
})

t.test('a key that ends while the body comes: nothing is asked, and nothing paid', async t => {
  const s = await open(t)
  const body = JSON.stringify({ model: MODEL, max_tokens: 100 })
  const headers = { ...HEADERS, 'content-length': String(body.length + 1) }
  const client = s.ask({ path: '/v1/chat/completions', headers, body })
  await waits(s)
  const [key] = await s.store.keys.list(1)
  await s.store.keys.delete(key!.id, SETUP)
  await s.follow()
  client.socket.write(' ')
  await client.end()
  t.equal(client.status, 401)
  await paysNothing(t, s)
  t.same(s.asked(), { a: 0 })
})

for (const how of EVERY_WAY) {
  t.test(`the store is ${how} when a key is looked up, before and after the body: nothing is paid`, async t => {
    const s = await open(t)
    s.at('a').script = good
    const mend = spoil(t, s.store, how)
    const client = s.ask(document())
    if (how === 'slow') {
      await waits(s)
      client.leave()
      mend()
      await until('it is over', () => s.services.openCount === 0)
    } else {
      await client.end()
      t.equal(client.status, how === 'absent' ? 503 : 500)
      mend()
    }
    await paysNothing(t, s)
    let status = 0
    for (let i = 0; i < 10 && status !== 200; i++) {
      status = (await ends(s)).status
      s.clock.advance(1_000) // while the store is known to be away it is asked once a second
      await s.settled()
    }
    t.equal(status, 200, 'and all is well afterwards')
  })

  t.test(
    `the store is ${how} when money is asked for: nobody waits for more than a second, and nothing is paid`,
    async t => {
      const s = await open(t)
      s.at('a').script = good
      t.equal((await ends(s, POOR_KEY)).status, 403) // its key is known, and it has no money
      await s.services.keys.find(KEY)
      const mend = spoil(t, s.store, how)
      const client = s.ask(document())
      const sinceMs = s.clock.monotonic()
      await toTheEnd(t, s, client)
      t.ok(s.clock.monotonic() - sinceMs <= 1_200)
      t.equal(client.status, 503)
      t.same(s.asked(), { a: 0 })
      mend()
      await paysNothing(t, s)
    },
  )

  t.test(`the store is ${how} when money is asked for before a large body is kept: nothing is paid`, async t => {
    const s = await open(t)
    await s.services.keys.find(KEY)
    const mend = spoil(t, s.store, how)
    const client = s.ask(document({ padding: 'x'.repeat(2 ** 21) }))
    await toTheEnd(t, s, client)
    t.equal(client.status, 503)
    t.same(s.asked(), { a: 0 })
    mend()
    await paysNothing(t, s)
  })

  t.test(`the store is ${how} from the first byte of an answer to its end: it is charged once`, async t => {
    const s = await open(t)
    const client = s.ask(SPEECH.messages.ask)
    const call = await s.at('a').call()
    const mend = spoil(t, s.store, how)
    call.stream()
    call.chunk(SPEECH.messages.first)
    await client.sees('Good morning')
    call.chunk(SPEECH.messages.rest)
    call.end()
    t.equal(await client.end(), 'whole')
    mend()
    await pays(t, s, { end: 'completed', basis: 'reported', charge: DUE })
  })

  t.test(`the store is ${how} when a hold must grow: no more is delivered than is held, and that is paid`, async t => {
    const options: Options = {
      config: { hold: { output_tokens: 16 } },
      accounts: { small: 0.002 },
      prices: { [MODEL]: { input: 2, output: 8 } },
    }
    const s = await open(t, options)
    const { path, body } = SPEECH.messages.ask
    const client = s.ask({
      path,
      headers: { 'x-api-key': keyOf('small') },
      body: { ...(body as object), max_tokens: 10_000 },
    })
    const call = await s.at('a').call()
    const held = s.services.ledger.heldTotal
    const mend = spoil(t, s.store, how)
    call.stream()
    for (let i = 0; i < 40; i++) call.chunk(SPEECH.messages.first)
    await toTheEnd(t, s, client)
    mend()
    const { rows, left } = await s.books()
    t.match(left, NOTHING_LEFT)
    t.ok(rows.length === 1 && rows[0]!.charge > 0, 'something is charged')
    t.ok((rows[0]?.charge as number) <= 2_000, `${rows[0]?.charge} of 2000, of which ${held} were held at first`)
  })
}

t.test('a settlement that the store took and whose answer was lost is charged once', async t => {
  const s = await open(t)
  s.at('a').script = good
  const { store } = s
  const real = store.books.settle.bind(store.books)
  let lost = 0
  store.books.settle = async (...args) => {
    const settled = await real(...args)
    if (lost++ === 0) throw new StoreUnavailable('the answer is lost')
    return settled
  }
  t.equal((await ends(s)).status, 200)
  await until('it was sent again', async () => {
    s.clock.advance(100)
    await s.settled()
    return lost > 1
  })
  await pays(t, s, { charge: DUE })
})

t.test('a rate that the store cannot be asked for: requests go on, and are paid as usual', async t => {
  for (const how of ['absent', 'wrong'] as const) {
    const s = await open(t, { rate: 5 })
    s.at('a').script = good
    t.equal((await ends(s)).status, 200)
    const { read, swap } = s.store.rateWindows
    const fails = () => Promise.reject(how === 'absent' ? new StoreUnavailable('away') : new Error('no such column'))
    Object.assign(s.store.rateWindows, { read: fails, swap: fails })
    t.equal((await ends(s)).status, 200, how)
    Object.assign(s.store.rateWindows, { read, swap })
    const { rows, ok } = await s.books()
    t.same([ok, rows.map(row => row.charge)], [true, [DUE, DUE]])
  }
})

t.test(
  'an earlier answer that the store cannot be asked for: nothing is asked of an upstream, and nothing paid',
  async t => {
    for (const how of EVERY_WAY) {
      const s = await open(t)
      s.at('a').script = good
      t.equal((await ends(s)).status, 200)
      const mend = spoil(t, s.store, how)
      const { path, headers = {} } = SPEECH.responses.ask
      const client = s.ask({ path, headers, body: { model: MODEL, input: 'x', previous_response_id: 'resp_x' } })
      if (how === 'slow') {
        await waits(s)
        client.leave()
      } else {
        await client.end()
        t.equal(client.status, how === 'absent' ? 503 : 500)
      }
      mend()
      for (let i = 0; i < 20 && s.services.openCount > 0; i++) {
        await s.settled()
        s.clock.advance(200)
      }
      const { rows, ok, left } = await s.books()
      t.match([ok, left, rows.length, s.asked()], [true, NOTHING_LEFT, 1, { a: 1 }], how)
    }
  },
)

// --- the states of the relay

t.test('an upstream that is absent, slow or wrong while it is asked: the client pays nothing', async t => {
  const rows: Record<How, [script: Parameters<typeof scriptOf>[0], status: number][]> = {
    absent: [['reset', 502]],
    slow: [['silent', 504]],
    wrong: [
      [500, 500],
      [429, 429],
      [401, 502],
      [404, 404],
      [529, 529],
    ],
  }
  for (const how of EVERY_WAY)
    for (const [script, status] of rows[how]) {
      const s = await open(t, { config: { timeouts: { first_byte: '50s' } } })
      s.at('a').script = scriptOf(script)
      const client = s.ask(document())
      if (script === 'silent') {
        await s.at('a').call()
        s.clock.advance(51_000)
      }
      await client.end()
      t.equal(client.status, status, `${how} ${script}`)
      await paysNothing(t, s, `${how} ${script}`)
    }
})

t.test('an upstream that sends a head and then breaks off or falls silent: the client pays nothing', async t => {
  for (const how of ['absent', 'slow'] as const) {
    const s = await open(t, { config: { timeouts: { first_byte: '50s', idle: '20s' } } })
    const client = s.ask(document())
    const call = await s.at('a').call()
    call.start(200, { 'content-type': 'application/json', 'content-length': '1000' })
    await s.settled()
    if (how === 'absent') call.reset()
    else s.clock.advance(51_000)
    await client.end()
    t.ok([502, 504].includes(client.status), `${how} ${client.status}`)
    await paysNothing(t, s, how)
  }
})

t.test('a client that leaves while the first bytes of its answer are judged is charged for what comes', async t => {
  const s = await open(t)
  const client = s.ask(document())
  const call = await s.at('a').call()
  call.start(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
  await s.settled()
  client.leave()
  await until('it is read on', () => s.services.readOns.size === 1)
  const body = { choices: [{ message: { content: 'hello' } }], usage: { prompt_tokens: 100, completion_tokens: 10 } }
  call.chunk(JSON.stringify(body))
  call.end()
  await pays(t, s, { end: 'client_gone', basis: 'reported', charge: DUE })
})

t.test(
  'an upstream that breaks off, or reports an error, while a slow client holds it up: as if nobody had been slow',
  async t => {
    for (const wrong of ['reset', 'error'] as const) {
      const s = await open(t)
      const client = s.ask(SPEECH.messages.ask)
      const call = await s.at('a').call()
      client.socket.pause()
      call.stream()
      call.chunk(SPEECH.messages.first)
      const piece = SPEECH.messages.first.repeat(2000)
      for (let i = 0; i < 400 && !call.socket.writableNeedDrain; i++) {
        call.chunk(piece)
        await s.settled()
      }
      if (wrong === 'error') {
        call.chunk(SPEECH.messages.error)
        call.end()
      } else call.reset()
      await s.settled()
      client.socket.removeAllListeners('data') // it is much
      client.socket.resume()
      await until('it is over', () => s.services.openCount === 0)
      const { rows, ok, left } = await s.books()
      t.match([ok, left], [true, NOTHING_LEFT])
      t.match(rows, [{ end: wrong === 'error' ? 'upstream_error' : 'upstream_cut', basis: 'counted' }])
      t.ok((rows[0]?.charge as number) > 0)
    }
  },
)

t.test('a client that leaves while a slow part of it holds the upstream up is charged as any that leaves', async t => {
  const s = await open(t)
  const client = s.ask(SPEECH.messages.ask)
  const call = await s.at('a').call()
  client.socket.pause()
  call.stream()
  const piece = SPEECH.messages.first.repeat(2000)
  for (let i = 0; i < 400 && !call.socket.writableNeedDrain; i++) {
    call.chunk(piece)
    await s.settled()
  }
  client.leave()
  call.chunk(SPEECH.messages.rest)
  call.end()
  await pays(t, s, { end: 'client_gone', basis: 'reported', charge: DUE })
})

t.test(
  'an upstream that does not end behind its last event: the client has its end, and pays what was reported',
  async t => {
    const s = await open(t)
    const client = s.ask(SPEECH.messages.ask)
    const call = await s.at('a').call()
    call.stream()
    call.chunk(SPEECH.messages.first)
    call.chunk(SPEECH.messages.rest)
    await client.sees('message_stop')
    for (let i = 0; i < 20 && !client.answer.whole; i++) {
      await s.settled()
      s.clock.advance(30_000)
    }
    t.equal(await client.end(), 'whole')
    await pays(t, s, { end: 'completed', basis: 'reported', charge: DUE })
  },
)

t.test('a client that leaves, or takes nothing, when its answer is charged already pays the same', async t => {
  for (const how of ['absent', 'slow'] as const) {
    const s = await open(t, { config: { timeouts: { slow_client: '20s' } } })
    const client = s.ask(SPEECH.messages.ask)
    const call = await s.at('a').call()
    call.stream()
    call.chunk(SPEECH.messages.first)
    await client.sees('Good morning')
    client.socket.pause()
    call.chunk(SPEECH.messages.rest)
    call.end()
    await until(
      'it is charged',
      async () => (await s.store.usage.page({ limit: 9 })).length === 1 || s.services.ledger.holdsOpen === 0,
    )
    if (how === 'absent') client.leave()
    else s.clock.advance(25_000)
    client.socket.resume()
    await pays(t, s, { basis: 'reported', charge: DUE }, how)
  }
})

t.test('a client that sends more behind its request has that taken for another one, and pays for each', async t => {
  const s = await open(t)
  const client = s.ask(SPEECH.messages.ask)
  const call = await s.at('a').call()
  call.stream()
  call.chunk(SPEECH.messages.first)
  await client.sees('Good morning')
  client.socket.write('no request at all\r\n\r\n')
  call.chunk(SPEECH.messages.rest)
  call.end()
  await client.end()
  await pays(t, s, { basis: 'reported', charge: DUE })
})

function scriptOf(what: 'reset' | 'silent' | number) {
  if (what === 'reset') return (call: Parameters<typeof good>[0]) => call.reset()
  return what === 'silent' ? () => {} : says(what)
}
