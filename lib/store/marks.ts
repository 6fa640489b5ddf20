/** What the store remembers of the catalogue file that was applied last, row by row. */

/**
 * Digests of what a catalogue file said of a row when it was last applied, by which the next apply sees what the file
 * changed; see `sql/applied.ts`. An empty string means unknown: the row is older than these digests.
 */
export interface Said {
  row: string
  price: string
  /** A signature of the row's credentials, made by `Store.sign`. */
  secret: string
}

/** Part of a write from a catalogue file: it happens only if the store still has `before`, which `after` replaces. */
export interface Mark {
  kind: 'group' | 'model' | 'channel' | 'account' | 'key'
  /** For a key, the name of its account; for the other kinds, the empty string. */
  owner: string
  name: string
  /** null: the file has never said anything of this row. */
  before: Said | null
  after: Said
}

export const markId = (kind: string, owner: string, name: string): string => JSON.stringify([kind, owner, name])
