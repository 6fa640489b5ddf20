/**
 * The one implementation of the interface `Store`: each method is a line that calls the function in `sql/` which has
 * the statements. The engine is behind `Driver`.
 */
import type { Micro } from '../base/money.ts'
import { DEFAULT_ZONE } from '../base/zone.ts'
import type { Channel, Group, Model, Price } from '../terms/records.ts'
import type { Act } from '../base/people.ts'
import type { ActionFilter } from './action-store.ts'
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
  AccountKeys,
  BookFilter,
  FailingQuery,
  HashedSecret,
  Holder,
  KeyChange,
  KeyFilter,
  KeyUse,
  ModelSeries,
  Mark,
  ModelEdit,
  NewAccount,
  NewEntry,
  PageFilter,
  Paging,
  PurseId,
  Refusal,
  RefusalFilter,
  RequestFilter,
  Settlement,
  Store,
  SummaryQuery,
  UsageFilter,
  VersionPage,
} from './store.ts'

export interface SqlStoreOptions {
  slice?: number
  zone?: string
  exports?: ExportThread | null
}

export class SqlStore implements Store {
  readonly #driver: Driver
  readonly #sealer: Sealer
  readonly #accounts: Accounts
  readonly #keys: Keys
  readonly #catalogue: Catalogue
  readonly #books: Books
  readonly #holders: Holders

  readonly people: People
  readonly zone: string
  readonly timeoutMs: number
  readonly #slice: number
  readonly #exports: ExportThread | null

  readonly pay: Pay
  readonly chain: Deposits

  constructor(
    driver: Driver,
    sealer: Sealer,
    warn: (message: string) => void,
    { slice = SLICE, zone = DEFAULT_ZONE, exports = null }: SqlStoreOptions = {},
  ) {
    this.#exports = exports
    this.zone = zone
    this.timeoutMs = driver.timeoutMs
    this.#slice = slice
    this.#driver = driver
    this.#sealer = sealer
    this.#accounts = new Accounts(driver)
    this.#keys = new Keys(driver)
    this.#catalogue = new Catalogue(driver, this.#sealer, warn)
    this.#books = new Books(driver)
    this.#holders = new Holders(driver, slice)
    this.pay = new Pay(driver)
    this.chain = new Deposits(driver)
    this.people = new People(driver, this.#sealer)
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

  findKey = (hash: string) => this.#keys.find(hash)
  accounts = () => this.#accounts.list()
  accountPage = (filter: PageFilter) => this.#accounts.page(filter)
  account = (id: number) => accountById(this.#driver, id)
  accountByPublicId = (id: string) => this.#accounts.byPublicId(id)
  accountByName = (name: string) => this.#accounts.byName(name)
  createAccount = (account: NewAccount, act: Act, mark?: Mark) => this.#accounts.create(account, act, mark)
  updateAccount = (id: number, change: AccountChange, act: Act, mark?: Mark) =>
    this.#accounts.update(id, change, act, mark)
  keys = (accountId?: number) => this.#keys.list(accountId)
  keyPage = (filter: KeyFilter) => this.#keys.page(filter)
  key = (id: number) => this.#keys.byId(id)
  keyByPublicId = (id: string) => this.#keys.byPublicId(id)
  keyByName = (accountId: number, name: string) => this.#keys.byName(accountId, name)
  keyNames = (ids: readonly number[]) => this.#keys.names(ids)
  createKey: Store['createKey'] = (...asked) => this.#keys.create(...asked)
  updateKey = (id: number, change: KeyChange, act: Act, mark?: Mark) => this.#keys.update(id, change, act, mark)
  rollKey = (id: number, secret: HashedSecret, graceMs: number, act: Act) =>
    rollKey(this.#driver, id, secret, graceMs, act)
  recordKeyUses = (batch: readonly KeyUse[]) => recordKeyUses(this.#driver, batch)
  keyUses = (ids: readonly number[]) => keyUses(this.#driver, ids)
  deleteKey = (id: number, act: Act) => this.#keys.delete(id, act)

  catalog = () => this.#catalogue.read()
  reseal = async () => {
    await this.#catalogue.reseal()
    await this.people.reseal()
  }
  putGroup = (group: Group, act: Act, mark?: Mark) => this.#catalogue.putGroup(group, act, mark)
  putModel = (model: Model, act: Act, mark?: Mark) => this.editModel(model.name, () => model, act, mark)
  editModel = (name: string, edit: ModelEdit, act: Act, mark?: Mark) => this.#catalogue.editModel(name, edit, act, mark)
  putChannel = (channel: Channel, act: Act, mark?: Mark) => this.#catalogue.putChannel(channel, act, mark)
  deleteGroup = (name: string, act: Act) => this.#catalogue.deleteGroup(name, act)
  deleteModel = (name: string, act: Act) => this.#catalogue.deleteModel(name, act)
  deleteChannel = (name: string, act: Act) => this.#catalogue.deleteChannel(name, act)
  priceVersions = (model: string, page: VersionPage) => versionsOf<Price>(this.#driver, 'model', model, page)
  multiplierVersions = (group: string, page: VersionPage) => versionsOf<number>(this.#driver, 'group', group, page)
  pricesAt = (atMs: number) => pricesAt(this.#driver, atMs)

  marks = () => readMarks(this.#driver)
  mark = (mark: Mark) => this.#driver.transaction('mark', tx => moveMark(tx, this.#driver, mark))
  sign = (text: string) => this.#sealer.sign(text)
  signed = (text: string, signed: string) => this.#sealer.signed(text, signed)

  changeSeq = () => changeSeq(this.#driver)
  changesSince = (seq: number) => changesSince(this.#driver, seq)

  purses = (ids: PurseId[]) => this.#books.purses(ids)
  addEntry = (accountId: number, entry: NewEntry, act: Act, forced = false) =>
    addEntry(this.#driver, accountId, entry, act, forced)
  dispute = (requestId: string) => dispute(this.#driver, requestId)
  decideDispute: Store['decideDispute'] = (...asked) => decideDispute(this.#driver, ...asked)
  book = (accountId: number, filter: BookFilter) => book(this.#driver, accountId, filter)
  lease = (purse: PurseId, holder: string, need: Micro, want: Micro, partial: boolean) =>
    this.#books.lease(purse, holder, need, want, partial)
  giveBack = (purse: PurseId, holder: string, amount: Micro) => this.#books.giveBack(purse, holder, amount)
  recall = (purse: PurseId) => this.#books.recall(purse)
  settle = (batch: readonly Settlement[], again = false) => settle(this.#driver, batch, again)
  audit = () => audit(this.#driver)
  reportHeld = (holder: string, held: ReadonlyMap<PurseId, Micro>) => this.#holders.reportHeld(holder, held)
  heldByOthers = (purses: PurseId[] | null, exceptHolders: readonly string[]) =>
    this.#holders.heldByOthers(purses, exceptHolders)

  register = (holder: Holder) => this.#holders.register(holder)
  beat = async (holderId: string) => {
    const alive = await this.#holders.beat(holderId)
    await this.#books.resolveDoubts()
    return alive
  }
  holders = () => this.#holders.list()
  bury = (holderId: string, beat: number | null = null) => this.#holders.bury(holderId, beat)
  forgetLeases = (holderId: string) => this.#holders.forgetLeases(holderId)
  forgetPurses = (beforeMs: number) => forgetPurses(this.#driver, beforeMs, this.#slice)

  rateWindow = (accountId: number) => this.#holders.rateWindow(accountId)
  swapRateWindow = (accountId: number, version: number, state: string) =>
    this.#holders.swapRateWindow(accountId, version, state)

  modelSeries = () => modelSeries(this.#driver)
  seriesSamples = (model: string, series: string) => seriesSamples(this.#driver, model, series)
  swapSeries = (row: ModelSeries, before: number, samples: string) => swapSeries(this.#driver, row, before, samples)
  takeUncovered = (accountId: number, ticket: string, forMs: number) =>
    takeUncovered(this.#driver, accountId, ticket, forMs)
  keepUncovered = (tickets: readonly string[], forMs: number) => keepUncovered(this.#driver, tickets, forMs)
  giveUncovered = (accountId: number, ticket: string) => giveUncovered(this.#driver, accountId, ticket)

  actions = (filter: ActionFilter) => readActions(this.#driver, filter)

  answerMaker = (accountId: number, answerId: string) => answerMaker(this.#driver, accountId, answerId)
  usage = (filter: UsageFilter) => usage(this.#driver, filter)
  attemptsOf = (requestId: string) => attemptsOf(this.#driver, requestId)
  usageSlices = (filter: Omit<UsageFilter, 'limit'>) => usageSlices(this.#driver, filter)
  export = (work: URL, order: object, paced = true) => {
    if (this.#exports === null) throw new Error('this store was opened without a thread for exports')
    return this.#exports.make(work, order, paced)
  }
  summary = (query: SummaryQuery) => summary(this.#driver, query)
  requestPage = (filter: RequestFilter, paging: Paging) => requestPage(this.#driver, filter, paging)
  requestsOfId = (whose: AccountKeys, id: string) => requestsOfId(this.#driver, whose, id)
  refusalPage = (filter: RefusalFilter, paging: Paging) => refusalPage(this.#driver, filter, paging)
  keyLabels = (accountId: number, ids: readonly number[]) => keyLabels(this.#driver, accountId, ids)
  keyIdsOf = (accountId: number, userId: number) => keyIdsOf(this.#driver, accountId, userId)
  keyLabelOf = (accountId: number, publicId: string) => keyLabelOf(this.#driver, accountId, publicId)
  firstBookedMs = (accountId: number) => firstBookedMs(this.#driver, accountId)
  lowBalance = (accountId: number) => lowBalance(this.#driver, accountId)
  setLowBalance = (accountId: number, amount: Micro | null, act: Act) =>
    setLowBalance(this.#driver, accountId, amount, act)
  modelFigures = (fromMs: number) => modelFigures(this.#driver, fromMs)
  modelDays = (group: string, fromMs: number) => modelDays(this.#driver, group, fromMs)
  failingHours = (group: string, query: FailingQuery) => failingHours(this.#driver, group, query)
  rebuildSums = () => rebuildSums(this.#driver)
  recordRefusals = (batch: readonly Refusal[]) => recordRefusals(this.#driver, batch)
  refusal = (requestId: string) => refusal(this.#driver, requestId)
  pruneRefusals = (beforeMs: number, limit: number) => pruneRefusals(this.#driver, beforeMs, limit)
  prunedBefore = () => readMark({ query: (sql, params) => this.#driver.query('prunedBefore', sql, params) })
  prunable = (beforeMs: number) => prunable(this.#driver, beforeMs)
  pruneUsage = (beforeMs: number, limit: number) => pruneUsage(this.#driver, beforeMs, limit)
}
