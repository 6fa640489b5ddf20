/** Users for tests, and what operations on people are given: a store in memory, a clock that the test sets. */
import { Writable } from 'node:stream'
import type { By, PeopleDeps } from '../../lib/operations/people/deps.ts'
import { Mailer } from '../../lib/operations/people/mail.ts'
import { Passwords } from '../../lib/operations/people/passwords.ts'
import type { Store } from '../../lib/store/store.ts'
import type { NewUser } from '../../lib/store/people/records.ts'
import { type Config, parseConfig } from '../../lib/config/config.ts'
import { createLogger } from '../../lib/base/log.ts'
import type { Act, Person } from '../../lib/base/people.ts'
import { TestClock } from './clock.ts'
import { memoryStore } from './store.ts'

export const CLI: Act = { actor: { kind: 'cli', userId: null, name: 'cli', ip: null }, operation: 'test' }

export interface PeopleParts extends PeopleDeps {
  clock: TestClock
  logged: string[]
}

/** `settings`: a config file. */
export async function peopleDeps(
  t: { teardown(fn: () => unknown): void },
  settings = '',
  store?: Store,
): Promise<PeopleParts> {
  const logged: string[] = []
  const out = new Writable({
    write(chunk, _, done) {
      logged.push(String(chunk))
      done()
    },
  })
  const config: Config = parseConfig(`${settings}\n`, 'test.yaml', {})
  const clock = new TestClock()
  const log = createLogger('info', out)
  const made = store ?? (await memoryStore())
  t.teardown(() => made.close())
  return {
    store: made,
    clock,
    log,
    logged,
    config: () => config,
    passwords: new Passwords(),
    mail: new Mailer({ clock, log, smtp: () => config.smtp }),
    setAside: () => ({ settlements: 0, unreadable: 0 }),
    fleet: {
      held: async () => new Map(),
      holders: async () => [],
      channelStates: async () => new Map(),
      changed: async () => {},
      settled: async () => {},
    },
  }
}

/** Somebody at this address who is not signed in. */
export const stranger = (ip = '192.0.2.1'): By => ({
  user: null,
  sessionId: null,
  ip,
  agent: 'a browser',
  language: 'en',
  actor: { kind: 'user', userId: null, name: '', ip },
})

/** A person in a session. */
export const signedInAs = (person: Person, sessionId: number | null = null, ip = '192.0.2.1'): By => ({
  ...stranger(ip),
  user: person,
  sessionId,
  actor: { kind: 'user', userId: person.id, name: person.email, ip },
})

export const PASSWORD = 'a long and winding password'

/** Made once for each password, because a hash is slow on purpose, and tests make people by the dozen. */
const hashes = new Map<string, Promise<string>>()

function hashOf(passwords: PeopleDeps['passwords'], plain: string): Promise<string> {
  const hash = hashes.get(plain) ?? passwords.hash(plain, { network: 'test', known: true })
  hashes.set(plain, hash)
  return hash
}

export async function newPerson(
  { store, passwords, clock }: PeopleDeps,
  email: string,
  change: Partial<NewUser> & { plain?: string } = {},
): Promise<Person> {
  const { plain = PASSWORD, ...rest } = change
  const password = rest.password === null ? null : await hashOf(passwords, plain)
  const user = { email, name: email, password, operator: false, language: null, atMs: clock.now(), ...rest }
  return store.people.users.create(user, CLI)
}
