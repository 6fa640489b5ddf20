/**
 * Operations on keys of clients: list, create, change, remove. The secret of a key is returned once, by the operation
 * that creates the key; the store keeps only its hash.
 */
import { z } from 'zod'
import { formatMicro, ZERO } from '../base/money.ts'
import { type KeyChange, keyPurse, type NewKey } from '../store/store.ts'
import * as address from '../terms/config-addresses.ts'
import { catalogSchema } from '../terms/config-catalog.ts'
import { limit } from '../terms/config-limit.ts'
import * as kind from '../terms/config-scalars.ts'
import { hashOf, hintOf, newSecret } from '../terms/key-secret.ts'
import { showLimit } from '../terms/limits.ts'
import type { Actor } from '../terms/people.ts'
import type { Key } from '../terms/records.ts'
import { act } from './acts.ts'
import { firstLimit, limitChange, renewals } from './caps-and-budgets.ts'
import { inForce, type OperationDeps } from './deps.ts'
import { OperationError } from './error.ts'
import { accountNamed, accountNames, checkGroups } from './lookups.ts'
import { withoutNulls } from './nulls.ts'
import { nextOf, pageFields, toPage } from './paging.ts'
import { read, type Sent } from './read.ts'

/** A key as it is written in a catalogue file, but without a secret: the gateway makes that itself. */
const newKey = catalogSchema.shape.keys.unwrap().element.omit({ secret: true })

/** A field that is absent stays as it is; null removes its value. */
const keyChange = z.strictObject({
  name: kind.name.optional(),
  group: kind.name.optional(),
  status: kind.oneOf('enabled', 'disabled').optional(),
  expires_at: kind.time.nullable().optional(),
  cap: limit.nullable().optional(),
  allow_ips: z.array(address.network).nullable().optional(),
  models: z.array(kind.name).nullable().optional(),
})

const keysFilter = z.strictObject({ account: kind.name.optional(), ...pageFields })

export class Keys {
  readonly #deps: OperationDeps

  constructor(deps: OperationDeps) {
    this.#deps = deps
  }

  async list(filter: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const { account, ...form } = read(keysFilter, filter)
    const owner = account === undefined ? undefined : (await accountNamed(store, account)).id
    const keys = await store.keyPage(toPage(form), owner)
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
    const row = read(newKey, withoutNulls(sent))
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
    }
  }

  async change(id: string, sent: Sent, actor: Actor) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const key = await this.#named(id)
    const fields = read(keyChange, sent)
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
    const [purses, names, renewal] = await Promise.all([
      store.purses(keys.map(key => keyPurse(key.id))),
      accountNames(
        store,
        keys.map(key => key.accountId),
      ),
      renewals(
        this.#deps,
        'k',
        keys.map(({ id, cap }) => ({ id, limit: cap })),
      ),
    ])
    const used = new Map(purses.map(purse => [purse.id, purse.spent]))
    return keys.map(key => ({
      id: key.id,
      account: names.get(key.accountId) ?? null,
      name: key.name,
      group: key.group,
      status: key.status,
      expires_at: key.expiresAtMs === null ? null : new Date(key.expiresAtMs).toISOString(),
      cap: showLimit(key.cap),
      used: formatMicro(used.get(keyPurse(key.id)) ?? ZERO),
      ...renewal(key.id),
      allow_ips: key.allowIps,
      models: key.models,
      hint: key.hint,
    }))
  }
}
