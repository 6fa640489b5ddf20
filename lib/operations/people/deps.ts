/** What operations on people are given, beside what every operation is. */
import { z } from 'zod'
import type { Config } from '../../config/config.ts'
import type { Act, Actor, Language, Person, User } from '../../base/people.ts'
import type { OperationDeps, ServingProcesses } from '../deps.ts'
import * as kind from '../../config/scalars.ts'
import { canonicalEmail } from '../../base/people.ts'
import { both, OperationError } from '../error.ts'
import { Mailer } from './mail.ts'
import { Passwords } from './passwords.ts'

export interface PeopleDeps extends OperationDeps {
  /** The config in force. A function, because a reload may change it. */
  config: () => Config
  passwords: Passwords
  mail: Mailer
}

/** What a process keeps for its users: the queues of hashes and of letters. */
export const peopleQueues = ({ clock, log, config }: Pick<PeopleDeps, 'clock' | 'log' | 'config'>) => ({
  passwords: new Passwords(),
  mail: new Mailer({ clock, log, smtp: () => config().smtp }),
})

/** What is enough for all that hashes no password and shows no money, as the commands do. */
export type UserDeps = Pick<PeopleDeps, 'store' | 'clock' | 'log' | 'config' | 'mail'> & {
  fleet: Pick<ServingProcesses, 'changed'>
}

/** Who asks, and from where. */
export interface By {
  /** null = nobody is signed in, or the caller is no user. */
  user: User | null
  sessionId: number | null
  ip: string
  agent: string
  language: Language
  actor: Actor
}

/** Somebody who is no user: the admin token, or a command on the machine. */
export const byActor = (actor: Actor): By => ({
  user: null,
  sessionId: null,
  ip: actor.ip ?? '',
  agent: '',
  language: 'zh',
  actor,
})

export const actBy = (by: By, operation: string): Act => ({ actor: by.actor, operation })

/** The act of a person who has just proven who it is, though nobody is signed in yet. */
export const actAs = (person: Pick<Person, 'id' | 'email'>, by: By, operation: string): Act => ({
  actor: { kind: 'user', userId: person.id, name: person.email, ip: by.ip },
  operation,
})

export const LINK_GONE = () =>
  new OperationError(
    'gone',
    both('此链接已失效、已被使用或已被撤销', 'this link has expired, was used before, or was withdrawn'),
  )

export const NO_SUCH_USER = () => new OperationError('missing', both('没有此用户', 'there is no such user'))

export const WRONG_CODE = () => new OperationError('forbidden', both('验证码不正确', 'the code is not right'))

export const email = kind.scalar(
  both('邮箱地址', 'an e-mail address'),
  { type: 'string', format: 'email' },
  canonicalEmail,
)
export const emailForm = z.strictObject({ email })
export const secretForm = z.strictObject({ token: z.string().max(100) })
