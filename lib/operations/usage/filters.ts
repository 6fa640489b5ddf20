/** What people send to see their usage. Charts, tables, lists and exports take the same filters. */
import { z } from 'zod'
import { PUBLIC_ID_LENGTH } from '../../base/ids.ts'
import type { RequestFilter } from '../../store/usage/queries.ts'
import * as kind from '../../config/scalars.ts'
import { ERRORS, type ErrorName } from '../../base/errors.ts'
import { BASES, ENDS, PROTOCOLS } from '../../terms/records.ts'
import { moment } from '../fields.ts'

const PAGE_ROWS = 50
const MOST_ROWS = 200

const publicId = kind.scalar(
  { zh: '编号', en: 'an id' },
  { type: 'string', minLength: PUBLIC_ID_LENGTH, maxLength: PUBLIC_ID_LENGTH },
  value => (typeof value === 'string' && /^[0-9a-z]{20}$/.test(value) ? value : undefined),
)
const cursor = kind.scalar({ zh: '另一页的next', en: 'the `next` of another page' }, { type: 'string' }, value =>
  typeof value === 'string' && /^[0-9a-z.]{10,40}$/.test(value) ? value : undefined,
)
/** An id of ours, of the client's own, or of an answer. */
const anyId = kind.scalar({ zh: '编号', en: 'an id' }, { type: 'string', minLength: 1, maxLength: 512 }, value =>
  typeof value === 'string' && /^[\x21-\x7e]{1,512}$/.test(value) ? value : undefined,
)
const zone = kind.scalar({ zh: '时区名称', en: 'the name of a time zone' }, { type: 'string' }, value =>
  typeof value === 'string' && /^[\w+/-]{1,64}$/.test(value) ? value : undefined,
)

/** The id of a request in a path. What no id can be is answered as an id that does not exist. */
export const requestIdText = z.string().max(512)

/** By these all of usage is filtered. */
const shared = {
  key: publicId.optional(),
  /** Only keys that this user made. */
  member: publicId.optional(),
  model: kind.name.optional(),
  group: kind.name.optional(),
  protocol: kind.oneOf(...PROTOCOLS).optional(),
  outcome: kind.oneOf('ok', 'client', 'upstream').optional(),
  from: moment.optional(),
  to: moment.optional(),
}

/** By these only single requests are. */
const ofRows = {
  status: kind.oneOf('2xx', '3xx', '4xx', '5xx').optional(),
  end: kind.oneOf(...ENDS).optional(),
  basis: kind.oneOf(...BASES).optional(),
  charge_from: kind.cny.optional(),
  duration_from_ms: kind.whole(0, 86_400_000).optional(),
}

const paging = { after: cursor.optional(), limit: kind.whole(1, MOST_ROWS).prefault(PAGE_ROWS) }

export const STACKS = ['model', 'key', 'group', 'protocol'] as const
export type Stack = (typeof STACKS)[number]

export const totalsQuery = z.strictObject({
  ...shared,
  by: kind.oneOf('day', 'hour').prefault('day'),
  stack: kind.oneOf(...STACKS).prefault('model'),
  zone: zone.optional(),
})
/** `heads`: column names in the reader's language, or names that never change, for programs. */
const file = { heads: kind.oneOf('words', 'machine').prefault('words') }
export const totalsFileQuery = totalsQuery.omit({ by: true }).extend(file)
/** `key`: one that is named even if it was not used. */
export const choicesQuery = z.strictObject({ key: shared.key, from: shared.from, to: shared.to })
export const requestsQuery = z.strictObject({ ...shared, ...ofRows, ...paging, id: anyId.optional() })
export const exportQuery = z.strictObject({ ...shared, ...ofRows, ...file })
export const refusalsQuery = z.strictObject({
  key: publicId.optional(),
  /** Only keys that this user made. */
  member: publicId.optional(),
  model: kind.name.optional(),
  reason: kind.oneOf(...(Object.keys(ERRORS) as ErrorName[])).optional(),
  from: moment.optional(),
  to: moment.optional(),
  ...paging,
})

export type TotalsQuery = z.output<typeof totalsQuery>
export type TotalsFileQuery = z.output<typeof totalsFileQuery>
export type ChoicesQuery = z.output<typeof choicesQuery>
export type RequestsQuery = z.output<typeof requestsQuery>
export type ExportQuery = z.output<typeof exportQuery>
export type RefusalsQuery = z.output<typeof refusalsQuery>

/** The fields that were sent. */
export const present = <T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as never

/** The filter as the store takes it. */
export function toFilter(sent: ExportQuery | RequestsQuery): Omit<RequestFilter, 'accountId' | 'keyIds'> {
  const { model, group, protocol, outcome, end, basis, status } = sent
  return present({
    model,
    group,
    protocol,
    outcome,
    end,
    basis,
    fromMs: sent.from,
    toMs: sent.to,
    statusClass: status === undefined ? undefined : Number(status[0]),
    chargeFrom: sent.charge_from,
    durationFromMs: sent.duration_from_ms,
  }) as Omit<RequestFilter, 'accountId' | 'keyIds'>
}
