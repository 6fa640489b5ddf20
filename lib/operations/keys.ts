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
import type { Key } from '../terms/records.ts'
import { firstLimit, limitChange, renewals, showLimit } from './caps-and-budgets.ts'
import { inForce, type OperationDeps } from './deps.ts'
import { OperationError } from './error.ts'
import { accountNamed, checkGroups } from './lookups.ts'
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

  async create(sent: Sent) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const secret = newSecret()
    const key = await store.createKey(await this.#readNew(sent, secret))
    const { id, ...rest } = await this.#showOne(key)
    await inForce(this.#deps)
    return { id, secret, ...rest }
  }

  /**
   * Makes sure that an account has a key of this name with a secret that is known beforehand. A key of this name that
   * exists already gets the secret, and stays as it is otherwise: when an administrator disabled it, it stays disabled.
   */
  async provide(sent: Sent, secret: string) {
    const { store, fleet } = this.#deps
    await fleet.settled()
    const row = await this.#readNew(sent, secret)
    const { hash, hint } = row
    const known = await store.keyByName(row.accountId, row.name)
    if (known?.hash === hash) return this.#showOne(known)
    const key = known === null ? await store.createKey(row) : await store.updateKey(known.id, { hash, hint })
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

  async change(id: string, sent: Sent) {
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
    const row = await this.#showOne(await store.updateKey(key.id, change))
    await inForce(this.#deps)
    return row
  }

  async remove(id: string): Promise<void> {
    const { store, fleet } = this.#deps
    await fleet.settled()
    await store.deleteKey((await this.#named(id)).id)
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
      this.#accounts(keys),
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

  /** The names of the keys' accounts, by id. When it is one account, only that one is read: this is the usual case. */
  async #accounts(keys: readonly Key[]): Promise<Map<number, string>> {
    const { store } = this.#deps
    const ids = [...new Set(keys.map(key => key.accountId))]
    const accounts = ids.length > 1 ? await store.accounts() : await Promise.all(ids.map(id => store.account(id)))
    return new Map(accounts.flatMap(account => (account === null ? [] : [[account.id, account.name] as const])))
  }
}
