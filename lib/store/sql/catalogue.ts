/** Groups, models and channels: one JSON document a row, because they are only ever read whole. */
import { isDeepStrictEqual } from 'node:util'
import type { Channel, Group, Model } from '../../terms/records.ts'
import type { Driver, Row } from '../driver.ts'
import type { Sealer } from '../secrets.ts'
import type { Catalog } from '../store.ts'
import { recordChange } from './changes.ts'
import { json } from './text.ts'

type Kind = 'group' | 'model' | 'channel'

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
      groups: of('group').map(row => json<Group>(row, 'doc')),
      models: of('model').map(row => json<Model>(row, 'doc')),
      channels: of('channel').map(row => this.#unsealed(json<Channel>(row, 'doc'))),
    }
  }

  #unsealed(channel: Channel): Channel {
    const key = this.#sealer.open(channel.key, channel.name)
    if (key !== null) return { ...channel, key }
    this.#warn(`channel ${channel.name}: its key was stored under another secret; apply the catalogue again`)
    return { ...channel, key: '', status: 'disabled' }
  }

  putGroup(group: Group): Promise<void> {
    return this.#write('group', group, doc => isDeepStrictEqual(doc, group))
  }

  putModel(model: Model): Promise<void> {
    return this.#write('model', model, doc => isDeepStrictEqual(doc, model))
  }

  putChannel(channel: Channel): Promise<void> {
    const sealed = { ...channel, key: this.#sealer.seal(channel.key, channel.name) }
    const same = (doc: Channel) =>
      isDeepStrictEqual({ ...doc, key: this.#sealer.open(doc.key, doc.name) }, { ...channel })
    return this.#write('channel', sealed, same)
  }

  /** A row that is the same already is no change: applying a catalogue at every start must not make others reload. */
  #write<T extends { name: string }>(kind: Kind, row: T, same: (doc: T) => boolean): Promise<void> {
    const select = 'SELECT doc FROM catalog_rows WHERE kind = ? AND name = ?'
    return this.#driver.transaction('putCatalog', async tx => {
      const [there] = await tx.query(select, [kind, row.name])
      if (there !== undefined && same(json<T>(there, 'doc'))) return
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
