/** The log as the ledger uses it: structured data and a sentence for the operator. */
export interface LedgerLog {
  info(data: object, message: string): void
  warn(data: object, message: string): void
  error(data: object, message: string): void
}
