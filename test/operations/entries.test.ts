/** Entries and statements as an edge asks for them, against a slow account of the same ledger. */
import { readdirSync, readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { type Micro, micro } from '../../lib/base/money.ts'
import type { OperationDeps } from '../../lib/operations/deps.ts'
import { Entries } from '../../lib/operations/billing/entries.ts'
import type { OperationError } from '../../lib/operations/error.ts'
import { Statements, statementCsv, statementHtml } from '../../lib/operations/billing/statement.ts'
import type { Driver } from '../../lib/store/base/driver.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import { accountPurse, type PurseId } from '../../lib/store/books/purses.ts'
import { createLogger } from '../../lib/base/log.ts'
import { TestClock } from '../support/clock.ts'
import { type Random, seeded } from '../support/random.ts'
import { ADMIN, openDriver, SETUP } from '../support/store.ts'
import { lastingMonth } from '../support/wait.ts'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS

interface Ground {
  store: Store
  driver: Driver
  clock: TestClock
  deps: OperationDeps
  entries: Entries
  /** What the serving processes do when something has changed. */
  onChanged: { call: () => Promise<void> }
}

async function open(t: Test, zone = 'Asia/Shanghai'): Promise<Ground> {
  const url = `sqlite:${t.testdir()}/store.db`
  const store = openStore(url, { secret: 'x', zone })
  await store.migrate()
  const driver = openDriver(url)
  t.teardown(() => Promise.all([store.close(), driver.close()]))
  const clock = new TestClock()
  const onChanged = { call: async () => {} }
  const deps: OperationDeps = {
    store,
    clock,
    log: createLogger('error', { write: () => {} }),
    fleet: {
      held: async () => new Map<PurseId, Micro>(),
      holders: async () => [],
      channelStates: async () => new Map(),
      changed: () => onChanged.call(),
      settled: async () => {},
    },
    setAside: () => ({ settlements: 0, unreadable: 0 }),
  }
  return { store, driver, clock, deps, entries: new Entries(deps), onChanged }
}

const refusalOf = async (call: Promise<unknown>): Promise<OperationError> =>
  call.then(
    () => {
      throw new Error('it was not refused')
    },
    (error: OperationError) => error,
  )

t.test('what callers may credit and take away', async t => {
  const { entries, store } = await open(t)
  const { id } = await store.accounts.create({ name: 'acme', groups: [] }, SETUP)
  const sent = { amount: '5', reference: 'a', note: ' gift ' }
  t.match(await entries.adjust('acme', sent, ADMIN), {
    created: true,
    row: { account: 'acme', kind: 'adjustment', amount: '5.000000', balance: '5.000000', actor: 'admin', note: 'gift' },
  })
  t.match(await entries.adjust('acme', sent, ADMIN), { created: false, row: { balance: '5.000000' } })
  t.match(await entries.topUp('acme', { amount: 1, reference: 'b' }, ADMIN), {
    created: true,
    row: { balance: '6.000000' },
  })
  t.match(await entries.adjust('acme', { amount: '-2.5', reference: 'c' }, ADMIN), { row: { balance: '3.500000' } })
  const forced = { amount: -5, reference: 'd', note: 'lost', force: true }
  t.match(await entries.adjust('acme', forced, ADMIN), { created: true, row: { balance: '-1.500000' } })
  t.match(await entries.adjust('acme', forced, ADMIN), { created: false })
  t.match(await entries.adjust('acme', { ...forced, amount: 5, reference: 'e' }, ADMIN), {
    row: { balance: '3.500000' },
  })

  const refused: [sent: Record<string, unknown>, fault: string, message: RegExp][] = [
    [{ amount: 6, reference: 'a' }, 'conflict', /^reference a stands for another entry/],
    [{ amount: 1, reference: 'b' }, 'conflict', /^reference b stands for another entry/],
    [{ amount: 0, reference: 'x' }, 'invalid', /^amount: expected .* not 0$/],
    [{ amount: '1e3', reference: 'x' }, 'invalid', /^amount/],
    [{ amount: '0.0000001', reference: 'x' }, 'invalid', /^amount/],
    [{ amount: 1 }, 'invalid', /^reference/],
    [{ amount: 1, reference: 'x', note: 'a\nb' }, 'invalid', /^note/],
    [{ amount: 1, reference: 'x', note: 'n'.repeat(1_001) }, 'invalid', /^note/],
    [{ amount: -1, reference: 'x', force: true }, 'invalid', /^note: expected a reason/],
    [{ amount: -1, reference: 'x', force: true, note: '  ' }, 'invalid', /^note: expected a reason/],
    [{ amount: -1, reference: 'x', force: 'yes' }, 'invalid', /^force/],
    ...[
      'opening',
      'opening 2',
      'topup:1',
      'bsc:1',
      'refund:1',
      'freeze:1',
      'dispute:1',
      'release:1',
      'row:1',
      'settlement',
    ].map((reference): [Record<string, unknown>, string, RegExp] => [
      { amount: 1, reference },
      'invalid',
      /^reference: expected/,
    ]),
  ]
  for (const [body, fault, message] of refused) {
    const error = await refusalOf(entries.adjust('acme', body, ADMIN))
    t.match(error, { fault, message }, JSON.stringify(body).slice(0, 80))
  }
  t.match(await refusalOf(entries.topUp('acme', { amount: 1, reference: 'opening' }, ADMIN)), { fault: 'invalid' })
  t.match(await refusalOf(entries.adjust('nobody', sent, ADMIN)), { fault: 'missing' })
  t.match(await refusalOf(entries.adjust('acme', { amount: '-3.500001', reference: 'x' }, ADMIN)), {
    fault: 'conflict',
    details: { available: '3.500000' },
  })
  t.match(await store.audit(), { ok: true, credits: 3_500_000 })
  t.equal((await store.books.purses([accountPurse(id)]))[0]!.credit, 3_500_000)
})

t.test('a debit waits for the processes to give back what they do not need', async t => {
  const { entries, store, clock, onChanged } = await open(t)
  const { id } = await store.accounts.create(
    { name: 'acme', groups: [], opening: { amount: micro(100), actor: '' } },
    SETUP,
  )
  const purse = accountPurse(id)
  for (const holder of ['near', 'far']) await store.holders.register({ id: holder, host: 'here', beat: 0 })
  await store.books.lease(purse, 'near', micro(60), micro(60), false)
  await store.books.lease(purse, 'far', micro(30), micro(30), false)
  const recalls: number[] = []
  onChanged.call = async () => {
    recalls.push((await store.changes.since(0))!.filter(({ kind, ref }) => kind === 'recall' && ref === purse).length)
    await store.books.giveBack(purse, 'near', micro(60))
    onChanged.call = async () => {}
  }
  const waiting = () => {
    const timer = setInterval(() => clock.advance(1_000), 1)
    return () => clearInterval(timer)
  }
  const stop = waiting()
  t.teardown(stop)
  t.match(await entries.adjust('acme', { amount: '-0.00007', reference: 'a' }, ADMIN), { row: { balance: '0.000030' } })
  t.strictSame(recalls, [1])
  // The process `far` does not answer, so its lease counts as held.
  const error = await refusalOf(entries.adjust('acme', { amount: '-0.000001', reference: 'b' }, ADMIN))
  t.match(error, { fault: 'conflict', details: { available: '0.000000' } })
  const force = { amount: '-0.000031', reference: 'c', note: 'lost', force: true }
  t.match(await entries.adjust('acme', force, ADMIN), { row: { balance: '-0.000001' } })
  t.match(await store.audit(), { ok: true, balances: -1, leased: 30 })
})

interface Fact {
  kind: string
  amount: number
  atMs: number
  seq: number | null
}

/** To make a format takes longer than all that it is used for. */
const formats = new Map<string, Intl.DateTimeFormat>()

function dayIn(zone: string, ms: number): string {
  const format = formats.get(zone) ?? new Intl.DateTimeFormat('sv', { timeZone: zone })
  formats.set(zone, format)
  return format.format(ms)
}

/** Entries and charges at random times, written into the tables, oldest first. */
async function fill({ store, driver }: Ground, random: Random, fromMs: number): Promise<Fact[]> {
  const { id } = await store.accounts.create({ name: 'acme', groups: [] }, SETUP)
  await store.accounts.create({ name: 'other', groups: [], opening: { amount: micro(7), actor: '' } }, SETUP)
  const times = Array.from({ length: 60 }, () => fromMs + random.int(0, 70 * DAY_MS)).sort((a, b) => a - b)
  const facts: Fact[] = []
  for (const [i, atMs] of times.entries()) {
    const amount = random.pick([-1, 1]) * random.int(1, 9_999)
    const sql =
      'INSERT INTO entries (account_id, kind, reference, amount, booked_at_ms, actor, note) VALUES (?, ?, ?, ?, ?, ?, ?)'
    const { insertId } = await driver.run('test', sql, [id, 'adjustment', `r${i}`, amount, atMs, 'a', ''])
    facts.push({ kind: 'adjustment', amount, atMs, seq: insertId })
  }
  const hours = new Set(Array.from({ length: 150 }, () => Math.floor(fromMs / HOUR_MS) + random.int(0, 70 * 24)))
  for (const hour of hours) {
    const charge = random.int(1, 9_999)
    await driver.run('test', 'INSERT INTO charged_hours (account_id, hour_no, charge) VALUES (?, ?, ?)', [
      id,
      hour,
      charge,
    ])
    facts.push({ kind: 'charges', amount: -charge, atMs: hour * HOUR_MS, seq: null })
  }
  return facts
}

/** The lines that the facts come to, newest first, as `kind day amount balance`. */
function folded(facts: readonly Fact[], zone: string): string[] {
  const days = new Map<string, Fact[]>()
  for (const fact of [...facts].sort((a, b) => a.atMs - b.atMs || (a.seq ?? 0) - (b.seq ?? 0))) {
    const day = dayIn(zone, fact.atMs)
    days.set(day, [...(days.get(day) ?? []), fact])
  }
  let balance = 0
  const lines: string[] = []
  const add = (kind: string, day: string, amount: number) => {
    balance += amount
    lines.push(`${kind} ${day} ${amount} ${balance}`)
  }
  for (const [day, list] of days) {
    for (const fact of list.filter(fact => fact.kind !== 'charges')) add(fact.kind, day, fact.amount)
    const charges = list.filter(fact => fact.kind === 'charges')
    if (charges.length > 0)
      add(
        'charges',
        day,
        charges.reduce((sum, { amount }) => sum + amount, 0),
      )
  }
  return lines.reverse()
}

const inMicro = (text: string): number => Math.round(Number(text) * 1e6)
const shown = (line: { kind: string; booked_at: string; amount: string; balance: string }, zone: string) =>
  `${line.kind} ${dayIn(zone, Date.parse(line.booked_at))} ${inMicro(line.amount)} ${inMicro(line.balance)}`

// In Berlin the clocks change within the time that is filled; in Los Angeles too, and it is behind UTC.
for (const zone of ['Asia/Shanghai', 'Europe/Berlin', 'America/Los_Angeles', 'UTC'])
  t.test(`pages and statements in ${zone}`, async t => {
    const random = seeded(t)
    const ground = await open(t, zone)
    const facts = await fill(ground, random, Date.UTC(2026, 1, 10) + random.int(0, 23) * HOUR_MS)
    const wanted = folded(facts, zone)
    ground.clock.advance(Date.UTC(2027, 0, 1))
    for (const limit of [1, 7, 60, 1_000, random.int(2, 50)]) {
      const lines: string[] = []
      for (let after: string | null = ''; after !== null; ) {
        const { data, next } = await ground.entries.page('acme', { limit, ...(after === '' ? {} : { after }) })
        t.ok(data.length <= limit)
        lines.push(...data.map(line => shown(line, zone)))
        after = next
      }
      t.strictSame(lines, wanted, `pages of ${limit}`)
    }
    const ofMarch = wanted.filter(line => line.includes(' 2026-03-'))
    const range = { from: '2026-03-01', to: '2026-04-01', limit: 1_000 }
    const { data } = await ground.entries.page('acme', range)
    t.strictSame(
      data.map(line => shown(line, zone)),
      ofMarch,
      'a range of days',
    )
    const { statement } = await new Statements(ground.deps).read('acme', { month: '2026-03' })
    t.strictSame(
      statement.lines.map(line => shown(line, zone)),
      ofMarch.toReversed(),
    )
    const before = wanted.find(line => line.includes(' 2026-02-'))
    t.equal(inMicro(statement.opening), Number(before?.split(' ')[3] ?? 0))
    const sum = statement.lines.reduce((total, line) => total + inMicro(line.amount), 0)
    t.equal(inMicro(statement.opening) + sum, inMicro(statement.closing), 'the sum is the balance')
    const empty = (await new Statements(ground.deps).read('acme', { month: '2026-12' })).statement
    t.strictSame([empty.lines, empty.opening, empty.closing], [[], empty.closing, empty.opening])
    t.equal(inMicro(empty.closing), Number(wanted[0]!.split(' ')[3]))
  })

t.test('a month that has ended never changes', async t => {
  const { entries, store, deps, clock, driver } = await open(t)
  const { id } = await store.accounts.create({ name: 'acme', groups: [] }, SETUP)
  await entries.topUp('acme', { amount: 5, reference: 'a' }, ADMIN)
  await driver.run('test', 'UPDATE entries SET booked_at_ms = ?', [Date.UTC(2026, 0, 31, 15, 59)])
  const january = async () => (await new Statements(deps).read('acme', { month: '2026-01' })).statement
  clock.advance(Date.UTC(2026, 0, 31, 16, 5) - clock.now())
  t.equal((await january()).closed, false, 'transactions may be under way')
  clock.advance(HOUR_MS)
  const closed = await january()
  t.match(closed, { closed: true, opening: '0.000000', closing: '5.000000', to: '2026-01-31T16:00:00.000Z' })
  await entries.topUp('acme', { amount: 7, reference: 'b' }, ADMIN)
  await driver.run('test', 'INSERT INTO charged_hours (account_id, hour_no, charge) VALUES (?, ?, 9)', [id, 500_000])
  t.strictSame(await january(), closed)
})

t.test('a statement as a file', async t => {
  const { entries, store, deps } = await open(t)
  const month = await lastingMonth()
  await store.accounts.create({ name: '<b>"Ünï" & Co', groups: [] }, SETUP)
  await entries.adjust(
    '<b>"Ünï" & Co',
    {
      amount: '5',
      reference: '=HYPERLINK("x")',
      note: '@a,<script>alert(1)</script>',
    },
    ADMIN,
  )
  await entries.adjust('<b>"Ünï" & Co', { amount: '-1', reference: '+1', note: "-it's" }, ADMIN)
  const { statement } = await new Statements(deps).read('<b>"Ünï" & Co', { month })
  const [head, opening, first, second, closing, end] = statementCsv(statement).split('\n')
  t.equal(head, 'seq,booked_at,kind,reference,amount,balance,actor,note')
  t.match(opening, /^,[^,]+,opening balance,,,0\.000000,,$/)
  t.match(first, /,adjustment,"'=HYPERLINK\(""x""\)",5\.000000,5\.000000,admin,"'@a,<script>alert\(1\)<\/script>"$/)
  t.match(second, /,adjustment,'\+1,-1\.000000,4\.000000,admin,'-it's$/, 'amounts stay numbers')
  t.match(closing, /^,[^,]+,closing balance,,,4\.000000,,$/)
  t.equal(end, '')
  const html = statementHtml(statement)
  t.notMatch(html, /<script|<b>|HYPERLINK\("/)
  t.match(html, /&#60;b&#62;&#34;Ünï&#34; &#38; Co/)
  for (const sent of [{}, { month: '2026-13' }, { month: '2026-1' }, { month, format: 'pdf' }])
    t.match(
      await refusalOf(new Statements(deps).read('<b>"Ünï" & Co', sent)),
      { fault: 'invalid' },
      JSON.stringify(sent),
    )
})

t.test('cursors and ranges that mean nothing are refused', async t => {
  const { entries, store } = await open(t)
  await store.accounts.create({ name: 'acme', groups: [] }, SETUP)
  for (const sent of [
    { after: 'x' },
    { after: '2026-02-30' },
    { after: '2026-02-03.' },
    { from: 'x' },
    { limit: 1_001 },
    { limit: 0 },
  ])
    t.match(await refusalOf(entries.page('acme', sent)), { fault: 'invalid' }, JSON.stringify(sent))
  t.strictSame(await entries.page('acme', { after: '2026-02-03.7' }), { data: [], next: null })
})

t.test('no statement of the program changes or deletes an entry', async t => {
  const lib = new URL('../../lib/', import.meta.url)
  const files = readdirSync(lib, { recursive: true, encoding: 'utf8' }).filter(name => name.endsWith('.ts'))
  const texts = files.map(name => readFileSync(new URL(name, lib), 'utf8'))
  t.ok(texts.some(text => /INSERT INTO entries/.test(text)))
  for (const [i, text] of texts.entries())
    t.notMatch(
      text,
      /\b(UPDATE|DELETE FROM|REPLACE INTO|TRUNCATE( TABLE)?|DROP TABLE( IF EXISTS)?)\s+`?entries\b/i,
      files[i]!,
    )
})
