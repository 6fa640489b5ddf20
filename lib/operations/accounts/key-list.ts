/**
 * The list of an account's keys: page by page in an order that the reader chooses, with what all keys that fit the filter come to, and
 * as a file. Reports make both (`lib/operations/usage/report-work.ts`), as most orders compare all keys of the account.
 */
import { withoutUndefined } from '../../base/objects.ts'
import { z } from 'zod'
import { formatMicro, ZERO } from '../../base/money.ts'
import type { Language } from '../../base/people.ts'
import * as kind from '../../config/scalars.ts'
import { KEY_ORDERS, type KeyFilter, type KeyOrder, type KeyPlace } from '../../store/accounts/key-list.ts'
import { type CsvColumn, CsvTable, forPeople, pagesOf } from '../csv.ts'
import { type OperationDeps, storeNow } from '../deps.ts'
import { both } from '../error.ts'
import { publicIdField } from '../fields.ts'
import { ownKeyRows } from './key-rows.ts'
import { type Keeper, NO_KEY } from './own-keys.ts'

const PAGE_ROWS = 50
const MOST_ROWS = 200
const FILE_ROWS = 500
/** An id, a dot, and a name. */
const MOST_PLACE = 256

/** The states by which people look for keys; those of one key may be several. */
const SOUGHT = ['enabled', 'disabled', 'expired', 'used_up', 'ip_bound', 'model_bound'] as const

const ORDERED = KEY_ORDERS.flatMap(name => [name, `-${name}`] as const)

const filters = {
  state: kind.oneOf(...SOUGHT).optional(),
  group: kind.name.optional(),
  creator: publicIdField.optional(),
  q: kind.name.optional(),
}

/** The place behind which a page begins, as the page before named it: an id, and behind a dot the value of the order. */
const place = kind.scalar({ zh: '列表中的位置', en: 'a place in the list' }, { type: 'string' }, value => {
  const [, publicId, rest] = (typeof value === 'string' && /^([0-9a-z]{20})(?:\.(.*))?$/s.exec(value)) || []
  return publicId === undefined || String(value).length > MOST_PLACE ? undefined : { publicId, rest: rest ?? null }
})

export const ownKeysQuery = z.strictObject({
  ...filters,
  sort: kind.oneOf(...ORDERED).prefault('-created'),
  limit: kind.whole(1, MOST_ROWS).prefault(PAGE_ROWS),
  after: place.optional(),
})
export const keysFileQuery = z.strictObject({
  ...filters,
  heads: kind.oneOf('words', 'machine').prefault('words'),
})
type Filters = Pick<z.output<typeof ownKeysQuery>, keyof typeof filters>

type ListDeps = Pick<OperationDeps, 'store' | 'clock'> & { fleet: Pick<OperationDeps['fleet'], 'settled'> }
type OwnKeyRow = Awaited<ReturnType<typeof ownKeyRows>>[number]

export class KeyList {
  readonly #deps: ListDeps
  readonly #keeper: Keeper

  constructor(deps: ListDeps, keeper: Keeper) {
    this.#deps = deps
    this.#keeper = keeper
  }

  /** One page. `next` is the `after` of the following page; null on the last page. */
  async page({ sort, limit, after, ...sought }: z.output<typeof ownKeysQuery>) {
    const { store, fleet } = this.#deps
    if (after !== undefined) await this.#checkSeen(after.publicId)
    await fleet.settled()
    const filter = await this.#filter(sought)
    if (filter === null) return { data: [], next: null, totals: { keys: 0, used: formatMicro(ZERO) } }
    const descending = sort.startsWith('-')
    const order = sort.replace('-', '') as KeyOrder
    const behind = after === undefined ? {} : { behind: placeIn(order, after) }
    const [rows, totals] = await Promise.all([
      store.keys.placed({ ...filter, order, descending, limit, ...behind }),
      store.keys.totals(filter),
    ])
    const data = await ownKeyRows(
      this.#deps,
      rows.map(({ key }) => key),
    )
    const last = rows.length === limit ? rows.at(-1) : undefined
    const next = last === undefined ? null : placeText(last.place)
    return { data, next, totals: { keys: totals.keys, used: formatMicro(totals.spent) } }
  }

  /** All keys that fit as a CSV file, newest first: in an order by what changes meanwhile, a key could be left out. */
  async file(
    { heads, ...sought }: z.output<typeof keysFileQuery>,
    language: Language,
  ): Promise<AsyncGenerator<string>> {
    const deps = this.#deps
    await deps.fleet.settled()
    const filter = await this.#filter(sought)
    const pages = pagesOf(async (behind: KeyPlace | null) => {
      const page = { descending: true, limit: FILE_ROWS, ...(behind === null ? {} : { behind }) }
      const placed = filter === null ? [] : await deps.store.keys.placed({ ...filter, ...page })
      const keys = placed.map(({ key }) => key)
      return { rows: await ownKeyRows(deps, keys), next: placed.length < FILE_ROWS ? null : placed.at(-1)!.place }
    })
    return new CsvTable(COLUMNS, forPeople(heads, language)).file(pages)
  }

  /** null: the keeper sees no key that fits. */
  async #filter({ state, group, creator, q }: Filters): Promise<Omit<KeyFilter, 'limit'> | null> {
    const { store } = this.#deps
    const { account, madeBy } = this.#keeper
    const createdBy = creator === undefined ? madeBy : ((await store.people.users.byPublicId(creator))?.id ?? -1)
    if (madeBy !== null && createdBy !== madeBy) return null
    const nowMs = await storeNow(this.#deps)
    return {
      accountId: account.id,
      nowMs,
      caps: { atMs: nowMs, zone: store.zone },
      ...(createdBy === null ? {} : { createdBy }),
      ...withoutUndefined({ group, q, condition: state }),
    }
  }

  /** A page can go on behind a key that was deleted meanwhile, and behind none that the keeper may not see. */
  async #checkSeen(id: string): Promise<void> {
    const { store } = this.#deps
    const { account, madeBy } = this.#keeper
    const label = await store.keys.labelOf(account.id, id)
    const own = madeBy === null ? null : await store.keys.idsOf(account.id, madeBy)
    if (label === null || (own !== null && !own.includes(label.id))) throw NO_KEY()
  }
}

/** A place that was made in another order begins the list anew. */
function placeIn(order: KeyOrder, { publicId, rest }: { publicId: string; rest: string | null }): KeyPlace {
  if (order === 'created') return { publicId, value: null }
  if (order === 'name') return { publicId, value: rest ?? '' }
  const count = Number(rest) // the store takes whole numbers only
  return { publicId, value: Number.isSafeInteger(count) ? count : 0 }
}

const placeText = ({ publicId, value }: KeyPlace): string => (value === null ? publicId : `${publicId}.${value}`)

const list = (values: readonly string[] | null) => values?.join(' ') ?? ''

const COLUMNS: CsvColumn<OwnKeyRow>[] = [
  { name: 'id', head: both('密钥编号', 'Key id'), value: row => row.id },
  { name: 'name', head: both('名称', 'Name'), foreign: true, value: row => row.name },
  { name: 'hint', head: both('尾号', 'Ending'), value: row => row.hint },
  { name: 'group', head: both('分组', 'Group'), foreign: true, value: row => row.group },
  { name: 'state', head: both('状态', 'State'), value: row => row.state },
  { name: 'used', head: both('已用（元）', 'Used (CNY)'), value: row => row.used },
  { name: 'cap', head: both('额度（元）', 'Cap (CNY)'), value: row => row.cap?.amount },
  { name: 'cap_every', head: both('额度周期', 'Cap renews each'), value: row => row.cap?.every },
  { name: 'used_period', head: both('本周期已用（元）', 'Used in this period (CNY)'), value: row => row.used_period },
  { name: 'created_at', head: both('创建时间', 'Made at'), value: row => row.created_at },
  { name: 'created_by', head: both('创建者', 'Made by'), foreign: true, value: row => row.created_by?.name },
  { name: 'last_used_at', head: both('最近使用', 'Last used'), value: row => row.last_used_at },
  { name: 'last_used_from', head: both('最近使用的 IP', 'Last used from'), value: row => row.last_used_from },
  { name: 'expires_at', head: both('到期时间', 'Expires at'), value: row => row.expires_at },
  { name: 'allow_ips', head: both('允许的 IP', 'Allowed addresses'), value: row => list(row.allow_ips) },
  {
    name: 'models',
    head: both('允许的模型', 'Allowed models'),
    foreign: true,
    value: row => (row.restricted ? list(row.models) : ''),
  },
]
