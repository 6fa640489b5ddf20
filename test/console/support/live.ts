/** People in the store of a gateway that runs as a process, signed in without the pages: for tests of the whole. */
import { UserSessions } from '../../../lib/operations/people/sign-in.ts'
import { openStore } from '../../../lib/store/store.ts'
import { hashOf, newPersonalToken } from '../../../lib/base/secrets.ts'
import type { Person, Role } from '../../../lib/base/people.ts'
import { ADMIN_TOKEN, type TestGateway } from '../../support/gateway.ts'
import { CLI, peopleDeps, stranger } from '../../support/people.ts'

export interface Live {
  person: Person
  /** The `cookie` header of a session. */
  cookie: string
  /** The `authorization` header of a personal token. */
  authorization: string
  /** The public id of the account. */
  account: string
}

/** A person with a role in an account of the gateway. The store must be SQLite in the gateway's folder. */
export async function liveIn(
  t: { teardown(fn: () => unknown): void },
  { folder }: Pick<TestGateway, 'folder'>,
  name: string,
  role: Role,
  operator = false,
): Promise<Live> {
  const store = openStore(`sqlite:${folder}/gateway.db`, { secret: ADMIN_TOKEN })
  const deps = { ...(await peopleDeps(t, '', store)), clock: { now: () => Date.now() } as never }
  const account = await store.accounts.byName(name)
  if (account === null) throw new Error(`there is no account ${name}`)
  const atMs = Date.now()
  const email = `${role}-${atMs}@example.com`
  const person = await store.people.users.create(
    { email, name: role, password: null, operator, language: null, atMs },
    CLI,
  )
  await store.people.members.add({ userId: person.id, accountId: account.id, role }, atMs, CLI)
  const { session } = await new UserSessions(deps).open(stranger(), person, null, 'sign_in.password')
  const secret = newPersonalToken()
  await store.people.tokens.create(
    {
      userId: person.id,
      name: 'test',
      hash: hashOf(secret),
      hint: 'gwp_…',
      scope: 'keys',
      allowIps: null,
      createdAtMs: atMs,
      expiresAtMs: atMs + 86_400_000,
    },
    CLI,
  )
  return { person, cookie: `session=${session}`, authorization: `Bearer ${secret}`, account: account.publicId }
}
