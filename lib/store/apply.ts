/**
 * Upserts a catalogue file into the store. What is equal already is not written, so that applying twice changes
 * nothing and no gateway reloads for it; rows that leave the file stay in the store.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import type { CatalogAccount, CatalogFile, CatalogKey } from '../terms/catalog.ts'
import type { Account, Key } from '../terms/records.ts'
import { type Store, StoreConflict } from './store.ts'

const KINDS = ['groups', 'models', 'channels', 'accounts', 'keys'] as const
export type Kind = (typeof KINDS)[number]

/** Names of the rows that were written, and how many were equal already. */
export interface Applied {
  created: string[]
  updated: string[]
  same: number
}
export type Summary = Record<Kind, Applied>

/** The reference under which an account's opening balance is credited. */
const OPENING = 'opening'

type Outcome = 'created' | 'updated' | 'same'

/** Throws ConfigError for references to nothing, before anything is written; StoreConflict when a secret is another key's. */
export async function applyCatalog(store: Store, file: CatalogFile): Promise<Summary> {
  const there = await store.catalog()
  const accounts = new Map((await store.accounts()).map(account => [account.name, account]))
  file.checkReferences({ accounts: accounts.keys(), groups: there.groups.map(group => group.name) })
  const summary = Object.fromEntries(
    KINDS.map(kind => [kind, { created: [], updated: [], same: 0 }]),
  ) as unknown as Summary
  await putRows(summary.groups, file.groups, there.groups, row => store.putGroup(row))
  await putRows(summary.models, file.models, there.models, row => store.putModel(row))
  await putRows(summary.channels, file.channels, there.channels, row => store.putChannel(row))
  for (const account of file.accounts) note(summary.accounts, account.name, await putAccount(store, account, accounts))
  await putKeys(store, file.keys, accounts, summary.keys)
  return summary
}

function note(applied: Applied, name: string, outcome: Outcome): void {
  if (outcome === 'same') applied.same++
  else applied[outcome].push(name)
}

async function putRows<T extends { name: string }>(
  applied: Applied,
  rows: readonly T[],
  there: readonly T[],
  put: (row: T) => Promise<void>,
): Promise<void> {
  const before = new Map(there.map(row => [row.name, row]))
  for (const row of rows) {
    const old = before.get(row.name)
    const outcome = old === undefined ? 'created' : isDeepStrictEqual(old, row) ? 'same' : 'updated'
    if (outcome !== 'same') await put(row)
    note(applied, row.name, outcome)
  }
}

async function putAccount(store: Store, account: CatalogAccount, accounts: Map<string, Account>): Promise<Outcome> {
  const { name, groups, balance } = account
  let row = accounts.get(name) ?? null
  if (row === null) {
    row = await createdHere(store.createAccount({ name, groups }))
    if (row !== null) {
      accounts.set(name, row)
      if (balance !== null && balance > 0) await store.topUp(row.id, balance, OPENING, Date.now())
      return 'created'
    }
    row = await store.accountByName(name)
    if (row === null) throw new StoreConflict(`account ${name} came and went while the catalogue was applied`)
  }
  accounts.set(name, row)
  if (isDeepStrictEqual(row.groups, groups)) return 'same'
  accounts.set(name, await store.updateAccount(row.id, { groups }))
  return 'updated'
}

/** null when somebody else, applying the same file, was first. */
async function createdHere<T>(creation: Promise<T>): Promise<T | null> {
  try {
    return await creation
  } catch (error) {
    if (error instanceof StoreConflict) return null
    throw error
  }
}

async function putKeys(
  store: Store,
  keys: CatalogKey[],
  accounts: ReadonlyMap<string, Account>,
  applied: Applied,
): Promise<void> {
  const there = new Map<number, Map<string, Key>>()
  for (const key of keys) {
    const { id } = accounts.get(key.account) as Account
    if (!there.has(id)) there.set(id, new Map((await store.keys(id)).map(row => [row.name, row])))
    note(applied, `${key.account}/${key.name}`, await putKey(store, key, id, there.get(id)?.get(key.name) ?? null))
  }
}

async function putKey(store: Store, key: CatalogKey, accountId: number, before: Key | null): Promise<Outcome> {
  const row = toRow(key, accountId)
  if (before === null) {
    if ((await createdHere(store.createKey(row))) !== null) return 'created'
    before = await store.keyByName(accountId, key.name)
    if (before === null) throw new StoreConflict(`key ${key.account}/${key.name}: its secret belongs to another key`)
  }
  const { id, ...old } = before
  if (isDeepStrictEqual(old, row)) return 'same'
  const { accountId: _, ...change } = row
  await store.updateKey(id, change)
  return 'updated'
}

function toRow(key: CatalogKey, accountId: number): Omit<Key, 'id'> {
  const { account: _, secret, ...rest } = key
  const hash = createHash('sha256').update(secret, 'utf8').digest('hex')
  return { accountId, ...rest, hash, hint: `sk-…${secret.slice(-4)}` }
}
