/**
 * One call of an API as a row of data. A table of such rows drives everything that must agree about the API: routing,
 * the checks of who may call and of what is sent, the OpenAPI document, and the tests of permissions.
 *
 * A row says what a call is; the rules stand in lib/operations, to which `run` leads.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { z } from 'zod'
import type { Actor, Language, Role, Scope, User } from '../base/people.ts'
import type { Account } from '../terms/records.ts'

/**
 * Who may call. `anyone`: no sign-in is needed. `user`: whoever is signed in. `operator`: operators only, and in the admin
 * API whoever has its token. A list: members with one of these roles of the account in the path.
 */
export type Who = 'anyone' | 'user' | 'operator' | readonly Role[]

/**
 * Which bound on the number of calls a call counts in. `heavy`: reports, exports, and everything that hashes. `write`:
 * other changes, each of which leaves a line in the log of actions for ever.
 */
export type CallLimit = 'light' | 'write' | 'heavy' | 'sign-in'

/** A person as a cookie of a session or a personal token tells it. */
export interface Identity {
  user: User
  sessionId: number | null
  tokenId: number | null
  /** The scope of a personal token; null = a session, which may do all that its user may. */
  scope: Scope | null
  /** The time at which the caller last gave the password or a second factor; ms since 1970, null = never in this session. */
  provenAtMs: number | null
  /** True when this user has a second factor in force. */
  secondFactor: boolean
}

/** Recognises people. */
export interface Identities {
  /** `secret`: the value of the cookie. null = there is no such session, or it has ended. */
  bySession(secret: string, ip: string, agent: string): Promise<Identity | null>
  /** `secret`: a personal token. null = there is no such token, it has ended, or it may not come from this address. */
  byToken(secret: string, ip: string): Promise<Identity | null>
  /** Reads the caller again; null = the session or the token has ended. Reading keeps no session alive. */
  again(identity: Identity, ip: string): Promise<Identity | null>
  /** The account with this public id, and the user's role in it; null = there is none. */
  roleIn(userId: number, accountPublicId: string): Promise<{ account: Account; role: Role | null } | null>
}

export interface Caller {
  /** The person who is signed in; null = nobody is. */
  user: User | null
  /** The caller's role in the account of the path; null where the path has none, and for operators that are no members. */
  role: Role | null
  /** The session's row; null without one, and for callers with a token. */
  sessionId: number | null
  /** The personal token's row; null for callers without one. */
  tokenId: number | null
  /** The time at which the caller last gave the password or a second factor in this session; null = never, or there is no session. */
  provenAtMs: number | null
  ip: string
  /** The `user-agent` header, cut to a bounded length. */
  agent: string
  language: Language
  actor: Actor
}

/** The cookies of a call. Only the calls by which people sign in and out use them. */
export interface Cookies {
  /** null = there is none, or there are several with different values, of which none is to be trusted. */
  get(name: string): string | null
  /** `line`: a whole `set-cookie` line, which the answer carries, also when the call is refused. */
  set(line: string): void
}

/** A call whose caller and whose parts are checked. `account`: that of the path, in which the caller may do this. */
export interface Call<P = unknown, Q = unknown, B = unknown> {
  caller: Caller
  account: Account
  cookies: Cookies
  path: P
  query: Q
  body: B
}

/** The pieces of an answer. `return` ends the making of them, and must be called when not all are wanted. */
export type AnswerPieces = AsyncIterableIterator<string | Uint8Array>

/** A body that is sent piece by piece, each piece when the caller has taken the last one. */
export interface Streamed {
  type: string
  /** The name under which a browser saves it; undefined = the caller is no browser. */
  file?: string
  pieces: AnswerPieces
}

/** The answer of a call with the status 303: the browser goes to this path of the same origin. */
export interface Redirect {
  location: string
}

/** A result that is answered with another status than the usual one of its row, which names it in `answer.also`. */
export class Instead {
  readonly status: number
  readonly body: object

  constructor(status: number, body: object) {
    this.status = status
    this.body = body
  }
}

/** A result that is no JSON: a file that may be opened as a page, which has styles and does nothing. */
export class TextFile {
  readonly text: string
  readonly type: string

  constructor(text: string, type: string) {
    this.text = text
    this.type = type
  }
}

/**
 * A result that answers by itself, over the connection of the call, of whose body nothing is read. `begin` is called once; `status` is
 * what was answered, 0 while that is nothing.
 */
export interface HandOver {
  begin(req: IncomingMessage, res: ServerResponse): { readonly status: number }
}

interface OperationAnswer {
  status: 200 | 201 | 202 | 204 | 303
  body: z.ZodType | null | 'stream' | 'handed over'
  types?: readonly string[]
  also?: readonly (200 | 410)[]
  /** `true`: a stream of server-sent events that goes on as long as its caller listens. Such streams have seats of their own. */
  live?: true
}

/** An operation as it is written down: what is the same in most is absent. */
interface OperationRow<D = never, P = unknown, Q = unknown, B = unknown> {
  /** Name of the operation in the OpenAPI document, the log of actions and tests, such as `keys.create`. */
  id: string
  /**
   * Method and path below the API's `/api`, or below its root with `at: 'root'`. `{account}` stands for the public id of an
   * account.
   */
  call: `${'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'} /${string}`
  at?: 'root'
  /** A browser may open the answer as a page, also from a link on another site. Downloads may be opened anyway. */
  page?: true
  /**
   * The answer is the same for everybody, and anybody may keep it for so many seconds; 0: it is the same for many, who may keep it and
   * ask each time whether it is new. The row returns the same object as long as nothing changes, so that its text is made once.
   */
  cacheS?: number
  /** One sentence for the reference. */
  summary: string
  who: Who
  /** `read` changes nothing. `danger` changes what cannot be taken back, or who can get in. Absent: `read` of a GET, else `write`. */
  effect?: 'read' | 'write' | 'danger'
  /** The scope of personal tokens that may make this call; null, absent = personal tokens may not make it. */
  scope?: Scope | null
  /** The caller must have given the password or a second factor within the last minutes. */
  stepUp?: true
  /** For reads of an account: false = operators that are no members of the account may not make it in their place. */
  viewAs?: false
  /**
   * Shuts out somebody else who has got in, or is asked on the way to that: it waits only for such calls of its own session, and is
   * not refused for the number of changes in a day.
   */
  protects?: true
  limit?: CallLimit
  path?: z.ZodType<P>
  query?: z.ZodType<Q>
  body?: z.ZodType<B>
  /** How many changes a call makes: it counts as so many calls of its user. Absent: one. */
  counts?: (body: B) => number
  /** Most MiB of a body in the admin API, where that is not 1. */
  mostBodyMib?: number
  /**
   * `itself`: the operation is given query and body as they were sent and checks them, once it has found what the path
   * names; the forms only describe them.
   */
  reads?: 'itself'
  /**
   * Status and form of the answer; null = no body; absent: 204 and no body; `handed over` = whatever a `HandOver` answers. A call with 303
   * returns a `Redirect`. `types`: the content types that a stream may have, or that a file may have beside the JSON. `also`: statuses of an
   * `Instead`.
   */
  answer?: OperationAnswer
  /** Statuses with which the call may refuse beside those that every call may. */
  refuses?: readonly (400 | 403 | 404 | 409 | 410 | 422 | 429)[]
  /** What it returns is not sent where the answer has no body. */
  run(deps: D, call: Call<P, Q, B>): Promise<object | Streamed | Redirect | HandOver | null> | Promise<void>
}

export interface Operation<D = never> extends OperationRow<D> {
  effect: 'read' | 'write' | 'danger'
  scope: Scope | null
  answer: OperationAnswer
}

/** The answer of a call that may be repeated: 201 for what this call made, 200 for what an earlier one made. */
export const madeOnce = (body: z.ZodType): OperationAnswer => ({ status: 201, body, also: [200] })
export const once = (done: { created: boolean; row: object }): object =>
  done.created ? done.row : new Instead(200, done.row)

const NO_CONTENT: OperationAnswer = { status: 204, body: null }

/** Writes a row with the types of what it is given, and forgets them, so that rows of all kinds stand in one table. */
export const operation = <D, P, Q, B>(row: OperationRow<D, P, Q, B>): Operation<D> => ({
  effect: row.call.startsWith('GET ') ? 'read' : 'write',
  scope: null,
  answer: NO_CONTENT,
  ...(row as unknown as OperationRow<D>),
})

/** The path of a row below the root of its API. */
export const pathOf = ({ call, at }: Pick<Operation, 'call' | 'at'>): string =>
  `${at === 'root' ? '' : '/api'}${call.slice(call.indexOf(' ') + 1)}`

export const methodOf = ({ call }: Pick<Operation, 'call'>): string => call.slice(0, call.indexOf(' '))
