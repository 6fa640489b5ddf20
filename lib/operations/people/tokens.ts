/** Personal tokens, with which programs make the calls of the console in a person's place. The secret is shown once. */
import { z } from 'zod'
import type { PersonalToken } from '../../store/people/records.ts'
import * as kind from '../../config/scalars.ts'
import { hashOf, newPersonalToken, personalHint } from '../../base/secrets.ts'
import { SCOPES } from '../../base/people.ts'
import { OperationError, both } from '../error.ts'
import { actBy, type By, type PeopleDeps } from './deps.ts'

const DAY_MS = 86_400_000
const MOST_DAYS = 366
const MOST_NETWORKS = 50

export const tokenForm = z.strictObject({
  name: kind.name,
  scope: z.enum(SCOPES),
  expires_at: kind.time,
  allow_ips: z.array(kind.network).max(MOST_NETWORKS).nullable().prefault(null),
})

const time = (ms: number): string => new Date(ms).toISOString()

const shown = (token: PersonalToken) => ({
  id: token.publicId,
  name: token.name,
  hint: token.hint,
  scope: token.scope,
  allow_ips: token.allowIps,
  created_at: time(token.createdAtMs),
  expires_at: time(token.expiresAtMs),
  used_at: token.usedAtMs === null ? null : time(token.usedAtMs),
})

export async function listTokens({ store }: PeopleDeps, by: By) {
  return { data: (await store.people.tokens.list(by.user!.id)).map(shown), next: null }
}

export async function createToken({ store, clock }: PeopleDeps, by: By, form: z.output<typeof tokenForm>) {
  const createdAtMs = clock.now()
  const lifeMs = form.expires_at - createdAtMs
  if (lifeMs <= 0 || lifeMs > MOST_DAYS * DAY_MS)
    throw new OperationError(
      'invalid',
      both(`expires_at：应在未来 ${MOST_DAYS} 天之内`, `expires_at: expected a time within the next ${MOST_DAYS} days`),
    )
  const person = await store.people.users.byId(by.user!.id)
  if (form.scope === 'operator' && !(person?.operator && person.secondFactor))
    throw new OperationError(
      'forbidden',
      both('只有启用两步验证的运营人员可以创建此令牌', 'only operators with a second factor make such tokens'),
    )
  const secret = newPersonalToken()
  const token = {
    userId: by.user!.id,
    name: form.name,
    hash: hashOf(secret),
    hint: personalHint(secret),
    scope: form.scope,
    allowIps: form.allow_ips,
    createdAtMs,
    expiresAtMs: form.expires_at,
  }
  return { ...shown(await store.people.tokens.create(token, actBy(by, 'tokens.create'))), secret }
}

export async function endToken({ store }: PeopleDeps, by: By, id: string): Promise<void> {
  if (!(await store.people.tokens.end(by.user!.id, id, actBy(by, 'tokens.end'))))
    throw new OperationError('missing', both('没有此令牌', 'there is no such token'))
}
