/** What people send about keys, and what must hold of it beyond its form. */
import { z } from 'zod'
import { limit } from '../../config/scalars.ts'
import * as kind from '../../config/scalars.ts'
import type { Words } from '../../base/people.ts'
import { type Key, PROTOCOLS } from '../../terms/records.ts'
import { OperationError } from '../error.ts'
import { grace } from './keys.ts'
import { publicId } from '../fields.ts'

const PAGE_ROWS = 50
const MOST_ROWS = 200
const MOST_ADDRESSES = 100
const MOST_MODELS = 500
const MOST_AT_ONCE = 100

/** The states by which people look for keys; those of one key may be several. */
export const SOUGHT = ['enabled', 'disabled', 'expired', 'used_up', 'ip_bound', 'model_bound'] as const

export const keyInPath = z.strictObject({ id: z.string().max(64) })

export const ownKeysQuery = z.strictObject({
  state: kind.oneOf(...SOUGHT).optional(),
  group: kind.name.optional(),
  creator: publicId.optional(),
  q: kind.name.optional(),
  limit: kind.whole(1, MOST_ROWS).prefault(PAGE_ROWS),
  after: publicId.optional(),
})
export type OwnKeysQuery = z.output<typeof ownKeysQuery>

const restrictions = {
  expires_at: kind.time.nullable().optional(),
  cap: limit.nullable().optional(),
  allow_ips: z.array(kind.network).max(MOST_ADDRESSES).nullable().optional(),
  /** The list beside the switch. */
  models: z.array(kind.name).max(MOST_MODELS).optional(),
  restricted: z.boolean().optional(),
  /** True: the caller knows that nobody can use a key with an empty list. */
  confirm: z.boolean().optional(),
}

export const newKeyForm = z.strictObject({ name: kind.name, group: kind.name, ...restrictions })
export type NewKeyForm = z.output<typeof newKeyForm>

export const keyForm = z.strictObject({
  name: kind.name.optional(),
  group: kind.name.optional(),
  status: kind.oneOf('enabled', 'disabled').optional(),
  ...restrictions,
})
export type KeyForm = z.output<typeof keyForm>

export const rollForm = z.strictObject({ grace })

export const severalForm = z.strictObject({
  ids: z.array(publicId).min(1).max(MOST_AT_ONCE),
  action: kind.oneOf('enable', 'disable', 'delete'),
})
export type SeveralForm = z.output<typeof severalForm>

export const testForm = z.strictObject({ model: kind.name, protocol: kind.oneOf(...PROTOCOLS) })
export type TestForm = z.output<typeof testForm>

/**
 * The restriction to models that a form means. A list that is sent without the switch switches a new key's restriction
 * on, and leaves that of a key that exists as it is.
 */
export function restriction(
  { models: list, restricted }: Pick<KeyForm, 'models' | 'restricted'>,
  key: Key | null,
): { models: string[] | null; modelsOff: string[] | null } {
  const models = list ?? key?.models ?? key?.modelsOff ?? []
  const on = restricted ?? (key === null ? list !== undefined : key.models !== null)
  return on ? { models, modelsOff: null } : { models: null, modelsOff: models.length > 0 ? models : null }
}

const NEEDED: Words = {
  zh: '“confirm”为true,因为列表为空的密钥任何人都不能使用',
  en: 'confirm: true, because nobody can use a key with an empty list',
}

/** Throws OperationError unless the caller has confirmed a list that locks the key. */
export function checkLocks(
  { models, allowIps }: { models?: string[] | null | undefined; allowIps?: string[] | null | undefined },
  confirmed: boolean | undefined,
): void {
  if (confirmed) return
  const locks = [...(models?.length === 0 ? ['models'] : []), ...(allowIps?.length === 0 ? ['allow_ips'] : [])]
  if (locks.length === 0) return
  const said = (zh: boolean) =>
    locks.map(field => `${field}: ${zh ? `应有${NEEDED.zh}` : `expected ${NEEDED.en}`}`).join('; ')
  throw new OperationError(
    'invalid',
    { zh: said(true), en: said(false) },
    {},
    locks.map(field => ({ field, expected: NEEDED })),
  )
}
