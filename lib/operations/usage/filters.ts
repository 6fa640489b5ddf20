/**
 * What callers send to see usage: people of an account, and operators, who may ask for all accounts and for channels. Charts,
 * tables, lists and exports take the same filters. Whose usage people of an account see stands at the end.
 */
import { withoutUndefined } from '../../base/objects.ts'
import * as kind from '../../config/scalars.ts'
import { z } from 'zod'
import { idAt, isRequestId, timeOfId } from '../../base/ids.ts'
import { ERRORS, type ErrorName } from '../../base/errors.ts'
import type { Store } from '../../store/store.ts'
import {
  type AccountKeys,
  type RequestFilter,
  SUMMARY_BY,
  type SummaryBy,
  type UsageFilter,
  WITH_ATTEMPTS,
} from '../../store/usage/queries.ts'
import { REFUSED_BY } from '../../terms/traffic.ts'
import { CLIENT_PROTOCOLS } from '../../protocols/names.ts'
import { BASES, ENDS, OUTCOMES } from '../../terms/usage-row.ts'
import type { Account } from '../../terms/records.ts'
import { NO_KEY } from '../accounts/own-keys.ts'
import { OperationError } from '../error.ts'
import { moment, publicIdField } from '../fields.ts'

/** A text that a pattern describes. */
const matching = (
  pattern: RegExp,
  zh: string,
  en: string,
  json: Parameters<typeof kind.scalar>[1] = { type: 'string' },
) =>
  kind.scalar({ zh, en }, json, (value): string | undefined =>
    typeof value === 'string' && pattern.test(value) ? value : undefined,
  )

/** The id of a row, or the beginning of the ids of a moment, as lists give them. */
const cursor = kind.scalar({ zh: '另一页的next', en: 'the `next` of another page' }, { type: 'string' }, value =>
  typeof value === 'string' && (isRequestId(value) || idAt(timeOfId(value)) === value) ? value : undefined,
)
/** An id of ours, of the client's own, or of an answer. */
const anyId = matching(/^[\x21-\x7e]{1,512}$/, '编号', 'an id', { type: 'string', minLength: 1, maxLength: 512 })
/** The longest name of a zone is shorter. */
const zone = matching(/^[\w+/-]{1,64}$/, '时区名称', 'the name of a time zone')
const requestId = matching(/^[0-9a-z.]{1,64}$/, '请求编号', 'a request id')

/** The id of a request in a path. What no id can be is answered as an id that does not exist. */
export const requestIdText = z.string().max(512)

/** By these everybody filters all of usage. */
const traits = {
  model: kind.modelName.optional(),
  group: kind.name.optional(),
  protocol: kind.oneOf(...CLIENT_PROTOCOLS).optional(),
  from: moment.optional(),
  to: moment.optional(),
}

/** `member`: only keys that this user made. */
const shared = {
  key: publicIdField.optional(),
  member: publicIdField.optional(),
  ...traits,
  outcome: kind.oneOf('ok', 'client', 'upstream').optional(),
}

/** By these only single requests are filtered. */
const ofRows = {
  status: kind.oneOf('2xx', '3xx', '4xx', '5xx').optional(),
  end: kind.oneOf(...ENDS).optional(),
  basis: kind.oneOf(...BASES).optional(),
  charge_from: kind.cny.optional(),
  duration_from_ms: kind.whole(0, 86_400_000).optional(),
}

/** By when requests came, the newest first. */
const order = { sort: kind.oneOf('time', '-time').prefault('-time') }
const paging = { ...order, after: cursor.optional(), limit: kind.whole(1, 200).prefault(50) }

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
export const exportQuery = z.strictObject({ ...shared, ...ofRows, ...order, ...file })
const reason = kind.oneOf(...(Object.keys(ERRORS) as ErrorName[])).optional()
export const refusalsQuery = z.strictObject({
  key: shared.key,
  member: shared.member,
  model: shared.model,
  reason,
  from: shared.from,
  to: shared.to,
  ...paging,
})

export type TotalsQuery = z.output<typeof totalsQuery>
export type TotalsFileQuery = z.output<typeof totalsFileQuery>
export type ChoicesQuery = z.output<typeof choicesQuery>
export type RequestsQuery = z.output<typeof requestsQuery>
export type ExportQuery = z.output<typeof exportQuery>
export type RefusalsQuery = z.output<typeof refusalsQuery>

const by = kind.scalar(
  {
    zh: `${SUMMARY_BY.join('、')}中的若干项，day与hour最多一项`,
    en: `some of ${SUMMARY_BY.join(', ')}, at most one of day and hour`,
  },
  { type: 'string' },
  value => {
    const names = String(value).split(',')
    const known = names.filter((name): name is SummaryBy => (SUMMARY_BY as readonly string[]).includes(name))
    if (known.length < names.length || new Set(names).size < names.length) return undefined
    return known.includes('day') && known.includes('hour') ? undefined : known
  },
)

/** By these operators filter. `account`: its name; `key`: the number of its row. */
export const exportFilter = z.strictObject({
  account: kind.name.optional(),
  key: kind.whole(1, Number.MAX_SAFE_INTEGER).optional(),
  ...traits,
  channel: kind.name.optional(),
  outcome: kind.oneOf(...OUTCOMES).optional(),
  attempts: kind.oneOf(...WITH_ATTEMPTS).optional(),
  request_id: requestId.optional(),
})

export const pageFilter = exportFilter.extend({
  disputed: kind.oneOf('open').optional(),
  limit: kind.whole(1, 1000).prefault(100),
  after: requestId.optional(),
})

/** The figures that totals can be in the order of, the smallest first, or with `-` the largest. */
const FIGURES = ['charge', 'cost', 'margin', 'requests', 'errors'] as const
const SORTS = FIGURES.flatMap(name => [name, `-${name}`] as const)
export type SummaryFigure = (typeof FIGURES)[number]

/** Without `sort`, totals are in the order of what `by` names. */
export const summaryFilter = exportFilter.extend({
  by: by.prefault('day'),
  zone: zone.optional(),
  sort: kind.oneOf(...SORTS).optional(),
})

/** The address of a client, or the network that counts as one. */
const address = matching(/^[\da-f.:/]{2,49}$/i, 'IP地址', 'an IP address')
const whoseRefusals = {
  account: kind.name.optional(),
  key: exportFilter.shape.key,
  address: address.optional(),
  reason,
  from: moment.optional(),
  to: moment.optional(),
}

export const refusalsFilter = z.strictObject({
  ...whoseRefusals,
  model: kind.modelName.optional(),
  limit: kind.whole(1, 1000).prefault(100),
  after: requestId.optional(),
})

const mostNamed = kind.whole(1, 1000).prefault(20)
export const refusalCountsFilter = z.strictObject({
  by: kind.oneOf('reason', ...REFUSED_BY).optional(),
  ...whoseRefusals,
  limit: mostNamed,
})
export const sendersFilter = z.strictObject({ by: kind.oneOf(...REFUSED_BY).prefault('account'), limit: mostNamed })

/** Up to when requests are deleted. */
export const pruning = z.strictObject({ before: moment })

/** The filter of people as the store takes it, but for the keys. */
export const toFilter = ({
  model,
  group,
  protocol,
  outcome,
  end,
  basis,
  status,
  ...sent
}: ExportQuery | RequestsQuery) =>
  withoutUndefined({
    ...{ model, group, protocol, outcome, end, basis },
    fromMs: sent.from,
    toMs: sent.to,
    statusClass: status === undefined ? undefined : Number(status[0]),
    chargeFrom: sent.charge_from,
    durationFromMs: sent.duration_from_ms,
  }) as Omit<RequestFilter, 'accountId' | 'keyIds'>

type OperatorsFilter = Omit<z.output<typeof exportFilter>, 'account'> &
  Pick<Partial<z.output<typeof pageFilter>>, 'disputed'>

/** The filter of operators as the store takes it. */
export const toOperatorsFilter = (sent: OperatorsFilter, accountId: number | undefined): Omit<UsageFilter, 'limit'> => {
  const { key: keyId, request_id, from: fromMs, to: toMs, ...rest } = sent
  return withoutUndefined({ accountId, keyId, requestId: request_id, fromMs, toMs, ...rest })
}

export interface AccountReader {
  account: Account
  /** The keys whose usage the person may see; null = all of the account. */
  keyIds: readonly number[] | null
}

/** One key, or the keys that a member made. Both are outward ids. */
interface Narrowed {
  key?: string | undefined
  member?: string | undefined
}

/** The keys that are meant. A key that the reader may not see is one that does not exist. */
export async function whoseKeys(store: Store, reader: AccountReader, { key, member }: Narrowed): Promise<AccountKeys> {
  const { account, keyIds } = reader
  const accountId = account.id
  const made = member === undefined ? null : await madeBy(store, accountId, member)
  const seen = inBoth(keyIds, made)
  if (key === undefined) return { accountId, keyIds: seen }
  const label = await store.keys.labelOf(accountId, key)
  if (label === null || (keyIds !== null && !keyIds.includes(label.id))) throw NO_KEY()
  return { accountId, keyIds: inBoth(seen, [label.id]) }
}

/** The ids that are in both lists; null = all. */
function inBoth(one: readonly number[] | null, other: readonly number[] | null): readonly number[] | null {
  if (one === null || other === null) return one ?? other
  const set = new Set(other)
  return one.filter(id => set.has(id))
}

/** The keys of somebody who is or was a member: people who leave have made keys that are still there. */
async function madeBy(store: Store, accountId: number, member: string): Promise<number[]> {
  const person = await store.people.users.byPublicId(member)
  const ids = person === null ? [] : await store.keys.idsOf(accountId, person.id)
  if (ids.length === 0 && (person === null || (await store.people.members.role(person.id, accountId)) === null))
    throw new OperationError('missing', { zh: '没有这个成员', en: 'there is no such member' })
  return ids
}
