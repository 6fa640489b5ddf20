/**
 * Applies a catalogue file to the store. For each row the store remembers, as digests (`FileDigests`), what the file said when it was
 * applied last. A row is written only when the file says something else of it now. So a row that an administrator
 * changed, disabled or deleted stays that way over restarts and reloads, until somebody edits that row in the file.
 * Rows that disappear from the file stay in the store. Applying the same file twice writes nothing the second time, so
 * no gateway reloads because of it. Several gateways may apply the same file at the same time.
 *
 * The price of a model is compared apart from the rest of its row, so that an edit of a ceiling does not bring an old price
 * back. Secrets are compared by signatures made with the store's secret, because the digest of a short secret could be
 * guessed. The opening balance of an account is credited only when the account is created, in the same transaction: an edit
 * of it in the file credits nothing later.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { Clock } from '../../base/clock.ts'
import { ZERO } from '../../base/money.ts'
import type { CatalogAccount, CatalogKey } from '../../catalog-file/rows.ts'
import { type RowText, type CatalogFile, sentCatalog } from '../../catalog-file/catalog.ts'
import type { Config } from '../../config/config.ts'
import {
  CATALOG_KINDS,
  type CatalogKind,
  type Channel,
  sameLimit,
  type Account,
  type Key,
  type Model,
} from '../../terms/records.ts'
import type { Store } from '../../store/store.ts'
import { AppliedElsewhere, StoreConflict } from '../../store/base/errors.ts'
import { type FileDigests, type RowDigests, digestId } from '../../store/catalogue/applied.ts'
import type { NewKey } from '../../store/accounts/key-rows.ts'
import { secretHeaders, hashOf, hintOf } from '../../base/secrets.ts'
import { FILE } from '../../base/people.ts'
import { firstLimit, limitChange } from '../accounts/limits.ts'
import { act, entryActor, inForce, type OperationDeps } from '../deps.ts'
import { type FileTerms, type Rows, judgeFile, findingLines, throwRefused } from './judging.ts'

/**
 * What became of the rows of one kind: the names of those that were written; of those that stay as they were changed in
 * the store; and the number of those that were equal to the file already.
 */
export interface Applied {
  created: string[]
  updated: string[]
  kept: string[]
  same: number
}
export type Summary = Record<CatalogKind, Applied>

/**
 * With `force` every row becomes what the file says, whatever was changed in the store. Throws ConfigError, before
 * anything is written, when the file names an account or a group that does not exist; StoreConflict when the secret of
 * a key belongs to another key. `look` is given the rows before and after, and may throw. With `dry` nothing is
 * written.
 */
export async function applyCatalog(
  store: Store,
  file: CatalogFile,
  clock: Clock,
  force = false,
  look: (before: Rows, after: Rows) => void = () => {},
  dry = false,
): Promise<Summary> {
  const stored = await store.catalogue.read()
  const accounts = new Map((await store.accounts.list()).map(account => [account.name, account]))
  file.checkReferences({ accounts: accounts.keys(), groups: stored.groups.map(group => group.name) })
  const changes = fileChanges(store, file.texts, await store.catalogue.digests(), force)
  const tally = new Tally(file, changes)

  const needed = neededGroups(file, changes)
  look(stored, {
    groups: plannedRows(file.groups, stored.groups, changes.groups, name => needed.has(name)),
    models: plannedRows(file.models, stored.models, changes.models),
    channels: plannedRows(file.channels, stored.channels, changes.channels),
  })
  const groups = new RowWriter(
    store,
    stored.groups,
    (row, digests) => store.catalogue.putGroup(row, act(FILE, 'groups.put'), digests),
    dry,
  )
  await tally.each('groups', (row, change) => groups.write(row, change, needed.has(row.name)))
  const models = new RowWriter(
    store,
    stored.models,
    (row, digests, edit) => store.catalogue.editModel(row.name, edit, act(FILE, 'models.put'), digests),
    dry,
  )
  await tally.each('models', (row, change) => models.write(row, change))
  const channels = new RowWriter(
    store,
    stored.channels,
    (row, digests) => store.catalogue.putChannel(row, act(FILE, 'channels.put'), digests),
    dry,
  )
  await tally.each('channels', (row, change) => channels.write(row, change))
  const accountWriter = new AccountWriter(store, clock, accounts, dry)
  await tally.each('accounts', (row, change) => accountWriter.write(row, change))
  const keys = new KeyWriter(store, clock, accountWriter, dry)
  await tally.each('keys', (row, change) => keys.write(row, change))
  return tally.summary
}

/**
 * The same, with sense: what the rules refuse and is not in force yet is not applied, and neither is anything else of the file.
 * Returns one line for what may be and is probably not meant. Throws ConfigError. `file` null: only what is there is judged.
 */
export async function applyWithSense(
  store: Store,
  file: CatalogFile | null,
  clock: Clock,
  { dry = false, ...terms }: Omit<FileTerms, 'clock'> & { dry?: boolean },
): Promise<{ summary: Summary | null; warnings: string[] }> {
  let warnings: string[] = []
  const look = (before: Rows, after: Rows): void => {
    const judged = judgeFile(file, before, after, { ...terms, clock })
    throwRefused(findingLines(judged.refused, file))
    warnings = findingLines(judged.warned, file)
  }
  if (file !== null) return { summary: await applyCatalog(store, file, clock, terms.force, look, dry), warnings }
  const rows = await store.catalogue.read()
  look(rows, rows)
  return { summary: null, warnings }
}

/**
 * Groups that a row about to be written names. A group that an administrator deleted is made again for such a row:
 * without the group, the prices and limits of what names it would silently be others.
 */
function neededGroups(file: CatalogFile, changes: Changes): Set<string> {
  return new Set([
    ...file.channels.flatMap((row, i) => (changes.channels[i]?.row ? row.groups : [])),
    ...file.accounts.flatMap((row, i) => (changes.accounts[i]?.row ? row.groups : [])),
    ...file.keys.flatMap((row, i) => (changes.keys[i]?.row ? [row.group] : [])),
  ])
}

type RowOf<K extends CatalogKind> = CatalogFile[K][number]

/** Writes the rows of one kind after the other, and counts the outcomes. */
class Tally {
  readonly summary = Object.fromEntries(
    CATALOG_KINDS.map(kind => [kind, { created: [], updated: [], kept: [], same: 0 }]),
  ) as unknown as Summary
  readonly #file: CatalogFile
  readonly #changes: Changes

  constructor(file: CatalogFile, changes: Changes) {
    this.#file = file
    this.#changes = changes
  }

  async each<K extends CatalogKind>(
    kind: K,
    write: (row: RowOf<K>, change: RowChange) => Promise<ApplyOutcome>,
  ): Promise<void> {
    for (const [i, row] of (this.#file[kind] as RowOf<K>[]).entries()) {
      const outcome = await write(row, this.#changes[kind][i] as RowChange).catch(error => {
        if (error instanceof AppliedElsewhere) return 'same' as const
        throw error
      })
      if (outcome === 'same') this.summary[kind].same++
      else this.summary[kind][outcome].push('account' in row ? `${row.account}/${row.name}` : row.name)
    }
  }
}

/** What the file says anew of one row. */
interface RowChange {
  digests: FileDigests
  /** The row, but for its price, is to become what the file says. */
  row: boolean
  /** The price of the row is. */
  price: boolean
}

/** The rows of each kind, in the order of the file. */
export type Changes = Record<CatalogKind, RowChange[]>

/** `kept`: the row differs from the file and stays so, because the file says nothing new of it. */
type ApplyOutcome = 'created' | 'updated' | 'kept' | 'same'

const DIGEST_KINDS: Record<CatalogKind, FileDigests['kind']> = {
  groups: 'group',
  models: 'model',
  channels: 'channel',
  accounts: 'account',
  keys: 'key',
}

/** `said`: what the store remembers of the file, by `digestId`. With `force` everything counts as new. */
function fileChanges(
  store: Store,
  texts: Record<CatalogKind, RowText[]>,
  said: ReadonlyMap<string, RowDigests>,
  force: boolean,
): Changes {
  const changeOf = (kind: FileDigests['kind'], text: RowText): RowChange => {
    const before = said.get(digestId(kind, text.owner, text.name)) ?? null
    return rowChange(store, kind, text, before, force)
  }
  const lists = Object.entries(DIGEST_KINDS).map(([kind, digestKind]) => [
    kind,
    texts[kind as CatalogKind].map(text => changeOf(digestKind, text)),
  ])
  return Object.fromEntries(lists) as Changes
}

function rowChange(
  store: Store,
  kind: FileDigests['kind'],
  text: RowText,
  before: RowDigests | null,
  force: boolean,
): RowChange {
  const { owner, name, row, price, secret } = text
  const after = { row: digest(row), price: digest(price), secret: secret === '' ? '' : store.catalogue.sign(secret) }
  const digests: FileDigests = { kind, owner, name, before, after }
  if (force || before === null) return { digests, row: true, price: true }
  // An empty digest: the row is older than the digests. Nobody knows whether an administrator changed it, so it stays.
  if (before.row === '') return { digests, row: false, price: false }
  const sameSecret = before.secret === '' ? secret === '' : store.catalogue.signed(secret, before.secret)
  return { digests, row: before.row !== after.row || sameSecret === false, price: before.price !== after.price }
}

const digest = (text: string): string => (text === '' ? '' : createHash('sha256').update(text, 'utf8').digest('hex'))

/** The digests that a write of the row has to store with it; undefined when the file says the same as before. */
const movedDigests = (digests: FileDigests): FileDigests | undefined =>
  isDeepStrictEqual(digests.before, digests.after) ? undefined : digests

/** Remembers what the file says of a row that is not written. */
async function rememberDigests(store: Store, digests: FileDigests): Promise<void> {
  const moved = movedDigests(digests)
  if (moved !== undefined) await store.catalogue.moveDigests(moved)
}

/** null when another process that applies the same file created the row first. */
async function createdHere<T>(creation: Promise<T>): Promise<T | null> {
  try {
    return await creation
  } catch (error) {
    if (error instanceof StoreConflict) return null
    throw error
  }
}

/** A row of any of the three kinds: what only some of them have is optional. */
type Row = { name: string } & Partial<Pick<Model, 'price'> & Pick<Channel, 'sealed' | 'keys' | 'proxy' | 'headers'>>

/**
 * `edit` makes the row that is to be written of the row that the store has at the moment of writing: it was read a while
 * ago, and somebody may have changed its price since.
 */
type Put<T> = (row: T, digests: FileDigests | undefined, edit: (there: T | null) => T | null) => Promise<void>

class RowWriter<T extends Row> {
  readonly #store: Store
  readonly #stored: ReadonlyMap<string, T>
  readonly #put: Put<T>
  readonly #dry: boolean

  /** `stored`: the rows that the store has; `put` writes one of them, with its digests. */
  constructor(store: Store, stored: readonly T[], put: Put<T>, dry: boolean) {
    this.#store = store
    this.#stored = new Map(stored.map(row => [row.name, row]))
    this.#put = put
    this.#dry = dry
  }

  /** `needed`: the row must exist, so it is made again though the file says nothing new of it. */
  async write(row: T, change: RowChange, needed = false): Promise<ApplyOutcome> {
    const old = this.#stored.get(row.name) ?? null
    const next = wantedRow(row, old, change) ?? (old === null && needed ? row : null)
    if (next === null || isDeepStrictEqual(old, next)) {
      if (!this.#dry) await rememberDigests(this.#store, change.digests)
      return isDeepStrictEqual(old, row) ? 'same' : 'kept'
    }
    if (!this.#dry) await this.#put(next, movedDigests(change.digests), there => wantedRow(row, there, change))
    return old === null ? 'created' : 'updated'
  }
}

/**
 * The rows of one kind as they will be when the file is applied. `isNeeded`: the row must exist, though the file says nothing
 * new of it.
 */
function plannedRows<T extends Row>(
  file: readonly T[],
  stored: readonly T[],
  changes: readonly RowChange[],
  isNeeded: (name: string) => boolean = () => false,
): T[] {
  const rows = new Map(stored.map(row => [row.name, row]))
  for (const [i, row] of file.entries()) {
    const old = rows.get(row.name) ?? null
    const next = wantedRow(row, old, changes[i] as RowChange) ?? (old === null && isNeeded(row.name) ? row : null)
    if (next !== null) rows.set(row.name, next)
  }
  return [...rows.values()]
}

/** The row as it should be in the store; null = the stored one stays as it is. */
function wantedRow<T extends Row>(file: T, stored: T | null, { row, price }: RowChange): T | null {
  if (row && price) return file
  if (stored === null) return row || price ? file : null
  if (row) return 'price' in file ? { ...file, price: stored.price } : file
  if (price) return { ...stored, price: file.price }
  return stored.sealed === true ? withReadableSecrets(file, stored) : null
}

/**
 * The stored channel with the secrets of the file, because the stored secrets cannot be decrypted with the secret that
 * the gateway has now. Whatever else was changed in the store stays.
 */
function withReadableSecrets<T extends Row>(file: T, stored: T): T {
  const { sealed: _, ...rest } = stored
  const readable = Object.entries(stored.headers ?? {}).filter(([, value]) => value !== '')
  const headers = { ...Object.fromEntries(readable), ...secretHeaders(file.headers ?? {}) }
  return { ...rest, keys: file.keys, proxy: file.proxy, headers } as T
}

class AccountWriter {
  readonly #store: Store
  readonly #clock: Clock
  readonly #stored: Map<string, Account>
  readonly #dry: boolean

  /** `stored`: the accounts that the store has, by name. */
  constructor(store: Store, clock: Clock, stored: ReadonlyMap<string, Account>, dry: boolean) {
    this.#dry = dry
    this.#store = store
    this.#clock = clock
    this.#stored = new Map(stored)
  }

  async write(row: CatalogAccount, { digests, row: isNew }: RowChange): Promise<ApplyOutcome> {
    const { name, groups, balance, budget, sandbox = false } = row
    let account = this.#stored.get(name) ?? null
    if (account === null) {
      if (this.#dry) return 'created'
      const opening = { amount: balance ?? ZERO, actor: entryActor(FILE) }
      const made = { name, groups, opening, budget: firstLimit(budget), sandbox }
      const created = await createdHere(
        this.#store.accounts.create(made, act(FILE, 'accounts.create'), movedDigests(digests)),
      )
      account = created ?? (await this.#store.accounts.byName(name))
      if (account === null) throw new StoreConflict(`account ${name} came and went while the catalogue was applied`)
      this.#stored.set(name, account)
      if (created !== null) return 'created'
    }
    const sameBudget = sameLimit(account.budget, budget)
    const same = isDeepStrictEqual(account.groups, groups) && sameBudget
    if (same || !isNew) {
      if (!this.#dry) await rememberDigests(this.#store, digests)
      return same ? 'same' : 'kept'
    }
    if (this.#dry) return 'updated'
    const deps = { store: this.#store, clock: this.#clock }
    const change = sameBudget ? { groups } : { groups, budget: await limitChange(deps, account.budget, budget) }
    const changed = await this.#store.accounts.update(
      account.id,
      change,
      act(FILE, 'accounts.change'),
      movedDigests(digests),
    )
    this.#stored.set(name, changed)
    return 'updated'
  }

  /**
   * The id of the account with this name. It may have been created by another gateway a moment ago. null = nothing is written, and
   * the account would be new.
   */
  async idOf(name: string): Promise<number | null> {
    const account = this.#stored.get(name) ?? (await this.#store.accounts.byName(name))
    if (account === null && this.#dry) return null
    if (account === null) throw new StoreConflict(`there is no account ${name}`)
    this.#stored.set(name, account)
    return account.id
  }
}

class KeyWriter {
  readonly #store: Store
  readonly #clock: Clock
  readonly #accounts: AccountWriter
  /** By the id of the account, then by the name of the key. */
  readonly #stored = new Map<number, Map<string, Key>>()
  readonly #dry: boolean

  constructor(store: Store, clock: Clock, accounts: AccountWriter, dry: boolean) {
    this.#dry = dry
    this.#store = store
    this.#clock = clock
    this.#accounts = accounts
  }

  async write(key: CatalogKey, { digests, row: isNew }: RowChange): Promise<ApplyOutcome> {
    const accountId = await this.#accounts.idOf(key.account)
    if (accountId === null) return isNew ? 'created' : 'kept'
    const row = toRow(key, accountId)
    let stored = (await this.#keysOf(accountId)).get(key.name) ?? null
    if (stored === null && isNew) {
      if (this.#dry) return 'created'
      const creation = this.#store.keys.create(row, act(FILE, 'keys.create'), { digests: movedDigests(digests) })
      if ((await createdHere(creation)) !== null) return 'created'
      stored = await this.#store.keys.byName(accountId, key.name)
      if (stored === null) throw new StoreConflict(`key ${key.account}/${key.name}: its secret belongs to another key`)
    }
    const same = stored !== null && isSame(stored, row)
    if (same || !isNew || stored === null) {
      if (!this.#dry) await rememberDigests(this.#store, digests)
      return same ? 'same' : 'kept'
    }
    if (this.#dry) return 'updated'
    const { accountId: _, createdBy: __, modelsOff: ___, cap, ...rest } = row
    const deps = { store: this.#store, clock: this.#clock }
    const change = sameLimit(stored.cap, cap) ? rest : { ...rest, cap: await limitChange(deps, stored.cap, cap) }
    await this.#store.keys.update(stored.id, change, act(FILE, 'keys.change'), movedDigests(digests))
    return 'updated'
  }

  async #keysOf(accountId: number): Promise<Map<string, Key>> {
    const known = this.#stored.get(accountId)
    if (known !== undefined) return known
    const keys = new Map((await this.#store.keys.list(accountId)).map(key => [key.name, key]))
    this.#stored.set(accountId, keys)
    return keys
  }
}

/** Whether the stored key is what the file says. Its cap may still renew as it did before a change. */
function isSame(
  { id: _, publicId: __, createdAtMs: ___, cap, ...stored }: Key,
  { cap: wanted, ...row }: NewKey,
): boolean {
  const { modelsOff, createdBy } = stored // of these a file says nothing
  return sameLimit(cap, wanted) && isDeepStrictEqual(stored, { ...row, modelsOff, createdBy })
}

function toRow(key: CatalogKey, accountId: number): NewKey {
  const { account: _, secret, cap, ...rest } = key
  return {
    accountId,
    ...rest,
    cap: firstLimit(cap),
    hash: hashOf(secret),
    hint: hintOf(secret),
    modelsOff: null,
    createdBy: null,
  }
}

const texts = z.record(z.string(), z.string())
export const applyForm = z.strictObject({
  text: z.string(),
  file: z.string().max(1_000),
  env: texts.prefault({}),
  files: texts.prefault({}),
  force: z.boolean().prefault(false),
  dry_run: z.boolean().prefault(false),
})

const names = z.array(z.string())
const applied = z.strictObject({ created: names, updated: names, kept: names, same: z.int() })
export const appliedAnswer = z
  .strictObject({
    ...(Object.fromEntries(CATALOG_KINDS.map(kind => [kind, applied])) as Record<CatalogKind, typeof applied>),
    warnings: names.optional(),
  })
  .meta({ id: 'AppliedCatalogue' })

type ApplyDeps = Pick<OperationDeps, 'store' | 'clock' | 'fleet' | 'log'> & { config: () => Config }

/** Applies a file that was sent with all that it refers to. Throws ConfigError. */
export async function applySent(
  deps: ApplyDeps,
  sent: z.output<typeof applyForm>,
): Promise<z.infer<typeof appliedAnswer>> {
  const { force, dry_run: dry, ...file } = sent
  const config = deps.config()
  const terms = { config, configBefore: config, machine: null, force, dry }
  const { summary, warnings } = await applyWithSense(deps.store, sentCatalog(file), deps.clock, terms)
  if (!dry) await inForce(deps)
  return { ...(summary as Summary), ...(warnings.length === 0 ? {} : { warnings }) }
}
