/**
 * The part of the store's interface that is about the log of actions: an append-only list of every change that anybody
 * makes, written in the transaction of the change itself.
 */
import type { Actor } from '../base/people.ts'

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
export type SubjectKind = (typeof SUBJECT_KINDS)[number]

/** What a transaction says of a change. `before` and `after` never contain a secret; null = the row did not exist. */
export interface Changed {
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

export interface ActionStore {
  actions(filter: ActionFilter): Promise<LoggedAction[]>
}
