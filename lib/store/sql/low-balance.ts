/** The balance below which the people of an account want to be warned. */
import { formatMicro, type Micro } from '../../base/money.ts'
import type { Act } from '../../base/people.ts'
import type { Driver, Row, Statements } from '../driver.ts'
import { StoreConflict } from '../types.ts'
import { recordAction } from './actions.ts'
import { moneyOrNull, text } from './text.ts'

const READ = 'SELECT public_id, low_balance FROM accounts WHERE id = ?'
const shown = (amount: Micro | null) => ({ low_balance: amount === null ? null : formatMicro(amount) })

async function rowOf(tx: Pick<Statements, 'query'>, accountId: number): Promise<Row> {
  const [row] = await tx.query(READ, [accountId])
  if (row === undefined) throw new StoreConflict(`no account with id ${accountId}`)
  return row
}

export async function lowBalance(driver: Driver, accountId: number): Promise<Micro | null> {
  const tx: Pick<Statements, 'query'> = { query: (sql, params) => driver.query('lowBalance', sql, params) }
  return moneyOrNull(await rowOf(tx, accountId), 'low_balance')
}

export const setLowBalance = (driver: Driver, accountId: number, amount: Micro | null, act: Act): Promise<void> =>
  driver.transaction('setLowBalance', async tx => {
    await tx.run('UPDATE accounts SET low_balance = low_balance WHERE id = ?', [accountId])
    const row = await rowOf(tx, accountId)
    const before = moneyOrNull(row, 'low_balance')
    if (before === amount) return
    await tx.run('UPDATE accounts SET low_balance = ? WHERE id = ?', [amount, accountId])
    const subject = { kind: 'account', id: text(row, 'public_id') } as const
    await recordAction(tx, driver, act, { subject, accountId, before: shown(before), after: shown(amount) })
  })
