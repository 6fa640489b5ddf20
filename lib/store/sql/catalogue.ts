/**
 * Groups, models and channels. Each is one row of `catalog_rows` with a JSON document, because they are always read all
 * together. Credentials in a channel's document are encrypted (`sealed.ts`).
 */
import { isDeepStrictEqual } from 'node:util'
import type { Channel } from '../../terms/channel.ts'
import { MODEL_DEFAULTS } from '../../terms/config-catalog.ts'
import type { Group, Model } from '../../terms/records.ts'
import type { Driver, Row } from '../driver.ts'
import type { Sealer } from '../secrets.ts'
import type { Catalog, Mark } from '../store.ts'
import { moveMark } from './applied.ts'
import { recordChange } from './changes.ts'
import { openChannel, type SealedChannel, sealChannel } from './sealed.ts'
import { json, text } from './text.ts'

type Kind = 'group' | 'model' | 'channel'

/** A document that an earlier version wrote lacks the fields that later versions added, so these get defaults. */
const modelOf = (row: Row): Model => ({ ...MODEL_DEFAULTS, ...json<Partial<Model>>(row, 'doc') }) as Model

const groupOf = (row: Row): Group => ({ hedgeMs: 0, ...json<Partial<Group>>(row, 'doc') }) as Group

/** The defaults of the fields of a channel that later versions added. */
const CHANNEL_DEFAULTS = {
  kind: null,
  paths: {},
  query: {},
  maxConcurrency: 0,
  proxy: null,
  ca: null,
  http2: false,
  private: false,
  cost: null,
}

function channelOf(row: Row): SealedChannel {
  const { key, ...doc } = json<Partial<SealedChannel> & { key?: string }>(row, 'doc')
  return { ...CHANNEL_DEFAULTS, keys: [{ key: key ?? '', maxConcurrency: 0 }], ...doc } as SealedChannel
}

export class Catalogue {
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
    const overwrite = driver.dialect.overwrite(['kind', 'name'], ['doc'])
    this.#put = `INSERT INTO catalog_rows (kind, name, doc) VALUES (?, ?, ?) ${overwrite}`
  }

  async #rows(): Promise<Row[]> {
    return await this.#driver.query('catalog', 'SELECT kind, name, doc FROM catalog_rows ORDER BY kind, name', [])
  }

  async read(): Promise<Catalog> {
    const rows = await this.#rows()
    const of = (kind: Kind): Row[] => rows.filter(row => row['kind'] === kind)
    return {
      groups: of('group').map(row => groupOf(row)),
      models: of('model').map(modelOf),
      channels: of('channel').map(row => this.#open(channelOf(row))),
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

  putGroup(group: Group, mark?: Mark): Promise<void> {
    return this.#write('group', group, row => isDeepStrictEqual(groupOf(row), group), mark)
  }

  putModel(model: Model, mark?: Mark): Promise<void> {
    return this.#write('model', model, row => isDeepStrictEqual(modelOf(row), model), mark)
  }

  putChannel(channel: Channel, mark?: Mark): Promise<void> {
    const same = (row: Row) => isDeepStrictEqual(openChannel(channelOf(row), this.#sealer).channel, channel)
    return this.#write('channel', sealChannel(channel, this.#sealer), same, mark)
  }

  /**
   * Writes a row, unless it has these contents already: every start of a gateway applies its catalogue file, and each
   * recorded change makes all processes reload the catalogue.
   */
  #write(kind: Kind, row: { name: string }, same: (there: Row) => boolean, mark?: Mark): Promise<void> {
    const select = 'SELECT doc FROM catalog_rows WHERE kind = ? AND name = ?'
    return this.#driver.transaction('putCatalog', async tx => {
      if (mark !== undefined) await moveMark(tx, this.#driver, mark)
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
