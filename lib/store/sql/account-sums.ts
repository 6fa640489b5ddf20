/** The statements of a migration that adds up the hours and days of accounts from those of their keys. */
import type { Dialect } from '../driver.ts'
import { GRAIN, SUM_COLUMNS, SUM_KEY } from '../usage-tables.ts'

const OF_ACCOUNT = "account_id, 0 AS key_id, model, group_name, '' AS channel, protocol, outcome"
const GROUPS = 'hour_no, account_id, model, group_name, protocol, outcome'

export const addAccountSums = ({ ignore }: Dialect): string[] =>
  (
    [
      [GRAIN.accountHour, GRAIN.hour],
      [GRAIN.accountDay, GRAIN.day],
    ] as const
  ).map(
    ([own, ofKeys]) =>
      `INSERT ${ignore} INTO usage_sums (${[...SUM_KEY, ...SUM_COLUMNS].join(', ')}) ` +
      `SELECT ${own}, hour_no, ${OF_ACCOUNT}, ${SUM_COLUMNS.map(name => `SUM(${name})`).join(', ')} ` +
      `FROM usage_sums WHERE grain = ${ofKeys} GROUP BY ${GROUPS}`,
  )
