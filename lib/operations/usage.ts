/** The operation that reads the usage log: one row for each charged request, the newest first, in pages. */
import { z } from 'zod'
import { timeOfId } from '../base/ids.ts'
import { latest } from '../base/lru.ts'
import { formatMicro } from '../base/money.ts'
import type { UsageFilter } from '../store/store.ts'
import * as kind from '../terms/config-scalars.ts'
import type { UsageRow } from '../terms/records.ts'
import type { OperationDeps } from './deps.ts'
import { read, type Sent } from './read.ts'

const requestId = kind.scalar('a request id', {}, value =>
  typeof value === 'string' && /^[0-9a-z]{1,64}$/.test(value) ? value : undefined,
)

const moment = kind.scalar('a time like "2030-01-31T00:00:00Z", or ms since 1970', {}, value => {
  if (typeof value === 'string' && /^\d{5,15}$/.test(value)) return Number(value)
  const time = kind.time.safeParse(value)
  return time.success ? time.data : undefined
})

const MOST_ROWS = 1000
const ROWS = 100

const usageFilter = z.strictObject({
  account: kind.name.optional(),
  /** The id of a key. */
  key: kind.whole(1, Number.MAX_SAFE_INTEGER).optional(),
  model: kind.name.optional(),
  request_id: requestId.optional(),
  from: moment.optional(),
  to: moment.optional(),
  limit: kind.whole(1, MOST_ROWS).prefault(ROWS),
  after: requestId.optional(),
})

const NAMES_KEPT = 10_000

export class Usage {
  readonly #deps: OperationDeps
  /** Names by account id. They may be kept, because accounts are neither renamed nor deleted. */
  readonly #names = latest<number, string>(NAMES_KEPT)

  constructor(deps: OperationDeps) {
    this.#deps = deps
  }

  /** One page. `next` is the value of `after` with which the caller gets the following page; null on the last page. */
  async page(filter: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { account: name, key, model, request_id, from, to, limit, after } = read(usageFilter, filter)
    const account = name === undefined ? undefined : await store.accountByName(name)
    if (account === null) return { data: [], next: null }
    const wanted = {
      accountId: account?.id,
      keyId: key,
      model,
      requestId: request_id,
      fromMs: from,
      toMs: to,
      after,
      limit,
    }
    const given = Object.entries(wanted).filter(([, value]) => value !== undefined)
    const rows = await store.usage(Object.fromEntries(given) as unknown as UsageFilter)
    const names = await this.#namesOf(rows)
    const data = rows.map(row => toRow(row, names.get(row.accountId)))
    return { data, next: rows.length === limit ? (rows.at(-1) as UsageRow).requestId : null }
  }

  async #namesOf(rows: UsageRow[]): Promise<Map<number, string>> {
    const names = new Map<number, string>()
    for (const id of new Set(rows.map(row => row.accountId))) {
      const name = this.#names.get(id) ?? (await this.#deps.store.account(id))?.name
      if (name === undefined) continue
      this.#names.set(id, name)
      names.set(id, name)
    }
    return names
  }
}

const toRow = (row: UsageRow, account: string | undefined): object => ({
  request_id: row.requestId,
  at: new Date(timeOfId(row.requestId)).toISOString(),
  account,
  key: row.keyId,
  group: row.group,
  protocol: row.protocol,
  model: row.model,
  channel: row.channel,
  status: row.status,
  end: row.end,
  basis: row.basis,
  input: row.input,
  cache_read: row.cache_read,
  cache_write_5m: row.cache_write_5m,
  cache_write_1h: row.cache_write_1h,
  output: row.output,
  images: row.images,
  charge: formatMicro(row.charge),
  first_byte_ms: row.firstByteMs,
  duration_ms: row.durationMs,
})
