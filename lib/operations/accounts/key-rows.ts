/** Keys as people see them, and pages of them. */
import { formatMicro } from '../../base/money.ts'
import type { KeyCondition, KeyFilter, Store } from '../../store/store.ts'
import type { Account, Key } from '../../terms/records.ts'
import type { OperationDeps } from '../deps.ts'
import { OperationError } from '../error.ts'
import { isoOrNull, type KeyState, keyStandings, keyStates, showUse } from './key-shown.ts'
import type { OwnKeysQuery, SOUGHT } from './key-forms.ts'

/** Somebody who sees keys of an account. `madeBy`: only the keys that this user made; null = all. */
export interface Keeper {
  account: Account
  madeBy: number | null
}

export const NO_KEY = () => new OperationError('missing', { zh: '没有这个密钥', en: 'there is no such key' })

type Deps = Pick<OperationDeps, 'store' | 'clock'>

export async function ownKeyRows(deps: Deps, keys: readonly Key[]) {
  const [standing, creators] = await Promise.all([keyStandings(deps, keys), creatorsOf(deps, keys)])
  return keys.map(key => {
    const { state, used, renewal, use } = standing(key)
    return {
      id: key.publicId,
      name: key.name,
      hint: key.hint,
      group: key.group,
      status: key.status,
      state,
      expires_at: isoOrNull(key.expiresAtMs),
      cap: key.cap === null ? null : { amount: formatMicro(key.cap.amount), every: key.cap.every },
      used,
      used_period: renewal.used_period,
      renews_at: renewal.renews_at,
      allow_ips: key.allowIps,
      restricted: key.models !== null,
      models: key.models ?? key.modelsOff ?? [],
      created_by: key.createdBy === null ? null : (creators.get(key.createdBy) ?? null),
      ...showUse(use),
    }
  })
}

/** The people who made the keys, by the numbers of their users. A deleted user is nobody. */
async function creatorsOf({ store }: Deps, keys: readonly Key[]) {
  const ids = [...new Set(keys.flatMap(key => key.createdBy ?? []))]
  const people = await Promise.all(ids.map(id => store.people.byId(id)))
  return new Map(
    people.flatMap(person =>
      person === null ? [] : [[person.id, { id: person.publicId, name: person.name }] as const],
    ),
  )
}

/** How the store narrows down what is looked for, and the state that is left to compare. */
const SOUGHT_AS: Record<(typeof SOUGHT)[number], [condition: KeyCondition, state: KeyState | null]> = {
  enabled: ['working', 'enabled'],
  disabled: ['disabled', null],
  expired: ['expired', null],
  used_up: ['capped', 'used_up'],
  ip_bound: ['ip_bound', null],
  model_bound: ['model_bound', null],
}
/** The most keys that one call looks through for a state that the store does not know. */
const MOST_SCANNED = 10_000
const SCAN_ROWS = 500

/** One page, newest first. `next` is the `after` of the following page; null on the last page. */
export async function ownKeyPage(
  deps: Deps & Pick<OperationDeps, 'fleet'>,
  { account, madeBy }: Keeper,
  query: OwnKeysQuery,
) {
  const { store, clock, fleet } = deps
  if (query.after !== undefined) await checkSeen(store, { account, madeBy }, query.after)
  await fleet.settled()
  const creator = query.creator === undefined ? madeBy : ((await store.people.byPublicId(query.creator))?.id ?? -1)
  if (madeBy !== null && creator !== madeBy) return { data: [], next: null }
  const [condition, state] = query.state === undefined ? [undefined, null] : SOUGHT_AS[query.state]
  const filter: Omit<KeyFilter, 'limit'> = {
    accountId: account.id,
    newestFirst: true,
    nowMs: clock.now(),
    ...(creator === null ? {} : { createdBy: creator }),
    ...(query.group === undefined ? {} : { group: query.group }),
    ...(query.q === undefined ? {} : { q: query.q }),
    ...(condition === undefined ? {} : { condition }),
  }
  const { keys, next } =
    state === null ? await plainPage(deps, filter, query) : await scannedPage(deps, filter, query, state)
  return { data: await ownKeyRows(deps, keys), next }
}

/** A page can go on behind a key that was deleted meanwhile, and behind none that the keeper may not see. */
async function checkSeen(store: Store, { account, madeBy }: Keeper, id: string): Promise<void> {
  const label = await store.keyLabelOf(account.id, id)
  const own = madeBy === null ? null : await store.keyIdsOf(account.id, madeBy)
  if (label === null || (own !== null && !own.includes(label.id))) throw NO_KEY()
}

type Page = { keys: Key[]; next: string | null }
type Range = Pick<OwnKeysQuery, 'limit' | 'after'>

const from = (after: string | undefined) => (after === undefined ? {} : { afterPublicId: after })

async function plainPage({ store }: Deps, filter: Omit<KeyFilter, 'limit'>, { limit, after }: Range): Promise<Page> {
  const keys = await store.keyPage({ ...filter, ...from(after), limit })
  return { keys, next: keys.length === limit ? keys.at(-1)!.publicId : null }
}

/** Whether a cap is used up stands in the key's purses, so keys are read and compared until the page is full. */
async function scannedPage(
  deps: Deps,
  filter: Omit<KeyFilter, 'limit'>,
  { limit, after }: Range,
  wanted: KeyState,
): Promise<Page> {
  const found: Key[] = []
  let last = after
  for (let scanned = 0; scanned < MOST_SCANNED; scanned += SCAN_ROWS) {
    const some = await deps.store.keyPage({ ...filter, ...from(last), limit: SCAN_ROWS })
    const stateOf = await keyStates(deps, some)
    for (const key of some) {
      last = key.publicId
      if (stateOf(key) !== wanted) continue
      found.push(key)
      if (found.length === limit) return { keys: found, next: last }
    }
    if (some.length < SCAN_ROWS) return { keys: found, next: null }
  }
  return { keys: found, next: last ?? null }
}
