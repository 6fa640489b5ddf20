/**
 * What people do with the keys of their account: create, change, roll, delete, several at once. A member sees and
 * changes the keys that it made; a key of somebody else is one that does not exist. Keys are named by their public ids. Their list is
 * `key-list.ts`.
 */
import { z } from 'zod'
import type { Actor, Words } from '../../base/people.ts'
import type { Config } from '../../config/config.ts'
import { limit } from '../../config/scalars.ts'
import * as kind from '../../config/scalars.ts'
import type { Account, Key } from '../../terms/records.ts'
import { act, inForce, storeNow } from '../deps.ts'
import { OperationError } from '../error.ts'
import { publicIdField } from '../fields.ts'
import { KEY_STATES, ownKeyRows } from './key-rows.ts'
import { changeKey, grace, type KeysDeps, newKeyRow, removeKey, rollKey } from './keys.ts'

export { KEY_STATES }

/** Somebody who sees keys of an account. `madeBy`: only the keys that this user made; null = all. */
export interface Keeper {
  account: Account
  madeBy: number | null
}

const MOST_ADDRESSES = 100
const MOST_MODELS = 500
const MOST_AT_ONCE = 100

export const keyInPath = z.strictObject({ id: z.string().max(64) })

const restrictions = {
  expires_at: kind.time.nullable().optional(),
  cap: limit.nullable().optional(),
  allow_ips: z.array(kind.network).max(MOST_ADDRESSES).nullable().optional(),
  /** The list beside the switch. */
  models: z.array(kind.modelName).max(MOST_MODELS).optional(),
  restricted: z.boolean().optional(),
  /** True: the caller knows that nobody can use a key with an empty list. */
  confirm: z.boolean().optional(),
}

export const newKeyForm = z.strictObject({ name: kind.name, group: kind.name, ...restrictions })

export const keyForm = z.strictObject({
  name: kind.name.optional(),
  group: kind.name.optional(),
  status: kind.oneOf('enabled', 'disabled').optional(),
  ...restrictions,
})
type KeyForm = z.output<typeof keyForm>

export const rollForm = z.strictObject({ grace })

export const severalForm = z.strictObject({
  ids: z.array(publicIdField).min(1).max(MOST_AT_ONCE),
  action: kind.oneOf('enable', 'disable', 'delete'),
})

export const NO_KEY = () => new OperationError('missing', { zh: '没有这个密钥', en: 'there is no such key' })

export class OwnKeys {
  readonly #deps: KeysDeps
  readonly #keeper: Keeper

  constructor(deps: KeysDeps, keeper: Keeper) {
    this.#deps = deps
    this.#keeper = keeper
  }

  /** The key with this public id, if the keeper may see it. */
  async find(id: string): Promise<Key> {
    const { account, madeBy } = this.#keeper
    const key = await this.#deps.store.keys.byPublicId(id)
    if (key === null || key.accountId !== account.id || (madeBy !== null && key.createdBy !== madeBy)) throw NO_KEY()
    return key
  }

  async show(id: string) {
    await this.#deps.fleet.settled()
    return this.#row(await this.find(id))
  }

  /** The secret is returned here, and nowhere else ever again. Operators make as many keys as they like, people do not. */
  async create(form: z.output<typeof newKeyForm>, actor: Actor, { limits }: Pick<Config, 'limits'>) {
    const { account } = this.#keeper
    this.#checkGroup(form.group)
    await this.#checkLife(form.expires_at)
    const { models, modelsOff } = restriction(form, null)
    const allowIps = form.allow_ips ?? null
    checkLocks({ models, allowIps }, form.confirm)
    await this.#checkName(form.name, null)
    const fields = { ...form, status: 'enabled' as const, models, modelsOff, createdBy: actor.userId }
    const { row, secret } = newKeyRow(account.id, fields)
    const key = await this.#deps.store.keys.create(row, act(actor, 'keys.create'), { most: limits.keys })
    const shown = await this.#row(key)
    await inForce(this.#deps)
    return { key: shown, secret }
  }

  async change(id: string, form: KeyForm, actor: Actor) {
    await this.#deps.fleet.settled()
    const key = await this.find(id)
    this.#checkGroup(form.group)
    await this.#checkName(form.name, key)
    const { models: list, restricted, confirm, ...fields } = form
    const isListed = list !== undefined || restricted !== undefined
    const restricts = isListed ? restriction(form, key) : null
    checkLocks({ models: restricts?.models, allowIps: form.allow_ips }, confirm)
    const changed = await changeKey(this.#deps, key, { ...fields, ...restricts }, actor)
    const shown = await this.#row(changed)
    await inForce(this.#deps)
    return shown
  }

  async roll(id: string, graceMs: number, actor: Actor) {
    const { key, secret, oldSecretEndsAt } = await rollKey(this.#deps, await this.find(id), graceMs, actor)
    return { key: await this.#row(key), secret, old_secret_ends_at: oldSecretEndsAt }
  }

  async remove(id: string, actor: Actor): Promise<void> {
    await removeKey(this.#deps, await this.find(id), actor)
    await inForce(this.#deps)
  }

  /** Each key is changed by itself; the answer says of each whether it was there. */
  async changeSeveral({ ids, action }: z.output<typeof severalForm>, actor: Actor) {
    const data: { id: string; done: boolean }[] = []
    for (const id of new Set(ids)) {
      const key = await this.find(id).catch(ifMissing)
      if (key !== null && action === 'delete') await removeKey(this.#deps, key, actor)
      else if (key !== null) await changeKey(this.#deps, key, { status: `${action as 'enable'}d` }, actor)
      data.push({ id, done: key !== null })
    }
    await inForce(this.#deps)
    return { data }
  }

  /** The groups that keys of the account may be in, each with the place where its prices are shown. */
  async groups() {
    const known = new Map((await this.#deps.store.catalogue.read()).groups.map(group => [group.name, group]))
    return {
      data: this.#keeper.account.groups.map(name => ({
        name,
        multiplier: (known.get(name)?.multiplier ?? 1_000_000) / 1_000_000,
        prices: `/console/models?group=${encodeURIComponent(name)}`,
      })),
    }
  }

  async #row(key: Key) {
    return (await ownKeyRows(this.#deps, [key]))[0]!
  }

  #checkGroup(group: string | undefined): void {
    if (group === undefined || this.#keeper.account.groups.includes(group)) return
    const expected = { zh: '本账户可用的分组', en: 'a group that this account may use' }
    throw new OperationError('invalid', { zh: `group: 应为${expected.zh}`, en: `group: expected ${expected.en}` }, {}, [
      { field: 'group', expected },
    ])
  }

  /** A key that has expired already would serve nobody. One that is there can be made to expire at once. */
  async #checkLife(expiresAtMs: number | null | undefined): Promise<void> {
    if (expiresAtMs == null || expiresAtMs > (await storeNow(this.#deps))) return
    const expected = { zh: '将来的时间', en: 'a time to come' }
    throw new OperationError(
      'invalid',
      { zh: `expires_at: 应为${expected.zh}`, en: `expires_at: expected ${expected.en}` },
      {},
      [{ field: 'expires_at', expected }],
    )
  }

  async #checkName(name: string | undefined, own: Key | null): Promise<void> {
    const there = name === undefined ? null : await this.#deps.store.keys.byName(this.#keeper.account.id, name)
    if (there !== null && there.id !== own?.id)
      throw new OperationError('conflict', { zh: '已有同名密钥', en: 'the account has a key of this name' })
  }
}

function ifMissing(error: unknown): null {
  if (error instanceof OperationError && error.fault === 'missing') return null
  throw error
}

/**
 * The restriction to models that a form means. A list that is sent without the switch switches a new key's restriction
 * on, and leaves that of a key that exists as it is.
 */
function restriction({ models: list, restricted }: Pick<KeyForm, 'models' | 'restricted'>, key: Key | null) {
  const models = list ?? key?.models ?? key?.modelsOff ?? []
  const on = restricted ?? (key === null ? list !== undefined : key.models !== null)
  return on ? { models, modelsOff: null } : { models: null, modelsOff: models.length > 0 ? models : null }
}

const NEEDED: Words = {
  zh: '“confirm”为true，因为列表为空的密钥任何人都不能使用',
  en: 'confirm: true, because nobody can use a key with an empty list',
}

/** Throws OperationError unless the caller has confirmed a list that locks the key. */
function checkLocks(
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
