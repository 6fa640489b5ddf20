import type { Micro } from '../base/money.ts'
import { DEFAULT_ZONE } from '../base/zone.ts'
import type { Channel, Group, Model, Price } from '../terms/records.ts'
import type { Act } from '../base/people.ts'
import type { Driver } from './driver.ts'
import type { ExportThread } from './export-thread.ts'
import { migrate, storeId, wantSchema } from './schema.ts'
import type { Sealer } from './secrets.ts'
import { Accounts, accountById } from './sql/accounts.ts'
import { readActions } from './sql/actions.ts'
import { answerMaker } from './sql/answers.ts'
import { moveMark, readMarks } from './sql/applied.ts'
import { audit } from './sql/audit.ts'
import { Books } from './sql/books.ts'
import { SLICE } from './sql/burial.ts'
import { Catalogue } from './sql/catalogue.ts'
import { changeSeq, changesSince } from './sql/changes.ts'
import { Deposits } from './sql/deposits.ts'
import { decideDispute, dispute } from './sql/disputes.ts'
import { addEntry } from './sql/entries.ts'
import { book, firstBookedMs } from './sql/entry-book.ts'
import { Holders } from './sql/holders.ts'
import { keyIdsOf, keyLabelOf, keyLabels } from './sql/key-labels.ts'
import { rollKey } from './sql/key-secrets.ts'
import { keyUses, recordKeyUses } from './sql/key-uses.ts'
import { modelSeries, seriesSamples, swapSeries } from './sql/model-stats.ts'
import { giveUncovered, keepUncovered, takeUncovered } from './sql/uncovered.ts'
import { Keys } from './sql/keys.ts'
import { forgetPurses } from './sql/limit-purses.ts'
import { lowBalance, setLowBalance } from './sql/low-balance.ts'
import { failingHours, modelDays, modelFigures } from './sql/model-hours.ts'
import { Pay } from './sql/pay.ts'
import { People } from './sql/people.ts'
import { pricesAt, versionsOf } from './sql/price-versions.ts'
import { prunable, pruneUsage, readMark } from './sql/prune.ts'
import { rebuildSums } from './sql/rebuild.ts'
import { refusalPage } from './sql/refusal-page.ts'
import { pruneRefusals, recordRefusals, refusal } from './sql/refusals.ts'
import { requestsOfId } from './sql/request-ids.ts'
import { requestPage } from './sql/request-page.ts'
import { settle } from './sql/settle.ts'
import { summary } from './sql/summary.ts'
import { attemptsOf, usage, usageSlices } from './sql/usage.ts'
import type {
  AccountChange,
  Holder,
  KeyChange,
  KeyFilter,
  Mark,
  ModelEdit,
  NewAccount,
  NewEntry,
  PageFilter,
  PurseId,
  Settlement,
  VersionPage,
} from './types.ts'

export * from './types.ts'

interface StoreParts {
  slice?: number
  zone?: string
  exports?: ExportThread | null
}

type Rest<F> = F extends (driver: Driver, ...rest: infer R) => infer T ? (...rest: R) => T : never

/** A statement of `sql/` as a method. */
const bound = <F extends (driver: Driver, ...rest: never[]) => unknown>(driver: Driver, statement: F) =>
  ((...rest: never[]) => statement(driver, ...rest)) as Rest<F>

/**
 * The database that all processes of all gateways share, with accounts, keys, catalogue, purses, leases and usage rows. Every
 * family of tables is a member. A request whose key, prices and lease are in memory makes no call of the store.
 */
export class Store {
  readonly #driver: Driver
  readonly #exports: ExportThread | null
  /** Name of the time zone in which periods begin. */
  readonly zone: string
  /** A statement that has no answer for so long fails with StoreUnavailable. */
  readonly timeoutMs: number

  readonly accounts
  readonly keys
  readonly catalogue
  readonly changes
  readonly books
  readonly holders
  readonly entries
  readonly disputes
  readonly usage
  readonly refusals
  readonly rateWindows
  readonly uncovered
  readonly modelStats
  readonly actions
  readonly people: People
  readonly pay: Pay
  readonly chain: Deposits

  constructor(
    driver: Driver,
    sealer: Sealer,
    warn: (message: string) => void,
    { slice = SLICE, zone = DEFAULT_ZONE, exports = null }: StoreParts = {},
  ) {
    const of = <F extends (driver: Driver, ...rest: never[]) => unknown>(statement: F) => bound(driver, statement)
    this.#driver = driver
    this.#exports = exports
    this.zone = zone
    this.timeoutMs = driver.timeoutMs
    const accounts = new Accounts(driver)
    const keys = new Keys(driver)
    const catalogue = new Catalogue(driver, sealer, warn)
    const books = new Books(driver)
    const holders = new Holders(driver, slice)
    this.accounts = {
      list: () => accounts.list(),
      page: (filter: PageFilter) => accounts.page(filter),
      byId: of(accountById),
      byPublicId: (id: string) => accounts.byPublicId(id),
      byName: (name: string) => accounts.byName(name),
      create: (account: NewAccount, act: Act, mark?: Mark) => accounts.create(account, act, mark),
      update: (id: number, change: AccountChange, act: Act, mark?: Mark) => accounts.update(id, change, act, mark),
      lowBalance: of(lowBalance),
      setLowBalance: of(setLowBalance),
    }
    this.keys = {
      find: (hash: string) => keys.find(hash),
      list: (accountId?: number) => keys.list(accountId),
      page: (filter: KeyFilter) => keys.page(filter),
      byId: (id: number) => keys.byId(id),
      byPublicId: (id: string) => keys.byPublicId(id),
      byName: (accountId: number, name: string) => keys.byName(accountId, name),
      names: (ids: readonly number[]) => keys.names(ids),
      create: (...asked: Parameters<Keys['create']>) => keys.create(...asked),
      update: (id: number, change: KeyChange, act: Act, mark?: Mark) => keys.update(id, change, act, mark),
      delete: (id: number, act: Act) => keys.delete(id, act),
      roll: of(rollKey),
      recordUses: of(recordKeyUses),
      uses: of(keyUses),
      labels: of(keyLabels),
      labelOf: of(keyLabelOf),
      idsOf: of(keyIdsOf),
    }
    this.catalogue = {
      read: () => catalogue.read(),
      putGroup: (group: Group, act: Act, mark?: Mark) => catalogue.putGroup(group, act, mark),
      putModel: (model: Model, act: Act, mark?: Mark) => catalogue.editModel(model.name, () => model, act, mark),
      editModel: (name: string, edit: ModelEdit, act: Act, mark?: Mark) => catalogue.editModel(name, edit, act, mark),
      putChannel: (channel: Channel, act: Act, mark?: Mark) => catalogue.putChannel(channel, act, mark),
      deleteGroup: (name: string, act: Act) => catalogue.deleteGroup(name, act),
      deleteModel: (name: string, act: Act) => catalogue.deleteModel(name, act),
      deleteChannel: (name: string, act: Act) => catalogue.deleteChannel(name, act),
      reseal: () => catalogue.reseal(),
      priceVersions: (model: string, page: VersionPage) => versionsOf<Price>(driver, 'model', model, page),
      multiplierVersions: (group: string, page: VersionPage) => versionsOf<number>(driver, 'group', group, page),
      pricesAt: of(pricesAt),
      marks: of(readMarks),
      mark: (mark: Mark) => driver.transaction('mark', tx => moveMark(tx, driver, mark)),
      sign: (text: string) => sealer.sign(text),
      signed: (text: string, signed: string) => sealer.signed(text, signed),
    }
    this.changes = { seq: of(changeSeq), since: of(changesSince) }
    this.books = {
      purses: (ids: PurseId[]) => books.purses(ids),
      lease: (purse: PurseId, holder: string, need: Micro, want: Micro, partial: boolean) =>
        books.lease(purse, holder, need, want, partial),
      giveBack: (purse: PurseId, holder: string, amount: Micro) => books.giveBack(purse, holder, amount),
      recall: (purse: PurseId) => books.recall(purse),
      settle: (batch: readonly Settlement[], again = false) => settle(driver, batch, again),
      forgetPurses: (beforeMs: number) => forgetPurses(driver, beforeMs, slice),
    }
    this.holders = {
      register: (holder: Holder) => holders.register(holder),
      beat: async (holderId: string) => {
        const alive = await holders.beat(holderId)
        await books.resolveDoubts()
        return alive
      },
      list: () => holders.list(),
      bury: (holderId: string, beat: number | null = null) => holders.bury(holderId, beat),
      forgetLeases: (holderId: string) => holders.forgetLeases(holderId),
      reportHeld: (holder: string, held: ReadonlyMap<PurseId, Micro>) => holders.reportHeld(holder, held),
      heldByOthers: (purses: PurseId[] | null, except: readonly string[]) => holders.heldByOthers(purses, except),
    }
    this.entries = {
      add: (accountId: number, entry: NewEntry, act: Act, forced = false) =>
        addEntry(driver, accountId, entry, act, forced),
      page: of(book),
      firstBookedMs: of(firstBookedMs),
    }
    this.disputes = { byRequest: of(dispute), decide: of(decideDispute) }
    this.usage = {
      answerMaker: of(answerMaker),
      page: of(usage),
      attemptsOf: of(attemptsOf),
      slices: of(usageSlices),
      requestPage: of(requestPage),
      requestsOfId: of(requestsOfId),
      summary: of(summary),
      modelFigures: of(modelFigures),
      modelDays: of(modelDays),
      failingHours: of(failingHours),
      rebuildSums: of(rebuildSums),
      prunedBefore: () => readMark({ query: (sql, params) => driver.query('prunedBefore', sql, params) }),
      prunable: of(prunable),
      prune: of(pruneUsage),
    }
    this.refusals = {
      record: of(recordRefusals),
      byRequest: of(refusal),
      page: of(refusalPage),
      prune: of(pruneRefusals),
    }
    this.rateWindows = {
      read: (accountId: number) => holders.rateWindow(accountId),
      swap: (accountId: number, version: number, state: string) => holders.swapRateWindow(accountId, version, state),
    }
    this.uncovered = { take: of(takeUncovered), keep: of(keepUncovered), giveBack: of(giveUncovered) }
    this.modelStats = { all: of(modelSeries), samples: of(seriesSamples), swap: of(swapSeries) }
    this.actions = { page: of(readActions) }
    this.pay = new Pay(driver)
    this.chain = new Deposits(driver)
    this.people = new People(driver, sealer)
  }

  migrate = () => migrate(this.#driver)
  wantSchema = () => wantSchema(this.#driver)
  prove = () => this.#driver.prove()
  close = async () => {
    await this.#exports?.close()
    await this.#driver.close()
  }
  ping = () => this.#driver.ping()

  id = () => storeId(this.#driver)
  now = async () => {
    const { now } = this.#driver.dialect
    if (now === null) return null
    const [row] = await this.#driver.query('now', `SELECT ${now} AS now`, [])
    return Number(row?.['now']) * 1000
  }
  audit = () => audit(this.#driver)
  reseal = async () => {
    await this.catalogue.reseal()
    await this.people.credentials.reseal()
  }
  export = (work: URL, order: object, paced = true) => {
    if (this.#exports === null) throw new Error('this store was opened without a thread for exports')
    return this.#exports.make(work, order, paced)
  }
}
