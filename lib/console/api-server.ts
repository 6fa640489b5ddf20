/** The console's API: its operations, put together with what recognises callers. */
import { Api } from '../api/api.ts'
import { Mailer } from '../operations/people/mail.ts'
import { Passwords } from '../operations/people/passwords.ts'
import type { PublicCatalogue } from '../operations/catalogue/public-catalogue.ts'
import type { ConsoleDeps } from './api/deps.ts'
import { OPERATIONS } from './api/rows.ts'
import type { ConsoleParts } from './parts.ts'
import { StoredIdentities } from './sign-in/identify.ts'

const ROOT = '/console'

export function createApi(
  { deps: given, ids, ipOf, count }: ConsoleParts,
  catalogue: PublicCatalogue,
): Api<ConsoleDeps> {
  const { store, clock, log, config } = given
  const mail = new Mailer({ clock, log, smtp: () => config().smtp })
  const deps = { ...given, passwords: new Passwords(), mail, catalogue }
  const identities = new StoredIdentities(store, clock)
  const site = () => config().public
  return new Api({ root: ROOT, operations: OPERATIONS, deps, identities, clock, log, ids, site, ipOf, count })
}
