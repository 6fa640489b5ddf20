/** The filters of usage as callers send them. The list, the summary and the export take the same ones. */
import { z } from 'zod'
import { SUMMARY_BY, type SummaryBy, type UsageFilter, WITH_ATTEMPTS } from '../../store/usage/queries.ts'
import { moment } from '../fields.ts'
import * as kind from '../../config/scalars.ts'
import { OUTCOMES } from '../../terms/usage-row.ts'
import { PROTOCOLS } from '../../terms/records.ts'

const requestId = kind.scalar({ zh: '请求编号', en: 'a request id' }, {}, value =>
  typeof value === 'string' && /^[0-9a-z.]{1,64}$/.test(value) ? value : undefined,
)

const by = kind.scalar(
  {
    zh: `${SUMMARY_BY.join('、')}中的若干项,day与hour最多一项`,
    en: `some of ${SUMMARY_BY.join(', ')}, at most one of day and hour`,
  },
  {},
  value => {
    const names = String(value).split(',')
    const known = names.filter((name): name is SummaryBy => (SUMMARY_BY as readonly string[]).includes(name))
    if (known.length < names.length || new Set(names).size < names.length) return undefined
    return known.includes('day') && known.includes('hour') ? undefined : known
  },
)

const MOST_ROWS = 1000
const ROWS = 100
/** The longest name of a zone is shorter. */
const ZONE = /^[\w+/-]{1,64}$/

const shared = {
  account: kind.name.optional(),
  /** The id of a key. */
  key: kind.whole(1, Number.MAX_SAFE_INTEGER).optional(),
  model: kind.name.optional(),
  group: kind.name.optional(),
  channel: kind.name.optional(),
  protocol: kind.oneOf(...PROTOCOLS).optional(),
  outcome: kind.oneOf(...OUTCOMES).optional(),
  attempts: kind.oneOf(...WITH_ATTEMPTS).optional(),
  request_id: requestId.optional(),
  from: moment.optional(),
  to: moment.optional(),
}

export const exportFilter = z.strictObject(shared)

export const pageFilter = exportFilter.extend({
  disputed: kind.oneOf('open').optional(),
  limit: kind.whole(1, MOST_ROWS).prefault(ROWS),
  after: requestId.optional(),
})

export const summaryFilter = exportFilter.extend({
  by: by.prefault('day'),
  zone: kind
    .scalar({ zh: '时区名称', en: 'the name of a time zone' }, {}, value =>
      typeof value === 'string' && ZONE.test(value) ? value : undefined,
    )
    .optional(),
})

type Sent = z.output<typeof exportFilter>

/** The filter as the store takes it, without what was not sent. */
export function storeFilter(sent: Omit<Sent, 'account'>, accountId: number | undefined): Omit<UsageFilter, 'limit'> {
  const { key: keyId, request_id: requestId, from: fromMs, to: toMs, ...traits } = sent
  const all = { accountId, keyId, requestId, fromMs, toMs, ...traits }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== undefined))
}
