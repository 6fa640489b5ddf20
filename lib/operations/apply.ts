/**
 * Applies a catalogue file to the store. For each row the store remembers, as digests, what the file said when it was
 * applied last. A row is written only when the file says something else of it now. So a row that an administrator
 * changed, disabled or deleted stays that way over restarts and reloads, until somebody edits that row in the file.
 * Rows that disappear from the file stay in the store. Applying the same file twice writes nothing the second time, so
 * no gateway reloads because of it. Several gateways may apply the same file at the same time.
 *
 * This file says in which order the kinds of rows are written, and counts what happened to them. In the folder `apply`,
 * `changes.ts` finds what is new in the file; `rows.ts`, `accounts.ts` and `keys.ts` write.
 */
import type { Clock } from '../base/clock.ts'
import { AppliedElsewhere, type Store } from '../store/store.ts'
import type { CatalogFile } from '../config/catalog.ts'
import { KINDS, type Kind } from '../config/catalog-text.ts'
import { FILE } from '../terms/people.ts'
import { act } from './acts.ts'
import { AccountWriter } from './apply/accounts.ts'
import { type Changes, fileChanges, type Outcome, type RowChange } from './apply/changes.ts'
import { KeyWriter } from './apply/keys.ts'
import { plannedRows, RowWriter } from './apply/rows.ts'
import { type FileTerms, judgeFile, linesOf, type Rows, throwRefused } from './judging.ts'

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
export type Summary = Record<Kind, Applied>

/**
 * With `force` every row becomes what the file says, whatever was changed in the store. Throws ConfigError, before
 * anything is written, when the file names an account or a group that does not exist; StoreConflict when the secret of
 * a key belongs to another key. `look` is given the rows before and after, and may throw.
 */
export async function applyCatalog(
  store: Store,
  file: CatalogFile,
  clock: Clock,
  force = false,
  look: (before: Rows, after: Rows) => void = () => {},
): Promise<Summary> {
  const stored = await store.catalog()
  const accounts = new Map((await store.accounts()).map(account => [account.name, account]))
  file.checkReferences({ accounts: accounts.keys(), groups: stored.groups.map(group => group.name) })
  const changes = fileChanges(store, file.texts, await store.marks(), force)
  const tally = new Tally(file, changes)

  const needed = neededGroups(file, changes)
  look(stored, {
    groups: plannedRows(file.groups, stored.groups, changes.groups, name => needed.has(name)),
    models: plannedRows(file.models, stored.models, changes.models),
    channels: plannedRows(file.channels, stored.channels, changes.channels),
  })
  const groups = new RowWriter(store, stored.groups, (row, mark) => store.putGroup(row, act(FILE, 'groups.put'), mark))
  await tally.each('groups', (row, change) => groups.write(row, change, needed.has(row.name)))
  const models = new RowWriter(store, stored.models, (row, mark, edit) =>
    store.editModel(row.name, edit, act(FILE, 'models.put'), mark),
  )
  await tally.each('models', (row, change) => models.write(row, change))
  const channels = new RowWriter(store, stored.channels, (row, mark) =>
    store.putChannel(row, act(FILE, 'channels.put'), mark),
  )
  await tally.each('channels', (row, change) => channels.write(row, change))
  const accountWriter = new AccountWriter(store, clock, accounts)
  await tally.each('accounts', (row, change) => accountWriter.write(row, change))
  const keys = new KeyWriter(store, clock, accountWriter)
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
  terms: Omit<FileTerms, 'clock'>,
): Promise<{ summary: Summary | null; warnings: string[] }> {
  let warnings: string[] = []
  const look = (before: Rows, after: Rows): void => {
    const judged = judgeFile(file, before, after, { ...terms, clock })
    throwRefused(linesOf(judged.refused, file))
    warnings = linesOf(judged.warned, file)
  }
  if (file !== null) return { summary: await applyCatalog(store, file, clock, terms.force, look), warnings }
  const rows = await store.catalog()
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

type RowOf<K extends Kind> = CatalogFile[K][number]

/** Writes the rows of one kind after the other, and counts the outcomes. */
class Tally {
  readonly summary = Object.fromEntries(
    KINDS.map(kind => [kind, { created: [], updated: [], kept: [], same: 0 }]),
  ) as unknown as Summary
  readonly #file: CatalogFile
  readonly #changes: Changes

  constructor(file: CatalogFile, changes: Changes) {
    this.#file = file
    this.#changes = changes
  }

  async each<K extends Kind>(kind: K, write: (row: RowOf<K>, change: RowChange) => Promise<Outcome>): Promise<void> {
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
