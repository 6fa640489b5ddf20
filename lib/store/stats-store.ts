/**
 * The part of the store's interface on which the hold of a request rests beside its money: what all gateways have learned
 * of the models' answers, and whose account has a request open that its money does not cover.
 */

/** What is known of one series of a model's answers. */
export interface ModelSeries {
  model: string
  series: string
  /** What the samples say, as `lib/exchange/record/model-stats.ts` has worked it out; null = they are too few. */
  figure: number | null
  /** One of the answers was thought about. */
  thinks: boolean
}

/** The samples of a series. */
export interface SeriesSamples {
  /** Counts the changes; 0 = the series is not there yet. */
  version: number
  samples: string
}

export interface StatsStore {
  modelSeries(): Promise<ModelSeries[]>
  seriesSamples(model: string, series: string): Promise<SeriesSamples>
  /** Replaces what is known of a series. False: another process has changed it since this version, and nothing was done. */
  swapSeries(row: ModelSeries, before: number, samples: string): Promise<boolean>
  /**
   * Gives the account's one right to an uncovered request to `ticket`, for this long by the store's clock. False: another
   * ticket has it.
   */
  takeUncovered(accountId: number, ticket: string, forMs: number): Promise<boolean>
  /** Prolongs the rights of these tickets. */
  keepUncovered(tickets: readonly string[], forMs: number): Promise<void>
  /** Gives the right back, if this ticket still has it. */
  giveUncovered(accountId: number, ticket: string): Promise<void>
}
