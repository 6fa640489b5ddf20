/**
 * The log of actions: an append-only list of every change that anybody makes. A transaction that changes something on behalf of
 * somebody calls `recordAction` before it commits, so that there is no change without its line and no line without its change.
 * Nothing in this program changes or deletes a line, but for the addresses of people, which are forgotten after a time. A user
 * stands there by id, and the name is looked up when a line is read: who is deleted leaves none behind.
 */
import { mapValues } from '../../base/objects.ts'
import type { Table } from './tables.ts'
import type { Act, Actor } from '../../base/people.ts'
import { isDeepStrictEqual } from 'node:util'
import type { Driver, Row, Transaction } from './driver.ts'
import { binds, integer, integerOrNull, jsonOrNull, text, textOrNull, toJson, whereGiven } from './text.ts'
import { SignedOut } from './errors.ts'

export const ACTION_TABLE: Table = {
  name: 'actions',
  columns: {
    seq: 'auto',
    at_ms: 'int',
    actor_kind: 'code',
    user_id: 'int?',
    actor_name: 'name',
    ip: 'code?',
    operation: 'code',
    account_id: 'int?',
    subject_kind: 'code',
    subject_id: 'name',
    before_doc: 'doc?',
    after_doc: 'doc?',
  },
  key: ['seq'],
  index: [
    ['account_id', 'seq'],
    ['user_id', 'seq'],
    ['subject_kind', 'subject_id', 'seq'],
  ],
}

/** What a change was made to. */
export const SUBJECT_KINDS = [
  'account',
  'key',
  'group',
  'model',
  'channel',
  'user',
  'member',
  'invitation',
  'session',
  'token',
  'entry',
  'order',
  'deposit',
  'dispute',
  'setting',
] as const

type SubjectKind = (typeof SUBJECT_KINDS)[number]

/** What a transaction says of a change. `before` and `after` never contain a secret; null = the row did not exist. */
interface Changed {
  subject: { kind: SubjectKind; id: string }
  /** The account that the change concerns; null = none. */
  accountId: number | null
  before: Record<string, unknown> | null
  after: Record<string, unknown> | null
}

export interface LoggedAction extends Changed {
  seq: number
  /** By the store's clock; ms since 1970. */
  atMs: number
  actor: Actor
  operation: string
}

/** A page, newest first. */
export interface ActionFilter {
  accountId?: number
  userId?: number
  operation?: string
  subject?: { kind: SubjectKind; id: string }
  /** Only actions with a smaller number. */
  beforeSeq?: number
  limit: number
}

/** `secrets` are compared, and never written. */
export interface Logged {
  shown: Record<string, unknown>
  secrets?: Record<string, string>
}

const COLUMNS =
  'l.seq, l.at_ms, l.actor_kind, l.user_id, COALESCE(u.email, l.actor_name) AS actor_name, l.ip, l.operation, ' +
  'l.account_id, l.subject_kind, l.subject_id, l.before_doc, l.after_doc'

/**
 * Part of every change that could be a way back in when a session or a token has ended, which are those of keys, tokens, links,
 * memberships, credentials and users: it throws SignedOut where that has ended since the call was admitted. The row is locked, so that
 * what ends it waits, and then finds what this transaction has made.
 */
export async function checkActor(tx: Transaction, { actor: { by } }: Act): Promise<void> {
  const { sessionId = null, tokenId = null } = by ?? {}
  const lock = async (id: number | null, sql: string) => id === null || (await tx.run(sql, [id])).changes > 0
  const isThere =
    (await lock(sessionId, 'UPDATE sessions SET user_id = user_id WHERE id = ?')) &&
    (await lock(tokenId, 'UPDATE personal_tokens SET user_id = user_id WHERE id = ?'))
  if (!isThere) throw new SignedOut()
}

/** The most characters of a list that a line of what a person did keeps: lines stay for ever, and people may send a long list every second. */
const MOST_OF_A_LIST = 1_000

/** Lists that stand there whole, as what people send of them is short, and they say from where a key that was stolen could be used. */
const WHOLE_LISTS: ReadonlySet<string> = new Set(['allow_ips'])

/** A long list as the entries that the list before or after it does not have, as many as there is room for, and how many are left out. */
function shortened(doc: Changed['after'], other: Changed['after']): Changed['after'] {
  const kept = (value: unknown, name: string) => (WHOLE_LISTS.has(name) ? value : shortList(value, other?.[name]))
  return doc && mapValues(doc, kept)
}

function shortList(value: unknown, other: unknown): unknown {
  if (!Array.isArray(value) || JSON.stringify(value).length <= MOST_OF_A_LIST) return value
  const there = new Set(Array.isArray(other) ? other : [])
  let room = MOST_OF_A_LIST
  const kept = value.filter(entry => !there.has(entry) && (room -= JSON.stringify(entry).length) >= 0)
  const left = value.length - kept.length
  return left === 0 ? kept : [...kept, `… ${left}`]
}

export const recordAction = (tx: Transaction, driver: Driver, act: Act, changed: Changed): Promise<void> =>
  recordActions(tx, driver, act, [changed])

/** The lines of one act that changes much. */
export async function recordActions(
  tx: Transaction,
  { dialect }: Driver,
  { actor, operation }: Act,
  all: readonly Changed[],
): Promise<void> {
  const who = [actor.kind, actor.userId, actor.kind === 'user' ? '' : actor.name, actor.ip, operation]
  const rows = all.map(({ subject, accountId, before, after }) => {
    const kept =
      accountId === null || actor.kind !== 'user'
        ? [before, after]
        : [shortened(before, after), shortened(after, before)]
    return [...who, accountId, subject.kind, subject.id, ...kept.map(toJson)]
  })
  const into =
    'INSERT INTO actions (at_ms, actor_kind, user_id, actor_name, ip, operation, account_id, subject_kind, subject_id, ' +
    'before_doc, after_doc)'
  await tx.insert({ into, row: `(${dialect.nowMs}, ${binds(10)})` }, rows)
}

/** What stands in the place of a secret that is another one than before. */
const CHANGED = 'changed'

/**
 * Writes the line of a row that was made (`before` null), deleted (`after` null) or changed. A change is written as the
 * fields that differ; when none does, nothing happened and no line is written.
 */
export async function recordEdit(
  tx: Transaction,
  driver: Driver,
  act: Act,
  about: Pick<Changed, 'subject' | 'accountId'>,
  before: Logged | null,
  after: Logged | null,
): Promise<void> {
  if (before === null || after === null)
    return recordAction(tx, driver, act, { ...about, before: before?.shown ?? null, after: after?.shown ?? null })
  const fields = Object.keys(after.shown).filter(name => !isDeepStrictEqual(before.shown[name], after.shown[name]))
  const secrets = Object.keys(after.secrets ?? {}).filter(name => before.secrets?.[name] !== after.secrets?.[name])
  if (fields.length + secrets.length === 0) return
  const only = ({ shown }: Logged) => Object.fromEntries(fields.map(name => [name, shown[name] ?? null]))
  await recordAction(tx, driver, act, {
    ...about,
    before: only(before),
    after: { ...only(after), ...Object.fromEntries(secrets.map(name => [name, CHANGED])) },
  })
}

const toAction = (row: Row): LoggedAction => ({
  seq: integer(row, 'seq'),
  atMs: integer(row, 'at_ms'),
  actor: {
    kind: text(row, 'actor_kind') as Actor['kind'],
    userId: integerOrNull(row, 'user_id'),
    name: text(row, 'actor_name'),
    ip: textOrNull(row, 'ip'),
  },
  operation: text(row, 'operation'),
  accountId: integerOrNull(row, 'account_id'),
  subject: { kind: text(row, 'subject_kind') as SubjectKind, id: text(row, 'subject_id') },
  before: jsonOrNull(row, 'before_doc'),
  after: jsonOrNull(row, 'after_doc'),
})

export class ActionLog {
  readonly #driver: Driver

  constructor(driver: Driver) {
    this.#driver = driver
  }

  async page(filter: ActionFilter): Promise<LoggedAction[]> {
    const { accountId, userId, operation, subject, beforeSeq, limit } = filter
    const [where, values] = whereGiven(
      ['l.account_id = ?', accountId],
      ['l.user_id = ?', userId],
      ['l.operation = ?', operation],
      ['l.subject_kind = ?', subject?.kind],
      ['l.subject_id = ?', subject?.id],
      ['l.seq < ?', beforeSeq],
    )
    const sql = `SELECT ${COLUMNS} FROM actions l LEFT JOIN users u ON u.id = l.user_id ${where}ORDER BY l.seq DESC LIMIT ?`
    return (await this.#driver.query('actions', sql, [...values, limit])).map(toAction)
  }
}
