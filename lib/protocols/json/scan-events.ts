/** What the JSON scanner tells its user, and its options. */

export type Kind = 'string' | 'object' | 'array' | 'scalar'

/** The user of a scanner. Offsets count from the beginning of the document. */
export interface ScanEvents {
  /**
   * Returns how many bytes of this member's value are to be captured; 0 = none. Numbers, `true`, `false` and `null`
   * always are.
   */
  wants(key: string): number
  /**
   * Is called when a member has ended. `text`: its value as Latin-1, when it was captured whole. `items`: how many
   * objects and arrays stand directly in it.
   */
  member(key: string, kind: Kind, start: number, end: number, text: string | null, items: number): void
  /**
   * Returns whether the scanner is to look into this value, which begins at `start`. If so, it tells the members of the
   * object, or the elements of the array under the key `''`.
   */
  enter?(key: string, kind: 'object' | 'array', start: number): boolean
  /** Is called when a value that was looked into has ended. `member` is not called for it. */
  leave?(end: number): void
}

export interface ScanOptions {
  /** Whether a top-level array of objects is read like an object. */
  arrays?: boolean
  /** Whether the beginning is told of a string that is longer than wanted. `text` is then shorter than the value. */
  heads?: boolean
}
