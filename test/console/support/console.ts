/**
 * A console on a real HTTP server: its operations, sessions and checks over a store in memory (or one that the test
 * gives), with a clock that the test sets. `call` makes a call by the id of its operation, as a browser does, and checks
 * every answer: it has the headers of the API; a success has the status and the form that the row promises; a refusal
 * has a status that the OpenAPI document lists for the call, and the envelope of errors.
 *
 *     const house = await openConsole(t)
 *     const account = await house.account('acme')
 *     const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
 *     const { json } = await ann.call('keys.create', { account, body: { name: 'laptop' } })
 */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Test } from 'tap'
import { errorBody, refusals } from '../../../lib/api/openapi.ts'
import { type Operation, methodOf, pathOf } from '../../../lib/api/operation.ts'
import { idMaker } from '../../../lib/base/ids.ts'
import { type Micro, ZERO } from '../../../lib/base/money.ts'
import type { ConsoleDeps } from '../../../lib/console/api/shared.ts'
import { OPERATIONS } from '../../../lib/console/api/rows.ts'
import { Console } from '../../../lib/console/console.ts'
import { UserSessions } from '../../../lib/operations/people/sign-in.ts'
import { lazyDesk } from '../../../lib/process/payments.ts'
import type { Store } from '../../../lib/store/store.ts'
import { hashOf, newPersonalToken } from '../../../lib/base/secrets.ts'
import { PayTallies } from '../../../lib/terms/tallies.ts'
import type { Person, Role, Scope } from '../../../lib/base/people.ts'
import type { Account } from '../../../lib/terms/records.ts'
import { World } from '../../../lib/world/world.ts'
import { request } from '../../api/support/api.ts'
import { CLI, type PeopleParts, peopleDeps, stranger } from '../../support/people.ts'
import { ADMIN, SETUP } from '../../support/store.ts'
import { askOver, dryRunOver } from './dry-run.ts'

export type Json = Record<string, unknown>

export interface Answer {
  status: number
  headers: http.IncomingHttpHeaders
  text: string
  json: Json
  /** The code of a refusal; null for a success. */
  code: string | null
}

export interface Sent {
  /** The account of the path. */
  account?: Pick<Account, 'publicId'>
  /** Other names of the path. */
  path?: Record<string, string>
  query?: Record<string, string>
  body?: unknown
  headers?: http.OutgoingHttpHeaders
}

/** Somebody who makes calls. Cookies that are set are kept, as a browser keeps them. */
export interface Client {
  cookies: Map<string, string>
  call(id: string, sent?: Sent): Promise<Answer>
}

export interface PersonClient extends Client {
  person: Person
  /** A personal token of this person, which makes calls without cookies. */
  token(scope: Scope): Promise<Client>
}

export interface PersonOptions {
  operator?: boolean
  /** A second factor that is in force. */
  factor?: boolean
  in?: { account: Account; role: Role }
}

export interface House {
  deps: PeopleParts & Pick<ConsoleDeps, 'pay'>
  /** Whether the process is ending. */
  life: { draining: boolean }
  store: Store
  clock: PeopleParts['clock']
  /** Where it listens; `/console` stands below it. */
  url: string
  counted: string[]
  /** Somebody who is not signed in, in a browser of its own. */
  anybody(): Client
  /** A new user with a session. */
  person(email: string, options?: PersonOptions): Promise<PersonClient>
  account(name: string, balance?: Micro): Promise<Account>
}

/** `settings`: a config file. `port`: where it listens; 0 = on any that is free. */
export async function openConsole(t: Pick<Test, 'teardown'>, settings = '', store?: Store, port = 0): Promise<House> {
  const { deps, life, world } = await openDeps(t, settings, store)
  const counted: string[] = []
  const console = new Console({
    deps,
    world,
    ids: idMaker(deps.clock.now.bind(deps.clock)),
    ipOf: req => (req.headers['x-test-ip'] as string | undefined) ?? '192.0.2.1',
    count: (operation, status) => counted.push(`${operation} ${status}`),
  })
  const server = http.createServer((req, res) => {
    if (!console.serve(req, res)) res.writeHead(404).end()
  })
  await new Promise<void>(resolve => server.listen(port, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port: at } = server.address() as AddressInfo
  const anybody = () => clientOf(at, new Map(), {})
  return {
    deps,
    life,
    store: deps.store,
    clock: deps.clock,
    url: `http://127.0.0.1:${at}`,
    counted,
    anybody,
    person: async (email, options = {}) => {
      const person = await newPerson(deps, email, options)
      const opened = await new UserSessions(deps).open(stranger(), person, null, 'sign_in.password')
      const client = clientOf(at, new Map([['session', opened.session]]), {})
      return { ...client, person, token: scope => tokenOf(deps, at, person, scope) }
    },
    account: (name, balance = ZERO) =>
      deps.store.accounts.create(
        { name, groups: ['default'], opening: { amount: balance, actor: ADMIN.name }, budget: null },
        SETUP,
      ),
  }
}

/** What is compiled from the catalogue follows every change, as in a process that serves. */
async function openDeps(t: Pick<Test, 'teardown'>, settings: string, given?: Store) {
  const people = await peopleDeps(t, settings, given)
  const { store, config, fleet } = people
  const compile = async () => new World(config(), await store.catalogue.read())
  let world = await compile()
  fleet.changed = async () => {
    world = await compile()
  }
  const life = { draining: false }
  const pay = lazyDesk({ ...people, counts: new PayTallies() })
  return {
    deps: { ...people, dryRun: dryRunOver(people), ask: askOver(people), isDraining: () => life.draining, pay },
    life,
    world: () => world,
  }
}

async function newPerson(deps: PeopleParts, email: string, options: PersonOptions): Promise<Person> {
  const { store, clock } = deps
  const atMs = clock.now()
  const { operator = false, factor = false, in: place } = options
  const user = { email, name: email, password: null, operator, language: null, atMs }
  const person = await store.people.users.create(user, CLI)
  if (place !== undefined)
    await store.people.members.add({ userId: person.id, accountId: place.account.id, role: place.role }, atMs, CLI)
  if (!factor) return person
  await store.people.credentials.startTotp(person.id, 'JBSWY3DPEHPK3PXP')
  await store.people.credentials.set(person.id, { totp: { confirmedStep: 1 } }, CLI)
  return (await store.people.users.byId(person.id)) as Person
}

async function tokenOf(deps: PeopleParts, port: number, person: Person, scope: Scope): Promise<Client> {
  const secret = newPersonalToken()
  const atMs = deps.clock.now()
  const token = { userId: person.id, name: scope, hash: hashOf(secret), hint: 'gwp_…', scope, allowIps: null }
  await deps.store.people.tokens.create({ ...token, createdAtMs: atMs, expiresAtMs: atMs + 90 * 86_400_000 }, CLI)
  return clientOf(port, null, { authorization: `Bearer ${secret}` })
}

export const rowOf = (id: string): Operation<ConsoleDeps> => {
  const row = OPERATIONS.find(one => one.id === id)
  if (row === undefined) throw new Error(`there is no call ${id}`)
  return row
}

/** `cookies`: null = a program, which keeps none. */
function clientOf(port: number, cookies: Map<string, string> | null, headers: http.OutgoingHttpHeaders): Client {
  return {
    cookies: cookies ?? new Map(),
    async call(id, sent = {}) {
      const row = rowOf(id)
      const reply = await request(
        port,
        methodOf(row),
        addressOf(row, sent),
        {
          ...(cookies === null ? {} : browserHeaders(cookies)),
          ...(sent.body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
          ...sent.headers,
        },
        sent.body === undefined ? undefined : JSON.stringify(sent.body),
      )
      for (const line of reply.headers['set-cookie'] ?? []) keep(cookies, line)
      checkAnswer(row, reply.status, reply.headers, reply.text)
      return { ...reply, code: reply.error?.code ?? null }
    },
  }
}

function browserHeaders(cookies: Map<string, string>): http.OutgoingHttpHeaders {
  const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
  return { 'sec-fetch-site': 'same-origin', 'accept-language': 'en', ...(cookie === '' ? {} : { cookie }) }
}

function keep(cookies: Map<string, string> | null, line: string): void {
  const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
  if (/max-age=0\b/i.test(line)) cookies?.delete(name)
  else cookies?.set(name, value)
}

function addressOf(row: Operation<ConsoleDeps>, { account, path, query }: Sent): string {
  const names: Record<string, string | undefined> = { account: account?.publicId, ...path }
  const filled = pathOf(row).replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    const value = names[name]
    if (value === undefined) throw new Error(`${row.id}: the path needs ${name}`)
    return encodeURIComponent(value)
  })
  const search = new URLSearchParams(query).toString()
  return `/console${filled}${search === '' ? '' : `?${search}`}`
}

/** In English with a capital letter, in both languages with an end. */
const SENTENCE = /^(\P{Ll}.*)[.!?。！？…] \(request id: \w+\)$/su

/** Throws when the answer is none that the row and the document promise. */
export function checkAnswer(
  row: Operation<ConsoleDeps>,
  status: number,
  headers: http.IncomingHttpHeaders,
  text: string,
): void {
  const { id, answer, cacheS } = row
  const cached = cacheS !== undefined && status < 400 ? /^(public, max-age=\d+|private, no-cache)$/ : /^no-store$/
  const wrong = (what: string) => new Error(`${id}: ${what}: ${status} ${text.slice(0, 1_000)}`)
  if (!cached.test(headers['cache-control'] ?? '') || headers['x-content-type-options'] !== 'nosniff')
    throw wrong('the headers are not those of the API')
  if (headers['x-request-id'] === undefined) throw wrong('the answer has no id')
  if (status !== answer.status && !answer.also?.some(also => also === status)) {
    if (!refusals(row).includes(status)) throw wrong('the document does not list this status')
    const { error } = errorBody.parse(JSON.parse(text))
    if (!SENTENCE.test(error.message)) throw wrong('what people are told is no sentence')
    if (status === 500) throw wrong('the operation failed')
  } else if (answer.body === null) {
    if (text !== '') throw wrong('an answer without body has one')
  } else if (answer.body === 'handed over') {
    if (status >= 400) JSON.parse(text)
  } else if (answer.body === 'stream') {
    if (!(answer.types ?? []).includes(headers['content-type'] as string)) throw wrong('another content type')
  } else {
    const result = answer.body.safeParse(JSON.parse(text))
    if (!result.success) throw wrong(`not the form that was promised: ${result.error.message}`)
  }
}
