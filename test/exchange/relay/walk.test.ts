/**
 * Walks of a relay through events in any order: upstreams that answer, fail and fall silent, a client that is slow or leaves,
 * money that is late or ends, decoders, threads and disks that are late, time that passes, a process that ends. After each event a small model says what must hold.
 *
 * `SEED=… WALKS=1` repeats one walk, and `WALKS=100000` makes many.
 */
import t from 'tap'
import { Health } from '../../../lib/channels/health.ts'
import { RetryBudget } from '../../../lib/channels/retry-budget.ts'
import { TRANSITIONS, type Transition } from '../../../lib/exchange/relay/states.ts'
import type { Services } from '../../../lib/exchange/record/services.ts'
import { Sweeper } from '../../../lib/exchange/record/sweeper.ts'
import { applyCatalog } from '../../../lib/operations/catalogue/apply.ts'
import { createServices, enterWorld } from '../../../lib/process/services.ts'
import { parseCatalog } from '../../../lib/catalog-file/catalog.ts'
import { parseConfig } from '../../../lib/config/config.ts'
import { createLogger } from '../../../lib/base/log.ts'
import { Metrics } from '../../../lib/terms/metrics.ts'
import { World } from '../../../lib/world/world.ts'
import { TestClock } from '../../support/clock.ts'
import { seeded, withSeed } from '../../support/random.ts'
import { memoryStore, wellStore } from '../../support/store.ts'
import { KEY, MODEL } from '../support/gateway.ts'
import type { Spoken } from './answers.ts'
import { Elsewhere } from './elsewhere.ts'
import { FakeLedger } from './fakes.ts'
import { type Ground, PICTURES, Walk } from './walk.ts'

/** Enough for every transition to be made many times. */
const USUAL = 2000
const WALKS = Number(process.env['WALKS'] ?? USUAL)

const CONFIGS = [
  {},
  { hold: { output_tokens: 16 } },
  { hold: { output_tokens: 16 }, keepalive: { early: '5s' } },
  { keepalive: { early: '5s' }, client_gone: { concurrent: 0 } },
  { timeouts: { main: '60s' }, retry: { attempts: 2 } },
  { timeouts: { main: '60s' }, hold: { output_tokens: 1 }, client_gone: { concurrent: 0 } },
]

/** What each of the channels speaks: what the client does, another protocol, and one this and one that. */
const SPOKEN: readonly (readonly (readonly Spoken[])[])[] = [
  [
    ['messages', 'chat', 'images'],
    ['messages', 'chat', 'images'],
    ['messages', 'chat', 'images'],
  ],
  [
    ['chat', 'images'],
    ['chat', 'images'],
    ['chat', 'images'],
  ],
  [['messages'], ['chat', 'images'], ['messages', 'chat', 'images']],
]

const CATALOG = {
  groups: ['default', 'hedged'].map(name => ({
    name,
    rate: { requests: 0, minutes: 1 },
    ...(name === 'hedged' ? { hedge: { after: '2s' } } : {}),
  })),
  models: [
    { name: MODEL, price: { input: 2, output: 8 } },
    { name: PICTURES, price: { image: 0.5 } },
  ],
  channels: ['a', 'b', 'c'].map(name => ({
    name,
    base_url: `http://127.0.0.1:9/${name}`,
    protocols: ['messages', 'chat', 'images'],
    groups: ['default', 'hedged'],
    models: [MODEL, PICTURES],
    key: `up-${name}`,
  })),
  accounts: [{ name: 'one', groups: ['default', 'hedged'], balance: 1_000_000 }],
  keys: [{ account: 'one', name: 'k', secret: KEY, group: 'default' }],
}

/** The services of a gateway, with a clock that stands still, a ledger of ours, and worlds of each kind. */
async function ground(): Promise<Ground & { worlds: (() => World)[] }> {
  const clock = new TestClock()
  clock.advance(1_000_000)
  const store = await memoryStore()
  const config = parseConfig('{}', 'config', {})
  await applyCatalog(store, parseCatalog(JSON.stringify(CATALOG), 'catalog', {}), clock)
  const logged: Ground['logged'] = []
  const log = createLogger('warn', {
    write: (line: string) => logged.push(JSON.parse(line) as Ground['logged'][number]),
  })
  const ledger = new FakeLedger(withSeed(0))
  const elsewhere = new Elsewhere()
  const counted: Ground['counted'] = { reports: [], readOnsClosed: [] }
  const catalog = await store.catalogue.read()
  const hedged = { ...catalog, groups: catalog.groups.map(group => ({ ...group, hedgeMs: 2_000 })) }
  const worlds = CONFIGS.flatMap(given => {
    const config = parseConfig(JSON.stringify({ shed: {}, images: { links: '/nowhere' }, ...given }), 'config', {})
    return [catalog, hedged].flatMap(({ channels, ...rest }) =>
      SPOKEN.map(protocols => {
        const speaking = channels.map((channel, i) => ({ ...channel, protocols: [...(protocols[i] as Spoken[])] }))
        return () => new World(config, { ...rest, channels: speaking })
      }),
    )
  })
  const services = createServices({
    clock,
    log,
    metrics: new Metrics(),
    store,
    ledger: Object.assign(ledger, { health: wellStore(clock) }) as unknown as Services['ledger'],
    lag: { ms: 0 },
    world: new World(config, catalog),
    random: () => 0,
  })
  await services.keys.find(KEY) // in memory from now on
  const { metrics } = services
  metrics.attempt = (_channel, result) => void counted.reports.push(result)
  metrics.readOnClosed = reason => void counted.readOnsClosed.push(reason)
  services.translating = elsewhere.translating
  services.pictures = elsewhere.pictures
  return { services, clock, ledger, elsewhere, counted, logged, worlds }
}

const onChange = () => {}
const onAuthFailure = () => {}
const prove = async () => false

/** So that many walks may take their time. */
const timeout = 600_000 + WALKS * 10
t.setTimeout(timeout)

t.test('walks', { timeout }, async t => {
  const { seed } = seeded(t)
  const land = await ground()
  const { services, clock } = land
  t.teardown(land.elsewhere.holdDecoders())
  const seen = new Map<Transition, number>()
  for (let i = 0; i < WALKS; i++) {
    const random = withSeed(seed + i)
    services.health = new Health({ clock, random: () => 0, onChange, onAuthFailure, prove })
    services.retries = new RetryBudget({ share: 0, floorPerS: 1000, windowS: 1, clock })
    services.sweeper = new Sweeper(clock)
    enterWorld(services, random.pick(land.worlds)()) // a new one, which remembers nothing of the walk before
    const walk = new Walk(land, random)
    try {
      for (const name of await walk.go()) seen.set(name, (seen.get(name) ?? 0) + 1)
    } catch (error) {
      t.fail(`SEED=${seed + i} WALKS=1: ${(error as Error).message}`, {
        events: walk.events,
        trace: walk.trace,
        stack: (error as Error).stack ?? '',
      })
      return
    }
  }
  t.comment(Object.fromEntries(seen))
  const all = Object.keys(TRANSITIONS) as Transition[]
  if (WALKS >= USUAL)
    t.same(
      all.filter(name => !seen.has(name)),
      [],
      'every transition was made',
    )
})
