/**
 * `npm run chaos [-- --minutes 10 --clients 500 --seed N --store mysql]`: runs a gateway with five upstreams that fail
 * in every way, and clients of which a fifth leaves early. When the load is over, it compares what clients saw, what
 * the upstreams served and what the books say, and checks that nothing is still open. Exits 1 when anything is wrong.
 */
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { startMariadb } from '../../test/support/mariadb.ts'
import { withSeed } from '../../test/support/random.ts'
import { scriptOptions } from '../../test/support/script.ts'
import { startPart } from '../parts/process.ts'
import { KEY, startGateway } from '../parts/subjects.ts'
import { type Asked, Clients } from './clients.ts'
import { chargeOf, IMAGES, INPUT, MODEL, outputOf, PROTOCOLS, SOLE, soleModel } from './speech.ts'

const values = scriptOptions(import.meta.filename, {
  minutes: { type: 'string', default: '10' },
  clients: { type: 'string', default: '500' },
  seed: { type: 'string' },
  store: { type: 'string', default: 'sqlite' },
})
const SEED = Number(values.seed ?? Math.floor(Math.random() * 1e9))
const MINUTES = Number(values.minutes)
console.error(`seed ${SEED}`)

interface UsageRow {
  request_id: string
  charge: string
  basis: string
  end: string
  input: number
  output: number
  via: string | null
}

/** The most that memory may grow from the second third of the run to the last; a leak would grow further. */
const MOST_GROWTH = 1.25
/**
 * The least share of complete answers, among requests whose client stayed and whose answer no upstream broke off. Two
 * of the five upstreams are without a fault at any moment.
 */
const LEAST_WHOLE = 0.995

const wrong: string[] = []
const must = (right: boolean, what: string) => void (right || wrong.push(what))

let ports: number[] = []
const upstream = await startPart(
  process.execPath,
  [path.join(import.meta.dirname, 'upstream.ts')],
  { SEED: String(SEED) },
  line => {
    ports = line['ports'] as number[]
    return Number(line['port'])
  },
)
const mariadb = values.store === 'mysql' ? await startMariadb() : null
const gateway = await startGateway(0, undefined, 'gateway', {
  ...(mariadb === null ? {} : { store: await mariadb.database('chaos') }),
  catalog: catalogFile(ports),
  timeouts: { connect: '1s', first_byte: '3s', idle: '5s', slow_client: '3s', main: '0s' },
  client_gone: { drain: '3s', concurrent: 64 },
  retry: { attempts: 4, budget: '50%' },
})

function catalogFile(ports: number[]): string {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'chaos-'))
  const file = path.join(folder, 'catalog.json')
  const channel = (port: number, name: string, protocols: readonly string[], models: string[]) => ({
    name,
    base_url: `http://127.0.0.1:${port}`,
    protocols,
    key: 'up',
    groups: ['default'],
    models,
  })
  const channels = ports.flatMap((port, i) => [
    channel(port, `up-${i + 1}`, PROTOCOLS, [MODEL, IMAGES]),
    ...SOLE.map(protocol => channel(port, `up-${i + 1}-${protocol}`, [protocol], [soleModel(protocol)])),
  ])
  const text = JSON.stringify({
    groups: [{ name: 'default', rate: { requests: 0 } }],
    models: [
      ...[MODEL, ...SOLE.map(soleModel)].map(name => ({ name, price: { input: 2, output: 8 } })),
      { name: IMAGES, price: { image: 0.01 } },
    ],
    channels,
    accounts: [{ name: 'bench', balance: 1_000_000 }],
    keys: [{ account: 'bench', name: 'k', secret: KEY }],
  })
  writeFileSync(file, text)
  return file
}

const admin = async <T>(path: string): Promise<T> =>
  (await (await fetch(`${gateway.ops}${path}`, { headers: { authorization: 'Bearer bench-admin-token' } })).json()) as T

async function metrics(): Promise<string> {
  return (await fetch(`${gateway.ops}/metrics`)).text()
}
/** The sum of a metric over its labels; NaN when there is no such metric. */
function sum(text: string, name: string): number {
  const samples = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? (\\S+)$`, 'gm'))]
  return samples.length === 0 ? Number.NaN : samples.reduce((total, m) => total + Number(m[1]), 0)
}

const memory: number[] = []
const mean = (numbers: number[]): number => numbers.reduce((a, b) => a + b, 0) / numbers.length
const files = (): number => readdirSync(`/proc/${gateway.pid}/fd`).length

// --- the load, with all faults

const clients = new Clients(withSeed(SEED + 1), gateway.port, KEY)
await Promise.all(Array.from({ length: 50 }, () => clients.ask(false)))
await sleep(2000)
const before = { files: files(), mib: gateway.rssBytes() / 2 ** 20 }
clients.start(Number(values.clients))
for (let s = 0; s < MINUTES * 60; s += 10) {
  await sleep(Math.min(10, MINUTES * 60) * 1000)
  const text = await metrics()
  const open = ['gateway_inflight', 'gateway_upstream_open', 'gateway_holds_open'].map(name => sum(text, name))
  const mib = gateway.rssBytes() / 2 ** 20
  memory.push(mib)
  const kinds = ['nodejs_heap_size_used_bytes', 'nodejs_heap_size_total_bytes', 'nodejs_external_memory_bytes']
  const parts = kinds.map(name => (sum(text, name) / 2 ** 20).toFixed(0))
  const of = `${mib.toFixed(0)} MiB (heap used, heap, outside of it: ${parts.join(' ')})`
  console.error(`${s + 10} s: ${clients.asked.length} asked, ${of}, open ${open.join(' ')}`)
}
await fetch(`http://127.0.0.1:${upstream.port}/calm`)
await clients.stop()
await sleep(40_000) // idle connections to upstreams are closed after 30 s

// --- what must hold afterwards

const quiet = await metrics()
for (const name of ['gateway_inflight', 'gateway_upstream_open', 'gateway_holds_open', 'gateway_held_cny'])
  must(sum(quiet, name) === 0, `${name} is ${sum(quiet, name)}`)
const after = { files: files(), mib: gateway.rssBytes() / 2 ** 20 }
must(after.files <= before.files + 10, `open files: ${before.files} before, ${after.files} after`)
const third = Math.floor(memory.length / 3)
const [middle, last] = [memory.slice(third, 2 * third), memory.slice(-third)].map(mean) as [number, number]
must(third < 3 || last <= middle * MOST_GROWTH, `memory grows: ${middle.toFixed(0)} MiB, then ${last.toFixed(0)}`)
const lagMs = sum(quiet, 'nodejs_eventloop_lag_mean_seconds') * 1000
must(lagMs < 20, `the event loop is late by ${lagMs} ms on average with nothing to do`)

const account = await admin<{ balance: string; held: string }>('/admin/accounts/bench')
const audit = await admin<{ ok: boolean; charges: string }>('/admin/audit')
must(audit.ok, 'the audit does not add up')
must(account.held === '0.000000', `held: ${account.held}`)

const rows = new Map<string, UsageRow>()
for (let next: string | null = null, first = true; first || next !== null; first = false) {
  const from: string = next === null ? '' : `&after=${next}`
  const page = await admin<{ data: UsageRow[]; next: string | null }>(`/admin/usage?limit=1000${from}`)
  for (const row of page.data) {
    must(!rows.has(row.request_id), `${row.request_id} stands twice in the books`)
    rows.set(row.request_id, row)
  }
  next = page.next
}
const rowCount = rows.size
const micro = (text: string): number => Math.round(Number(text) * 1e6)
const total = [...rows.values()].reduce((t, row) => t + micro(row.charge), 0)
must(total === micro(audit.charges), `rows charge ${total}, the books ${audit.charges}`)
must(1e12 - total === micro(account.balance), `the balance is ${account.balance}`)

const { served, seen } = (await (await fetch(`http://127.0.0.1:${upstream.port}/`)).json()) as {
  served: [number, [number, number]][]
  seen: Record<string, number>
}
const answered = new Map(served)
const outcomes = { whole: 0, refused: 0, broken: 0, left: 0, failed: 0 }
const refusals: Record<string, number> = {}
/** Of the refused: documents that an upstream broke off while their head waited for the end, which the client is told by a 502. */
let takenBack = 0
let exact = 0
let shownRight = 0

function compare({ n, protocol, requestId, outcome, status, via, shown }: Asked): void {
  outcomes[outcome]++
  const row = requestId === null ? undefined : rows.get(requestId)
  const charge = row === undefined ? 0 : micro(row.charge)
  const what = `request ${n} (${protocol}, ${outcome}, ${status}, ${requestId})`
  const [whole, part] = answered.get(n) ?? [0, 0]
  if (requestId !== null) rows.delete(requestId)
  if (outcome === 'whole') {
    must(row !== undefined, `${what}: not in the books`)
    if (row?.basis === 'reported' && charge === chargeOf(protocol, n)) exact++
    else wrong.push(`${what}: charged ${charge} as ${row?.basis}, served for ${chargeOf(protocol, n)}`)
    must(whole > 0, `${what}: no upstream served it whole`)
    must(row?.via === via, `${what}: by ${via}, the row says ${row?.via}`)
    if (shown === null) return
    const isSame =
      [INPUT, row?.input].every(of => of === shown.prompt) &&
      [outputOf(n), row?.output].every(of => of === shown.output)
    if (isSame) shownRight++
    else wrong.push(`${what}: by ${via}, shown ${JSON.stringify(shown)}, the row has ${row?.input} and ${row?.output}`)
  } else if (outcome === 'refused') {
    must(charge === 0, `${what}: charged ${charge}`)
    refusals[status] = (refusals[status] ?? 0) + 1
    if (status === 502 && part > 0 && whole === 0) takenBack++
  } else if (charge > 0) {
    must(whole + part > 0, `${what}: charged ${charge}, and no upstream served any of it`)
    // a counted charge is an estimate; a reported charge may be below that of the whole answer, but never above
    if (row?.basis === 'reported')
      must(charge <= chargeOf(protocol, n), `${what}: charged ${charge}, more than the whole of it`)
  }
}
for (const one of clients.asked) compare(one)
// The rest are charges of requests whose clients saw no head, so their numbers are unknown. Each must be the charge of some
// answer, or of the input that the first event of a cut answer reports.
const worth = new Set([0, INPUT * 2, ...served.flatMap(([n]) => PROTOCOLS.map(protocol => chargeOf(protocol, n)))])
for (const row of rows.values()) {
  const known = row.basis !== 'reported' || worth.has(micro(row.charge))
  must(known, `${row.request_id}: charged ${row.charge}, which no answer was worth`)
}

await gateway.stop()
await upstream.stop()
await mariadb?.stop()

const counts = (of: Record<string, number>): string =>
  Object.entries(of)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ')
const stayed = clients.asked.length - outcomes.left
const unbroken = stayed - outcomes.broken - takenBack
must(outcomes.whole / unbroken >= LEAST_WHOLE, `only ${outcomes.whole} of ${unbroken} were answered whole`)
console.log(`| | |
|---|---|
| run | ${MINUTES} minutes, ${values.clients} clients, seed ${SEED}, store ${values.store} |
| clients saw | whole ${outcomes.whole}, refused ${outcomes.refused}, broken ${outcomes.broken}, no answer ${outcomes.failed}; left ${outcomes.left} |
| refused with | ${counts(refusals)} |
| answered whole, of those that stayed | ${((100 * outcomes.whole) / stayed).toFixed(2)} %; without answers that an upstream broke off: ${((100 * outcomes.whole) / unbroken).toFixed(3)} % |
| upstreams were asked | ${counts(seen)} |
| seen whole, charged to the micro-unit | ${exact} of ${outcomes.whole} |
| seen whole, shown the usage of the row and of the upstream | ${shownRight}, of them translated ${clients.asked.filter(one => one.shown !== null && one.via !== null).length} |
| rows in the books, audit | ${rowCount}, ${audit.ok ? 'ok' : 'NOT ok'}; held ${account.held} |
| open files before and after | ${before.files}, ${after.files} |
| memory before, in the second and the last third, after | ${[before.mib, middle, last, after.mib].map(mib => mib.toFixed(0)).join(', ')} MiB |
| wrong | ${wrong.length} |`)
for (const one of wrong.slice(0, 20)) console.log(one)
if (wrong.length > 0) process.exitCode = 1
