/**
 * What is new in a catalogue file. The store remembers what the file said of each row when it was applied last, as
 * digests (`Mark`); here they are compared with what the file says now. The price of a model is compared apart from the
 * rest of its row, so that an edit of a ceiling does not bring an old price back. Secrets are compared by signatures
 * made with the store's secret, because the digest of a short secret could be guessed.
 */
import { createHash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type Mark, markId, type Said, type Store, StoreConflict } from '../../store/store.ts'
import type { Kind, RowText } from '../../config/catalog-text.ts'

/** What the file says anew of one row. */
export interface RowChange {
  mark: Mark
  /** The row, but for its price, is to become what the file says. */
  row: boolean
  /** The price of the row is. */
  price: boolean
}

/** The rows of each kind, in the order of the file. */
export type Changes = Record<Kind, RowChange[]>

/** `kept`: the row differs from the file and stays so, because the file says nothing new of it. */
export type Outcome = 'created' | 'updated' | 'kept' | 'same'

const MARK_KINDS: Record<Kind, Mark['kind']> = {
  groups: 'group',
  models: 'model',
  channels: 'channel',
  accounts: 'account',
  keys: 'key',
}

/** `marks`: what the store remembers of the file, by `markId`. With `force` everything counts as new. */
export function fileChanges(
  store: Store,
  texts: Record<Kind, RowText[]>,
  marks: ReadonlyMap<string, Said>,
  force: boolean,
): Changes {
  const changeOf = (kind: Mark['kind'], text: RowText): RowChange => {
    const before = marks.get(markId(kind, text.owner, text.name)) ?? null
    return rowChange(store, kind, text, before, force)
  }
  const lists = Object.entries(MARK_KINDS).map(([kind, markKind]) => [
    kind,
    texts[kind as Kind].map(text => changeOf(markKind, text)),
  ])
  return Object.fromEntries(lists) as Changes
}

function rowChange(store: Store, kind: Mark['kind'], text: RowText, before: Said | null, force: boolean): RowChange {
  const { owner, name, row, price, secret } = text
  const after = { row: digest(row), price: digest(price), secret: secret === '' ? '' : store.sign(secret) }
  const mark: Mark = { kind, owner, name, before, after }
  if (force || before === null) return { mark, row: true, price: true }
  // An empty digest marks a row that is older than the digests. Nobody knows whether an administrator changed it, so it stays.
  if (before.row === '') return { mark, row: false, price: false }
  const sameSecret = before.secret === '' ? secret === '' : store.signed(secret, before.secret)
  return { mark, row: before.row !== after.row || sameSecret === false, price: before.price !== after.price }
}

const digest = (text: string): string => (text === '' ? '' : createHash('sha256').update(text, 'utf8').digest('hex'))

/** The mark that a write of the row has to store with it; undefined when the file says the same as before. */
export const movedMark = (mark: Mark): Mark | undefined =>
  isDeepStrictEqual(mark.before, mark.after) ? undefined : mark

/** Remembers what the file says of a row that is not written. */
export async function rememberMark(store: Store, mark: Mark): Promise<void> {
  const moved = movedMark(mark)
  if (moved !== undefined) await store.mark(moved)
}

/** null when another process that applies the same file created the row first. */
export async function createdHere<T>(creation: Promise<T>): Promise<T | null> {
  try {
    return await creation
  } catch (error) {
    if (error instanceof StoreConflict) return null
    throw error
  }
}
