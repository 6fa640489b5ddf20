/**
 * The log of actions. A transaction that changes something on behalf of somebody calls `recordAction` before it commits,
 * so that there is no change without its line and no line without its change. Nothing in this program changes or deletes
 * a line. A user stands there by id, and the name is looked up when a line is read: who is deleted leaves none behind.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Act, Actor } from '../../base/people.ts'
import type { ActionFilter, Changed, LoggedAction, SubjectKind } from '../action-store.ts'
import type { Driver, Param, Row, Statements } from '../driver.ts'
import type { Logged } from './logged.ts'
import { integer, integerOrNull, jsonOrNull, text, textOrNull, toJson } from './text.ts'

const COLUMNS =
  'l.seq, l.at_ms, l.actor_kind, l.user_id, COALESCE(u.email, l.actor_name) AS actor_name, l.ip, l.operation, ' +
  'l.account_id, l.subject_kind, l.subject_id, l.before_doc, l.after_doc'

export async function recordAction(tx: Statements, { dialect }: Driver, act: Act, changed: Changed): Promise<void> {
  const { actor, operation } = act
  const { subject, accountId, before, after } = changed
  await tx.run(
    'INSERT INTO actions (at_ms, actor_kind, user_id, actor_name, ip, operation, account_id, subject_kind, subject_id, ' +
      `before_doc, after_doc) VALUES (${dialect.nowMs}, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    [
      actor.kind,
      actor.userId,
      actor.kind === 'user' ? '' : actor.name,
      actor.ip,
      operation,
      accountId,
      subject.kind,
      subject.id,
      toJson(before),
      toJson(after),
    ],
  )
}

/** What stands in the place of a secret that is another one than before. */
const CHANGED = 'changed'

/**
 * Writes the line of a row that was made (`before` null), deleted (`after` null) or changed. A change is written as the
 * fields that differ; when none does, nothing happened and no line is written.
 */
export async function recordEdit(
  tx: Statements,
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

export async function readActions(driver: Driver, filter: ActionFilter): Promise<LoggedAction[]> {
  const { accountId, userId, operation, subject, beforeSeq, limit } = filter
  const conditions: [string, Param | undefined][] = [
    ['l.account_id = ?', accountId],
    ['l.user_id = ?', userId],
    ['l.operation = ?', operation],
    ['l.subject_kind = ?', subject?.kind],
    ['l.subject_id = ?', subject?.id],
    ['l.seq < ?', beforeSeq],
  ]
  const used = conditions.filter((condition): condition is [string, Param] => condition[1] !== undefined)
  const where = used.length === 0 ? '' : `WHERE ${used.map(([sql]) => sql).join(' AND ')} `
  const sql = `SELECT ${COLUMNS} FROM actions l LEFT JOIN users u ON u.id = l.user_id ${where}ORDER BY l.seq DESC LIMIT ?`
  return (await driver.query('actions', sql, [...used.map(([, value]) => value), limit])).map(toAction)
}
