/** The statements of migrations that make coarser sums of those there are. */
import type { Dialect } from '../driver.ts'
import { GRAIN, SUM_COLUMNS, SUM_KEY } from '../usage-tables.ts'

const OF_ACCOUNT = "account_id, 0 AS key_id, model, group_name, '' AS channel, protocol, outcome"
const GROUPS = 'hour_no, account_id, model, group_name, protocol, outcome'

/** The hours and days of accounts, without their keys. */
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

const KEY_DAY = "account_id, key_id, '' AS model, '' AS group_name, '' AS channel, '' AS protocol, outcome"

/** The days of keys, whatever they were used for. */
export const addKeyDays = ({ ignore }: Dialect): string =>
  `INSERT ${ignore} INTO usage_sums (${[...SUM_KEY, ...SUM_COLUMNS].join(', ')}) ` +
  `SELECT ${GRAIN.keyDay}, hour_no, ${KEY_DAY}, ${SUM_COLUMNS.map(name => `SUM(${name})`).join(', ')} ` +
  `FROM usage_sums WHERE grain = ${GRAIN.day} GROUP BY hour_no, account_id, key_id, outcome`
