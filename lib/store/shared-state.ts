/**
 * What gateways share beside money: what they have learned of models' answers, rights to uncovered requests, rate windows, places for
 * open requests, and the counts of who sent requests and who was refused; what upstreams tell of the money that is left there.
 */
import type { BalanceSeen } from '../terms/channel-seen.ts'
import type { Traffic, TrafficHour } from '../terms/traffic.ts'
import type { Table } from './base/tables.ts'
import { type Driver, DuplicateKey, type Param } from './base/driver.ts'
import { chunks, integer, integerOrNull, binds, padded, text } from './base/text.ts'

/** What is known of the answers of models, by series (see `lib/exchange/record/model-stats.ts`). thinks: 1 = some were thought about. */
export const MODEL_STATS: Table = {
  name: 'model_stats',
  columns: { model: 'name', series: 'code', version: 'int', figure: 'int?', thinks: 'int', samples: 'doc' },
  key: ['model', 'series'],
}

/** Who has an account's one right to an uncovered request, and until when, by the store's clock. */
export const UNCOVERED: Table = {
  name: 'uncovered',
  columns: { account_id: 'int', ticket: 'code', until_ms: 'int' },
  key: ['account_id'],
  index: [['ticket']],
}

const ofAccounts = (name: string): Table => ({
  name,
  columns: { account_id: 'int', version: 'int', state: 'doc' },
  key: ['account_id'],
})
export const RATE_WINDOWS = ofAccounts('rate_windows')
export const PLACES = ofAccounts('places')

/** What each process counted of requests and refusals in an hour (see `lib/exchange/record/traffic-log.ts`). */
export const TRAFFIC: Table = {
  name: 'traffic',
  columns: { hour_no: 'int', holder: 'code', counts: 'doc' },
  key: ['hour_no', 'holder'],
}

/** What upstreams last told of the money that is left there, and when somebody began to ask, by the store's clock. */
export const CHANNEL_BALANCES: Table = {
  name: 'channel_balances',
  columns: { channel: 'name', asked_ms: 'int', told: 'doc' },
  key: ['channel'],
}

/** Runs a statement for one row. False: it changed none, or another process has inserted the row first. */
async function changesRow(driver: Driver, op: string, sql: string, params: readonly Param[]): Promise<boolean> {
  try {
    return (await driver.run(op, sql, params)).changes === 1
  } catch (error) {
    if (error instanceof DuplicateKey) return false
    throw error
  }
}

/** What is known of one series of a model's answers. */
export interface ModelSeries {
  model: string
  series: string
  /** What the samples say, as `lib/exchange/record/model-stats.ts` has worked it out; null = they are too few. */
  figure: number | null
  /** One of the answers was thought about. */
  thinks: boolean
}

interface SeriesSamples {
  /** Counts the changes; 0 = the series is not there yet. */
  version: number
  samples: string
}

const UPDATE =
  'UPDATE model_stats SET version = version + 1, figure = ?, thinks = ?, samples = ? WHERE model = ? AND series = ? AND version = ?'
const INSERT = 'INSERT INTO model_stats (figure, thinks, samples, model, series, version) VALUES (?, ?, ?, ?, ?, 1)'

/** What gateways have learned of the answers of models, a row for each series of them. See `lib/exchange/record/model-stats.ts`. */
export class ModelStatsStore {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  async all(): Promise<ModelSeries[]> {
    const rows = await this.#driver.query('modelStats', 'SELECT model, series, figure, thinks FROM model_stats', [])
    return rows.map(row => ({
      model: text(row, 'model'),
      series: text(row, 'series'),
      figure: integerOrNull(row, 'figure'),
      thinks: integer(row, 'thinks') === 1,
    }))
  }

  async samples(model: string, series: string): Promise<SeriesSamples> {
    const sql = 'SELECT version, samples FROM model_stats WHERE model = ? AND series = ?'
    const [row] = await this.#driver.query('modelStats', sql, [model, series])
    return row === undefined
      ? { version: 0, samples: '' }
      : { version: integer(row, 'version'), samples: text(row, 'samples') }
  }

  /** Replaces what is known of a series. False: another process has changed it since this version, and nothing was done. */
  async swap({ model, series, figure, thinks }: ModelSeries, before: number, samples: string): Promise<boolean> {
    const values: Param[] = [figure, thinks ? 1 : 0, samples, model, series]
    return before === 0
      ? changesRow(this.#driver, 'modelStats', INSERT, values)
      : changesRow(this.#driver, 'modelStats', UPDATE, [...values, before])
  }
}

/**
 * Rights to an uncovered request: an account has one such request open at a time, over all gateways. A row for each account that
 * ever had one says who has it and until when, by the store's clock; the right of a dead process ends by that time.
 */
export class UncoveredRights {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /**
   * Gives the account's one right to an uncovered request to `ticket`, for this long by the store's clock. False: another
   * ticket has it.
   */
  async take(accountId: number, ticket: string, forMs: number): Promise<boolean> {
    const { nowMs } = this.#driver.dialect
    const update = `UPDATE uncovered SET ticket = ?, until_ms = ${nowMs} + ? WHERE account_id = ? AND until_ms <= ${nowMs}`
    if (await changesRow(this.#driver, 'uncovered', update, [ticket, forMs, accountId])) return true
    const insert = `INSERT INTO uncovered (ticket, until_ms, account_id) VALUES (?, ${nowMs} + ?, ?)`
    return changesRow(this.#driver, 'uncovered', insert, [ticket, forMs, accountId])
  }

  /** Prolongs the rights of these tickets. */
  async keep(tickets: readonly string[], forMs: number): Promise<void> {
    for (const some of chunks(tickets)) {
      const named = padded(some)
      const sql = `UPDATE uncovered SET until_ms = ${this.#driver.dialect.nowMs} + ? WHERE ticket IN (${binds(named.length)})`
      await this.#driver.run('uncovered', sql, [forMs, ...named])
    }
  }

  /** Gives the right back, if this ticket still has it. */
  async giveBack(accountId: number, ticket: string): Promise<void> {
    const sql = "UPDATE uncovered SET ticket = '', until_ms = 0 WHERE account_id = ? AND ticket = ?"
    await this.#driver.run('uncovered', sql, [accountId, ticket])
  }
}

/** State of accounts that all gateways share: of their rate limits (see `lib/access/rate.ts`), or their open requests (`places.ts` there). */
export class AccountStates {
  readonly #driver: Driver
  readonly #table: string
  /** By which its statements are named in the metrics. */
  readonly #op: string

  constructor(driver: Driver, { name }: Table, op: string) {
    this.#driver = driver
    this.#table = name
    this.#op = op
  }

  async read(accountId: number): Promise<{ version: number; state: string } | null> {
    const sql = `SELECT version, state FROM ${this.#table} WHERE account_id = ?`
    const [row] = await this.#driver.query(this.#op, sql, [accountId])
    return row === undefined ? null : { version: integer(row, 'version'), state: text(row, 'state') }
  }

  async swap(accountId: number, version: number, state: string): Promise<boolean> {
    const table = this.#table
    const update = `UPDATE ${table} SET version = version + 1, state = ? WHERE account_id = ? AND version = ?`
    const insert = `INSERT INTO ${table} (account_id, version, state) VALUES (?, 1, ?)`
    return version === 0
      ? changesRow(this.#driver, this.#op, insert, [accountId, state])
      : changesRow(this.#driver, this.#op, update, [state, accountId, version])
  }
}

/** Counts of requests and refusals, a row for each process and hour. */
export class TrafficStore {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** Keeps what a process counted in an hour so far, in the place of what it counted before. */
  async put({ hour, traffic }: TrafficHour, holder: string): Promise<void> {
    const end = this.#driver.dialect.overwrite(['hour_no', 'holder'], ['counts'])
    const sql = `INSERT INTO traffic (hour_no, holder, counts) VALUES (?, ?, ?) ${end}`
    await this.#driver.run('traffic', sql, [hour, holder, JSON.stringify(traffic)])
  }

  /** What all processes counted in the hours from `fromHour` up to `toHour`, which is one of them. */
  async read(fromHour: number, toHour: number): Promise<TrafficHour[]> {
    const sql = 'SELECT hour_no, counts FROM traffic WHERE hour_no >= ? AND hour_no <= ? ORDER BY hour_no'
    const rows = await this.#driver.query('traffic', sql, [fromHour, toHour])
    return rows.map(row => ({ hour: integer(row, 'hour_no'), traffic: JSON.parse(text(row, 'counts')) as Traffic }))
  }

  /** Deletes the counts of hours before this one. */
  async prune(beforeHour: number): Promise<void> {
    await this.#driver.run('pruneTraffic', 'DELETE FROM traffic WHERE hour_no < ?', [beforeHour])
  }
}

/** What upstreams told of the money that is left there. One of all gateways asks for all. */
export class BalanceStore {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** True: nobody has asked for so long, and the caller does it now. */
  async take(channel: string, everyMs: number): Promise<boolean> {
    const { nowMs } = this.#driver.dialect
    const update = `UPDATE channel_balances SET asked_ms = ${nowMs} WHERE channel = ? AND asked_ms <= ${nowMs} - ?`
    if (await changesRow(this.#driver, 'balances', update, [channel, everyMs])) return true
    const insert = `INSERT INTO channel_balances (channel, asked_ms, told) VALUES (?, ${nowMs}, '[]')`
    return changesRow(this.#driver, 'balances', insert, [channel])
  }

  /** Keeps what the upstream told each key of the channel. */
  async put(channel: string, told: readonly BalanceSeen[]): Promise<void> {
    const sql = 'UPDATE channel_balances SET told = ? WHERE channel = ?'
    await this.#driver.run('balances', sql, [JSON.stringify(told), channel])
  }

  async all(): Promise<Map<string, { askedMs: number; told: readonly BalanceSeen[] }>> {
    const rows = await this.#driver.query('balances', 'SELECT channel, asked_ms, told FROM channel_balances', [])
    return new Map(
      rows.map(row => [
        text(row, 'channel'),
        { askedMs: integer(row, 'asked_ms'), told: JSON.parse(text(row, 'told')) as BalanceSeen[] },
      ]),
    )
  }
}
