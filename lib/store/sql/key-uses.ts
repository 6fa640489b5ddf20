/** When and from where keys were last used. Processes write it about once a minute, for all keys at once. */
import type { KeyUse } from '../account-store.ts'
import type { Driver } from '../driver.ts'
import { chunks, integer, marks, padded, text } from './text.ts'

const SELECT = 'SELECT key_id, at_ms, ip FROM key_uses WHERE key_id IN'

const LIVING = 'SELECT id FROM api_keys WHERE deleted = 0 AND id IN'

/**
 * See `Store.recordKeyUses`. Keys are written in the order of their ids, so that two processes cannot deadlock. A key that
 * was deleted meanwhile is left out, because nobody is to be found by a key that is gone.
 */
export async function recordKeyUses(driver: Driver, batch: readonly KeyUse[]): Promise<void> {
  const overwrite = driver.dialect.overwrite(['key_id'], ['at_ms', 'ip'])
  const into = { into: 'INSERT INTO key_uses (key_id, at_ms, ip)', row: '(?, ?, ?)', end: overwrite }
  const sorted = [...batch].sort((a, b) => a.keyId - b.keyId)
  for (const some of chunks(sorted)) {
    await driver.transaction('recordKeyUses', async tx => {
      const ids = padded(some.map(use => use.keyId))
      const there = new Map(
        (await tx.query(`${SELECT} (${marks(ids.length)})`, ids)).map(row => [
          integer(row, 'key_id'),
          integer(row, 'at_ms'),
        ]),
      )
      const keys = await tx.query(`${LIVING} (${marks(ids.length)})`, ids)
      const living = new Set(keys.map(row => integer(row, 'id')))
      const newer = some.filter(({ keyId, atMs }) => living.has(keyId) && atMs > (there.get(keyId) ?? -1))
      await tx.insert(
        into,
        newer.map(({ keyId, atMs, ip }) => [keyId, atMs, ip]),
      )
    })
  }
}

export async function keyUses(driver: Driver, keyIds: readonly number[]): Promise<Map<number, KeyUse>> {
  const uses = new Map<number, KeyUse>()
  for (const some of chunks(keyIds)) {
    const ids = padded(some)
    for (const row of await driver.query('key', `${SELECT} (${marks(ids.length)})`, ids)) {
      const keyId = integer(row, 'key_id')
      uses.set(keyId, { keyId, atMs: integer(row, 'at_ms'), ip: text(row, 'ip') })
    }
  }
  return uses
}
