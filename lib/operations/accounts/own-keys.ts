/**
 * What people do with the keys of an account: list, create, change, roll, delete, several at once. A member sees and
 * changes the keys that it made; a key of somebody else is one that does not exist. Keys are named by their public ids.
 */
import type { KeyChange, NewKey } from '../../store/store.ts'
import type { Config } from '../../config/config.ts'
import { hashOf, hintOf, newSecret } from '../../base/secrets.ts'
import type { Actor } from '../../base/people.ts'
import type { Account, Key } from '../../terms/records.ts'
import { act, inForce, type OperationDeps } from '../deps.ts'
import { firstLimit, limitChange } from './limits.ts'
import { OperationError } from '../error.ts'
import { rollKey } from './keys.ts'
import { checkLocks, type KeyForm, type NewKeyForm, restriction, type SeveralForm } from './key-forms.ts'
import { type Keeper, NO_KEY, ownKeyRows } from './key-rows.ts'

export { KEY_STATES } from './key-shown.ts'
export { keyForm, keyInPath, newKeyForm, ownKeysQuery, rollForm, severalForm, testForm } from './key-forms.ts'
export { type Keeper, ownKeyPage } from './key-rows.ts'

export type KeysDeps = Pick<OperationDeps, 'store' | 'clock' | 'fleet' | 'log' | 'setAside'>
/** Keys are bounded where people make them; operators make as many as they like. */
type MakerDeps = KeysDeps & { config: () => Pick<Config, 'limits'> }

/** The key with this public id, if the keeper may see it. */
export async function keyOf({ store }: Pick<KeysDeps, 'store'>, { account, madeBy }: Keeper, id: string): Promise<Key> {
  const key = await store.keyByPublicId(id)
  if (key === null || key.accountId !== account.id || (madeBy !== null && key.createdBy !== madeBy)) throw NO_KEY()
  return key
}

export async function showOwnKey(deps: KeysDeps, keeper: Keeper, id: string) {
  await deps.fleet.settled()
  return (await ownKeyRows(deps, [await keyOf(deps, keeper, id)]))[0]!
}

function checkGroup({ groups }: Account, group: string | undefined): void {
  if (group === undefined || groups.includes(group)) return
  const expected = { zh: '本账户可用的分组', en: 'a group that this account may use' }
  throw new OperationError('invalid', { zh: `group: 应为${expected.zh}`, en: `group: expected ${expected.en}` }, {}, [
    { field: 'group', expected },
  ])
}

async function checkName(
  { store }: KeysDeps,
  { id }: Account,
  name: string | undefined,
  own: Key | null,
): Promise<void> {
  const there = name === undefined ? null : await store.keyByName(id, name)
  if (there !== null && there.id !== own?.id)
    throw new OperationError('conflict', { zh: '已有同名密钥', en: 'the account has a key of this name' })
}

/** The secret is returned here, and nowhere else ever again. */
export async function createOwnKey(deps: MakerDeps, { account }: Keeper, form: NewKeyForm, actor: Actor) {
  checkGroup(account, form.group)
  const { models, modelsOff } = restriction(form, null)
  const allowIps = form.allow_ips ?? null
  checkLocks({ models, allowIps }, form.confirm)
  await checkName(deps, account, form.name, null)
  const secret = newSecret()
  const row: NewKey = {
    accountId: account.id,
    name: form.name,
    hash: hashOf(secret),
    hint: hintOf(secret),
    group: form.group,
    status: 'enabled',
    expiresAtMs: form.expires_at ?? null,
    cap: firstLimit(form.cap),
    allowIps,
    models,
    modelsOff,
    createdBy: actor.userId,
  }
  const most = deps.config().limits.keys
  const key = await deps.store.createKey(row, act(actor, 'keys.create'), { most })
  const [shown] = await ownKeyRows(deps, [key])
  await inForce(deps)
  return { key: shown!, secret }
}

export async function changeOwnKey(deps: KeysDeps, keeper: Keeper, id: string, form: KeyForm, actor: Actor) {
  await deps.fleet.settled()
  const key = await keyOf(deps, keeper, id)
  checkGroup(keeper.account, form.group)
  await checkName(deps, keeper.account, form.name, key)
  const listed = form.models !== undefined || form.restricted !== undefined
  const { models, modelsOff } = listed ? restriction(form, key) : {}
  const allowIps = form.allow_ips
  checkLocks({ models, allowIps }, form.confirm)
  const change = {
    name: form.name,
    group: form.group,
    status: form.status,
    expiresAtMs: form.expires_at,
    allowIps,
    models,
    modelsOff,
    cap: form.cap === undefined ? undefined : await limitChange(deps, key.cap, form.cap),
  } as KeyChange // the store leaves alone what is undefined
  const changed = await deps.store.updateKey(key.id, change, act(actor, 'keys.change'))
  const [shown] = await ownKeyRows(deps, [changed])
  await inForce(deps)
  return shown!
}

export async function rollOwnKey(deps: KeysDeps, keeper: Keeper, id: string, graceMs: number, actor: Actor) {
  const { key, secret, oldSecretEndsAt } = await rollKey(deps, await keyOf(deps, keeper, id), graceMs, actor)
  const [shown] = await ownKeyRows(deps, [key])
  return { key: shown!, secret, old_secret_ends_at: oldSecretEndsAt }
}

export async function deleteOwnKey(deps: KeysDeps, keeper: Keeper, id: string, actor: Actor): Promise<void> {
  const { id: keyId } = await keyOf(deps, keeper, id)
  await deps.store.deleteKey(keyId, act(actor, 'keys.remove'))
  await inForce(deps)
}

/** Each key is changed by itself; the answer says of each whether it was there. */
export async function changeSeveral(deps: KeysDeps, keeper: Keeper, { ids, action }: SeveralForm, actor: Actor) {
  const data: { id: string; done: boolean }[] = []
  for (const id of new Set(ids)) {
    const key = await keyOf(deps, keeper, id).catch(ifMissing)
    if (key !== null) await changeOne(deps, key, action, actor)
    data.push({ id, done: key !== null })
  }
  await inForce(deps)
  return { data }
}

async function changeOne({ store }: KeysDeps, { id }: Key, action: SeveralForm['action'], actor: Actor): Promise<void> {
  if (action === 'delete') await store.deleteKey(id, act(actor, 'keys.remove'))
  else await store.updateKey(id, { status: `${action}d` }, act(actor, 'keys.change'))
}

function ifMissing(error: unknown): null {
  if (error instanceof OperationError && error.fault === 'missing') return null
  throw error
}

/** The groups that keys of the account may be in, each with the place where its prices are shown. */
export async function ownGroups({ store }: Pick<KeysDeps, 'store'>, { groups }: Account) {
  const known = new Map((await store.catalog()).groups.map(group => [group.name, group]))
  return {
    data: groups.map(name => ({
      name,
      multiplier: (known.get(name)?.multiplier ?? 1_000_000) / 1_000_000,
      prices: `/console/models?group=${encodeURIComponent(name)}`,
    })),
  }
}
