import { hash } from 'node:crypto'
import t from 'tap'
import { KeyCache, type KeyEntry } from '../../lib/access/keys.ts'
import { ZERO } from '../../lib/base/money.ts'
import type { Store } from '../../lib/store/store.ts'
import { accountPurse, keyPurse, type Purse } from '../../lib/store/books/purses.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import type { Account, Key } from '../../lib/terms/records.ts'
import { TestClock } from '../support/clock.ts'
import { wellStore } from '../support/store.ts'

const digestOf = (secret: string) => hash('sha256', secret, 'hex')
const MINUTE = 60_000

/** Answers at once, or when told: `hold()` first, `release()` later. What is read is what was there when asked. */
class Rows {
  readonly asked: string[] = []
  readonly rows = new Map<
    string,
    { key: Key; account: Account; keyPurse: Purse; accountPurse: Purse; endsInMs: number | null }
  >()
  down = false
  #held: (() => void)[] | null = null
  reading = 0
  mostReading = 0

  add(secret: string, accountId: number, change: Partial<Key> = {}): void {
    const id = this.rows.size + 1
    const key: Key = {
      id,
      publicId: `key-${id}`,
      accountId,
      name: secret,
      hash: digestOf(secret),
      hint: 'sk-…',
      group: 'default',
      status: 'enabled',
      expiresAtMs: null,
      cap: null,
      allowIps: null,
      models: null,
      modelsOff: null,
      createdAtMs: 0,
      createdBy: null,
      ...change,
    }
    const account: Account = {
      id: accountId,
      publicId: `account-${accountId}`,
      name: `a${accountId}`,
      status: 'active',
      groups: ['default'],
      rate: null,
      budget: null,
      sandbox: false,
    }
    const purse = { credit: null, spent: ZERO, leased: ZERO }
    this.rows.set(digestOf(secret), {
      key,
      account,
      keyPurse: { id: keyPurse(id), ...purse },
      accountPurse: { id: accountPurse(accountId), ...purse },
      endsInMs: null,
    })
  }

  end(secret: string, inMs: number): void {
    this.rows.get(digestOf(secret))!.endsInMs = inMs
  }

  hold(): void {
    this.#held = []
  }

  async release(): Promise<void> {
    const held = this.#held ?? []
    this.#held = []
    for (const go of held) go()
    await settled()
  }

  readonly keys = this

  async find(digest: string) {
    this.asked.push(digest)
    const row = this.rows.get(digest) ?? null
    this.mostReading = Math.max(this.mostReading, ++this.reading)
    const held = this.#held
    if (held !== null) await new Promise<void>(resolve => held.push(resolve))
    this.reading--
    if (this.down) throw new StoreUnavailable('down')
    return row
  }
}

const settled = () => new Promise<void>(resolve => setImmediate(resolve))

function setUp(options: { max?: number; maxUnknown?: number } = {}) {
  const rows = new Rows()
  const clock = new TestClock()
  const keys = new KeyCache({ store: rows as unknown as Store, clock, health: wellStore(clock), ...options })
  return { rows, clock, keys }
}

t.test('a known key is read once, then found without a promise', async t => {
  const { rows, keys } = setUp()
  rows.add('sk-one', 7, { allowIps: ['10.0.0.0/8'], models: ['m'] })
  const entry = (await keys.find('sk-one')) as KeyEntry
  t.equal(entry.account.id, 7)
  t.equal(entry.allow?.has('10.1.1.1'), true)
  t.equal(entry.models?.has('m'), true)
  t.equal(keys.find('sk-one'), entry)
  t.same(rows.asked, [digestOf('sk-one')])
})

t.test('a secret that ends is unknown from then on, and nobody is asked', async t => {
  const { rows, clock, keys } = setUp()
  rows.add('sk-old', 7)
  rows.end('sk-old', 20 * MINUTE)
  const entry = (await keys.find('sk-old')) as KeyEntry
  for (let i = 0; i < 3; i++) {
    clock.advance(6 * MINUTE)
    rows.end('sk-old', 20 * MINUTE - 6 * MINUTE * (i + 1))
    t.ok(keys.find('sk-old') !== null && !(keys.find('sk-old') instanceof Promise), 'refreshed as any other')
    await settled()
  }
  t.equal(rows.asked.length, 4)
  clock.advance(2 * MINUTE - 1)
  t.not(keys.find('sk-old'), null)
  clock.advance(1)
  t.equal(keys.find('sk-old'), null)
  t.equal(keys.current(entry), null)
  t.equal(rows.asked.length, 4)
  t.equal(keys.find('sk-old'), null)
})

t.test('what is confirmed is the secret that was used', async t => {
  const { rows, keys } = setUp()
  rows.add('sk-old', 7, { hash: 'of another secret' })
  const entry = (await keys.find('sk-old')) as KeyEntry
  t.equal(keys.current(entry), entry)
  keys.onChange({ seq: 1, kind: 'key', ref: digestOf('sk-old') })
  rows.rows.clear()
  t.equal(await keys.current(entry), null)
  t.equal(keys.byDigest(digestOf('sk-old')), null)
})

t.test('what cannot be a key is not looked up', async t => {
  const { rows, keys } = setUp()
  for (const secret of [
    '',
    'sk-',
    'pk-one',
    ' sk-one',
    'sk-one ',
    'sk-ö',
    'sk-a\nb',
    'SK-one',
    `sk-${'x'.repeat(254)}`,
  ]) {
    t.equal(keys.find(secret), null, JSON.stringify(secret.slice(0, 20)))
  }
  t.same(rows.asked, [])
  t.ok(keys.find(`sk-${'x'.repeat(253)}`) instanceof Promise, 'the longest that may be one')
})

t.test('a flood of invented keys: one question each, and the real ones stay', async t => {
  const { rows, keys } = setUp({ max: 10, maxUnknown: 100 })
  rows.add('sk-real', 1)
  await keys.find('sk-real')
  for (let i = 0; i < 1000; i++) await keys.find(`sk-${i}`)
  t.equal(rows.asked.length, 1001)
  for (let i = 900; i < 1000; i++) t.equal(keys.find(`sk-${i}`), null)
  t.ok(keys.find('sk-real') !== null && !(keys.find('sk-real') instanceof Promise))
  t.equal(rows.asked.length, 1001)
  t.ok(keys.find('sk-0') instanceof Promise, 'the oldest are forgotten')
})

t.test('equal questions are one; all together are bounded in number and in line', async t => {
  const { rows, keys } = setUp()
  rows.add('sk-real', 1)
  rows.hold()
  const same = Array.from({ length: 100 }, () => keys.find('sk-real'))
  const others = Array.from({ length: 10_063 }, (_, i) => keys.find(`sk-${i}`) as Promise<null>)
  t.equal(rows.asked.length, 64)
  const turnedAway = keys.find('sk-one-more') as Promise<null>
  await t.rejects(turnedAway, { name: 'StoreUnavailable' }, 'never taken for a bad key')
  while (rows.reading > 0) await rows.release()
  t.equal(new Set(await Promise.all(same)).size, 1)
  t.same(new Set(await Promise.all(others)), new Set([null]))
  t.equal(rows.asked.length, 10_064)
  t.equal(rows.mostReading, 64)
})

t.test('changes drop what they are about, and nothing else', async t => {
  const { rows, keys } = setUp()
  rows.add('sk-a1', 1)
  rows.add('sk-a2', 1)
  rows.add('sk-b', 2)
  const all = ['sk-a1', 'sk-a2', 'sk-b', 'sk-none']
  const inMemory = () => all.filter(secret => !(keys.find(secret) instanceof Promise))
  const load = () => Promise.all(all.map(secret => keys.find(secret)))
  await load()
  t.same(inMemory(), all)
  keys.onChange({ seq: 1, kind: 'key', ref: digestOf('sk-a1') })
  t.same(inMemory(), ['sk-a2', 'sk-b', 'sk-none'])
  await load()
  keys.onChange({ seq: 2, kind: 'account', ref: '1' })
  t.same(inMemory(), ['sk-b', 'sk-none'])
  await load()
  keys.onChange({ seq: 3, kind: 'key', ref: digestOf('sk-none') })
  t.same(inMemory(), ['sk-a1', 'sk-a2', 'sk-b'], 'a key that is created')
  await load()
  keys.onChange({ seq: 4, kind: 'catalog', ref: '' })
  keys.onChange({ seq: 5, kind: 'recall', ref: 'a1' })
  t.same(inMemory(), all)
  keys.clear()
  t.same(inMemory(), [])
})

t.test('an account whose keys were pushed out or read again is still followed', async t => {
  const { rows, keys } = setUp({ max: 2 })
  for (const name of ['a', 'b', 'c']) rows.add(`sk-${name}`, 1)
  for (const name of ['a', 'b', 'c', 'a', 'b', 'c', 'c', 'b']) await keys.find(`sk-${name}`)
  keys.onChange({ seq: 1, kind: 'account', ref: '1' })
  for (const name of ['a', 'b', 'c']) t.ok(keys.find(`sk-${name}`) instanceof Promise)
})

t.test('a change that comes during a look-up: what was true before it is neither told nor kept', async t => {
  const changes = {
    key: { seq: 1, kind: 'key', ref: digestOf('sk-x') },
    account: { seq: 1, kind: 'account', ref: '1' },
  } as const
  for (const [name, change] of Object.entries(changes)) {
    const { rows, keys } = setUp()
    rows.add('sk-x', 1, { group: 'before' })
    rows.hold()
    const early = keys.find('sk-x') as Promise<KeyEntry>
    rows.add('sk-x', 1, { group: 'after' })
    keys.onChange(change)
    const late = keys.find('sk-x') as Promise<KeyEntry>
    await rows.release()
    await rows.release()
    t.equal((await late).key.group, 'after', name)
    t.equal((await early).key.group, 'after', name)
    t.equal((keys.find('sk-x') as KeyEntry).key.group, 'after', name)
    t.equal(rows.asked.length, 2)
  }
})

t.test('a key created while it was looked up is found; clear() is a change of everything', async t => {
  const { rows, keys } = setUp()
  rows.hold()
  const found = keys.find('sk-x') as Promise<KeyEntry | null>
  rows.add('sk-x', 1)
  keys.onChange({ seq: 1, kind: 'key', ref: digestOf('sk-x') })
  await rows.release()
  rows.add('sk-x', 1, { group: 'other' })
  keys.clear()
  await rows.release()
  await rows.release()
  t.equal((await found)?.key.group, 'other')
})

t.test('changes of others do not make a look-up start over, nor one without end', async t => {
  const { rows, keys } = setUp()
  rows.add('sk-x', 1)
  rows.hold()
  const found = keys.find('sk-x') as Promise<KeyEntry>
  keys.onChange({ seq: 1, kind: 'account', ref: '2' })
  keys.onChange({ seq: 2, kind: 'key', ref: digestOf('sk-y') })
  await rows.release()
  t.equal((await found).key.name, 'sk-x')
  t.equal(rows.asked.length, 1)
  keys.clear()
  const restless = keys.find('sk-x') as Promise<KeyEntry>
  for (let i = 0; i < 4; i++) {
    keys.onChange({ seq: 3, kind: 'key', ref: digestOf('sk-x') })
    await rows.release()
  }
  t.equal((await restless).key.name, 'sk-x')
  t.equal(rows.asked.length, 5)
  t.ok(keys.find('sk-x') instanceof Promise, 'and was not kept')
  await rows.release()
})

t.test('what was read long ago is read again in the background', async t => {
  const { rows, clock, keys } = setUp()
  rows.add('sk-x', 1, { group: 'before' })
  await keys.find('sk-x')
  await keys.find('sk-new')
  rows.add('sk-x', 1, { group: 'after' })
  rows.add('sk-new', 1)
  clock.advance(5 * MINUTE - 1)
  t.equal((keys.find('sk-x') as KeyEntry).key.group, 'before')
  t.equal(rows.asked.length, 2)
  clock.advance(1)
  t.equal((keys.find('sk-x') as KeyEntry).key.group, 'before', 'the old one serves meanwhile')
  t.equal(keys.find('sk-new'), null)
  for (let i = 0; i < 10; i++) keys.find('sk-x')
  t.equal(rows.asked.length, 4)
  await settled()
  t.equal((keys.find('sk-x') as KeyEntry).key.group, 'after')
  t.equal((keys.find('sk-new') as KeyEntry).key.group, 'default')
  rows.rows.delete(digestOf('sk-x'))
  clock.advance(5 * MINUTE)
  t.ok(keys.find('sk-x'))
  await settled()
  t.equal(keys.find('sk-x'), null, 'a key that is gone is gone')
})

t.test('without the store: memory serves on, the rest is not judged, and it is asked only now and then', async t => {
  const { rows, clock, keys } = setUp()
  rows.add('sk-x', 1)
  await keys.find('sk-x')
  rows.down = true
  await t.rejects(keys.find('sk-y') as Promise<null>, { name: 'StoreUnavailable' })
  await t.rejects(keys.find('sk-y') as Promise<null>, { name: 'StoreUnavailable' }, 'and is asked again')
  t.equal(rows.asked.length, 3)
  for (let s = 0; s < 600; s++) {
    clock.advance(1000)
    for (let i = 0; i < 3; i++) t.equal((keys.find('sk-x') as KeyEntry).account.id, 1)
    await settled()
  }
  t.ok(rows.asked.length <= 3 + 31, `${rows.asked.length} questions`)
  rows.down = false
  t.equal(await keys.find('sk-y'), null)
})
