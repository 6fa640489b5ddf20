/** What exports read, on connections that belong to their thread. */
import type { OnStatement, ReadingDriver } from './driver.ts'
import type { ExportReads } from './export-store.ts'
import { openMysqlToRead } from './mysql.ts'
import { accountById } from './sql/accounts.ts'
import { keyLabels } from './sql/key-labels.ts'
import { requestPage } from './sql/request-page.ts'
import { usageSlices } from './sql/usage.ts'
import { openSqliteHere } from './sqlite-here.ts'

const readsOf = (driver: ReadingDriver): ExportReads => ({
  account: id => accountById(driver, id),
  keyLabels: (accountId, ids) => keyLabels(driver, accountId, ids),
  requestPage: (filter, paging) => requestPage(driver, filter, paging),
  usageSlices: filter => usageSlices(driver, filter),
})

/** `address`: that of the store's own driver. */
export const openReads = (address: string, onStatement: OnStatement): ExportReads =>
  readsOf(address.startsWith('sqlite:') ? openSqliteHere(address, onStatement) : openMysqlToRead(address, onStatement))
