/**
 * Everything on a request's path that may wait for the store, with a store that stands still: how long by the clock until there is
 * an answer, and that there is one at once when it is known that the store is away. docs/lifecycle.md has the same rows.
 */
import { existsSync, readFileSync } from 'node:fs'
import t from 'tap'
import { HEADERS, type Options, OTHER_KEY, open, PATHS, type Scene } from './support/gateway.ts'
import { answers, document } from './support/speech.ts'

const STEP_MS = 50
const LONGEST_MS = 5_000
interface Row {
  name: string
  options?: Options
  /** The calls of the store that stand still, beside the ping. */
  silent: string[]
  /** A request beforehand finds key, money and window. */
  warm?: true
  ask: (scene: Scene) => Promise<number>
  status: number
  /** At most, by the clock. */
  ms: number
}

const asks =
  (change: { headers?: Record<string, string>; body?: object; path?: string } = {}) =>
  (scene: Scene) => {
    const request = document()
    const client = scene.ask({ ...request, ...change, body: { ...(request.body as object), ...change.body } })
    // who is told to come again is told when
    return client
      .end()
      .then(() => (client.status === 503 && !client.answer.headers.has('retry-after') ? 0 : client.status))
  }

const ROWS: Row[] = [
  {
    name: 'the key, when it is not in memory',
    silent: ['keys.find'],
    ask: asks({ headers: { ...HEADERS, authorization: `Bearer ${OTHER_KEY}` } }),
    status: 503,
    ms: 1_000,
  },
  {
    name: 'what is left of a cap, in a new period',
    options: { key: { cap: { amount: 5, every: 'day' } } },
    silent: ['books.lease'],
    ask: asks(),
    status: 503,
    ms: 1_000,
  },
  {
    name: 'a place in the rate window',
    options: { rate: 100 },
    silent: ['rateWindows.read', 'rateWindows.swap'],
    warm: true,
    ask: asks(),
    status: 200,
    ms: 1_000,
  },
  {
    name: 'money, before a large body is kept',
    silent: ['books.lease'],
    ask: asks({ body: { padding: 'x'.repeat(2 ** 21) } }),
    status: 503,
    ms: 1_000,
  },
  {
    name: 'the maker of an earlier answer',
    silent: ['usage.answerMaker'],
    warm: true,
    ask: asks({ path: PATHS.responses, body: { input: 'hi', previous_response_id: 'resp_1' } }),
    status: 503,
    ms: 2_000,
  },
  { name: 'the hold', silent: ['books.lease'], ask: asks(), status: 503, ms: 1_000 },
  {
    name: 'the right to an uncovered request',
    // a fifth of the worst case beside what is held
    options: { credit: 4096 + 64_000 / 5, prices: { m: { input: 0, output: 1 } }, model: { max_output: 64_000 } },
    silent: ['uncovered.take'],
    ask: asks({ body: { max_tokens: undefined } }),
    status: 503,
    ms: 1_000,
  },
  {
    name: 'what one of a key’s answers cost',
    silent: ['usage.requestsOfId'],
    ask: async ({ urls }) => {
      const answer = await fetch(`${urls.direct}/v1/generation?id=x`, { headers: HEADERS })
      await answer.arrayBuffer()
      return answer.status
    },
    status: 503,
    ms: 1_000,
  },
  {
    name: 'what a key has spent and may still spend',
    silent: ['books.purses', 'holders.heldByOthers'],
    ask: async ({ urls }) => {
      const answer = await fetch(`${urls.direct}/v1/dashboard/billing/subscription`, { headers: HEADERS })
      await answer.arrayBuffer()
      return answer.status
    },
    status: 503,
    ms: 1_000,
  },
]

/** How long it took by the clock until there was an answer, to the step in which the clock goes on. */
async function timed(scene: Scene, asked: Promise<number>): Promise<{ status: number; ms: number }> {
  let status: number | null = null
  void asked.then(got => (status = got))
  const sinceMs = scene.clock.monotonic()
  for (;;) {
    await scene.settled()
    await scene.settled()
    const ms = scene.clock.monotonic() - sinceMs
    if (status !== null || ms >= LONGEST_MS) return { status: status ?? 0, ms }
    scene.clock.advance(STEP_MS)
  }
}

type Part = Record<string, (...args: unknown[]) => Promise<unknown>>

/** The part of the store that a path such as `keys.find` leads to, and the name of its method. */
function partOf({ store }: Scene, path: string): [part: Part, name: string] {
  const [name = '', part] = path.split('.').reverse()
  return [(part === undefined ? store : store[part as keyof Scene['store']]) as unknown as Part, name]
}

/** Calls that stand still until the scene ends. */
function silence(scene: Scene, names: Row['silent']): () => void {
  const { promise, resolve } = Promise.withResolvers<void>()
  for (const path of [...names, 'ping']) {
    const [part, name] = partOf(scene, path)
    const call = part[name]?.bind(part)
    part[name] = (...args) => promise.then(() => call?.(...args))
  }
  return resolve
}

for (const { name, options = {}, silent, warm, ask, status, ms } of ROWS)
  t.test(name, async t => {
    const scene = await open(t, options)
    scene.at('a').script = answers(1, 1)
    // the key is known, where it is not what is asked for
    await fetch(`${scene.urls.direct}/v1/models`, { headers: HEADERS })
    if (warm) t.equal(await asks()(scene), 200)
    const end = silence(scene, silent)
    for (const isKnown of [false, true]) {
      const got = await timed(scene, ask(scene))
      t.equal(got.status, status)
      if (!isKnown) t.ok(got.ms > 0 && got.ms <= ms + STEP_MS, `answered after ${got.ms} ms`)
      else t.equal(got.ms, 0, 'at once, as the store is known to be away')
      if (!isKnown) scene.clock.advance(1_000)
      await scene.settled()
    }
    t.equal(scene.services.ledger.health.state, 'away')
    end()
    await scene.settled()
    t.match(await scene.books(), { ok: true, failures: [] })
  })

t.test('all waits of a request for money together are a second', async t => {
  const scene = await open(t, { key: { cap: { amount: 5, every: 'day' } } })
  scene.at('a').script = answers(1, 1)
  // every call of the store takes 0.4 s, and pings are answered: two waits fit into the second, and the third does not
  const { books } = scene.store
  const lease = books.lease.bind(books)
  books.lease = async (...args) => {
    await new Promise<void>(resolve => scene.clock.after(400, resolve))
    return lease(...args)
  }
  const got = await timed(scene, asks({ body: { padding: 'x'.repeat(2 ** 21) } })(scene))
  t.equal(got.status, 503)
  t.ok(got.ms <= 1_000 + STEP_MS, `answered after ${got.ms} ms`)
  scene.clock.advance(1_000)
  await scene.settled()
  t.match(await scene.books(), { ok: true, failures: [] })
})

t.test('docs/lifecycle.md lists what waits for the store, and names the test of each', t => {
  const page = readFileSync(new URL('../../docs/lifecycle.md', import.meta.url), 'utf8')
  const table = page.split('## What waits for the store')[1]?.split('\n## ')[0] ?? ''
  const rows = [...table.matchAll(/^\| ([^|]+) \|.*\| `(test\/[^`]+)` \|$/gm)].map(([, name, file]) => [name, file])
  t.ok(rows.length > ROWS.length)
  for (const { name } of ROWS)
    t.ok(
      rows.some(([row]) => row === name),
      name,
    )
  for (const [name, file] of rows) {
    const path = new URL(`../../${file}`, import.meta.url)
    t.ok(existsSync(path) && readFileSync(path, 'utf8').includes(`'${name}'`), `${file} has a test of: ${name}`)
  }
  t.end()
})
