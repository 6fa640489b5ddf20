/** Makes books of a realistic size: accounts, keys, and settlements like those of a busy day. */
import { idAt } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import type { Settlement } from '../../lib/store/books/settlement.ts'
import type { Protocol } from '../../lib/protocols/names.ts'
import type { Line, UsageRow } from '../../lib/terms/usage-row.ts'
import type { Key } from '../../lib/terms/records.ts'
import { type Random, withSeed } from '../../test/support/random.ts'
import { NOT_RECORDED, SETUP } from '../../test/support/store.ts'

export const ACCOUNTS = 200
export const MODELS = Array.from({ length: 20 }, (_, i) => `beta-${i}.${i % 7}-2026-0${(i % 9) + 1}-15`)
/** A model without usage rows: a page that filters by it must not read the whole log. */
export const UNUSED_MODEL = 'gamma-never-used'
const PROTOCOLS: Protocol[] = ['messages', 'chat', 'responses', 'generate']
const HOLDER = 'bench00000'
const CREDIT = 9_000_000_000_000

export interface Books {
  store: Store
  keys: Key[]
  holder: string
}

/** Creates the schema and accounts with money and one key each; all the money is leased to one process. */
export async function openBooks(url: string): Promise<Books> {
  const store = openStore(url, { secret: 'a bench secret' })
  await store.migrate()
  await store.holders.register({ id: HOLDER, host: 'bench', beat: 0 })
  const keys: Key[] = []
  for (let i = 0; i < ACCOUNTS; i++) {
    const account = await store.accounts.create({ name: `account-${i}`, groups: ['default'] }, SETUP)
    const opening = { kind: 'opening', reference: 'opening', amount: micro(CREDIT), actor: '', note: '' } as const
    await store.entries.add(account.id, opening, SETUP)
    const key = await store.keys.create(
      {
        accountId: account.id,
        name: 'laptop',
        hash: String(i).padStart(64, '0'),
        hint: 'sk-…0000',
        group: 'default',
        status: 'enabled',
        expiresAtMs: null,
        cap: null,
        allowIps: null,
        models: null,
        modelsOff: null,
        createdBy: null,
      },
      SETUP,
    )
    keys.push(key)
  }
  return { store, keys, holder: HOLDER }
}

/** Few accounts make most of the traffic: the first one makes about a tenth. */
const pickKey = (random: Random, keys: Key[]): Key => keys[Math.floor(random.next() ** 2 * keys.length)] as Key

/** A key works with three models, the first of which it asks most, on one protocol. */
const modelOf = (random: Random, { id }: Key): string =>
  MODELS[(id * 7 + [0, 0, 0, 3, 3, 11][random.int(0, 5)]!) % MODELS.length] as string

const lineOf = (model: string, name: Line['class'], count: number): Line => ({
  model,
  priceVersion: 3,
  list: 'base',
  tier: 1_000_000,
  tierName: null,
  class: name,
  count,
  price: 2_000_000,
})

/** One request of a hundred fails, and one of fifty is left by its client. */
const endOf = (random: Random): Pick<UsageRow, 'status' | 'end'> => {
  const n = random.int(0, 99)
  if (n === 0) return { status: 502, end: 'upstream_error' }
  return n < 3 ? { status: 200, end: 'client_gone' } : { status: 200, end: 'completed' }
}

export function* rows(keys: Key[], count: number, fromMs: number, stepMs: number, seed = 1): Generator<UsageRow> {
  const random = withSeed(seed)
  for (let i = 0; i < count; i++) {
    const key = pickKey(random, keys)
    const [input, cached, output] = [random.int(100, 50_000), random.int(0, 100_000), random.int(10, 4_000)]
    const model = modelOf(random, key)
    const channel = random.int(0, 9) === 0 ? 'channel-two' : 'channel-one'
    const { status, end } = endOf(random)
    const charge = micro(input * 2 + output * 8)
    yield {
      requestId: `${idAt(fromMs + i * stepMs)}n0de00${(i % 1_000_000).toString().padStart(5, '0').slice(-5)}`,
      accountId: key.accountId,
      keyId: key.id,
      group: 'default',
      protocol: PROTOCOLS[key.id % PROTOCOLS.length] as Protocol,
      model,
      channel,
      status,
      end,
      basis: 'reported',
      charge,
      firstByteMs: random.int(100, 3_000),
      durationMs: random.int(1_000, 60_000),
      input,
      cache_read: cached,
      cache_write_5m: 0,
      cache_write_1h: 0,
      output,
      images: 0,
      answerId: null,
      upstreamKey: null,
      ...NOT_RECORDED,
      priceVersion: 3,
      multiplier: 1_000_000,
      lines: [lineOf(model, 'input', input), lineOf(model, 'cache_read', cached), lineOf(model, 'output', output)],
      held: charge,
      cost: micro(Math.floor(charge / 2)),
      askedMs: 2,
      attempts: [{ channel, status, error: null, ms: 900 }],
      upstreamId: `req_${i}`,
    }
  }
}

/** A settlement that leases pay completely, as in a steady flow of requests. */
export const settlementOf = (row: UsageRow, holder: string): Settlement => ({
  row,
  holder,
  fromAccountLease: row.charge,
  limits: [],
  fromKeyLease: row.charge,
})
