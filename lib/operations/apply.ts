/**
 * Applies a catalogue file to the store. The store remembers, as digests, what the file said of each row when it was
 * applied last; a row is written only when the file says something else of it now. So what an administrator changed,
 * disabled or deleted stays so over restarts and reloads, until the file itself says something new about that row. Rows
 * that leave the file stay in the store. Applying twice writes nothing, and no gateway reloads for it.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { ZERO } from '../base/money.ts'
import { AppliedElsewhere, type Mark, markId, type Said, type Store, StoreConflict } from '../store/store.ts'
import type { CatalogAccount, CatalogFile, CatalogKey } from '../terms/catalog.ts'
import { KINDS, type Kind, type RowText } from '../terms/catalog-text.ts'
import type { Channel } from '../terms/channel.ts'
import { secretHeaders } from '../terms/credentials.ts'
import { hashOf, hintOf } from '../terms/key-secret.ts'
import type { Account, Key, Model } from '../terms/records.ts'

/** Names of the rows that were written, and of those that stay as they were changed since; how many were equal already. */
export interface Applied {
  created: string[]
  updated: string[]
  kept: string[]
  same: number
}
export type Summary = Record<Kind, Applied>

type Outcome = 'created' | 'updated' | 'kept' | 'same'

/** What the file says of one row, beside what it said. */
interface News {
  mark: Mark
  /** The row is to be as the file says. */
  row: boolean
  /** Its price is. */
  price: boolean
}

/**
 * With `force` every row becomes as the file says. Throws ConfigError for references to nothing, before anything is
 * written; StoreConflict when a secret is another key's.
 */
export function applyCatalog(store: Store, file: CatalogFile, force = false): Promise<Summary> {
  return new Application(store, file, force).run()
}

/** What the file probably does not mean, with what the store has beside it. */
export async function warningsOf(store: Store, file: CatalogFile): Promise<string[]> {
  const { models, channels } = await store.catalog()
  return file.warnings({
    priced: models.flatMap(row => (row.price === null ? [] : [row.name])),
    served: channels.flatMap(row => (row.status === 'enabled' ? Object.keys(row.models) : [])),
  })
}

class Application {
  readonly #store: Store
  readonly #file: CatalogFile
  readonly #force: boolean
  #marks: ReadonlyMap<string, Said> = new Map()
  #accounts = new Map<string, Account>()
  readonly #summary = Object.fromEntries(
    KINDS.map(kind => [kind, { created: [], updated: [], kept: [], same: 0 }]),
  ) as unknown as Summary

  constructor(store: Store, file: CatalogFile, force: boolean) {
    this.#store = store
    this.#file = file
    this.#force = force
  }

  async run(): Promise<Summary> {
    const { groups, models, channels, accounts, keys, texts, checkReferences } = this.#file
    const store = this.#store
    const there = await store.catalog()
    this.#accounts = new Map((await store.accounts()).map(account => [account.name, account]))
    checkReferences({ accounts: this.#accounts.keys(), groups: there.groups.map(group => group.name) })
    this.#marks = await store.marks()
    const news = {
      channels: this.#news('channel', texts.channels),
      accounts: this.#news('account', texts.accounts),
      keys: this.#news('key', texts.keys),
    }
    const needed = new Set([
      ...channels.flatMap((row, i) => (news.channels[i]?.row ? row.groups : [])),
      ...accounts.flatMap((row, i) => (news.accounts[i]?.row ? row.groups : [])),
      ...keys.flatMap((row, i) => (news.keys[i]?.row ? [row.group] : [])),
    ])
    await this.#rows(
      'groups',
      this.#news('group', texts.groups),
      groups,
      there.groups,
      (row, mark) => store.putGroup(row, mark),
      row =>
        // without its row, the prices and limits of what names a group would silently be others
        needed.has(row.name) ? row : null,
    )
    await this.#rows('models', this.#news('model', texts.models), models, there.models, (row, mark) =>
      store.putModel(row, mark),
    )
    await this.#rows('channels', news.channels, channels, there.channels, (row, mark) => store.putChannel(row, mark))
    for (const [i, row] of accounts.entries())
      await this.#note('accounts', row.name, () => this.#account(row, news.accounts[i] as News))
    await this.#keys(keys, news.keys)
    return this.#summary
  }

  async #note(kind: Kind, name: string, write: () => Promise<Outcome>): Promise<void> {
    const outcome = await write().catch(error => {
      if (error instanceof AppliedElsewhere) return 'same' as const
      throw error
    })
    if (outcome === 'same') this.#summary[kind].same++
    else this.#summary[kind][outcome].push(name)
  }

  #news(kind: Mark['kind'], texts: readonly RowText[]): News[] {
    return texts.map(({ owner, name, row, price, secret }) => {
      const before = this.#marks.get(markId(kind, owner, name)) ?? null
      const after = { row: digest(row), price: digest(price), secret: secret === '' ? '' : this.#store.sign(secret) }
      const mark: Mark = { kind, owner, name, before, after }
      if (this.#force || before === null) return { mark, row: true, price: true }
      // Of rows that are older than these digests, nobody knows what an administrator did to them: they stay as they are.
      if (before.row === '') return { mark, row: false, price: false }
      const signed = before.secret === '' ? secret === '' : this.#store.signed(secret, before.secret)
      return { mark, row: before.row !== after.row || signed === false, price: before.price !== after.price }
    })
  }

  /** `missing`: what to write of a row that the store has no more, though the file says nothing new of it. */
  async #rows<T extends Row>(
    kind: 'groups' | 'models' | 'channels',
    news: readonly News[],
    rows: readonly T[],
    there: readonly T[],
    put: (row: T, mark?: Mark) => Promise<void>,
    missing: (row: T) => T | null = () => null,
  ): Promise<void> {
    const before = new Map(there.map(row => [row.name, row]))
    for (const [i, row] of rows.entries()) {
      const old = before.get(row.name) ?? null
      const said = news[i] as News
      await this.#note(kind, row.name, async () => {
        const next = wanted(row, old, said) ?? (old === null ? missing(row) : null)
        if (next === null || isDeepStrictEqual(old, next)) {
          await this.#move(said.mark)
          return isDeepStrictEqual(old, row) ? 'same' : 'kept'
        }
        await put(next, moved(said.mark))
        return old === null ? 'created' : 'updated'
      })
    }
  }

  /** What the file says is remembered where nothing is to be written. */
  async #move(mark: Mark): Promise<void> {
    const move = moved(mark)
    if (move !== undefined) await this.#store.mark(move)
  }

  async #account({ name, groups, balance }: CatalogAccount, { mark, row: isNew }: News): Promise<Outcome> {
    const store = this.#store
    let row = this.#accounts.get(name) ?? null
    if (row === null) {
      const opening = { amount: balance ?? ZERO, atMs: Date.now() }
      row = await createdHere(store.createAccount({ name, groups, opening }, moved(mark)))
      if (row !== null) {
        this.#accounts.set(name, row)
        return 'created'
      }
      row = await store.accountByName(name)
      if (row === null) throw new StoreConflict(`account ${name} came and went while the catalogue was applied`)
      this.#accounts.set(name, row)
    }
    const same = isDeepStrictEqual(row.groups, groups)
    if (same || !isNew) {
      await this.#move(mark)
      return same ? 'same' : 'kept'
    }
    this.#accounts.set(name, await store.updateAccount(row.id, { groups }, moved(mark)))
    return 'updated'
  }

  async #keys(keys: readonly CatalogKey[], news: readonly News[]): Promise<void> {
    const there = new Map<number, Map<string, Key>>()
    for (const [i, key] of keys.entries()) {
      await this.#note('keys', `${key.account}/${key.name}`, async () => {
        const { id } = await this.#accountOf(key)
        if (!there.has(id)) there.set(id, new Map((await this.#store.keys(id)).map(row => [row.name, row])))
        return this.#key(key, id, there.get(id)?.get(key.name) ?? null, news[i] as News)
      })
    }
  }

  /** Another gateway may be creating it. */
  async #accountOf({ account: name }: CatalogKey): Promise<Account> {
    const account = this.#accounts.get(name) ?? (await this.#store.accountByName(name))
    if (account === null) throw new StoreConflict(`there is no account ${name}`)
    this.#accounts.set(name, account)
    return account
  }

  async #key(key: CatalogKey, accountId: number, before: Key | null, { mark, row: isNew }: News): Promise<Outcome> {
    const row = toRow(key, accountId)
    if (before === null && isNew) {
      if ((await createdHere(this.#store.createKey(row, moved(mark)))) !== null) return 'created'
      before = await this.#store.keyByName(accountId, key.name)
      if (before === null) throw new StoreConflict(`key ${key.account}/${key.name}: its secret belongs to another key`)
    }
    const { id, ...old } = before ?? { id: null }
    const same = isDeepStrictEqual(old, row)
    if (same || !isNew || id === null) {
      await this.#move(mark)
      return same ? 'same' : 'kept'
    }
    const { accountId: _, ...change } = row
    await this.#store.updateKey(id, change, moved(mark))
    return 'updated'
  }
}

type Row = { name: string } & Partial<Pick<Model, 'price'> & Pick<Channel, 'sealed' | 'keys' | 'proxy' | 'headers'>>

/** The row as it should be in the store; null = leave it. */
function wanted<T extends Row>(file: T, there: T | null, { row, price }: News): T | null {
  if (row && price) return file
  if (there === null) return row || price ? file : null
  if (row) return 'price' in file ? { ...file, price: there.price } : file
  if (price) return { ...there, price: file.price }
  return there.sealed === true ? sealedAnew(file, there) : null
}

/** Only what cannot be read any more comes from the file. */
function sealedAnew<T extends Row>(file: T, there: T): T {
  const { sealed: _, ...rest } = there
  const open = Object.entries(there.headers ?? {}).filter(([, value]) => value !== '')
  const headers = { ...Object.fromEntries(open), ...secretHeaders(file.headers ?? {}) }
  return { ...rest, keys: file.keys, proxy: file.proxy, headers } as T
}

const moved = (mark: Mark): Mark | undefined => (isDeepStrictEqual(mark.before, mark.after) ? undefined : mark)

const digest = (text: string): string => (text === '' ? '' : createHash('sha256').update(text, 'utf8').digest('hex'))

/** null when somebody else, applying the same file, was first. */
async function createdHere<T>(creation: Promise<T>): Promise<T | null> {
  try {
    return await creation
  } catch (error) {
    if (error instanceof StoreConflict) return null
    throw error
  }
}

function toRow(key: CatalogKey, accountId: number): Omit<Key, 'id'> {
  const { account: _, secret, ...rest } = key
  return { accountId, ...rest, hash: hashOf(secret), hint: hintOf(secret) }
}
