/**
 * Operations on the keys of everybody, for operators: list, create, change, remove; and what they share with those of people
 * on the keys of their account. The secret of a key is returned once, by the operation that creates the key; the store keeps
 * only its hash.
 */
import { HOUR_MS, isoOrNull } from '../../base/clock.ts'
import { z } from 'zod'
import type { KeyChange } from '../../store/accounts/keys.ts'
import type { NewKey } from '../../store/accounts/key-rows.ts'
import { catalogSchema } from '../../catalog-file/schema.ts'
import { limit } from '../../config/scalars.ts'
import * as kind from '../../config/scalars.ts'
import { hashOf, hintOf, newSecret } from '../../base/secrets.ts'
import type { Key, SetLimit } from '../../terms/records.ts'
import type { Actor } from '../../base/people.ts'
import { act, inForce, type OperationDeps } from '../deps.ts'
import { firstLimit, limitChange } from './limits.ts'
import { OperationError } from '../error.ts'
import { keyRows } from './key-rows.ts'
import { accountNamed, checkGroups } from '../lookups.ts'
import { withoutNulls, read, type Sent } from '../read.ts'
import { nextOf, pageFields, toPage } from '../fields.ts'

/** A key as it is written in a catalogue file, but without a secret: the gateway makes that itself. */
export const accountKeyForm = catalogSchema.shape.keys
  .unwrap()
  .element.omit({ secret: true })
  .extend({
    sha256: kind
      .scalar(
        { zh: '64位十六进制的SHA-256', en: 'a SHA-256 in 64 hexadecimal digits' },
        { type: 'string', pattern: '^[0-9a-fA-F]{64}$' },
        value => (typeof value === 'string' && /^[0-9a-f]{64}$/i.test(value) ? value.toLowerCase() : undefined),
      )
      .optional()
      .meta({
        description: 'Of the whole secret that a client sends, so that a key of another gateway goes on working.',
      }),
  })

/** A field that is absent stays as it is; null removes its value. */
export const keyChangeForm = z.strictObject({
  name: kind.name.optional(),
  group: kind.name.optional(),
  status: kind.oneOf('enabled', 'disabled').optional(),
  expires_at: kind.time.nullable().optional(),
  cap: limit.nullable().optional(),
  allow_ips: z.array(kind.network).nullable().optional(),
  models: z.array(kind.modelName).nullable().optional(),
})

/** For how long the secret that a key has still works when it gets another one. */
const GRACES: Record<string, number> = { 0: 0, '1h': HOUR_MS, '24h': 24 * HOUR_MS }

/** The time in ms. */
export const grace = kind.scalar({ zh: '0、1h或24h', en: '0, 1h or 24h' }, { enum: [0, '0', '1h', '24h'] }, value =>
  typeof value === 'string' || value === 0 ? GRACES[value] : undefined,
)
export const keyRollForm = z.strictObject({ grace })

export const keysQuery = z.strictObject({ account: kind.name.optional(), ...pageFields })

export type KeysDeps = Pick<OperationDeps, 'store' | 'clock' | 'fleet' | 'log'>

/** What callers write of a key, whoever they are. */
type KeyFields = Pick<NewKey, 'name' | 'group' | 'status' | 'models'> &
  Partial<Pick<NewKey, 'modelsOff' | 'createdBy'>> & {
    expires_at?: number | null | undefined
    cap?: SetLimit | null | undefined
    allow_ips?: string[] | null | undefined
  }

/** Shown of a key whose secret nobody here has seen. */
const UNSEEN_HINT = 'sk-…'

export function newKeyRow(accountId: number, fields: KeyFields, secret = newSecret()): { row: NewKey; secret: string } {
  const { name, group, status, models, modelsOff = null, createdBy = null } = fields
  const row: NewKey = {
    accountId,
    name,
    hash: hashOf(secret),
    hint: hintOf(secret),
    group,
    status,
    expiresAtMs: fields.expires_at ?? null,
    cap: firstLimit(fields.cap),
    allowIps: fields.allow_ips ?? null,
    models,
    modelsOff,
    createdBy,
  }
  return { row, secret }
}

/** Changes the fields that are not undefined. */
export async function changeKey(
  deps: KeysDeps,
  key: Key,
  { expires_at: expiresAtMs, allow_ips: allowIps, cap, ...rest }: { [F in keyof KeyFields]?: KeyFields[F] | undefined },
  actor: Actor,
): Promise<Key> {
  const limit = cap === undefined ? undefined : await limitChange(deps, key.cap, cap)
  const change = { ...rest, expiresAtMs, allowIps, cap: limit } as KeyChange // the store leaves alone what is undefined
  return deps.store.keys.update(key.id, change, act(actor, 'keys.change'))
}

/** Gives a key another secret; the one that it has works for the time of grace. */
export async function rollKey(deps: KeysDeps, key: Key, graceMs: number, actor: Actor) {
  const secret = newSecret()
  const hashed = { hash: hashOf(secret), hint: hintOf(secret) }
  const rolled = await deps.store.keys.roll(key.id, hashed, graceMs, act(actor, 'keys.roll'))
  await inForce(deps)
  return { key: rolled.key, secret, oldSecretEndsAt: isoOrNull(rolled.oldSecretEndsAtMs) }
}

export const removeKey = ({ store }: KeysDeps, { id }: Key, actor: Actor): Promise<boolean> =>
  store.keys.delete(id, act(actor, 'keys.remove'))

export class Keys {
  readonly #deps: KeysDeps

  constructor(deps: KeysDeps) {
    this.#deps = deps
  }

  async list(filter: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { account, ...form } = read(keysQuery, filter)
    const owner = account === undefined ? undefined : (await accountNamed(store, account)).id
    const keys = await store.keys.page({ ...toPage(form), ...(owner === undefined ? {} : { accountId: owner }) })
    return { data: await keyRows(this.#deps, keys), next: nextOf(keys, form.limit) }
  }

  async create(sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { row, secret } = await this.#readNew(sent)
    const { id, ...rest } = await this.#row(await store.keys.create(row, act(actor, 'keys.create')))
    await inForce(this.#deps)
    return { id, secret, ...rest }
  }

  /**
   * Makes sure that an account has a key of this name with a secret that is known beforehand. A key of this name that
   * exists already gets the secret, and stays as it is otherwise: when an administrator disabled it, it stays disabled.
   */
  async provide(sent: Sent, secret: string, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { row } = await this.#readNew(sent, secret)
    const { hash, hint } = row
    const known = await store.keys.byName(row.accountId, row.name)
    if (known?.hash === hash) return this.#row(known)
    const provide = act(actor, 'keys.provide')
    const key =
      known === null
        ? await store.keys.create(row, provide)
        : await store.keys.update(known.id, { hash, hint }, provide)
    const shown = await this.#row(key)
    await inForce(this.#deps)
    return shown
  }

  async change(id: string, sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const key = await this.#find(id)
    const fields = read(keyChangeForm, sent)
    if (fields.group !== undefined) await checkGroups(store, 'group', [fields.group])
    const row = await this.#row(await changeKey(this.#deps, key, fields, actor))
    await inForce(this.#deps)
    return row
  }

  async roll(id: string, sent: Sent, actor: Actor) {
    const { grace } = read(keyRollForm, sent)
    const { key, secret, oldSecretEndsAt } = await rollKey(this.#deps, await this.#find(id), grace, actor)
    return { id: key.id, secret, hint: key.hint, old_secret_ends_at: oldSecretEndsAt }
  }

  async remove(id: string, actor: Actor): Promise<void> {
    await this.#deps.fleet.settled()
    await removeKey(this.#deps, await this.#find(id), actor)
    await inForce(this.#deps)
  }

  async #readNew(sent: Sent, secret?: string) {
    const { store } = this.#deps
    const fields = read(accountKeyForm, withoutNulls(sent))
    const account = await store.accounts.byName(fields.account)
    if (account === null) throw new OperationError('invalid', `account: there is no account ${fields.account}`)
    await checkGroups(store, 'group', [fields.group])
    const made = newKeyRow(account.id, { ...fields, models: fields.models ?? null }, secret)
    const { sha256 } = fields
    return sha256 === undefined ? made : { row: { ...made.row, hash: sha256, hint: UNSEEN_HINT }, secret: null }
  }

  async #find(id: string): Promise<Key> {
    const key = /^\d{1,15}$/.test(id) ? await this.#deps.store.keys.byId(Number(id)) : null
    if (key === null) throw new OperationError('missing', `there is no key with id ${id}`)
    return key
  }

  async #row(key: Key) {
    return (await keyRows(this.#deps, [key]))[0]!
  }
}
