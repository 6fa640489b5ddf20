/**
 * Operations on keys of clients: list, create, change, remove. The secret of a key is returned once, by the operation
 * that creates the key; the store keeps only its hash.
 */
import { z } from 'zod'
import type { KeyChange, NewKey } from '../../store/store.ts'
import { catalogSchema } from '../../catalog/schema.ts'
import { limit } from '../../config/scalars.ts'
import * as kind from '../../config/scalars.ts'
import { hashOf, hintOf, newSecret } from '../../base/secrets.ts'
import { showLimit, type Key } from '../../terms/records.ts'
import type { Actor } from '../../base/people.ts'
import { act, inForce, type OperationDeps } from '../deps.ts'
import { firstLimit, limitChange } from './limits.ts'
import { OperationError } from '../error.ts'
import { isoOrNull, keyStandings, showUse } from './key-shown.ts'
import { accountNamed, accountNames, checkGroups } from '../lookups.ts'
import { withoutNulls, read, type Sent } from '../read.ts'
import { nextOf, pageFields, toPage } from '../fields.ts'

/** A key as it is written in a catalogue file, but without a secret: the gateway makes that itself. */
export const accountKeyForm = catalogSchema.shape.keys.unwrap().element.omit({ secret: true })

/** A field that is absent stays as it is; null removes its value. */
export const keyChangeForm = z.strictObject({
  name: kind.name.optional(),
  group: kind.name.optional(),
  status: kind.oneOf('enabled', 'disabled').optional(),
  expires_at: kind.time.nullable().optional(),
  cap: limit.nullable().optional(),
  allow_ips: z.array(kind.network).nullable().optional(),
  models: z.array(kind.name).nullable().optional(),
})

const HOUR_MS = 3_600_000
/** For how long the secret that a key has still works when it gets another one. */
const GRACES: Record<string, number> = { 0: 0, '1h': HOUR_MS, '24h': 24 * HOUR_MS }

/** The time in ms. */
export const grace = kind.scalar({ zh: '0、1h或24h', en: '0, 1h or 24h' }, { enum: [0, '0', '1h', '24h'] }, value =>
  typeof value === 'string' || value === 0 ? GRACES[value] : undefined,
)
export const keyRollForm = z.strictObject({ grace })

export const keysQuery = z.strictObject({ account: kind.name.optional(), ...pageFields })

/** Gives a key another secret. */
export async function rollKey(deps: OperationDeps, key: Key, graceMs: number, actor: Actor) {
  const secret = newSecret()
  const hashed = { hash: hashOf(secret), hint: hintOf(secret) }
  const rolled = await deps.store.rollKey(key.id, hashed, graceMs, act(actor, 'keys.roll'))
  await inForce(deps)
  return { key: rolled.key, secret, oldSecretEndsAt: isoOrNull(rolled.oldSecretEndsAtMs) }
}

export class Keys {
  readonly #deps: OperationDeps

  constructor(deps: OperationDeps) {
    this.#deps = deps
  }

  async list(filter: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { account, ...form } = read(keysQuery, filter)
    const owner = account === undefined ? undefined : (await accountNamed(store, account)).id
    const keys = await store.keyPage({ ...toPage(form), ...(owner === undefined ? {} : { accountId: owner }) })
    return { data: await this.#show(keys), next: nextOf(keys, form.limit) }
  }

  async create(sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const secret = newSecret()
    const key = await store.createKey(await this.#readNew(sent, secret), act(actor, 'keys.create'))
    const { id, ...rest } = await this.#showOne(key)
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
    const row = await this.#readNew(sent, secret)
    const { hash, hint } = row
    const known = await store.keyByName(row.accountId, row.name)
    if (known?.hash === hash) return this.#showOne(known)
    const provide = act(actor, 'keys.provide')
    const key =
      known === null ? await store.createKey(row, provide) : await store.updateKey(known.id, { hash, hint }, provide)
    const shown = await this.#showOne(key)
    await inForce(this.#deps)
    return shown
  }

  async #readNew(sent: Sent, secret: string): Promise<NewKey> {
    const { store } = this.#deps
    const row = read(accountKeyForm, withoutNulls(sent))
    const account = await store.accountByName(row.account)
    if (account === null) throw new OperationError('invalid', `account: there is no account ${row.account}`)
    await checkGroups(store, 'group', [row.group])
    return {
      accountId: account.id,
      name: row.name,
      hash: hashOf(secret),
      hint: hintOf(secret),
      group: row.group,
      status: row.status,
      expiresAtMs: row.expires_at ?? null,
      cap: firstLimit(row.cap),
      allowIps: row.allow_ips ?? null,
      models: row.models ?? null,
      modelsOff: null,
      createdBy: null,
    }
  }

  async change(id: string, sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const key = await this.#named(id)
    const fields = read(keyChangeForm, sent)
    if (fields.group !== undefined) await checkGroups(store, 'group', [fields.group])
    const { expires_at: expiresAtMs, allow_ips: allowIps, cap, ...rest } = fields
    const change = {
      ...rest,
      expiresAtMs,
      allowIps,
      cap: cap === undefined ? undefined : await limitChange(this.#deps, key.cap, cap),
    } as KeyChange // the store leaves alone what is undefined
    const row = await this.#showOne(await store.updateKey(key.id, change, act(actor, 'keys.change')))
    await inForce(this.#deps)
    return row
  }

  /** Gives the key another secret; the one that it has works for the time of grace. */
  async roll(id: string, sent: Sent, actor: Actor) {
    const { grace } = read(keyRollForm, sent)
    const rolled = await rollKey(this.#deps, await this.#named(id), grace, actor)
    return {
      id: rolled.key.id,
      secret: rolled.secret,
      hint: rolled.key.hint,
      old_secret_ends_at: rolled.oldSecretEndsAt,
    }
  }

  async remove(id: string, actor: Actor): Promise<void> {
    const { store, fleet } = this.#deps
    await fleet.settled()
    await store.deleteKey((await this.#named(id)).id, act(actor, 'keys.remove'))
    await inForce(this.#deps)
  }

  async #named(id: string): Promise<Key> {
    const key = /^\d{1,15}$/.test(id) ? await this.#deps.store.key(Number(id)) : null
    if (key === null) throw new OperationError('missing', `there is no key with id ${id}`)
    return key
  }

  async #showOne(key: Key) {
    return (await this.#show([key]))[0]!
  }

  async #show(keys: readonly Key[]) {
    const { store } = this.#deps
    const [standing, names] = await Promise.all([
      keyStandings(this.#deps, keys),
      accountNames(
        store,
        keys.map(key => key.accountId),
      ),
    ])
    return keys.map(key => {
      const { used, renewal, use } = standing(key)
      return {
        id: key.id,
        account: names.get(key.accountId) ?? null,
        name: key.name,
        group: key.group,
        status: key.status,
        expires_at: isoOrNull(key.expiresAtMs),
        cap: showLimit(key.cap),
        used,
        ...renewal,
        allow_ips: key.allowIps,
        models: key.models,
        hint: key.hint,
        ...showUse(use),
      }
    })
  }
}
