/** Events of payment providers that have been dealt with, so that one which is delivered again does nothing. */
import type { OrderMethod } from '../../terms/pay.ts'
import type { Driver } from '../base/driver.ts'
import { text } from '../base/text.ts'

export async function seenEvent(driver: Driver, method: OrderMethod, eventId: string): Promise<boolean> {
  const sql = 'SELECT 1 FROM pay_inbox WHERE method = ? AND event_id = ?'
  return (await driver.query('seenEvent', sql, [method, eventId])).length > 0
}

export async function rememberEvent(driver: Driver, method: OrderMethod, eventId: string): Promise<void> {
  const { ignore, nowMs } = driver.dialect
  const sql = `INSERT ${ignore} INTO pay_inbox (method, event_id, at_ms) VALUES (?, ?, ${nowMs})`
  await driver.run('rememberEvent', sql, [method, eventId])
}

export async function forgetEvents(driver: Driver, beforeMs: number, limit: number): Promise<number> {
  return driver.transaction('forgetEvents', async tx => {
    const rows = await tx.query('SELECT method, event_id FROM pay_inbox WHERE at_ms < ? ORDER BY at_ms LIMIT ?', [
      beforeMs,
      limit,
    ])
    for (const row of rows)
      await tx.run('DELETE FROM pay_inbox WHERE method = ? AND event_id = ?', [
        text(row, 'method'),
        text(row, 'event_id'),
      ])
    return rows.length
  })
}
