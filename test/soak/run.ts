/**
 * `npm run soak -- --minutes N [--seed S]`: runs two gateways of two workers each on one MariaDB, with clients of all
 * several protocols and an upstream with faults, while processes and the store are killed at random. At the end everything
 * is repaired and all charges are settled; then the records of clients, upstream and ledger are compared. Exits 1 when
 * they differ.
 */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { simulate } from '../../tools/simulator/main.ts'
import { openStore } from '../../lib/store/store.ts'
import { ADMIN_TOKEN, testCatalog } from '../support/gateway.ts'
import { startMariadb } from '../support/mariadb.ts'
import { withSeed } from '../support/random.ts'
import { scriptOptions } from '../support/script.ts'
import { Chaos } from './chaos.ts'
import { Clients, SOLE, soleModel } from './clients.ts'
import { allRows, auditBooks, compare } from './compare.ts'
import { Member } from './fleet.ts'

const values = scriptOptions(import.meta.filename, {
  minutes: { type: 'string', default: '10' },
  seed: { type: 'string' },
})
const minutes = Number(values.minutes)
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 32))
const CLIENTS = 24
const PROGRESS_MS = 10_000
const SETTLE_MS = 180_000

const ACCOUNTS = [
  { name: 'rich', balance: 100_000 },
  { name: 'shared', balance: 100_000 },
  { name: 'modest', balance: 5 },
  { name: 'poor', balance: 1 },
]
const keyOf = (name: string) => `sk-soak-${name}-0123456789`

const SOLE_MODELS = SOLE.map(protocol => ({
  name: soleModel(protocol),
  price: { input: 3, output: 15, cache_read: 0.3, cache_write_5m: 3.75, cache_write_1h: 6 },
}))

const catalog = (upstream: string) => {
  const base = testCatalog(upstream) as Record<string, Record<string, unknown>[]>
  return {
    ...base,
    accept: ['below_cost'],
    models: [...(base['models'] ?? []), ...SOLE_MODELS],
    // Two channels lead to the same upstream, so that a failed attempt has another channel to go to. Both cost something, so
    // that an attempt that was given up after it had used something has a row of its own.
    channels: [
      { ...base['channels']?.[0], name: 'one', cost: 0.5 },
      { ...base['channels']?.[0], name: 'two', cost: 0.8 },
      ...SOLE.flatMap(protocol =>
        [0.5, 0.8].map(cost => ({
          ...base['channels']?.[0],
          name: `${protocol}-${cost}`,
          protocols: [protocol],
          models: [soleModel(protocol)],
          cost,
        })),
      ),
    ],
    accounts: ACCOUNTS.map(account => ({ ...account, groups: ['default'] })),
    keys: [
      ...ACCOUNTS.map(({ name }) => ({ account: name, name: 'k', secret: keyOf(name), group: 'default' })),
      { account: 'rich', name: 'capped', secret: keyOf('capped'), group: 'default', cap: 3 },
    ],
  }
}

console.log(`soak: ${minutes} minutes, seed ${seed}`)
const folder = mkdtempSync(path.join(tmpdir(), 'gateway-soak-'))
const mariadb = await startMariadb()
const simulator = await simulate({ records: 5_000_000, seed })
const prices = Object.fromEntries(
  (catalog(simulator.url).models as { name: string; price: Record<string, number> }[]).map(m => [m.name, m.price]),
)
const catalogFile = path.join(folder, 'catalog.yaml')
writeFileSync(catalogFile, JSON.stringify(catalog(simulator.url)))
const members: Member[] = []
for (const name of ['a', 'b']) members.push(await Member.create(folder, name, mariadb.url, catalogFile))
for (const member of members) await member.heal()

const targets = () => members.flatMap(member => [member.main, member.direct])
const clients = new Clients(withSeed(seed), targets, [...ACCOUNTS.map(({ name }) => keyOf(name)), keyOf('capped')])
const chaos = new Chaos(withSeed(seed + 1), members, mariadb)
const began = Date.now()
const progress = () => {
  const s = Math.round((Date.now() - began) / 1000)
  const seen = (['complete', 'refused', 'broken', 'left', 'lost', 'unreachable'] as const).map(
    outcome => `${outcome} ${clients.count(outcome)}`,
  )
  console.log(`${s} s: ${clients.asked.length} requests: ${seen.join(', ')}; ${chaos.summary}`)
}
const timer = setInterval(progress, PROGRESS_MS)
clients.start(CLIENTS)
chaos.start()
await sleep(minutes * 60_000)

await chaos.stop()
console.log('healed')
await clients.stop()
clearInterval(timer)
progress()
const problems: string[] = []
const idle = async () => {
  for (const member of members)
    for (const name of ['gateway_holds_open', 'gateway_journal_entries'])
      if ((await member.metric(name)) !== 0) return false
  return simulator.stats.open === 0
}
const until = Date.now() + SETTLE_MS
while (!(await idle()) && Date.now() < until) await sleep(500)
if (!(await idle())) problems.push('holds or journal entries are left after three minutes of rest')
// the gateways find the journals of processes that died last within some seconds
await sleep(12_000)
for (const member of members) await member.stop()

const store = openStore(mariadb.url, { secret: ADMIN_TOKEN })
const rows = await allRows(store)
const books = [compare(clients.asked, simulator.stats.served, rows, prices), await auditBooks(store, rows)]
problems.push(...books.flatMap(book => book.problems))
const { ends } = simulator.stats
const figures: Record<string, string | number> = {
  minutes,
  seed,
  'faults of processes and store': chaos.summary,
  'clients saw': (['complete', 'refused', 'broken', 'left', 'lost', 'unreachable'] as const)
    .map(outcome => `${outcome} ${clients.count(outcome)}`)
    .join(', '),
  'longest answer, s': Math.round(Math.max(...clients.asked.map(one => one.tookMs ?? 0)) / 1000),
  'upstream ended': Object.entries(ends)
    .map(([end, count]) => `${end} ${count}`)
    .join(', '),
  ...Object.assign({}, ...books.map(book => book.figures)),
  differences: problems.length,
}
const report = [
  '| | |',
  '|---|---|',
  ...Object.entries(figures).map(([name, value]) => `| ${name} | ${value} |`),
  ...problems.slice(0, 50).map(problem => `\n- ${problem}`),
].join('\n')
console.log(`\n${report}`)
mkdirSync('data', { recursive: true })
writeFileSync('data/soak.md', `${report}\n`)
await store.close()
await simulator.close()
await mariadb.stop()
if (problems.length === 0) rmSync(folder, { recursive: true, force: true })
else console.log(`\nlogs and journals: ${folder}`)
process.exit(problems.length === 0 ? 0 : 1)
