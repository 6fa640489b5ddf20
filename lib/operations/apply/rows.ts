/** Writes groups, models and channels of a catalogue file: rows that the store replaces as a whole. */
import { isDeepStrictEqual } from 'node:util'
import type { Mark, Store } from '../../store/store.ts'
import type { Channel } from '../../terms/channel.ts'
import { secretHeaders } from '../../terms/credentials.ts'
import type { Model } from '../../terms/records.ts'
import { movedMark, type Outcome, type RowChange, rememberMark } from './changes.ts'

/** A row of any of the three kinds: what only some of them have is optional. */
type Row = { name: string } & Partial<Pick<Model, 'price'> & Pick<Channel, 'sealed' | 'keys' | 'proxy' | 'headers'>>

/**
 * `edit` makes the row that is to be written of the row that the store has at the moment of writing: it was read a while
 * ago, and somebody may have changed its price since.
 */
type Put<T> = (row: T, mark: Mark | undefined, edit: (there: T | null) => T | null) => Promise<void>

export class RowWriter<T extends Row> {
  readonly #store: Store
  readonly #stored: ReadonlyMap<string, T>
  readonly #put: Put<T>

  /** `stored`: the rows that the store has; `put` writes one of them, with its mark. */
  constructor(store: Store, stored: readonly T[], put: Put<T>) {
    this.#store = store
    this.#stored = new Map(stored.map(row => [row.name, row]))
    this.#put = put
  }

  /** `needed`: the row must exist, so it is made again though the file says nothing new of it. */
  async write(row: T, change: RowChange, needed = false): Promise<Outcome> {
    const old = this.#stored.get(row.name) ?? null
    const next = wantedRow(row, old, change) ?? (old === null && needed ? row : null)
    if (next === null || isDeepStrictEqual(old, next)) {
      await rememberMark(this.#store, change.mark)
      return isDeepStrictEqual(old, row) ? 'same' : 'kept'
    }
    await this.#put(next, movedMark(change.mark), there => wantedRow(row, there, change))
    return old === null ? 'created' : 'updated'
  }
}

/**
 * The rows of one kind as they will be when the file is applied. `isNeeded`: the row must exist, though the file says nothing
 * new of it.
 */
export function plannedRows<T extends Row>(
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
