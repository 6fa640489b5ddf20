/** Groups, models and channels: one JSON document a row, because they are only ever read whole. */
import { isDeepStrictEqual } from 'node:util'
import type { Channel, ChannelKey, Group, Model } from '../../terms/records.ts'
import type { Driver, Row } from '../driver.ts'
import type { Sealer } from '../secrets.ts'
import type { Catalog } from '../store.ts'
import { recordChange } from './changes.ts'
import { json } from './text.ts'

type Kind = 'group' | 'model' | 'channel'

/** Documents of earlier versions lack what came later. */
const groupOf = (row: Row): Group => ({ hedgeMs: 0, ...json<Partial<Group>>(row, 'doc') }) as Group

const LATER = {
  kind: null,
  paths: {},
  query: {},
  maxConcurrency: 0,
  proxy: null,
  ca: null,
  http2: false,
  private: false,
}

function channelOf(row: Row): Channel {
  const { key, ...doc } = json<Partial<Channel> & { key?: string }>(row, 'doc')
  return { ...LATER, keys: [{ key: key ?? '', maxConcurrency: 0 }], ...doc } as Channel
}

export class Catalogue {
  readonly #driver: Driver
  readonly #sealer: Sealer
  readonly #warn: (message: string) => void
  readonly #put: string

  constructor(driver: Driver, sealer: Sealer, warn: (message: string) => void) {
    this.#driver = driver
    this.#sealer = sealer
    this.#warn = warn
    const overwrite = driver.dialect.overwrite(['kind', 'name'], ['doc'])
    this.#put = `INSERT INTO catalog_rows (kind, name, doc) VALUES (?, ?, ?) ${overwrite}`
  }

  async read(): Promise<Catalog> {
    const rows = await this.#driver.query('catalog', 'SELECT kind, name, doc FROM catalog_rows ORDER BY kind, name', [])
    const of = (kind: Kind): Row[] => rows.filter(row => row['kind'] === kind)
    return {
      groups: of('group').map(row => groupOf(row)),
      models: of('model').map(row => json<Model>(row, 'doc')),
      channels: of('channel').map(row => this.#unsealed(channelOf(row))),
    }
  }

  #unsealed(channel: Channel): Channel {
    const open = this.#open(channel)
    if (open !== null) return open
    this.#warn(`channel ${channel.name}: its key was stored under another secret; apply the catalogue again`)
    return { ...channel, keys: channel.keys.map(key => ({ ...key, key: '' })), proxy: null, status: 'disabled' }
  }

  /** Keys and proxy, which has a password, in clear; null when one of them was sealed under another secret. */
  #open(channel: Channel): Channel | null {
    const keys: ChannelKey[] = []
    for (const one of channel.keys) {
      const key = this.#sealer.open(one.key, channel.name)
      if (key === null) return null
      keys.push({ ...one, key })
    }
    const proxy = channel.proxy === null ? null : this.#sealer.open(channel.proxy, channel.name)
    return proxy === null && channel.proxy !== null ? null : { ...channel, keys, proxy }
  }

  putGroup(group: Group): Promise<void> {
    return this.#write('group', group, row => isDeepStrictEqual(groupOf(row), group))
  }

  putModel(model: Model): Promise<void> {
    return this.#write('model', model, row => isDeepStrictEqual(json<Model>(row, 'doc'), model))
  }

  putChannel(channel: Channel): Promise<void> {
    const keys = channel.keys.map(one => ({ ...one, key: this.#sealer.seal(one.key, channel.name) }))
    const proxy = channel.proxy === null ? null : this.#sealer.seal(channel.proxy, channel.name)
    const same = (row: Row) => isDeepStrictEqual(this.#open(channelOf(row)), channel)
    const sealed: Channel = { ...channel, keys, proxy }
    return this.#write('channel', sealed, same)
  }

  /** A row that is the same already is no change: applying a catalogue at every start must not make others reload. */
  #write(kind: Kind, row: { name: string }, same: (there: Row) => boolean): Promise<void> {
    const select = 'SELECT doc FROM catalog_rows WHERE kind = ? AND name = ?'
    return this.#driver.transaction('putCatalog', async tx => {
      const [there] = await tx.query(select, [kind, row.name])
      if (there !== undefined && same(there)) return
      await tx.run(this.#put, [kind, row.name, JSON.stringify(row)])
      await recordChange(tx, 'catalog', '')
    })
  }

  delete(kind: Kind, name: string): Promise<boolean> {
    return this.#driver.transaction('deleteCatalog', async tx => {
      const { changes } = await tx.run('DELETE FROM catalog_rows WHERE kind = ? AND name = ?', [kind, name])
      if (changes > 0) await recordChange(tx, 'catalog', '')
      return changes > 0
    })
  }
}
