/** People in the store, by what is kept of them. Times are given by the caller, in ms since 1970. Whoever changes something on behalf of
 * somebody gives the act, which is written into the log of actions in the same transaction. Secrets come in as hashes (SHA-256), except
 * those of second factors and challenges, which the store seals. */
import type { Driver } from '../base/driver.ts'
import type { Sealer } from '../catalogue/sealer.ts'
import { CredentialRows } from './credentials.ts'
import { Links } from './links.ts'
import { Members } from './members.ts'
import { PasskeyRows } from './passkeys.ts'
import { Sessions } from './sessions.ts'
import { Throttles } from './throttles.ts'
import { IdentityRows, Tokens } from './tokens.ts'
import { Users } from './users.ts'

export class People {
  readonly users: Users
  readonly credentials: CredentialRows
  readonly passkeys: PasskeyRows
  readonly members: Members
  readonly links: Links
  readonly sessions: Sessions
  readonly tokens: Tokens
  readonly identities: IdentityRows
  readonly throttles: Throttles

  constructor(driver: Driver, sealer: Sealer) {
    this.users = new Users(driver)
    this.credentials = new CredentialRows(driver, sealer)
    this.passkeys = new PasskeyRows(driver, sealer)
    this.members = new Members(driver)
    this.links = new Links(driver)
    this.sessions = new Sessions(driver)
    this.tokens = new Tokens(driver)
    this.identities = new IdentityRows(driver)
    this.throttles = new Throttles(driver)
  }

  /** Deletes some rows that nobody needs any more, and returns how many: the caller repeats the call until it is 0. */
  prune(atMs: number, limit: number): Promise<number> {
    return this.throttles.prune(atMs, limit)
  }

  /**
   * Forgets from which addresses things were done and keys were used before `beforeMs`, in about `limit` rows, and
   * returns how many: the caller repeats the call until it is 0.
   */
  forgetAddresses(beforeMs: number, limit: number): Promise<number> {
    return this.throttles.forgetAddresses(beforeMs, limit)
  }
}
