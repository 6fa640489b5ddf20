/** Writes keys of a catalogue file. The keys of an account are read from the store when its first key comes. */
import { isDeepStrictEqual } from 'node:util'
import type { Clock } from '../../base/clock.ts'
import { type NewKey, type Store, StoreConflict } from '../../store/store.ts'
import type { CatalogKey } from '../../config/catalog-rows.ts'
import { hashOf, hintOf } from '../../terms/key-secret.ts'
import { sameLimit } from '../../terms/limits.ts'
import { FILE } from '../../terms/people.ts'
import type { Key } from '../../terms/records.ts'
import { act } from '../acts.ts'
import { firstLimit, limitChange } from '../caps-and-budgets.ts'
import type { AccountWriter } from './accounts.ts'
import { createdHere, movedMark, type Outcome, type RowChange, rememberMark } from './changes.ts'

export class KeyWriter {
  readonly #store: Store
  readonly #clock: Clock
  readonly #accounts: AccountWriter
  /** By the id of the account, then by the name of the key. */
  readonly #stored = new Map<number, Map<string, Key>>()

  constructor(store: Store, clock: Clock, accounts: AccountWriter) {
    this.#store = store
    this.#clock = clock
    this.#accounts = accounts
  }

  async write(key: CatalogKey, { mark, row: isNew }: RowChange): Promise<Outcome> {
    const accountId = await this.#accounts.idOf(key.account)
    const row = toRow(key, accountId)
    let stored = (await this.#keysOf(accountId)).get(key.name) ?? null
    if (stored === null && isNew) {
      const creation = this.#store.createKey(row, act(FILE, 'keys.create'), { mark: movedMark(mark) })
      if ((await createdHere(creation)) !== null) return 'created'
      stored = await this.#store.keyByName(accountId, key.name)
      if (stored === null) throw new StoreConflict(`key ${key.account}/${key.name}: its secret belongs to another key`)
    }
    const same = stored !== null && isSame(stored, row)
    if (same || !isNew || stored === null) {
      await rememberMark(this.#store, mark)
      return same ? 'same' : 'kept'
    }
    const { accountId: _, createdBy: __, modelsOff: ___, cap, ...rest } = row
    const deps = { store: this.#store, clock: this.#clock }
    const change = sameLimit(stored.cap, cap) ? rest : { ...rest, cap: await limitChange(deps, stored.cap, cap) }
    await this.#store.updateKey(stored.id, change, act(FILE, 'keys.change'), movedMark(mark))
    return 'updated'
  }

  async #keysOf(accountId: number): Promise<Map<string, Key>> {
    const known = this.#stored.get(accountId)
    if (known !== undefined) return known
    const keys = new Map((await this.#store.keys(accountId)).map(key => [key.name, key]))
    this.#stored.set(accountId, keys)
    return keys
  }
}

/** Whether the stored key is what the file says. Its cap may still renew as it did before a change. */
function isSame({ id: _, publicId: __, cap, ...stored }: Key, { cap: wanted, ...row }: NewKey): boolean {
  const { modelsOff, createdBy } = stored // of these a file says nothing
  return sameLimit(cap, wanted) && isDeepStrictEqual(stored, { ...row, modelsOff, createdBy })
}

function toRow(key: CatalogKey, accountId: number): NewKey {
  const { account: _, secret, cap, ...rest } = key
  return {
    accountId,
    ...rest,
    cap: firstLimit(cap),
    hash: hashOf(secret),
    hint: hintOf(secret),
    modelsOff: null,
    createdBy: null,
  }
}
