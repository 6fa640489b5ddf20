/**
 * The records that all rooms share: accounts, keys and groups, and with them models, prices and usage rows. They know nothing of
 * SQL or HTTP.
 */
import type { Limit } from './limits.ts'

export { FORMS, PROTOCOLS, type Protocol, TEXT_PROTOCOLS } from '../protocols/table.ts'
export {
  FEES,
  type Fee,
  isByPiece,
  isToolFee,
  noUsage,
  TOKEN_CLASSES,
  type TokenClass,
  type ToolFee,
  type Usage,
} from '../protocols/usage.ts'
export * from './model.ts'
export type * from './price.ts'
export * from './usage-row.ts'

/** A rate limit: at most `requests` in any window of `minutes`; `requests: 0` = unlimited. */
export interface Rate {
  requests: number
  minutes: number
}

export interface Account {
  id: number
  /** Random; the id that is shown to people outside. */
  publicId: string
  name: string
  status: 'active' | 'banned'
  groups: string[]
  /** Overrides the rate limits of the group and of the config; null = they apply. */
  rate: Rate | null
  /** The most that the account may spend; null = no budget. */
  budget: Limit | null
  /** For payments of providers' test environments, and for no others. Set when the account is made, never changed. */
  sandbox: boolean
}

export interface Key {
  id: number
  /** Random; the id that is shown to people outside. */
  publicId: string
  accountId: number
  name: string
  /** SHA-256 of the secret in lower-case hexadecimal. The secret itself is kept nowhere. */
  hash: string
  /** `sk-…abcd`: enough for the owner to tell the key from others. */
  hint: string
  group: string
  status: 'enabled' | 'disabled'
  /** ms since 1970; null = never. */
  expiresAtMs: number | null
  /** The most that the key may spend; null = no cap. */
  cap: Limit | null
  /** Client addresses and CIDRs from which the key may be used; null = any. */
  allowIps: string[] | null
  /** Names of the models that the key may use; null = all of its group. */
  models: string[] | null
  /** The models that were ticked when the restriction was switched off; null = there is no such list. */
  modelsOff: string[] | null
  /** The user who made the key; null = it was not made by a user. */
  createdBy: number | null
}

export interface Group {
  name: string
  /** In millionths: 500_000 halves every price. */
  multiplier: number
  rate: Rate | null
  /** Hedging: how long a first attempt may be silent until a second one begins beside it; 0 = never. */
  hedgeMs: number
  /** Most streams of one account that are read on at once after their client has left, per process. */
  readOns: number
  /** Its models, prices and figures are shown to everybody. */
  public: boolean
}
