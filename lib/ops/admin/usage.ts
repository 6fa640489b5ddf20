/** The usage log, newest first, in pages. */

import { timeOfId } from '../../base/ids.ts'
import { latest } from '../../base/lru.ts'
import { formatMicro } from '../../base/money.ts'
import type { UsageFilter } from '../../store/store.ts'
import type { UsageRow } from '../../terms/records.ts'
import { type Answer, ok } from '../answer.ts'
import type { OpsDeps } from '../server.ts'
import { usageQuery } from './forms.ts'
import { parameters } from './lookups.ts'
import { read } from './read.ts'

const NAMES_KEPT = 10_000
const EMPTY = ok({ data: [], next: null })

export class Usage {
  readonly #deps: OpsDeps
  /** By account id; accounts are neither renamed nor deleted. */
  readonly #names = latest<number, string>(NAMES_KEPT)

  constructor(deps: OpsDeps) {
    this.#deps = deps
  }

  async page(query: URLSearchParams): Promise<Answer> {
    const { store } = this.#deps
    const { account: name, key, model, request_id, from, to, limit, after } = read(usageQuery, parameters(query))
    const account = name === undefined ? undefined : await store.accountByName(name)
    if (account === null) return EMPTY
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
    return ok({ data, next: rows.length === limit ? (rows.at(-1) as UsageRow).requestId : null })
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
