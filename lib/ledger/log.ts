/** What the ledger tells people. */
export interface LedgerLog {
  info(data: object, message: string): void
  warn(data: object, message: string): void
  error(data: object, message: string): void
}
