/**
 * Secrets that a key had before it got another one, and that still work for a while. Whoever changes or deletes a key
 * tells all processes of these secrets too, because each process has the key in memory under every secret that it was used
 * with.
 */
import type { Act } from '../../base/people.ts'
import type { Key } from '../../terms/records.ts'
import { type HashedSecret, MOST_OLD_SECRETS } from '../account-store.ts'
import type { Driver, Statements } from '../driver.ts'
import { StoreConflict, StoreFull } from '../types.ts'
import { recordAction } from './actions.ts'
import { recordChange } from './changes.ts'
import { aboutKey, keyIn, lockedKey, noKey } from './key-rows.ts'
import { integer, text } from './text.ts'

const FORGET = 'DELETE FROM key_secrets WHERE key_id = ?'

/** The hashes of the earlier secrets of a key, also of those that have ended and are not forgotten yet. */
async function oldHashes(tx: Statements, keyId: number): Promise<string[]> {
  const rows = await tx.query('SELECT hash FROM key_secrets WHERE key_id = ? ORDER BY hash', [keyId])
  return rows.map(row => text(row, 'hash'))
}

/** Tells all processes that a key has changed. `hash`: its present secret, or one that it had until now. */
export async function recordKeyChange(tx: Statements, keyId: number, hashes: readonly string[]): Promise<void> {
  for (const hash of new Set([...hashes, ...(await oldHashes(tx, keyId))])) await recordChange(tx, 'key', hash)
}

/** The same when the key is deleted: then its earlier secrets end too. */
export async function recordKeyEnd(tx: Statements, { id, hash }: Key): Promise<void> {
  const hashes = [hash, ...(await oldHashes(tx, id))]
  await tx.run(FORGET, [id])
  for (const one of hashes) await recordChange(tx, 'key', one)
}

/**
 * Makes sure that a secret which a key is to have does not still work for another key. `keyId`: null = the key is new.
 */
export async function claimSecret(
  tx: Statements,
  { dialect }: Driver,
  hash: string,
  keyId: number | null,
): Promise<void> {
  const sql = `SELECT key_id, CASE WHEN until_ms > ${dialect.nowMs} THEN 1 ELSE 0 END AS works FROM key_secrets WHERE hash = ?`
  const [row] = await tx.query(sql, [hash])
  if (row === undefined) return
  if (integer(row, 'works') === 1 && integer(row, 'key_id') !== keyId) throw new StoreConflict('the secret is in use')
  await tx.run('DELETE FROM key_secrets WHERE hash = ?', [hash])
}

/** See `Store.rollKey`. */
export function rollKey(driver: Driver, id: number, secret: HashedSecret, graceMs: number, act: Act) {
  return driver.transaction('rollKey', async tx => {
    const before = await lockedKey(tx, id)
    if (before === null) throw noKey(id)
    const old = await oldHashes(tx, id)
    const endsAtMs = await endOldSecrets(tx, driver, before, graceMs)
    await tx.run('UPDATE api_keys SET hash = ?, hint = ? WHERE id = ?', [secret.hash, secret.hint, id])
    await recordAction(tx, driver, act, {
      ...aboutKey(before),
      before: { hint: before.hint },
      after: {
        hint: secret.hint,
        secret: 'changed',
        old_secret_ends_at: endsAtMs === null ? null : new Date(endsAtMs).toISOString(),
      },
    })
    for (const hash of [secret.hash, before.hash, ...old]) await recordChange(tx, 'key', hash)
    return { key: (await keyIn(tx, id)) as Key, oldSecretEndsAtMs: endsAtMs }
  })
}

/** Returns when the secret that the key has until now stops working; null = at once, like all before it. */
async function endOldSecrets(
  tx: Statements,
  { dialect }: Driver,
  { id, hash }: Key,
  graceMs: number,
): Promise<number | null> {
  if (graceMs === 0) {
    await tx.run(FORGET, [id])
    return null
  }
  await tx.run(`${FORGET} AND until_ms <= ${dialect.nowMs}`, [id])
  const [row] = await tx.query(`SELECT COUNT(*) AS works, ${dialect.nowMs} AS now FROM key_secrets WHERE key_id = ?`, [
    id,
  ])
  if (integer(row!, 'works') >= MOST_OLD_SECRETS)
    throw new StoreFull({
      zh: `该密钥仍有 ${MOST_OLD_SECRETS} 个旧密钥有效：请等待其中一个失效，或将宽限期设为 0 使其全部失效`,
      en: `${MOST_OLD_SECRETS} earlier secrets of the key still work: wait until one ends, or end all with grace 0`,
    })
  const untilMs = integer(row!, 'now') + graceMs
  await tx.run('INSERT INTO key_secrets (hash, key_id, until_ms) VALUES (?, ?, ?)', [hash, id, untilMs])
  return untilMs
}
