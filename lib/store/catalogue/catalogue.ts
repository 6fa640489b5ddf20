/**
 * Groups, models and channels. Each is one row of `catalog_rows` with a JSON document, because they are always read all
 * together. Credentials in a channel's document are encrypted (`sealed-channel.ts`).
 *
 * The price of a model and the multiplier of a group are read from the version that the row names (`prices.ts`).
 *
 * The document of a model that is temporarily offline has, beside what people set, since when: a moment for each group that
 * `offline` names, or one moment for all groups. A moment stays while its entry does, so that an edit of a price does not begin
 * the time anew.
 */
import type { Table } from '../base/tables.ts'
import { pricesAt, type Version, type VersionPage, versionsOf } from './prices.ts'
import { readDigests, type RowDigests } from './applied.ts'
import type { Act } from '../../base/people.ts'
import type { Channel, Group, Model, Offline, Price } from '../../terms/records.ts'
import { showGroup, showModel, shownChannel } from '../../catalog-file/rows.ts'
import { secretHeaders } from '../../base/secrets.ts'
import { isDeepStrictEqual } from 'node:util'
import type { Driver, Row, Transaction } from '../base/driver.ts'
import { type PricedKind, appendVersion, lockVersions, priceActor, versionValue } from './prices.ts'
import type { Sealer } from './sealer.ts'
import { type FileDigests, moveDigests } from './applied.ts'
import { type Logged, recordEdit } from '../base/actions.ts'
import { recordChange } from '../base/changes.ts'
import { type SealedChannel, openChannel, sealChannel } from './sealed-channel.ts'
import { integer, integerOrNull, json, text } from '../base/text.ts'

/** version: of the price that the row has in force. */
export const CATALOG_ROWS: Table = {
  name: 'catalog_rows',
  columns: { kind: 'code', name: 'name', doc: 'doc', version: 'int?' },
  key: ['kind', 'name'],
}

/** Gets a model as it stands in the store (null = there is none), and returns it as it is to be; null = nothing changes. */
type ModelEdit = (there: Model | null) => Model | null

export interface Catalog {
  groups: Group[]
  models: Model[]
  channels: Channel[]
  /** The versions of the models' prices; a model without price has none. */
  priceVersions: ReadonlyMap<string, number>
  /** Since when models are temporarily offline, by model and group; see OfflineSince. Models that are not are not in it. */
  offlineSince: ReadonlyMap<string, OfflineSince>
}

/** Stands for all groups. */
export const EVERYWHERE = '*'

/** ms since 1970 by group, or EVERYWHERE. */
type OfflineSince = ReadonlyMap<string, number>

const loggedGroup = (group: Group): Logged => ({ shown: showGroup(group) })

const loggedModel = (model: Model): Logged => ({ shown: showModel(model) })

const loggedChannel = (channel: Channel): Logged => ({
  shown: { ...shownChannel(channel), keys: channel.keys.map(key => ({ max_concurrency: key.maxConcurrency })) },
  secrets: {
    key: JSON.stringify(channel.keys.map(({ key }) => key)),
    proxy_credentials: channel.proxy ?? '',
    secret_headers: JSON.stringify(secretHeaders(channel.headers)),
  },
})

const namesOf = (offline: Offline): readonly string[] => (offline === true ? [EVERYWHERE] : offline)

/** `before`: what the row has had so far. */
const movedSince = (before: OfflineSince, offline: Offline, nowMs: number): [string, number][] =>
  namesOf(offline).map(name => [name, before.get(name) ?? before.get(EVERYWHERE) ?? nowMs])

type Kind = PricedKind | 'channel'

const SELECT =
  'SELECT c.kind, c.name, c.doc, c.version, v.format, v.doc AS price FROM catalog_rows c ' +
  'LEFT JOIN price_versions v ON v.version = c.version'

const DELETE = 'DELETE FROM catalog_rows WHERE kind = ? AND name = ?'

const ONE = `${SELECT} WHERE c.kind = ? AND c.name = ?`

const about = (kind: Kind, name: string) => ({ subject: { kind, id: name }, accountId: null })

const priced = <T>(row: Row, field: string, rest: T): T =>
  row['price'] === null ? rest : { ...rest, [field]: versionValue(row, 'price') }

type ModelDoc = Partial<Model> & { offlineSince?: [string, number][] }

function modelOf(row: Row): Model {
  const { offlineSince: _, ...doc } = json<ModelDoc>(row, 'doc')
  return priced(row, 'price', doc as Model)
}

const sinceOf = (row: Row | undefined): OfflineSince =>
  new Map(row === undefined ? [] : json<ModelDoc>(row, 'doc').offlineSince)

const groupOf = (row: Row): Group => priced(row, 'multiplier', json<Group>(row, 'doc'))

/** A kind of row of which one field, the `value`, has versions. */
interface PricedRow<T> {
  kind: PricedKind
  read(row: Row): T
  value(row: T): Price | number | null
  logged(row: T): Logged
}
const MODEL: PricedRow<Model> = { kind: 'model', read: modelOf, value: row => row.price, logged: loggedModel }
const GROUP: PricedRow<Group> = { kind: 'group', read: groupOf, value: row => row.multiplier, logged: loggedGroup }

const channelOf = (row: Row): SealedChannel => json(row, 'doc')

export class CatalogueStore {
  readonly #driver: Driver
  readonly #sealer: Sealer
  readonly #warn: (message: string) => void
  readonly #put: string
  /** Channels whose credentials cannot be decrypted, and of which the log has said so already. */
  readonly #warned = new Set<string>()

  constructor(driver: Driver, sealer: Sealer, warn: (message: string) => void) {
    this.#driver = driver
    this.#sealer = sealer
    this.#warn = warn
    const overwrite = driver.dialect.overwrite(['kind', 'name'], ['doc', 'version'])
    this.#put = `INSERT INTO catalog_rows (kind, name, doc, version) VALUES (?, ?, ?, ?) ${overwrite}`
  }

  async #rows(): Promise<Row[]> {
    return await this.#driver.query('catalog', `${SELECT} ORDER BY c.kind, c.name`, [])
  }

  async read(): Promise<Catalog> {
    const rows = await this.#rows()
    const of = (kind: Kind): Row[] => rows.filter(row => row['kind'] === kind)
    return {
      groups: of('group').map(row => groupOf(row)),
      models: of('model').map(modelOf),
      channels: of('channel').map(row => this.#open(channelOf(row))),
      priceVersions: new Map(
        of('model').flatMap(row => (row['price'] === null ? [] : [[text(row, 'name'), integer(row, 'version')]])),
      ),
      offlineSince: new Map(
        of('model').flatMap(row => {
          const since = sinceOf(row)
          return since.size === 0 ? [] : [[text(row, 'name'), since]]
        }),
      ),
    }
  }

  #open(row: SealedChannel): Channel {
    const { channel } = openChannel(row, this.#sealer)
    if (channel.sealed !== true) this.#warned.delete(row.name)
    else if (!this.#warned.has(row.name)) {
      this.#warned.add(row.name)
      this.#warn(`channel ${row.name}: sealed under another secret, so it is not used: name that secret as \
secret_previous, or apply a catalogue file with its key`)
    }
    return channel
  }

  /** See `Store.reseal`. The decrypted contents stay the same, so no change is recorded and no process reloads. */
  async reseal(): Promise<void> {
    for (const row of await this.#rows()) {
      if (row['kind'] !== 'channel') continue
      const { channel, current } = openChannel(channelOf(row), this.#sealer)
      if (current || channel.sealed === true) continue
      const doc = JSON.stringify(sealChannel(channel, this.#sealer))
      const update = 'UPDATE catalog_rows SET doc = ? WHERE kind = ? AND name = ? AND doc = ?'
      await this.#driver.run('reseal', update, [doc, 'channel', channel.name, text(row, 'doc')])
    }
  }

  putGroup(group: Group, act: Act, digests?: FileDigests): Promise<void> {
    return this.#edit(GROUP, group.name, () => group, act, digests)
  }

  /**
   * Reads a model and writes it in one transaction, so that nothing that another process changes meanwhile is undone.
   * `edit` may be called several times.
   */
  editModel(name: string, edit: ModelEdit, act: Act, digests?: FileDigests): Promise<void> {
    return this.#edit(MODEL, name, edit, act, digests)
  }

  /**
   * Writes a row, unless it has these contents already: every start of a gateway applies its catalogue file, and each
   * recorded change makes all processes reload the catalogue. A new price or multiplier becomes a version.
   */
  #edit<T extends Model | Group>(
    { kind, read, value, logged }: PricedRow<T>,
    name: string,
    edit: (there: T | null) => T | null,
    act: Act,
    digests?: FileDigests,
  ): Promise<void> {
    return this.#driver.transaction('putCatalog', async tx => {
      if (digests !== undefined) await moveDigests(tx, this.#driver, digests)
      await lockVersions(tx)
      const [row] = await tx.query(ONE, [kind, name])
      const there = row === undefined ? null : read(row)
      const next = edit(there)
      if (next === null || isDeepStrictEqual(there, next)) return
      const version = isDeepStrictEqual(there === null ? null : value(there), value(next))
        ? row === undefined
          ? null
          : integerOrNull(row, 'version')
        : await appendVersion(tx, this.#driver, kind, name, priceActor(act), value(next))
      await tx.run(this.#put, [kind, name, JSON.stringify(await this.#docOf(tx, row, next)), version])
      await recordEdit(tx, this.#driver, act, about(kind, name), there && logged(there), logged(next))
      await recordChange(tx, 'catalog', '')
    })
  }

  /** What is written of a row: beside the row itself, since when a model is offline. */
  async #docOf(tx: Transaction, before: Row | undefined, row: Model | Group): Promise<object> {
    if (!('offline' in row) || (row.offline !== true && row.offline.length === 0)) return row
    const [clock] = await tx.query(`SELECT ${this.#driver.dialect.nowMs} AS now`, [])
    return { ...row, offlineSince: movedSince(sinceOf(before), row.offline, integer(clock!, 'now')) }
  }

  putChannel(channel: Channel, act: Act, digests?: FileDigests): Promise<void> {
    return this.#driver.transaction('putCatalog', async tx => {
      if (digests !== undefined) await moveDigests(tx, this.#driver, digests)
      const there = await this.#lockedChannel(tx, channel.name)
      if (isDeepStrictEqual(there, channel)) return
      await tx.run(this.#put, ['channel', channel.name, JSON.stringify(sealChannel(channel, this.#sealer)), null])
      const before = there && loggedChannel(there)
      await recordEdit(tx, this.#driver, act, about('channel', channel.name), before, loggedChannel(channel))
      await recordChange(tx, 'catalog', '')
    })
  }

  deleteChannel(name: string, act: Act): Promise<boolean> {
    return this.#driver.transaction('deleteCatalog', async tx => {
      const there = await this.#lockedChannel(tx, name)
      if (there === null) return false
      await tx.run(DELETE, ['channel', name])
      await recordEdit(tx, this.#driver, act, about('channel', name), loggedChannel(there), null)
      await recordChange(tx, 'catalog', '')
      return true
    })
  }

  async #lockedChannel(tx: Transaction, name: string): Promise<Channel | null> {
    await tx.run('UPDATE catalog_rows SET doc = doc WHERE kind = ? AND name = ?', ['channel', name])
    const [row] = await tx.query(ONE, ['channel', name])
    return row === undefined ? null : openChannel(channelOf(row), this.#sealer).channel
  }

  deleteGroup(name: string, act: Act): Promise<boolean> {
    return this.#delete(GROUP, name, act)
  }

  deleteModel(name: string, act: Act): Promise<boolean> {
    return this.#delete(MODEL, name, act)
  }

  /** Ends the version that the row names, so that nobody takes it for one in force. */
  #delete<T extends Model | Group>({ kind, read, logged }: PricedRow<T>, name: string, act: Act): Promise<boolean> {
    return this.#driver.transaction('deleteCatalog', async tx => {
      await lockVersions(tx)
      const [row] = await tx.query(ONE, [kind, name])
      if (row === undefined) return false
      if (row['price'] !== null) await appendVersion(tx, this.#driver, kind, name, priceActor(act), null)
      await tx.run(DELETE, [kind, name])
      await recordEdit(tx, this.#driver, act, about(kind, name), logged(read(row)), null)
      await recordChange(tx, 'catalog', '')
      return true
    })
  }

  putModel(model: Model, act: Act, digests?: FileDigests): Promise<void> {
    return this.editModel(model.name, () => model, act, digests)
  }

  /** The prices that a model has had, newest first, also of a deleted model. */
  priceVersions(model: string, page: VersionPage): Promise<Version<Price>[]> {
    return versionsOf<Price>(this.#driver, 'model', model, page)
  }

  /** The multipliers that a group has had, newest first, also of a deleted group. */
  multiplierVersions(group: string, page: VersionPage): Promise<Version<number>[]> {
    return versionsOf<number>(this.#driver, 'group', group, page)
  }

  /** The prices that were in force at a moment, by the names of their models. */
  pricesAt(atMs: number): Promise<(Version<Price> & { model: string })[]> {
    return pricesAt(this.#driver, atMs)
  }

  /** The digests of every row that a catalogue file has said something of, by `digestId`. */
  digests(): Promise<Map<string, RowDigests>> {
    return readDigests(this.#driver)
  }

  /** Moves the digests of a row on without writing the row itself. */
  moveDigests(digests: FileDigests): Promise<void> {
    return this.#driver.transaction('moveDigests', tx => moveDigests(tx, this.#driver, digests))
  }

  /** A keyed digest of `text`, made with the store's secret. */
  sign(text: string): string {
    return this.#sealer.sign(text)
  }

  /** Whether `signed` is the signature of `text`; null when it was made under a secret unknown to this process. */
  signed(text: string, signed: string): boolean | null {
    return this.#sealer.signed(text, signed)
  }
}
