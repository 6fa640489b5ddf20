/**
 * The part of the store's interface that makes exports: files of any size, and large reports. They are read and written out
 * in a thread of their own, so that requests which this process relays meanwhile do not wait for it.
 */
/**
 * The default export of a module that makes a file or a report. `store`: of which only reads work. `order`: plain data. An empty text is given where much has been read and nothing found, so
 * that an export which has ended is given up there.
 */
export type ExportWork<S, T> = (store: S, order: T) => AsyncIterable<string>

/** The bytes of a file. A piece is made when it is asked for; at most one slice of rows is in memory. */
export interface Pieces extends AsyncIterableIterator<Uint8Array> {
  /** Ends the export at once, also while a piece is awaited. */
  return(): Promise<IteratorReturnResult<undefined>>
  /** Resolves when the export has ended, however it did. */
  readonly ended: Promise<void>
}

export interface ExportStore {
  /**
   * What the module `work` makes of the store. It begins when the first piece is asked for. `paced`: whether it shares the
   * rate of all exports; what is small, and waited for, does not.
   */
  export(work: URL, order: object, paced?: boolean): Pieces
}
